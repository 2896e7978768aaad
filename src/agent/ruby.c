/* ruby.c: the Ruby that is in the process: the program itself, or its library.
 *
 *   image with ruby_current_ec -> version -> layout (interp/ruby.h) -> facts for the handler
 */
#include <stdio.h>
#include <stdlib.h>

#include "agent/languages.h"
#include "agent/tick/ruby.h"

static pt_tick_ruby_facts ruby;

/* The mark itself is thread-local: its address cannot be taken so. */
extern const char loaded_ruby[] __asm__("ruby_version") __attribute__((weak));
static const char *const volatile loaded = loaded_ruby;

/* The text is like "3.1.2". */
static bool version_of(const pt_image *image, unsigned *ret_major, unsigned *ret_minor)
{
    char text[8] = "";
    uint64_t addr;
    char *end;
    if (!pt_language_symbol(image, "ruby_version", &addr) ||
        !pt_maps_peek(addr, text, sizeof text - 1))
        return false;
    *ret_major = (unsigned)strtoul(text, &end, 10);
    if (*end != '.') return false;
    *ret_minor = (unsigned)strtoul(end + 1, NULL, 10);
    return true;
}

static uint64_t addr_of(const pt_image *image, const char *name)
{
    uint64_t addr;
    return pt_language_symbol(image, name, &addr) ? addr : 0;
}

static const void *attach_ruby(const pt_language_image *in, char why[PT_LANGUAGE_WHY_BYTES])
{
    unsigned major = 0, minor = 0;
    uint64_t context;
    if (!version_of(in->image, &major, &minor)) {
        snprintf(why, PT_LANGUAGE_WHY_BYTES, "a Ruby that does not tell its version");
        return NULL;
    }
    ruby.layout = pt_ruby_layout_of(major, minor);
    if (ruby.layout == NULL) {
        snprintf(why, PT_LANGUAGE_WHY_BYTES,
                 "Ruby %u.%u, whose frames this pitot does not know (it knows 3.1)", major, minor);
        return NULL;
    }
    ruby.module = pt_find_tls_module(in->image->bias);
    if (ruby.module == 0 || !pt_language_symbol(in->image, PT_RUBY_MARK, &context) ||
        in->evaluator->limit[0] == in->evaluator->low[0]) {
        snprintf(why, PT_LANGUAGE_WHY_BYTES, "this Ruby does not tell where its frames are");
        return NULL;
    }
    ruby.context = context - in->image->bias;
    ruby.object = addr_of(in->image, "rb_cObject");
    ruby.string = addr_of(in->image, "rb_cString");
    ruby.codes = in->codes;
    return &ruby;
}

const pt_language pt_language_ruby = {
    .file = "ruby",
    .mark = PT_RUBY_MARK,
    .loaded = &loaded,
    .evaluator = "rb_vm_exec",
    .begins_early = true,
    .missing = "names of its functions will be missing",
    .lie = "this Ruby keeps its frames in another way than the versions that pitot knows",
    .wrong_looks = PT_TICK_RUBY_WRONG_LOOKS,
    .cache_bytes = sizeof(pt_tick_ruby_cache),
    .attach = attach_ruby,
};
