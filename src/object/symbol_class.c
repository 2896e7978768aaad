/* symbol_class.c: see symbol_class.h. */
#include "object/symbol_class.h"

#include <ctype.h>
#include <elf.h>
#include <stdlib.h>
#include <string.h>

#include "base/error.h"

/* Sections with these names have these letters, whatever their flags. */
static const struct {
    const char *name;
    char letter;
} named[] = {{".bss", 'b'},    {".data", 'd'}, {".debug", 'N'}, {".fini", 't'}, {".init", 't'},
             {".rodata", 'r'}, {".sbss", 's'}, {".sdata", 'g'}, {".text", 't'}};

static char letter_of_section(const pt_elf_section *section)
{
    for (size_t i = 0; i < sizeof named / sizeof named[0]; i++) {
        const size_t n = strlen(named[i].name);
        if (strncmp(section->name, named[i].name, n) == 0 &&
            strchr(".$0123456789", section->name[n]) != NULL)
            return named[i].letter;
    }
    if ((section->flags & SHF_EXECINSTR) != 0) return 't';
    if (section->type == SHT_NOBITS) return 'b';
    if ((section->flags & SHF_ALLOC) == 0) return 'n';
    return (section->flags & SHF_WRITE) != 0 ? 'd' : 'r';
}

bool pt_class_table_open(pt_class_table *table, const pt_elf *elf, uint32_t section_type)
{
    *table = (pt_class_table){.next = 1};
    if (!pt_elf_symbols_open(elf, section_type, &table->symbols)) return false;
    table->section_count = elf->section_count;
    table->of_section = pt_alloc((size_t)table->section_count + 1, 1);
    pt_elf_section section;
    for (uint32_t i = 0; i < table->section_count && pt_elf_section_at(elf, i, &section); i++)
        table->of_section[i] = letter_of_section(&section);
    return true;
}

void pt_class_table_done(pt_class_table *table)
{
    free(table->of_section);
    *table = (pt_class_table){0};
}

static char letter_of(const pt_class_table *table, const pt_elf_symbol *symbol)
{
    if (symbol->type == STT_GNU_IFUNC) return 'i';
    if (symbol->binding == STB_WEAK) return symbol->type == STT_OBJECT ? 'V' : 'W';
    if (symbol->binding == STB_GNU_UNIQUE) return 'u';
    if (symbol->binding != STB_GLOBAL && symbol->binding != STB_LOCAL) return '?';
    char letter = '?';
    if (symbol->is_reserved_index)
        letter = symbol->section_index == SHN_ABS      ? 'a'
                 : symbol->section_index == SHN_COMMON ? 'c'
                                                       : '?';
    else if (symbol->section_index < table->section_count)
        letter = table->of_section[symbol->section_index];
    return symbol->binding == STB_GLOBAL ? (char)toupper(letter) : letter;
}

bool pt_class_table_next(pt_class_table *table, pt_class_symbol *ret_symbol)
{
    pt_elf_symbol symbol;
    while (pt_elf_symbol_at(&table->symbols, table->next, &symbol)) {
        table->next++;
        if (symbol.type == STT_SECTION || symbol.type == STT_FILE) continue;
        if (symbol.section_index == SHN_UNDEF && !symbol.is_reserved_index) continue;
        *ret_symbol = (pt_class_symbol){.name = symbol.name,
                                        .addr = symbol.value,
                                        .letter = letter_of(table, &symbol),
                                        .is_local = symbol.binding == STB_LOCAL,
                                        .is_function = symbol.type == STT_FUNC,
                                        .index = table->next - 1};
        return true;
    }
    return false;
}
