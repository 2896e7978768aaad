/* brief.h: names short enough to read in a table. */
#pragma once

#include "base/buf.h"

/* The name with the standard string types under their usual names and, if it is still wider than a
 * table's column (60 bytes), the arguments of its templates as "...":
 *
 *   std::_Hashtable<std::pair<...>, ...>::_M_find   ->   std::_Hashtable<...>::_M_find
 *
 * Operators keep their angle brackets; so does a Rust path that begins with an angle bracket.
 * Whatever the name is, the result is never longer. Empties *ret_brief first, then puts the result
 * into it. */
void pt_brief_name(const char *name, pt_buf *ret_brief);
