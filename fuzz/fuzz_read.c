/* fuzz_read.c: bytes read as one format of the registry, checked, and no more: fast, so that a
 * fuzzer gets far into the reader. The build makes a target read_NAME of each format; what becomes
 * of a profile that was read is fuzz_format.c's.
 *
 * The hooks vary with the number of bytes: notes of comments, bins only, a word size, stacks that
 * are unwound. What a reader gives back (discard) cannot be read again.
 */
#include <sanitizer/asan_interface.h>

#include "formats_fuzz.h"

extern const pt_format PT_FUZZ_FORMAT; /* pt_format_NAME */

static volatile uint64_t kept;

/* The input is done with up to there. */
static void poison_upto(void *context, uint64_t upto)
{
    ASAN_POISON_MEMORY_REGION(context, upto);
}

/* Looks at all that the reader gives, and says that it is one frame for each 64 bytes. */
static size_t unwind_none(void *context, const pt_read_stack *stack, uint64_t *ret_pcs, size_t cap,
                          pt_stack_end *ret_end)
{
    uint64_t sum = 0;
    for (size_t i = 0; i < stack->byte_count; i++)
        sum += stack->bytes[i];
    for (size_t i = 0; i < 33; i++)
        sum += stack->registers[i];
    for (size_t i = 0; i < stack->map_count; i++) {
        const pt_read_map *map = (const void *)((const char *)stack->maps + i * stack->map_bytes);
        sum += map->range.start + strlen(map->path) + strlen(map->build_id);
    }
    kept += sum;
    const size_t frames = stack->byte_count / 64 < cap ? stack->byte_count / 64 : cap;
    for (size_t i = 0; i < frames; i++)
        ret_pcs[i] = stack->registers[16] + i;
    *ret_end = PT_STACK_END_ROOT;
    return frames;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    uint8_t *const bytes = malloc(size > 0 ? size : 1);
    if (bytes == NULL) return 0;
    if (size > 0) memcpy(bytes, data, size);
    const pt_read_hooks hooks = {
        .context = bytes,
        .discard = poison_upto,
        .unwind = size & 1 ? unwind_none : NULL,
        .inflated_bytes = 1 << 20,
        .word_bytes = size & 2 ? 4 : 0,
        .annotate = (size & 4) != 0,
        .bins_only = (size & 8) != 0,
    };
    pt_status status;
    pt_profile_unref(fuzz_read_with(&PT_FUZZ_FORMAT, bytes, size, hooks, &status));
    ASAN_UNPOISON_MEMORY_REGION(bytes, size);
    free(bytes);
    return 0;
}
