/* php.c: the PHP that is in the process: the program itself, or a library of that name.
 *
 *   image with zend_ce_generator -> the text of its build -> facts for the handler (interp/php.h)
 */
#include <stdio.h>
#include <string.h>

#include "agent/languages.h"
#include "agent/tick/php.h"

static pt_tick_php_facts php;

extern const char loaded_php[] __asm__(PT_PHP_MARK) __attribute__((weak));
static const char *const volatile loaded = loaded_php;

/* Has the segment the text of the build that is known? */
static bool has_build(uint64_t addr, uint64_t bytes)
{
    enum { PIECE = 1 << 16, TEXT = sizeof PT_PHP_BUILD };
    char *const piece = pt_agent_map(PIECE);
    bool has = false;
    while (piece != NULL && !has && bytes >= TEXT) {
        const size_t size = bytes < PIECE ? (size_t)bytes : PIECE;
        if (!pt_maps_peek(addr, piece, size)) break;
        has = memmem(piece, size, PT_PHP_BUILD, TEXT) != NULL;
        if (bytes == size) break;
        addr += size - TEXT; /* the text may lie across the end */
        bytes -= size - TEXT;
    }
    pt_agent_unmap(piece, PIECE);
    return has;
}

/* flags: of the segments that are searched */
static bool has_build_in(const pt_image *image, uint32_t flags)
{
    for (unsigned i = 0; i < image->count; i++) {
        const pt_image_segment *const s = &image->segments[i];
        if (s->p_type == PT_LOAD && s->p_flags == flags &&
            has_build(image->bias + s->p_vaddr, s->p_filesz))
            return true;
    }
    return false;
}

/* The text is a constant: it lies where nothing is written, in old programs beside the code. */
static bool is_known(const pt_image *image)
{
    return has_build_in(image, PF_R) || has_build_in(image, PF_R | PF_X);
}

static const void *attach_php(const pt_language_image *in, char why[PT_LANGUAGE_WHY_BYTES])
{
    if (!is_known(in->image)) {
        snprintf(why, PT_LANGUAGE_WHY_BYTES, PT_PHP_UNKNOWN);
        return NULL;
    }
    if (!pt_language_symbol(in->image, "executor_globals", &php.globals) ||
        !pt_language_symbol(in->image, PT_PHP_MARK, &php.generator_class) ||
        in->evaluator->limit[0] == in->evaluator->low[0]) {
        snprintf(why, PT_LANGUAGE_WHY_BYTES, "this PHP does not tell where its frames are");
        return NULL;
    }
    php.evaluator = in->evaluator;
    php.codes = in->codes;
    return &php;
}

const pt_language pt_language_php = {
    .file = "php",
    .mark = PT_PHP_MARK,
    .loaded = &loaded,
    .evaluator = PT_PHP_EVALUATOR,
    .missing = PT_PHP_MISSING,
    .lie = PT_PHP_LIES,
    .wrong_looks = PT_TICK_PHP_WRONG_LOOKS,
    .cache_bytes = sizeof(pt_tick_php_cache),
    .attach = attach_php,
};
