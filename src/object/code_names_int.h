/* code_names_int.h: shared by the readers of code names. */
#pragma once

#include "object/code_names.h"

/* Makes names empty. */
void pt_code_names_init(pt_code_names *names);
/* Stores a string and returns its offset in text; 0 for an empty string, or when text is full. */
uint32_t pt_code_text(pt_code_names *names, const char *text, size_t length);
/* Adds an entry without lines; ignores the entry if its range is empty or wraps. */
void pt_code_add(pt_code_names *names, uint64_t addr, uint64_t end_addr, uint32_t name,
                 uint32_t module);
/* Makes the disjoint ranges from the entries; a later entry covers earlier ones. */
void pt_code_lay(pt_code_names *names);
