/* ruby_find.c: see ruby_find.h. */
#include "interp/ruby_find.h"

#include <elf.h>
#include <string.h>

#include "base/plain/ascending.h"

enum {
    LABELS_MIN = 150, /* Ruby 2.7 to 3.4 have 200 to 210 instructions, which all have a label */
    PIECE_BYTES = 12 << 10, /* that are read at once: a multiple of a relocation's */
    RELOCATIONS_MAX = 1 << 19,
    STARTS_MAX = 1 << 18,
    CODE_MAX_BYTES = 64 << 20,
    CALL = 0xe8,
    CALL_BYTES = 5,
};

/* The function at an address: its beginning and end. */
typedef struct {
    uint64_t low, limit;
} extent;

static bool find_function(const pt_ruby_image *image, uint64_t addr, extent *ret)
{
    const size_t after =
        pt_first_after(image->starts, image->start_count, sizeof image->starts[0], 0, addr);
    if (after == 0 || addr < image->code || addr >= image->code_limit) return false;
    ret->low = image->starts[after - 1];
    ret->limit = after < image->start_count ? image->starts[after] : image->code_limit;
    return ret->limit > addr;
}

/* ---- the table of labels ---- */

typedef struct {
    extent function, best;
    uint64_t next;              /* the address at which the sequence would continue */
    uint32_t count, best_count; /* addresses in the sequence, and in the longest one */
} search;

static void note_relocation(search *s, const pt_ruby_image *image, const Elf64_Rela *r)
{
    const uint64_t target = image->bias + (uint64_t)r->r_addend;
    const bool goes_on = s->count > 0 && r->r_offset == s->next && target >= s->function.low &&
                         target < s->function.limit;
    if (!goes_on) s->count = 0;
    if (ELF64_R_TYPE(r->r_info) != R_X86_64_RELATIVE ||
        (!goes_on && !find_function(image, target, &s->function)))
        return;
    s->next = r->r_offset + sizeof(uint64_t);
    if (++s->count <= s->best_count) return;
    s->best_count = s->count;
    s->best = s->function;
}

static bool find_loop(const pt_ruby_image *image, extent *ret)
{
    Elf64_Rela piece[PIECE_BYTES / sizeof(Elf64_Rela)];
    search s = {.count = 0};
    uint64_t left = image->relocation_bytes / sizeof piece[0];
    if (left > RELOCATIONS_MAX) return false;
    for (uint64_t at = image->relocations; left > 0;) {
        const size_t count =
            left < sizeof piece / sizeof piece[0] ? (size_t)left : sizeof piece / sizeof piece[0];
        if (!image->read(image->arg, at, piece, count * sizeof piece[0])) return false;
        for (size_t i = 0; i < count; i++)
            note_relocation(&s, image, &piece[i]);
        at += count * sizeof piece[0];
        left -= count;
    }
    *ret = s.best;
    return s.best_count >= LABELS_MIN;
}

/* ---- its caller ---- */

/* Notes the calls of the loop in a piece of code. Returns false if a second function calls the
 * loop. */
static bool note_calls(const pt_ruby_image *image, uint64_t loop, const uint8_t *piece,
                       size_t bytes, uint64_t addr, extent *caller)
{
    for (size_t i = 0; i + CALL_BYTES <= bytes; i++) {
        int32_t by;
        extent function;
        if (piece[i] != CALL) continue;
        memcpy(&by, piece + i + 1, sizeof by);
        if (addr + i + CALL_BYTES + (uint64_t)(int64_t)by != loop) continue;
        if (!find_function(image, addr + i, &function)) return false;
        if (caller->limit != 0 && caller->low != function.low) return false;
        *caller = function;
    }
    return true;
}

bool pt_ruby_find_evaluator(const pt_ruby_image *image, uint64_t *ret_low, uint64_t *ret_limit)
{
    uint8_t piece[PIECE_BYTES];
    extent loop, caller = {.limit = 0};
    if (image->code_limit < image->code || image->code_limit - image->code > CODE_MAX_BYTES ||
        image->start_count > STARTS_MAX || !find_loop(image, &loop))
        return false;
    for (uint64_t at = image->code; at < image->code_limit; at += PIECE_BYTES - CALL_BYTES + 1) {
        const uint64_t left = image->code_limit - at;
        const size_t bytes = left < sizeof piece ? (size_t)left : sizeof piece;
        if (!image->read(image->arg, at, piece, bytes) ||
            !note_calls(image, loop.low, piece, bytes, at, &caller))
            return false;
    }
    *ret_low = caller.low;
    *ret_limit = caller.limit;
    return caller.limit != 0;
}

/* ---- the context ---- */

/* The ABI's general dynamic access to a thread-local variable begins with "data16 lea
 * x@tlsgd(%rip), %rdi". Its operand is the address of the module's number, followed by the
 * variable's place. */
bool pt_ruby_find_context(const pt_ruby_image *image, uint64_t reader, uint64_t *ret_module,
                          uint64_t *ret_place)
{
    enum { READER_BYTES = 32, OPCODE_BYTES = 4, PLACE_MAX = 1 << 20 };
    static const uint8_t opcode[OPCODE_BYTES] = {0x66, 0x48, 0x8d, 0x3d};
    uint8_t code[READER_BYTES];
    int32_t by;
    if (!image->read(image->arg, reader, code, sizeof code)) return false;
    for (size_t i = 0; i + OPCODE_BYTES + sizeof by <= sizeof code; i++) {
        if (memcmp(code + i, opcode, sizeof opcode) != 0) continue;
        memcpy(&by, code + i + OPCODE_BYTES, sizeof by);
        *ret_module = reader + i + OPCODE_BYTES + sizeof by + (uint64_t)(int64_t)by;
        return image->read(image->arg, *ret_module + sizeof(uint64_t), ret_place,
                           sizeof *ret_place) &&
               *ret_place < PLACE_MAX;
    }
    return false;
}
