/* split.h: finds the part of a function that the compiler placed elsewhere (GCC's NAME.cold),
 * without symbols. The evidence is that jumps of the function lead into the middle of a code range
 * that has its own entry in .eh_frame. Jumps to the start of such a range are tail calls.
 */
#pragma once

#include <stdbool.h>
#include <stdint.h>

/* code: the function's bytes, which lie at addr. starts: the start addresses of all entries in
 * .eh_frame, ascending. Returns false if the function has no such part, or if the machine is not
 * x86-64. */
bool pt_unwind_split_part(uint16_t elf_machine, const uint8_t *code, uint64_t bytes, uint64_t addr,
                          const uint64_t *starts, uint32_t count, uint64_t *ret_low,
                          uint64_t *ret_limit);
