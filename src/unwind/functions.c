/* functions.c: lists the functions of an image, each with the source of its rules.
 *
 *   FDEs, Go's functions, the vDSO's ---> sorted ---> code between them (uncovered.c) ---> sorted
 */
#include <elf.h>
#include <string.h>

#include "base/plain/ascending.h"
#include "unwind/aarch64.h"
#include "unwind/sources.h"

bool pt_functions_add(pt_unwind_functions *all, const pt_unwind_function *f)
{
    if (all->count == all->cap) {
        const uint32_t cap = all->cap == 0 ? all->expected : all->cap + all->cap / 2 + 1;
        if (cap <= all->cap) return false;
        pt_unwind_function *const items =
            all->cap == 0 ? pt_scratch_take(&all->items_memory, all->memory, cap, sizeof *items)
                          : pt_scratch_resize(&all->items_memory, cap, sizeof *items);
        if (items == NULL) return false;
        all->items = items;
        all->cap = cap;
    }
    all->items[all->count++] = *f;
    if (f->start_addr < all->low) all->low = f->start_addr;
    if (f->start_addr + f->size_bytes > all->limit) all->limit = f->start_addr + f->size_bytes;
    return true;
}

/* ---- by address ---- */

/* The length of the ascending run that begins at i. */
static uint32_t run_from(const pt_unwind_functions *all, uint32_t i)
{
    const uint32_t start = i++;
    while (i < all->count && all->items[i].start_addr >= all->items[i - 1].start_addr)
        i++;
    return i - start;
}

/* Merges two ascending runs; of equal addresses, the first run's come first. */
static bool merge_runs(pt_unwind_functions *all, uint32_t first)
{
    pt_scratch scratch;
    uint32_t at = all->count, left = first, right = all->count - first;
    pt_unwind_function *const second =
        pt_scratch_take(&scratch, all->memory, right, sizeof *second);
    if (second == NULL) return false;
    memcpy(second, all->items + first, right * sizeof *second);
    while (right > 0) {
        const bool is_left =
            left > 0 && all->items[left - 1].start_addr > second[right - 1].start_addr;
        all->items[--at] = is_left ? all->items[--left] : second[--right];
    }
    pt_scratch_done(&scratch);
    return true;
}

/* One pass of a stable radix sort, by 11 bits of the address relative to the lowest. */
enum { SORT_BITS = 11 };

static void sort_by(const pt_unwind_functions *all, unsigned shift, const pt_unwind_function *from,
                    pt_unwind_function *to)
{
    uint32_t first[1 << SORT_BITS] = {0}, sum = 0;
    const uint64_t mask = (1 << SORT_BITS) - 1;
    for (uint32_t i = 0; i < all->count; i++)
        first[(from[i].start_addr - all->low) >> shift & mask]++;
    for (unsigned i = 0; i <= mask; i++) {
        const uint32_t n = first[i];
        first[i] = sum;
        sum += n;
    }
    for (uint32_t i = 0; i < all->count; i++)
        to[first[(from[i].start_addr - all->low) >> shift & mask]++] = from[i];
}

bool pt_functions_sort(pt_unwind_functions *all)
{
    const uint32_t first = all->count > 0 ? run_from(all, 0) : 0;
    if (first == all->count) return true;
    if (run_from(all, first) == all->count - first) return merge_runs(all, first);
    pt_scratch other;
    pt_unwind_function *const room = pt_scratch_take(&other, all->memory, all->count, sizeof *room);
    if (room == NULL) return false;
    bool is_in_room = false;
    /* Code that spans 4 GiB or more is refused later. */
    for (unsigned shift = 0; shift < 33 && (all->limit - all->low) >> shift > 0;
         shift += SORT_BITS) {
        if (is_in_room)
            sort_by(all, shift, room, all->items);
        else
            sort_by(all, shift, all->items, room);
        is_in_room = !is_in_room;
    }
    if (is_in_room) {
        pt_scratch_done(&all->items_memory);
        all->items_memory = other;
        all->items = room;
        all->cap = all->count;
    } else {
        pt_scratch_done(&other);
    }
    return true;
}

/* The last function that begins at or before addr, or NULL. */
static const pt_unwind_function *last_upto(const pt_unwind_functions *all, uint64_t addr)
{
    const size_t after = PT_FIRST_AFTER(all->items, all->count, start_addr, addr);
    return after > 0 ? &all->items[after - 1] : NULL;
}

const pt_unwind_function *pt_functions_at(const pt_unwind_functions *all, uint64_t addr)
{
    const pt_unwind_function *const f = last_upto(all, addr);
    return f != NULL && f->start_addr == addr ? f : NULL;
}

const pt_unwind_function *pt_functions_around(const pt_unwind_functions *all, uint64_t addr)
{
    const pt_unwind_function *const f = last_upto(all, addr);
    return f != NULL && addr - f->start_addr < f->size_bytes ? f : NULL;
}

bool pt_functions_return(void *arg, uint64_t addr)
{
    const pt_unwind_sources *const from = arg;
    const pt_unwind_function *const f = pt_functions_at(&from->functions, addr);
    return f == NULL || !f->never_returns;
}

/* ---- frames and Go ---- */

static bool add_fdes(pt_unwind_sources *from)
{
    uint64_t off = 0, at;
    pt_cfi_fde fde;
    if (from->reader->frames->size_bytes == 0) return true;
    while (pt_cfi_next_fde(from->reader, &off, &at, &fde)) {
        /* A linker that drops a function may leave the function's entry, with address 0. */
        if (fde.start_addr == 0 || fde.size_bytes > UINT32_MAX) continue;
        const pt_unwind_function f = {.start_addr = fde.start_addr,
                                      .size_bytes = (uint32_t)fde.size_bytes,
                                      .off = (uint32_t)at,
                                      .source = PT_FROM_FDE};
        if (!pt_functions_add(&from->functions, &f)) return false;
    }
    return true;
}

/* The number of bytes of padding before the code at an offset of the file. */
static unsigned padding_before(const pt_elf *elf, uint64_t off)
{
    if (elf->machine == EM_AARCH64) {
        const uint32_t before =
            off >= PT_A64_BYTES ? pt_a64_word(elf->bytes + off - PT_A64_BYTES) : 1;
        return before == PT_A64_NOP || before == 0 ? PT_A64_BYTES : 0;
    }
    const uint8_t before = elf->bytes[off - 1];
    return before == 0x90 || before == 0xcc || before == 0;
}

void pt_functions_widen_trampoline(const pt_elf *elf, pt_unwind_function *f)
{
    uint64_t off;
    if (!pt_elf_offset_of_addr(elf, f->start_addr, &off) || off == 0 || off >= elf->size_bytes)
        return;
    if (!pt_code_is_signal_trampoline(elf, elf->bytes + off, elf->size_bytes - off)) return;
    const unsigned padding = padding_before(elf, off);
    if (padding == 0) return;
    f->start_addr -= padding;
    f->size_bytes += padding;
    f->source = PT_FROM_CODE;
}

static bool add_go(pt_unwind_sources *from)
{
    if (from->elf == NULL || !pt_go_open(from->elf, &from->go)) return true;
    for (uint32_t i = 0; i < from->go.count; i++) {
        pt_unwind_function f;
        if (!pt_go_function(&from->go, i, &f)) continue;
        pt_functions_widen_trampoline(from->elf, &f);
        if (!pt_functions_add(&from->functions, &f)) return false;
    }
    return true;
}

/* Adds the code in aarch64's vDSO to which a signal handler returns. The kernel gives this code no
 * CFI, or (before Linux 5.8) CFI that describes the interrupted function's caller. A nop precedes
 * the code, since return addresses are looked up at pc - 1 (arch/arm64/kernel/vdso/sigreturn.S).
 * During the system call that the code makes, the pc is the address after the code, so the function
 * gets one instruction more. */
static bool add_vdso_trampoline(pt_unwind_sources *from)
{
    pt_elf_symbols symbols;
    pt_elf_symbol symbol;
    if (from->elf == NULL || from->elf->machine != EM_AARCH64 ||
        !pt_elf_symbols_open(from->elf, SHT_DYNSYM, &symbols))
        return true;
    for (uint32_t i = 1; pt_elf_symbol_at(&symbols, i, &symbol); i++) {
        if (symbol.name == NULL || strcmp(symbol.name, "__kernel_rt_sigreturn") != 0) continue;
        pt_unwind_function f = {.start_addr = symbol.value,
                                .size_bytes = PT_CODE_TRAMPOLINE_A64_BYTES + PT_A64_BYTES};
        pt_functions_widen_trampoline(from->elf, &f);
        if (f.source == PT_FROM_CODE) return pt_functions_add(&from->functions, &f);
    }
    return true;
}

bool pt_functions_take_room(pt_unwind_sources *from)
{
    uint32_t longest = 0;
    for (uint32_t i = 0; i < from->functions.count; i++) {
        const pt_unwind_function *const f = &from->functions.items[i];
        if (f->source == PT_FROM_CODE && f->size_bytes > longest) longest = f->size_bytes;
    }
    pt_scratch_done(&from->room_memory);
    if (longest == 0) return true;
    uint64_t *const words =
        pt_scratch_take(&from->room_memory, from->functions.memory, pt_code_room_bytes(longest), 1);
    if (words == NULL || (from->states.memory == NULL &&
                          !pt_code_states_init(&from->states, from->functions.memory)))
        return false;
    from->room = pt_code_room_in(words, longest, &from->states);
    return true;
}

/* ---- all ---- */

pt_unwind_status pt_functions_collect(pt_unwind_sources *from)
{
    pt_unwind_functions *const all = &from->functions;
    all->low = UINT64_MAX;
    /* An entry with its program takes about 50 bytes. */
    all->expected = 1024 + (uint32_t)(from->reader->frames->size_bytes / 44);
    if (!add_fdes(from) || !add_go(from) || !add_vdso_trampoline(from) || !pt_functions_sort(all) ||
        !pt_functions_take_room(from) || !pt_uncovered_add(from))
        return PT_UNWIND_NO_MEMORY;
    if (all->count == 0) return PT_UNWIND_NO_FRAMES;
    if (all->limit - all->low > UINT32_MAX) return PT_UNWIND_TOO_LARGE;
    return pt_functions_sort(all) ? PT_UNWIND_OK : PT_UNWIND_NO_MEMORY;
}

void pt_functions_done(pt_unwind_sources *from)
{
    pt_scratch_done(&from->functions.items_memory);
    pt_scratch_done(&from->room_memory);
    pt_scratch_done(&from->kept_memory);
    pt_dictionary_done(&from->states);
}
