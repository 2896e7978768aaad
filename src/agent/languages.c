/* languages.c: finds interpreters among the mapped images, and joins their frames with native ones.
 *
 *   mapped image with a language's mark -> the language's attach -> facts for the handler
 *   frames in a ring                    -> merged with native ones */
#include "agent/languages.h"

#include <stdatomic.h>
#include <stdio.h>
#include <string.h>

#include "unwind/split.h"

enum { CODE_MAX_BYTES = 1 << 20 }; /* of an evaluator */

static const pt_language *const rows[] = {
    [PT_JOURNAL_LANGUAGE_PYTHON] = &pt_language_python,
    [PT_JOURNAL_LANGUAGE_JAVASCRIPT] = &pt_language_v8,
    [PT_JOURNAL_LANGUAGE_PHP] = &pt_language_php,
    [PT_JOURNAL_LANGUAGE_RUBY] = &pt_language_ruby,
    [PT_JOURNAL_LANGUAGE_PERL] = &pt_language_perl,
    [PT_JOURNAL_LANGUAGE_JAVA] = &pt_language_java,
};

enum { LANGUAGES = sizeof rows / sizeof rows[0] };

static struct {
    uint32_t changes; /* the number of changes of the maps at the last search */
    uint32_t rounds;  /* searches since then */
    bool is_starting; /* an interpreter was found that has not started yet */
    struct {
        bool is_said;
        uint64_t inode; /* of the interpreter that was found or refused; 0 = none */
    } of[LANGUAGES];
    const pt_language *counted; /* the language whose frames are joined by counting; NULL = none */
    pt_interp_evaluator evaluator;
} languages;

PT_NEAR bool pt_languages_any(void)
{
    for (int i = 0; i < LANGUAGES; i++)
        if (*rows[i]->loaded != NULL || languages.of[i].inode != 0) return true;
    return false;
}

/* ---- finding ---- */

/* Finds an evaluator that is one whole function. */
static bool find_whole(const pt_language *row, const pt_image *image, const uint64_t *starts,
                       uint32_t count, pt_interp_evaluator *ret)
{
    uint64_t bytes;
    if (pt_image_symbol(image, row->evaluator, &ret->low[0], &bytes))
        ret->limit[0] = ret->low[0] + bytes;
    else if (row->find_hidden == NULL || starts == NULL ||
             !row->find_hidden(image, starts, count, &ret->low[0], &ret->limit[0]))
        return false;
    return ret->limit[0] - ret->low[0] <= CODE_MAX_BYTES;
}

static void find_segment(const pt_image *image, uint64_t addr, uint64_t *ret_low,
                         uint64_t *ret_limit)
{
    for (unsigned i = 0; i < image->count; i++) {
        const pt_image_segment *const s = &image->segments[i];
        const uint64_t low = image->bias + s->p_vaddr;
        if (s->p_type != PT_LOAD || addr - low >= s->p_memsz) continue;
        *ret_low = low;
        *ret_limit = low + s->p_memsz;
    }
}

static void find_evaluator(const pt_language *row, const pt_image *image, pt_interp_evaluator *ret)
{
    uint32_t count = 0;
    size_t map_bytes = 0;
    uint64_t *const starts = pt_image_entries(image, &count, &map_bytes);
    *ret = (pt_interp_evaluator){0};
    if (find_whole(row, image, starts, count, ret)) {
        const uint64_t addr = ret->low[0], bytes = ret->limit[0] - addr;
        uint8_t *const code = pt_agent_map((size_t)bytes);
        if (starts != NULL && code != NULL && pt_maps_peek(addr, code, (size_t)bytes))
            pt_unwind_split_part(image->machine, code, bytes, addr, starts, count, &ret->low[1],
                                 &ret->limit[1]);
        pt_agent_unmap(code, (size_t)bytes);
        find_segment(image, addr, &ret->file_low, &ret->file_limit);
    } else {
        *ret = (pt_interp_evaluator){0};
    }
    pt_agent_unmap(starts, map_bytes);
}

static void refuse_interpreter(unsigned language, const char *why)
{
    if (!languages.of[language].is_said) pt_agent_say("%s: %s", why, rows[language]->missing);
    languages.of[language].is_said = true;
}

static void want_cache(pt_thread *slot, void *arg)
{
    (void)arg;
    pt_languages_want_caches(slot);
}

/* Publishes the facts of the interpreter in an image, or refuses the interpreter. Returns false if
 * the interpreter has not started yet. */
static bool attach_interpreter(unsigned language, const pt_image *image, const char *path)
{
    const pt_language *const row = rows[language];
    char why[PT_LANGUAGE_WHY_BYTES];
    if (sizeof(void *) != 8) {
        refuse_interpreter(language, "pitot reads no interpreters on 32-bit machines");
        return true;
    }
    if (row->evaluator != NULL && languages.counted != NULL) {
        refuse_interpreter(language,
                           "pitot reads only one interpreter in a process, and this is the second");
        return true;
    }
    const pt_language_image in = {.image = image,
                                  .path = path,
                                  .evaluator = &languages.evaluator,
                                  .codes = pt_codes_for_handlers()};
    if (in.codes == NULL) {
        refuse_interpreter(language, "there is no memory for an interpreter's names");
        return true;
    }
    if (row->evaluator != NULL) {
        find_evaluator(row, image, &languages.evaluator);
        languages.evaluator.begins_early = row->begins_early;
        languages.evaluator.has_guards = row->has_guards;
        languages.evaluator.has_fibers = row->has_fibers;
    }
    const void *const facts = row->attach(&in, why);
    if (facts == NULL) {
        if (why[0] == '\0') return false;
        refuse_interpreter(language, why);
        return true;
    }
    if (row->evaluator != NULL) languages.counted = row;
    atomic_store(&pt_tick_languages[language].facts, facts);
    pt_threads_each(want_cache, NULL);
    return true;
}

static void look_at_image(const pt_maps_live *live, void *arg)
{
    (void)arg;
    char path[PATH_MAX];
    uint64_t addr;
    pt_image image;
    bool has_path = false, has_image = false;
    for (unsigned i = 0; i < LANGUAGES; i++) {
        if (languages.of[i].inode != 0) continue;
        if (!has_path && !pt_images_path(live, path)) return;
        has_path = true;
        if (!pt_images_may_be(rows[i]->file, path)) continue;
        if (!has_image && !pt_image_look(live, &image)) return;
        has_image = true;
        if (!pt_language_symbol(&image, rows[i]->mark, &addr)) continue;
        if (attach_interpreter(i, &image, path))
            languages.of[i].inode = live->inode;
        else
            languages.is_starting = true;
    }
}

PT_NEAR void pt_languages_update(void)
{
    enum { ROUNDS_MAX = 256 }; /* an interpreter that starts later maps memory, which is a change */
    const uint32_t changes = pt_maps_changes();
    if (changes != languages.changes) languages.rounds = 0;
    if (changes == languages.changes && (!languages.is_starting || ++languages.rounds > ROUNDS_MAX))
        return;
    languages.changes = changes;
    languages.is_starting = false;
    pt_maps_each_live(look_at_image, NULL);
}

void pt_languages_review(void)
{
    for (unsigned i = 0; i < LANGUAGES; i++)
        if (!languages.of[i].is_said && pt_tick_is_wrong(i, rows[i]->wrong_looks))
            refuse_interpreter(i, rows[i]->lie);
}

/* ---- threads ---- */

PT_NEAR void pt_languages_want_caches(pt_thread *slot)
{
    for (unsigned i = 0; i < LANGUAGES; i++)
        if (atomic_load(&slot->interp_cache[i]) == NULL &&
            atomic_load(&pt_tick_languages[i].facts) != NULL)
            atomic_store(&slot->interp_cache[i], pt_agent_map(rows[i]->cache_bytes));
}

PT_NEAR void pt_languages_forget_pages(pt_thread *slot)
{
    for (unsigned i = 0; i < LANGUAGES; i++) {
        pt_tick_pages *const pages =
            atomic_load(&slot->interp_cache[i]); /* a cache's first field */
        if (pages != NULL) pt_tick_forget_pages(pages);
    }
}

/* ---- joining ---- */

uint32_t pt_languages_merge(const uint64_t *words, uint32_t native, uint32_t frames, bool is_whole,
                            uint64_t *ret_chain, bool *ret_certain)
{
    uint32_t count = native;
    *ret_certain = true;
    if (frames == 0) {
        memcpy(ret_chain, words, native * sizeof words[0]);
        return count;
    }
    *ret_certain = pt_interp_merge(&languages.evaluator, words, native, is_whole, words + native,
                                   frames, ret_chain, &count) == PT_MERGE_CERTAIN;
    return count;
}
