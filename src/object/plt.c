/* plt.c: names the stubs through which a program calls into libraries ("puts@plt"). No symbol
 * covers these stubs.
 *
 *   stub        ... jmp *slot(%rip)        in .plt, .plt.sec, .plt.got
 *   relocation  slot -> dynamic symbol     in .rela.plt, .rela.dyn
 *
 * x86-64 only: there each stub contains the address of its slot (System V ABI AMD64, "Procedure
 * Linkage Table"), whatever the linker's layout. */
#include <elf.h>
#include <stdlib.h>

#include "base/grow.h"
#include "base/plain/ascending.h"
#include "base/text.h"
#include "object/object_int.h"

#define STUB_BYTES     16
#define NAME_BYTES_MAX 4096

typedef struct {
    uint64_t slot;
    uint32_t symbol;
} relocation;

typedef PT_VECTOR(relocation) relocations;

PT_ORDER(by_slot, relocation, PT_UP(slot));

static uint64_t read_le(const uint8_t *p, unsigned width)
{
    uint64_t v = 0;
    for (unsigned i = 0; i < width; i++)
        v |= (uint64_t)p[i] << (8 * i);
    return v;
}

static void collect_slots(const pt_elf *elf, relocations *list)
{
    pt_elf_relocations walk = {0};
    pt_elf_relocation r;
    while (pt_elf_relocation_next(elf, &walk, &r))
        if (r.type == R_X86_64_JUMP_SLOT || r.type == R_X86_64_GLOB_DAT)
            PT_PUSH(*list, (relocation){r.addr, r.symbol});
    if (list->count > 0) qsort(list->items, list->count, sizeof *list->items, by_slot);
}

/* The slot of a stub's jump: ff 25 is jmp *disp32(%rip). */
static bool slot_of(const uint8_t *stub, size_t size_bytes, uint64_t addr, uint64_t *ret_slot)
{
    for (size_t i = 0; i + 6 <= size_bytes; i++) {
        if (stub[i] != 0xff || stub[i + 1] != 0x25) continue;
        const int32_t distance = (int32_t)read_le(stub + i + 2, 4);
        *ret_slot = addr + i + 6 + (uint64_t)(int64_t)distance;
        return true;
    }
    return false;
}

static void add_stubs(pt_plt *plt, const pt_elf *elf, const pt_elf_section *s,
                      const relocations *slots)
{
    uint64_t size_bytes;
    const uint8_t *bytes = pt_elf_section_bytes(elf, s, &size_bytes);
    const uint64_t step = s->entry_bytes == 8 ? 8 : STUB_BYTES;
    for (uint64_t off = 0; bytes != NULL && size_bytes - off >= step; off += step) {
        relocation wanted = {0};
        if (!slot_of(bytes + off, step, s->addr + off, &wanted.slot)) continue;
        const relocation *found =
            bsearch(&wanted, slots->items, slots->count, sizeof *slots->items, by_slot);
        if (found == NULL) continue;
        PT_PUSH(*plt, (pt_plt_stub){.addr = s->addr + off,
                                    .end_addr = s->addr + off + step,
                                    .symbol = found->symbol});
    }
}

PT_ORDER(by_addr, pt_plt_stub, PT_UP(addr));

void pt_plt_init(pt_plt *plt, const pt_elf *elf)
{
    *plt = (pt_plt){0};
    relocations slots = {0};
    if (elf->machine != EM_X86_64 || !elf->is_64 || elf->is_big_endian ||
        !pt_elf_symbols_open(elf, SHT_DYNSYM, &plt->table))
        return;
    collect_slots(elf, &slots);
    pt_elf_section s;
    for (uint32_t i = 1; slots.count > 0 && pt_elf_section_at(elf, i, &s); i++)
        if (pt_begins(s.name, ".plt") && (s.flags & SHF_EXECINSTR) != 0)
            add_stubs(plt, elf, &s, &slots);
    if (plt->count > 0) qsort(plt->items, plt->count, sizeof *plt->items, by_addr);
    free(slots.items);
}

void pt_plt_done(pt_plt *plt)
{
    for (size_t i = 0; i < plt->count; i++)
        free(plt->items[i].name);
    free(plt->items);
    *plt = (pt_plt){0};
}

bool pt_plt_find(pt_plt *plt, uint64_t addr, pt_object_symbol *ret_symbol)
{
    const size_t after = PT_FIRST_AFTER(plt->items, plt->count, addr, addr);
    if (after == 0 || addr >= plt->items[after - 1].end_addr) return false;
    pt_plt_stub *stub = &plt->items[after - 1];
    pt_elf_symbol s;
    if (stub->name == NULL) {
        if (!pt_elf_symbol_at(&plt->table, stub->symbol, &s) || s.name[0] == '\0') return false;
        stub->name = pt_strf("%.*s@plt", NAME_BYTES_MAX, s.name);
    }
    *ret_symbol = (pt_object_symbol){stub->name, stub->addr, stub->end_addr};
    return true;
}
