/* data.c: symbols of data, by address. */
#include "object/object_int.h"

#include <elf.h>
#include <stdlib.h>

#include "base/grow.h"
#include "base/plain/ascending.h"

PT_ORDER(by_address, pt_object_data, PT_UP(addr) ?: PT_UP(size_bytes));

void pt_data_symbols_init(pt_data_symbols *data, const pt_elf *elf)
{
    pt_elf_symbols table;
    pt_elf_symbol s;
    *data = (pt_data_symbols){0};
    if (!pt_elf_symbols_open(elf, SHT_SYMTAB, &table) &&
        !pt_elf_symbols_open(elf, SHT_DYNSYM, &table))
        return;
    for (uint32_t i = 1; pt_elf_symbol_at(&table, i, &s); i++) {
        if (s.type != STT_OBJECT || s.section_index == SHN_UNDEF || s.name[0] == '\0') continue;
        PT_PUSH(*data, (pt_object_data){s.name, s.value, s.size_bytes});
    }
    if (data->count > 0) qsort(data->items, data->count, sizeof *data->items, by_address);
}

void pt_data_symbols_done(pt_data_symbols *data)
{
    free(data->items);
    *data = (pt_data_symbols){0};
}

bool pt_data_symbols_find(const pt_data_symbols *data, uint64_t addr, pt_object_data *ret_data)
{
    const size_t after = PT_FIRST_AFTER(data->items, data->count, addr, addr);
    if (after == 0) return false;
    const pt_object_data *s = &data->items[after - 1];
    if (addr - s->addr >= s->size_bytes && s->size_bytes > 0) return false;
    *ret_data = *s;
    return true;
}
