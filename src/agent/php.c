/* php.c: finds the facts of the PHP in the process: the program itself, or a library.
 *
 *   image with zend_ce_generator -> the text of its build -> facts for the handler (interp/php.h)
 */
#include <stdio.h>

#include "agent/languages.h"
#include "agent/tick/php.h"

static pt_tick_php_facts php;

extern const char loaded_php[] __asm__(PT_PHP_MARK) __attribute__((weak));
static const char *const volatile loaded = loaded_php;

/* The layout of the PHP build that the segment names; NULL if the segment has no text of a known
 * build. */
static const pt_php_layout *find_build(uint64_t addr, uint64_t bytes)
{
    enum { PIECE = 1 << 16, TEXT = PT_PHP_BUILD_BYTES };
    char *const piece = pt_agent_map(PIECE);
    const pt_php_layout *layout = NULL;
    while (piece != NULL && layout == NULL && bytes >= TEXT) {
        const size_t size = bytes < PIECE ? (size_t)bytes : PIECE;
        if (!pt_maps_peek(addr, piece, size)) break;
        layout = pt_php_layout_in(piece, size);
        if (bytes == size) break;
        addr += size - TEXT; /* the text may lie across the end of the piece */
        bytes -= size - TEXT;
    }
    pt_agent_unmap(piece, PIECE);
    return layout;
}

/* The layout of the PHP build that a segment with these flags names; NULL if no such segment names
 * a build. The last segment comes first: an image begins with a segment of names and
 * relocations. */
static const pt_php_layout *find_build_in(const pt_image *image, uint32_t flags)
{
    const pt_php_layout *layout = NULL;
    for (unsigned i = image->count; i-- > 0 && layout == NULL;) {
        const pt_image_segment *const s = &image->segments[i];
        if (s->p_type == PT_LOAD && s->p_flags == flags)
            layout = find_build(image->bias + s->p_vaddr, s->p_filesz);
    }
    return layout;
}

static const void *attach_php(const pt_language_image *in, char why[PT_LANGUAGE_WHY_BYTES])
{
    /* The text is a constant, so it lies in a segment that is not written to; in old programs that
     * is the segment of the code. */
    php.layout = find_build_in(in->image, PF_R);
    if (php.layout == NULL) php.layout = find_build_in(in->image, PF_R | PF_X);
    if (php.layout == NULL) {
        snprintf(why, PT_LANGUAGE_WHY_BYTES, PT_PHP_UNKNOWN);
        return NULL;
    }
    if (!pt_language_symbol(in->image, "executor_globals", &php.globals) ||
        !pt_language_symbol(in->image, PT_PHP_MARK, &php.generator_class) ||
        in->evaluator->limit[0] == in->evaluator->low[0]) {
        snprintf(why, PT_LANGUAGE_WHY_BYTES, "pitot cannot find the frames of this PHP");
        return NULL;
    }
    php.evaluator = in->evaluator;
    php.codes = in->codes;
    return &php;
}

const pt_language pt_language_php = {
    .file = "php",
    .has_fibers = true,
    .mark = PT_PHP_MARK,
    .loaded = &loaded,
    .evaluator = PT_PHP_EVALUATOR,
    .missing = PT_PHP_MISSING,
    .lie = PT_PHP_LIES,
    .wrong_looks = PT_TICK_PHP_WRONG_LOOKS,
    .cache_bytes = sizeof(pt_tick_php_cache),
    .attach = attach_php,
};
