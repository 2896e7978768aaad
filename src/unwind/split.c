/* split.c: see split.h. */
#include "unwind/split.h"

#include <elf.h>

#include "base/plain/ascending.h"
#include "unwind/x86.h"

/* The last entry that begins at or before addr; count if none does. */
static uint32_t entry_of(const uint64_t *starts, uint32_t count, uint64_t addr)
{
    const size_t after = pt_first_after(starts, count, sizeof *starts, 0, addr);
    return after > 0 ? (uint32_t)after - 1 : count;
}

bool pt_unwind_split_part(uint16_t elf_machine, const uint8_t *code, uint64_t bytes, uint64_t addr,
                          const uint64_t *starts, uint32_t count, uint64_t *ret_low,
                          uint64_t *ret_limit)
{
    uint32_t found = count, votes = 0;
    pt_insn insn;
    if (elf_machine != EM_X86_64) return false;
    for (uint64_t at = 0; at < bytes && pt_x86_decode(code + at, bytes - at, &insn);) {
        at += insn.length;
        if ((insn.kind != PT_INSN_JUMP && insn.kind != PT_INSN_BRANCH) || !insn.is_direct) continue;
        const uint64_t target = addr + at + (uint64_t)(int64_t)insn.value;
        if (target - addr < bytes) continue;
        const uint32_t entry = entry_of(starts, count, target);
        if (entry + 1 >= count || starts[entry] == target) continue;
        /* Majority vote: the entry that most jumps lead into remains. */
        if (votes == 0) found = entry;
        votes = found == entry ? votes + 1 : votes - 1;
    }
    if (votes == 0) return false;
    *ret_low = starts[found];
    *ret_limit = starts[found + 1];
    return true;
}
