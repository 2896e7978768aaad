/* language.h: the handler's data about each language whose functions it reads from an interpreter's
 * memory. A language has a row here and a row in agent/languages.c, and a file in this folder and
 * in agent. */
#pragma once

#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>

#include "agent/tick/peek.h"
#include "interp/merge.h"
#include "interp/text.h"
#include "wire/journal.h"

/* The 64-bit number that stands for an interpreter's frame in a ring: PT_INTERP_FRAME, perhaps
 * PT_INTERP_ENTRY, _EMPTY or _LAST, the number of the function (codes.h), and 1 + the place in its
 * code. */
#define PT_TICK_FRAME_WORD(number, place)                                                          \
    (PT_INTERP_FRAME | (uint64_t)(number) << 32 | (uint32_t)((place) + 1))

/* The data about one language, an element of pt_tick_languages, which PT_JOURNAL_LANGUAGE_X
 * indexes. */
typedef struct {
    /* A struct of the language's own type (as pt_tick_php_facts); NULL: the process has no
     * interpreter whose frames can be read. The struct is never changed, only replaced. */
    _Atomic(const void *) facts;
    /* The number of objects that fitted the layout when they were first read, and the number of
     * objects that did not; each up to PT_TICK_LOOKS_MAX. */
    _Atomic(uint32_t) right, wrong;
} pt_tick_language;

enum { PT_TICK_LOOKS_MAX = 128 };

extern pt_tick_language pt_tick_languages[PT_JOURNAL_LANGUAGES];

static inline void pt_tick_note_look(unsigned language, bool is_right)
{
    pt_tick_language *const l = &pt_tick_languages[language];
    _Atomic(uint32_t) *const count = is_right ? &l->right : &l->wrong;
    if (atomic_load_explicit(count, memory_order_relaxed) < PT_TICK_LOOKS_MAX)
        atomic_fetch_add_explicit(count, 1, memory_order_relaxed);
}

/* Did `enough` objects or more not fit the layout, while no object fitted it? Then no frame is
 * read. */
static inline bool pt_tick_is_wrong(unsigned language, uint32_t enough)
{
    pt_tick_language *const l = &pt_tick_languages[language];
    return atomic_load_explicit(&l->wrong, memory_order_relaxed) >= enough &&
           atomic_load_explicit(&l->right, memory_order_relaxed) == 0;
}

/* The place for the words of a sample's frames: innermost first, at most `most`, at
 * words[(at + i) & mask]. The words of the native stack lie before them. */
typedef struct {
    uint64_t *words;
    uint64_t mask, at;
    uint32_t most, native; /* words */
    bool is_whole;         /* the native stack reaches the start of the thread */
    const uint64_t *regs;  /* of the interrupted code, by DWARF number */
} pt_tick_frames;

/* Marks the last of these `count` frames as the outermost one. */
static inline void pt_tick_end_frames(const pt_tick_frames *frames, uint32_t count)
{
    if (count > 0) frames->words[(frames->at + count - 1) & frames->mask] |= PT_INTERP_LAST;
}

/* Steps to the next outer frame. Sets *ret_word, which is 0 before the call, to the word that
 * stands for this frame (as PT_TICK_FRAME_WORD); leaves it 0 if the frame does not fit the
 * layout. */
typedef pt_interp_step pt_tick_next_frame(void *arg, uint64_t *ret_word);

/* Writes the words of a language's frames, and notes whether the innermost frame fitted the layout.
 * Returns the number of words. first: PT_INTERP_FRAME_READ if `next` may be called. reading:
 * is_fresh is set to false after the innermost frame. */
uint32_t pt_tick_put_frames(unsigned language, const pt_tick_frames *frames, uint32_t most,
                            pt_tick_reading *reading, pt_interp_step first,
                            pt_tick_next_frame *next, void *arg);

/* Reads the calling thread's frames of the first language that has some, and returns their number.
 * interp/merge.h joins them with the native frames later. caches: the thread's caches, indexed by
 * language; each begins with its pt_tick_pages. */
uint32_t pt_tick_read_frames(_Atomic(void *) caches[PT_JOURNAL_LANGUAGES],
                             const pt_tick_frames *frames);
