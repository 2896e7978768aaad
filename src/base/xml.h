/* xml.h: escapes text for XML. */
#pragma once

#include "base/buf.h"

/* Puts any bytes as the content of an element or a quoted attribute. Markup is escaped; bytes that
 * are not UTF-8, and characters that XML 1.0 lacks (section 2.2) become U+FFFD. */
void pt_xml_text(pt_out *out, const char *text, size_t bytes);
