/* symbol_class.h: the symbols of an image, in the order of its table, with the letters that nm
 * shows: T and t for code, W for weak symbols that are no data, D d B b R r for data, ...
 *
 * Rule: binutils' nm(1); upper case is global. Section and file symbols, and undefined ones, are
 * passed over.
 */
#ifndef PT_OBJECT_SYMBOL_CLASS_H
#define PT_OBJECT_SYMBOL_CLASS_H

#include "elf/image.h"

typedef struct pt_class_symbol {
    const char *name; /* as linked; lives as long as the image's bytes */
    uint64_t addr;
    char letter;
    bool is_local, is_function; /* STB_LOCAL; STT_FUNC */
    uint32_t index;             /* in its table */
} pt_class_symbol;

typedef struct pt_class_table {
    pt_elf_symbols symbols;
    char *of_section; /* the lower-case letter of what lies in each section */
    uint32_t section_count;
    uint32_t next;
} pt_class_table;

/* section_type: SHT_SYMTAB or SHT_DYNSYM. False when the image has no such table. The image stays
 * in use. */
bool pt_class_table_open(pt_class_table *table, const pt_elf *elf, uint32_t section_type);
void pt_class_table_done(pt_class_table *table);
/* False at the end. */
bool pt_class_table_next(pt_class_table *table, pt_class_symbol *ret_symbol);

#endif
