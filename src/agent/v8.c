/* v8.c: finds the facts of the V8 in the process: node itself, or a library.
 *
 *   image with v8dbg_ symbols -> their values -> layout (interp/v8.h) -> facts for the handler
 */
#include <stdio.h>
#include <string.h>

#include "agent/languages.h"

static pt_v8_layout layout;
static pt_tick_v8_facts v8;

extern const char loaded_v8[] __asm__(PT_V8_MARK) __attribute__((weak));
static const char *const volatile loaded = loaded_v8;

/* Finds the value of a symbol by any of its names. */
static bool value_of(const pt_image *image, const pt_v8_symbol *symbol, int32_t *ret)
{
    enum { NAMES = sizeof symbol->names / sizeof symbol->names[0] };
    uint64_t addr, bytes;
    for (int i = 0; i < NAMES && symbol->names[i] != NULL; i++)
        if (pt_image_symbol(image, symbol->names[i], &addr, &bytes))
            return pt_maps_peek(addr, ret, sizeof *ret);
    return false;
}

static bool read_layout(const pt_image *image, char why[PT_LANGUAGE_WHY_BYTES])
{
    for (size_t i = 0; i < pt_v8_symbol_count; i++) {
        int32_t value;
        if (!value_of(image, &pt_v8_symbols[i], &value)) {
            snprintf(why, PT_LANGUAGE_WHY_BYTES,
                     "pitot cannot find the objects of this V8 (it has no symbol %s)",
                     pt_v8_symbols[i].names[0]);
            return false;
        }
        memcpy((char *)&layout + pt_v8_symbols[i].offset, &value, sizeof value);
    }
    if (pt_v8_layout_is_known(&layout)) return true;
    snprintf(why, PT_LANGUAGE_WHY_BYTES, PT_V8_UNKNOWN);
    return false;
}

/* Finds the range from the first to the last executable byte of the image. */
static void find_code(const pt_image *image, uint64_t *ret_low, uint64_t *ret_limit)
{
    *ret_low = UINT64_MAX;
    *ret_limit = 0;
    for (unsigned i = 0; i < image->count; i++) {
        const pt_image_segment *const s = &image->segments[i];
        const uint64_t low = image->bias + s->p_vaddr, limit = low + s->p_memsz;
        if (s->p_type != PT_LOAD || (s->p_flags & PF_X) == 0 || limit < low) continue;
        if (low < *ret_low) *ret_low = low;
        if (limit > *ret_limit) *ret_limit = limit;
    }
}

static const void *attach_v8(const pt_language_image *in, char why[PT_LANGUAGE_WHY_BYTES])
{
    if (!read_layout(in->image, why)) return NULL;
    v8.layout = &layout;
    v8.codes = in->codes;
    find_code(in->image, &v8.low, &v8.limit);
    if (v8.low < v8.limit) return &v8;
    snprintf(why, PT_LANGUAGE_WHY_BYTES, "this V8 has no code");
    return NULL;
}

const pt_language pt_language_v8 = {
    .file = "node",
    .mark = PT_V8_MARK,
    .loaded = &loaded,
    .missing = PT_V8_MISSING,
    .lie = PT_V8_LIES,
    .wrong_looks = 100,
    .cache_bytes = sizeof(pt_tick_v8_cache),
    .attach = attach_v8,
};
