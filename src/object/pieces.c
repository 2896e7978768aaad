/* pieces.c: the bounds of functions by unwind tables, which strip keeps. */
#include <stdlib.h>

#include "base/plain/ascending.h"
#include "object/object_int.h"
#include "unwind/table.h"

static void add_piece(void *arg, uint64_t start_addr, uint64_t size_bytes)
{
    pt_pieces *const pieces = arg;
    if (size_bytes > 0 && size_bytes <= UINT64_MAX - start_addr)
        PT_PUSH(*pieces, (pt_code_range){start_addr, start_addr + size_bytes});
}

PT_ORDER(by_start, pt_code_range, PT_UP(addr) ?: PT_UP(end_addr));

void pt_pieces_init(pt_pieces *pieces, const pt_elf *elf)
{
    pt_unwind_frames frames;
    *pieces = (pt_pieces){0};
    if (!pt_unwind_frames_of_elf(elf, &frames)) return;
    pt_unwind_each_piece(&frames, add_piece, pieces);
    if (pieces->count > 0) qsort(pieces->items, pieces->count, sizeof *pieces->items, by_start);
}

void pt_pieces_done(pt_pieces *pieces)
{
    free(pieces->items);
    *pieces = (pt_pieces){0};
}

bool pt_pieces_find(const pt_pieces *pieces, uint64_t addr, pt_object_symbol *ret_symbol)
{
    const size_t after = PT_FIRST_AFTER(pieces->items, pieces->count, addr, addr);
    if (after == 0 || addr >= pieces->items[after - 1].end_addr) return false;
    *ret_symbol =
        (pt_object_symbol){"", pieces->items[after - 1].addr, pieces->items[after - 1].end_addr};
    return true;
}
