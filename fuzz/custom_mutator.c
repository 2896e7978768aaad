/* custom_mutator.c: what libFuzzer calls to change an input of a target whose input is a protobuf
 * message, with PT_FUZZ_TRAILER bytes of choices behind it. Half of the changes are libFuzzer's
 * own, so that what is no message is met, too. */
#include "mutate_protobuf.h"

#include <string.h>

#ifndef PT_FUZZ_TRAILER
#define PT_FUZZ_TRAILER 0
#endif

size_t LLVMFuzzerCustomMutator(uint8_t *data, size_t size, size_t max_size, unsigned seed);

size_t LLVMFuzzerCustomMutator(uint8_t *data, size_t size, size_t max_size, unsigned seed)
{
    uint8_t trailer[PT_FUZZ_TRAILER + 1];
    if (seed % 2 == 0 || size < PT_FUZZ_TRAILER || max_size < 2 * PT_FUZZ_TRAILER)
        return LLVMFuzzerMutate(data, size, max_size);
    const size_t message = size - PT_FUZZ_TRAILER;
    memcpy(trailer, data + message, PT_FUZZ_TRAILER);
    const size_t changed = mutate_protobuf(data, message, max_size - PT_FUZZ_TRAILER, seed / 2);
    memcpy(data + changed, trailer, PT_FUZZ_TRAILER);
    return changed + PT_FUZZ_TRAILER;
}
