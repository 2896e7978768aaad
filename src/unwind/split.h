/* split.h: the part of a function that its compiler put elsewhere (GCC's NAME.cold), without
 * symbols: jumps of the function lead into the middle of a stretch of code that has an entry of
 * .eh_frame of its own. Jumps to the beginning of one are calls at the end of a function.
 */
#ifndef PT_UNWIND_SPLIT_H
#define PT_UNWIND_SPLIT_H

#include <stdbool.h>
#include <stdint.h>

/* code: the bytes of the function, which lies at addr; starts: where entries of .eh_frame begin,
 * ascending. Only x86-64 is read: false elsewhere, and if there is no such part. */
bool pt_unwind_split_part(uint16_t elf_machine, const uint8_t *code, uint64_t bytes, uint64_t addr,
                          const uint64_t *starts, uint32_t count, uint64_t *ret_low,
                          uint64_t *ret_limit);

#endif
