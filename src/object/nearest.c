/* nearest.c: see pt_object_nearest_symbol. It selects symbols as binutils 2.40 does (the behaviour
 * of _bfd_elf_find_function). */
#include "object/object_int.h"

#include <elf.h>
#include <stdlib.h>

#include "base/grow.h"
#include "base/plain/ascending.h"

PT_ORDER(by_place, pt_function_symbol, PT_UP(section) ?: PT_UP(addr) ?: PT_UP(index));

static bool may_be_function(const pt_elf_symbol *symbol)
{
    if (symbol->section_index == SHN_UNDEF || symbol->is_reserved_index) return false;
    if (symbol->type != STT_NOTYPE && symbol->type != STT_FUNC && symbol->type != STT_GNU_IFUNC)
        return false;
    return symbol->size_bytes > 0 || symbol->binding != STB_LOCAL || symbol->type != STT_NOTYPE ||
           symbol->visibility != STV_HIDDEN;
}

void pt_nearest_init(pt_nearest *nearest, const pt_elf *image, const pt_elf *symbols)
{
    pt_elf_symbols table;
    *nearest = (pt_nearest){.image = image};
    if (!pt_elf_symbols_open(symbols, SHT_SYMTAB, &table) &&
        !pt_elf_symbols_open(symbols, SHT_DYNSYM, &table))
        return;
    /* Global symbols follow the local symbols of all files, so the file of a global symbol is known
     * only if the table names a single file. */
    enum { NOTHING, SYMBOL, FILE_AFTER_SYMBOL } seen = NOTHING;
    const char *file = NULL;
    pt_elf_symbol symbol;
    for (uint32_t i = 1; pt_elf_symbol_at(&table, i, &symbol); i++) {
        if (symbol.type == STT_FILE) {
            file = symbol.name;
            if (seen == SYMBOL) seen = FILE_AFTER_SYMBOL;
            continue;
        }
        if (seen == NOTHING) seen = SYMBOL;
        if (!may_be_function(&symbol)) continue;
        const bool has_file = symbol.binding == STB_LOCAL || seen != FILE_AFTER_SYMBOL;
        PT_PUSH(*nearest,
                (pt_function_symbol){.addr = symbol.value,
                                     .size_bytes = symbol.size_bytes > 0 ? symbol.size_bytes : 1,
                                     .section = symbol.section_index,
                                     .index = i,
                                     .name = symbol.name,
                                     .file = has_file ? file : NULL,
                                     .is_typed = symbol.type != STT_NOTYPE});
    }
    if (nearest->count > 0) qsort(nearest->items, nearest->count, sizeof *nearest->items, by_place);
}

void pt_nearest_done(pt_nearest *nearest)
{
    free(nearest->items);
    *nearest = (pt_nearest){0};
}

/* Of two symbols with the same start: does `other`, the later one in the table, take precedence? */
static bool fits_better(const pt_function_symbol *best, const pt_function_symbol *other,
                        uint64_t addr)
{
    if (best->addr + best->size_bytes <= addr) return other->size_bytes > best->size_bytes;
    if (other->addr + other->size_bytes <= addr) return false;
    if (best->is_typed != other->is_typed) return other->is_typed;
    return other->size_bytes < best->size_bytes;
}

static const pt_function_symbol *find_symbol(const pt_nearest *nearest, uint32_t section,
                                             uint64_t addr)
{
    const pt_function_symbol *const s = nearest->items;
    const size_t end = PT_FIRST_WHERE(
        i, nearest->count, s[i].section > section || (s[i].section == section && s[i].addr > addr));
    if (end == 0 || s[end - 1].section != section) return NULL;
    size_t first = end - 1;
    while (first > 0 && s[first - 1].section == section && s[first - 1].addr == s[end - 1].addr)
        first--;
    const pt_function_symbol *best = &s[first];
    for (size_t i = first + 1; i < end; i++)
        if (fits_better(best, &s[i], addr)) best = &s[i];
    return best;
}

/* The index of the allocated section that contains an address; 0 if there is none. */
static uint32_t section_of(const pt_elf *elf, uint64_t addr)
{
    pt_elf_section section;
    for (uint32_t i = 1; pt_elf_section_at(elf, i, &section); i++)
        if ((section.flags & SHF_ALLOC) && !(section.flags & SHF_TLS) && addr >= section.addr &&
            addr - section.addr < section.size_bytes)
            return i;
    return 0;
}

const pt_function_symbol *pt_nearest_find(const pt_nearest *nearest, uint64_t addr)
{
    const uint32_t section = section_of(nearest->image, addr);
    return section > 0 ? find_symbol(nearest, section, addr) : NULL;
}
