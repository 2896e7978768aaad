/* ruby.c: finds the facts of the Ruby in the process: the program itself, or its library.
 *
 *   image with ruby_version -> version -> layout (interp/ruby.h) -> facts for the handler
 */
#include <stdio.h>

#include "agent/languages.h"
#include "agent/tick/ruby.h"
#include "interp/ruby_find.h"

static pt_tick_ruby_facts ruby;

extern const char loaded_ruby[] __asm__(PT_RUBY_VERSION) __attribute__((weak));
static const char *const volatile loaded = loaded_ruby;

static uint64_t addr_of(const pt_image *image, const char *name)
{
    uint64_t addr;
    return pt_language_symbol(image, name, &addr) ? addr : 0;
}

static bool read_image(void *arg, uint64_t addr, void *to, size_t size)
{
    (void)arg;
    return pt_maps_peek(addr, to, size);
}

static bool find_hidden_evaluator(const pt_image *image, const uint64_t *starts, uint32_t count,
                                  uint64_t *ret_low, uint64_t *ret_limit)
{
    pt_ruby_image in = {
        .read = read_image, .bias = image->bias, .starts = starts, .start_count = count};
    for (unsigned i = 0; i < image->count; i++) {
        const pt_image_segment *const s = &image->segments[i];
        if (s->p_type != PT_LOAD || (s->p_flags & PF_X) == 0) continue;
        in.code = image->bias + s->p_vaddr;
        in.code_limit = in.code + s->p_filesz;
    }
    return pt_image_relocations(image, &in.relocations, &in.relocation_bytes) &&
           pt_ruby_find_evaluator(&in, ret_low, ret_limit);
}

/* Finds the place of the context among the module's thread-local variables. */
static bool find_place(const pt_image *image, uint64_t *ret)
{
    const pt_ruby_image in = {.read = read_image};
    uint64_t reader, module;
    if (pt_language_symbol(image, PT_RUBY_CONTEXT, ret)) {
        *ret -= image->bias;
        return true;
    }
    return pt_language_symbol(image, PT_RUBY_READS_CONTEXT, &reader) &&
           pt_ruby_find_context(&in, reader, &module, ret);
}

static const void *attach_ruby(const pt_language_image *in, char why[PT_LANGUAGE_WHY_BYTES])
{
    uint64_t version;
    char text[8] = "";
    if (pt_language_symbol(in->image, PT_RUBY_VERSION, &version))
        pt_maps_peek(version, text, sizeof text - 1);
    ruby.layout = pt_ruby_layout_of_text(text);
    if (ruby.layout == NULL) {
        pt_ruby_reason(text, why, PT_LANGUAGE_WHY_BYTES);
        return NULL;
    }
    const bool is_only = ruby.layout->context_thread != 0;
    ruby.module = is_only ? 0 : pt_find_tls_module(in->image->bias);
    if ((ruby.module == 0 && !is_only) ||
        !(is_only ? pt_language_symbol(in->image, PT_RUBY_ONLY_CONTEXT, &ruby.context)
                  : find_place(in->image, &ruby.context)) ||
        in->evaluator->limit[0] == in->evaluator->low[0]) {
        snprintf(why, PT_LANGUAGE_WHY_BYTES, PT_RUBY_HIDES);
        return NULL;
    }
    ruby.object = addr_of(in->image, "rb_cObject");
    ruby.string = addr_of(in->image, "rb_cString");
    ruby.codes = in->codes;
    return &ruby;
}

const pt_language pt_language_ruby = {
    .file = "ruby",
    .mark = PT_RUBY_VERSION,
    .loaded = &loaded,
    .evaluator = PT_RUBY_EVALUATOR,
    .find_hidden = find_hidden_evaluator,
    .begins_early = true,
    .missing = PT_RUBY_MISSING,
    .lie = PT_RUBY_LIES,
    .wrong_looks = PT_TICK_RUBY_WRONG_LOOKS,
    .cache_bytes = sizeof(pt_tick_ruby_cache),
    .attach = attach_ruby,
};
