/* calls.c: --static-call-graph: call instructions with a fixed target.
 *
 * x86: each byte 0xe8, at any offset, counts as a call if the displacement after it leads exactly
 * to a function's first byte. So data that looks like a call also counts, as in gprof. Unlike
 * gprof, pitot reads displacements as signed (gprof reads them as unsigned, and so finds only
 * forward calls on 64-bit machines). AArch64: BL and B, as in gprof.
 */
#include <elf.h>
#include <string.h>

#include "personality/gprof/gprof_int.h"

#define X86_CALL       0xe8
#define X86_CALL_BYTES 5
#define A64_MASK       0x7c000000u
#define A64_BRANCH     0x14000000u

typedef struct {
    pt_gprof *g;
    pt_gprof_text text;
} code;

static uint32_t word_at(const uint8_t *p)
{
    return (uint32_t)p[0] | (uint32_t)p[1] << 8 | (uint32_t)p[2] << 16 | (uint32_t)p[3] << 24;
}

static bool add_call(code *c, uint32_t from, uint64_t target)
{
    if (target < c->text.addr || target - c->text.addr >= c->text.size_bytes) return false;
    const uint32_t to = pt_gprof_find(c->g, target);
    if (to == PT_NONE || c->g->symbol.items[to].addr != target) return false;
    pt_gprof_add_arc(c->g, from, to, 0);
    return true;
}

static void scan_x86(code *c, uint32_t from, uint64_t begin, uint64_t end)
{
    const uint64_t limit = c->text.addr + c->text.size_bytes;
    for (uint64_t pc = begin; pc < end && limit - pc >= X86_CALL_BYTES; pc++) {
        const uint8_t *const p = c->text.bytes + (pc - c->text.addr);
        if (*p != X86_CALL) continue;
        const int32_t displacement = (int32_t)word_at(p + 1);
        if (add_call(c, from, pc + X86_CALL_BYTES + (uint64_t)(int64_t)displacement))
            pc += X86_CALL_BYTES - 1;
    }
}

static void scan_a64(code *c, uint32_t from, uint64_t begin, uint64_t end)
{
    for (uint64_t pc = begin; pc + 4 <= end; pc += 4) {
        const uint32_t word = word_at(c->text.bytes + (pc - c->text.addr));
        if ((word & A64_MASK) != A64_BRANCH) continue;
        const int64_t words = (int64_t)((word & 0x3ffffffu) ^ 0x2000000u) - 0x2000000;
        add_call(c, from, pc + (uint64_t)(words * 4));
    }
}

void pt_gprof_add_static_calls(pt_gprof *g)
{
    code c = {.g = g};
    if (!pt_gprof_find_text(g, &c.text) || c.text.bytes == NULL) return;
    const uint16_t machine = pt_object_elf(g->object)->machine;
    const uint64_t limit = c.text.addr + c.text.size_bytes;
    for (uint32_t i = 0; i < g->symbol.count; i++) {
        const pt_gprof_symbol *const s = &g->symbol.items[i];
        const uint64_t next = i + 1 < g->symbol.count ? s[1].addr : limit;
        const uint64_t begin = s->addr > c.text.addr ? s->addr : c.text.addr;
        const uint64_t end = next < limit ? next : limit;
        if (begin >= end) continue;
        if (machine == EM_X86_64 || machine == EM_386)
            scan_x86(&c, i, begin, end);
        else if (machine == EM_AARCH64)
            scan_a64(&c, i, begin, end);
    }
}
