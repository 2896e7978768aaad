/* perl.c: finds the facts of the Perl in the process: the program itself, or its library.
 *
 *   image with PL_thr_key -> version -> layout (interp/perl.h) -> facts for the handler
 */
#include <stdio.h>

#include "agent/languages.h"
#include "agent/tick/perl.h"

static pt_tick_perl_facts perl;

extern const char loaded_perl[] __asm__(PT_PERL_MARK) __attribute__((weak));
static const char *const volatile loaded = loaded_perl;

static const void *attach_perl(const pt_language_image *in, char why[PT_LANGUAGE_WHY_BYTES])
{
    uint64_t addr;
    uint8_t minor = 0;
    const bool has_version = pt_language_symbol(in->image, PT_PERL_VERSION, &addr) &&
                             pt_maps_peek(addr, &minor, sizeof minor);
    perl.layout = pt_perl_layout_of(minor);
    if (!has_version || perl.layout == NULL) {
        snprintf(why, PT_LANGUAGE_WHY_BYTES, PT_PERL_UNKNOWN, minor);
        return NULL;
    }
    pt_libc_find_threads();
    perl.getspecific = pt_libc_getspecific();
    perl.codes = in->codes;
    if (perl.getspecific != NULL && pt_language_symbol(in->image, PT_PERL_MARK, &perl.key) &&
        in->evaluator->limit[0] != in->evaluator->low[0])
        return &perl;
    snprintf(why, PT_LANGUAGE_WHY_BYTES, "pitot cannot find the frames of this Perl");
    return NULL;
}

const pt_language pt_language_perl = {
    .file = "perl",
    .mark = PT_PERL_MARK,
    .loaded = &loaded,
    .evaluator = PT_PERL_EVALUATOR,
    .begins_early = true,
    .has_guards = true,
    .missing = PT_PERL_MISSING,
    .lie = PT_PERL_LIES,
    .wrong_looks = PT_TICK_PERL_WRONG_LOOKS,
    .cache_bytes = sizeof(pt_tick_perl_cache),
    .attach = attach_perl,
};
