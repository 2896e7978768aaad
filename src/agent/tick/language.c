/* language.c: see language.h. */
#include "agent/tick/language.h"

#include "agent/tick/perl.h"
#include "agent/tick/php.h"
#include "agent/tick/python.h"
#include "agent/tick/ruby.h"

pt_tick_language pt_tick_languages[PT_JOURNAL_LANGUAGES];

/* Frames of V8 and of Java are found while the native stack is walked (v8.h, java.h). */
static uint32_t (*const readers[PT_JOURNAL_LANGUAGES])(void *cache, const void *facts,
                                                       const pt_tick_frames *frames) = {
    [PT_JOURNAL_LANGUAGE_PYTHON] = pt_tick_python_frames,
    [PT_JOURNAL_LANGUAGE_PHP] = pt_tick_php_frames,
    [PT_JOURNAL_LANGUAGE_RUBY] = pt_tick_ruby_frames,
    [PT_JOURNAL_LANGUAGE_PERL] = pt_tick_perl_frames,
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

uint32_t pt_tick_put_frames(unsigned language, const pt_tick_frames *frames, uint32_t most,
                            pt_tick_reading *reading, pt_interp_step first,
                            pt_tick_next_frame *next, void *arg)
{
    uint32_t count = 0;
    pt_interp_step step = first;
    if (most > frames->most) most = frames->most;
    while (step == PT_INTERP_FRAME_READ && count < most) {
        uint64_t word = 0;
        step = next(arg, &word);
        if (step != PT_INTERP_FRAME_READ) break;
        if (count == 0) pt_tick_note_look(language, word != 0);
        if (word == 0) return count;
        frames->words[(frames->at + count++) & frames->mask] = word;
        reading->is_fresh = false;
    }
    if (step == PT_INTERP_BAD_READ && count == 0) pt_tick_note_look(language, false);
    if (step == PT_INTERP_END) pt_tick_end_frames(frames, count);
    return count;
}
