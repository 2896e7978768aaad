/* language.c: see language.h. */
#include "agent/tick/language.h"

#include "agent/tick/php.h"
#include "agent/tick/python.h"
#include "agent/tick/ruby.h"

pt_tick_language pt_tick_languages[PT_JOURNAL_LANGUAGES];

/* Frames of V8 are found while the native stack is walked (v8.h). */
static uint32_t (*const readers[PT_JOURNAL_LANGUAGES])(void *cache, const void *facts,
                                                       const pt_tick_frames *frames) = {
    [PT_JOURNAL_LANGUAGE_PYTHON] = pt_tick_python_frames,
    [PT_JOURNAL_LANGUAGE_PHP] = pt_tick_php_frames,
    [PT_JOURNAL_LANGUAGE_RUBY] = pt_tick_ruby_frames,
};

uint32_t pt_tick_read_frames(_Atomic(void *) caches[PT_JOURNAL_LANGUAGES],
                             const pt_tick_frames *frames)
{
    for (unsigned i = 0; i < PT_JOURNAL_LANGUAGES; i++) {
        const void *const facts = atomic_load(&pt_tick_languages[i].facts);
        void *const cache = atomic_load(&caches[i]);
        if (facts == NULL || cache == NULL || readers[i] == NULL) continue;
        const uint32_t count = readers[i](cache, facts, frames);
        if (count > 0) return count;
    }
    return 0;
}
