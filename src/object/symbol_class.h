/* symbol_class.h: the symbols of an image in table order, with the letters of nm: T and t for code,
 * W for weak symbols other than data, D d B b R r for data, ...
 *
 * Source: binutils' nm(1); upper case means global. Section, file and undefined symbols are
 * skipped.
 */
#pragma once

#include "elf/image.h"

/* A symbol with its letter. */
typedef struct pt_class_symbol {
    const char *name; /* as linked; lives as long as the image's bytes */
    uint64_t addr;    /* value of the symbol */
    char letter;
    bool is_local, is_function; /* STB_LOCAL; STT_FUNC */
    uint32_t index;             /* index in its table */
} pt_class_symbol;

/* An iterator over a symbol table. */
typedef struct pt_class_table {
    pt_elf_symbols symbols;
    char *of_section; /* the lower-case letter of each section */
    uint32_t section_count;
    uint32_t next;
} pt_class_table;

/* Opens the table of a section type, SHT_SYMTAB or SHT_DYNSYM. False: the image has none. The table
 * refers to the image. */
bool pt_class_table_open(pt_class_table *table, const pt_elf *elf, uint32_t section_type);
void pt_class_table_done(pt_class_table *table);
/* The next symbol; false at the end. */
bool pt_class_table_next(pt_class_table *table, pt_class_symbol *ret_symbol);
