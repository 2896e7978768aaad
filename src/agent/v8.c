/* v8.c: the V8 that is in the process: node itself, or a library of that name.
 *
 *   mapped image with v8dbg_ symbols -> their values -> layout (interp/v8.h) -> facts for the
 * handler
 *
 * The facts that the handler is given are never freed: it may be reading them at any time.
 */
#include <stdatomic.h>
#include <stdio.h>
#include <string.h>

#include "agent/images.h"

static struct {
    uint32_t changes; /* of the maps, when they were last looked at */
    bool is_said;
    uint64_t inode; /* of the image that was found or refused; 0 = none */
    pt_v8_layout layout;
    pt_tick_v8_facts facts;
} v8;

/* The loader's answer for what the program begins with: dlsym would call malloc to say no. */
extern const char loaded_v8[] __asm__(PT_V8_MARK) __attribute__((weak));

bool pt_v8_is_there(void)
{
    const char *volatile const loaded = loaded_v8; /* NULL if there is none */
    return loaded != NULL || v8.inode != 0;
}

static void refuse_v8(const char *why)
{
    if (!v8.is_said) pt_agent_say("%s: names of JavaScript functions will be missing", why);
    v8.is_said = true;
}

/* The value of a symbol by any of its names. */
static bool value_of(const pt_image *image, const pt_v8_symbol *symbol, int32_t *ret)
{
    enum { NAMES = sizeof symbol->names / sizeof symbol->names[0] };
    uint64_t addr, bytes;
    for (int i = 0; i < NAMES && symbol->names[i] != NULL; i++)
        if (pt_image_symbol(image, symbol->names[i], &addr, &bytes))
            return pt_maps_peek(addr, ret, sizeof *ret);
    return false;
}

static bool read_layout(const pt_image *image)
{
    char text[160];
    for (size_t i = 0; i < pt_v8_symbol_count; i++) {
        int32_t value;
        if (!value_of(image, &pt_v8_symbols[i], &value)) {
            snprintf(text, sizeof text,
                     "this V8 does not tell where its objects are (no symbol %s)",
                     pt_v8_symbols[i].names[0]);
            refuse_v8(text);
            return false;
        }
        memcpy((char *)&v8.layout + pt_v8_symbols[i].offset, &value, sizeof value);
    }
    if (pt_v8_layout_is_known(&v8.layout)) return true;
    refuse_v8("this V8 keeps its objects in another way than the builds that pitot knows");
    return false;
}

/* The addresses from the first to the last executable byte. */
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

static void take_v8(const pt_image *image)
{
    pt_tick_v8_facts *const facts = &v8.facts;
    if (sizeof(void *) != 8) {
        refuse_v8("V8 of a 32-bit machine");
        return;
    }
    if (!read_layout(image)) return;
    facts->layout = &v8.layout;
    facts->codes = pt_codes_for_handlers();
    find_code(image, &facts->low, &facts->limit);
    if (facts->codes == NULL || facts->low >= facts->limit) {
        refuse_v8(facts->codes == NULL ? "there is no memory for them" : "this V8 has no code");
        return;
    }
    atomic_store(&pt_tick_v8.facts, facts);
    pt_threads_each(pt_threads_want_v8, NULL);
}

static void look_at_image(const pt_maps_live *live, void *arg)
{
    (void)arg;
    char path[PATH_MAX];
    uint64_t addr, bytes;
    pt_image image;
    if (v8.inode != 0 || !pt_images_path(live, path) || !pt_images_may_be("node", path) ||
        !pt_image_look(live, &image) || !pt_image_symbol(&image, PT_V8_MARK, &addr, &bytes))
        return;
    v8.inode = live->inode;
    take_v8(&image);
}

void pt_v8_update(void)
{
    const uint32_t changes = pt_maps_changes();
    if (v8.inode != 0 || changes == v8.changes) return;
    v8.changes = changes;
    pt_maps_each_live(look_at_image, NULL);
}

void pt_v8_review(void)
{
    enum { WRONG_ENOUGH = 100 };
    if (v8.is_said || atomic_load(&pt_tick_v8.named) > 0 ||
        atomic_load(&pt_tick_v8.unnamed) < WRONG_ENOUGH)
        return;
    refuse_v8("this V8 keeps its objects in another way than its symbols say");
}

pt_tick_v8_cache *pt_v8_cache_new(void)
{
    return atomic_load(&pt_tick_v8.facts) != NULL ? pt_agent_map(sizeof(pt_tick_v8_cache)) : NULL;
}
