/* code_names_int.h: what the readers of code names share. */
#ifndef PT_OBJECT_CODE_NAMES_INT_H
#define PT_OBJECT_CODE_NAMES_INT_H

#include "object/code_names.h"

void pt_code_names_init(pt_code_names *names);
/* Puts a string; 0 for an empty one, or when there is no room for more. */
uint32_t pt_code_text(pt_code_names *names, const char *text, size_t length);
/* An entry without lines; nothing when it is empty or wraps. */
void pt_code_add(pt_code_names *names, uint64_t addr, uint64_t end_addr, uint32_t name,
                 uint32_t module);
/* Makes the ranges: of entries that overlap the later one is on top. */
void pt_code_lay(pt_code_names *names);

#endif
