/* v8.c: see v8.h. */
#include "agent/tick/v8.h"

#include <stdatomic.h>

#include "wire/journal.h"

enum { SLOTS = sizeof((pt_tick_v8_cache *)0)->slot / sizeof((pt_tick_v8_cache *)0)->slot[0] };

/* The number of characters of sources that a sample searches for lines; a function further back in
 * a source is named by a later sample. */
enum { BUDGET_CHARACTERS = 512 << 10 };

/* ---- functions ---- */

/* Copies name, file and first line of the function, and finds the function's number (codes.h). */
static bool take_content(pt_tick_reading *r, pt_tick_v8_cache *cache, const pt_tick_v8_facts *facts,
                         const pt_v8_function *f, uint32_t *ret_number)
{
    char *const text = (char *)cache->text;
    pt_v8_text_room name = {.text = text, .cap = PT_TICK_V8_NAME_BYTES};
    pt_v8_text_room file = {.text = text + PT_TICK_V8_NAME_BYTES, .cap = PT_TICK_V8_FILE_BYTES};
    /* The source may be long, so it is read without a copy by the kernel: its objects were found to
     * be valid. */
    pt_tick_reading asking = {.pages = &cache->pages, .is_fresh = true};
    const pt_v8_reader objects = {pt_tick_read_memory, r}, source = {pt_tick_read_memory, &asking};
    int32_t line;
    if (!pt_v8_names(facts->layout, pt_tick_read_memory, r, f, &name, &file) ||
        !pt_v8_line_of(&cache->lines, facts->layout, &objects, &source, f, &line))
        return false;
    memmove(text + name.bytes, file.text, file.bytes);
    const pt_tick_known_code like = {.first_line = line,
                                     .name_bytes = (uint16_t)name.bytes,
                                     .file_bytes = (uint16_t)file.bytes,
                                     .language = PT_JOURNAL_LANGUAGE_JAVASCRIPT};
    *ret_number = pt_tick_code_number(facts->codes, &like, cache->text);
    return true;
}

/* The slot for an address, which may be in any slot of a set: the slot that holds the address, else
 * the slot that was used longest ago. A set has so many slots that the functions of a stack of
 * hundreds nearly always fit: reading a function again in each sample costs much. */
static pt_tick_v8_slot *slot_of(pt_tick_v8_cache *cache, uint64_t shared)
{
    enum { WAYS = sizeof cache->slot[0] / sizeof cache->slot[0][0], INDEX_BITS = 9 };
    _Static_assert(SLOTS == 1 << INDEX_BITS, "the highest bits of the product are the index");
    pt_tick_v8_slot *const set =
        cache->slot[shared * UINT64_C(0x9e3779b97f4a7c15) >> (64 - INDEX_BITS)];
    pt_tick_v8_slot *oldest = set;
    for (int i = 0; i < WAYS; i++) {
        if (set[i].function.shared == shared) return &set[i];
        if (cache->pages.samples - set[i].sample > cache->pages.samples - oldest->sample)
            oldest = &set[i];
    }
    return oldest;
}

/* The slot of the function; NULL if the function's name cannot be found in this sample. */
static const pt_tick_v8_slot *look_up(pt_tick_v8_cache *cache, const pt_tick_v8_facts *facts,
                                      uint64_t object)
{
    pt_tick_reading r = {.pages = &cache->pages, .is_fresh = true};
    pt_v8_function f;
    uint64_t shared;
    uint32_t number = 0;
    if (!pt_tick_read_memory(&r, object - 1 + (uint64_t)facts->layout->function_shared, &shared,
                             sizeof shared))
        return NULL;
    /* An empty slot has the address 0, which is never tagged. */
    pt_tick_v8_slot *slot = pt_v8_is_tagged(shared) ? slot_of(cache, shared) : NULL;
    if (slot != NULL && slot->function.shared == shared &&
        pt_v8_function_is(facts->layout, pt_tick_read_memory, &r, object, &slot->function)) {
        slot->sample = cache->pages.samples;
        return slot;
    }
    r.is_copying = true;
    if (!pt_v8_function_at(facts->layout, pt_tick_read_memory, &r, object, &f)) return NULL;
    slot = slot_of(cache, f.shared);
    slot->function.shared = 0;
    if (f.has_script && !take_content(&r, cache, facts, &f, &number)) return NULL;
    *slot = (pt_tick_v8_slot){.function = f, .number = number, .sample = cache->pages.samples};
    return slot;
}

/* ---- a sample ---- */

void pt_tick_v8_begin(pt_tick_v8_walk *walk, pt_tick_v8_cache *cache)
{
    *walk = (pt_tick_v8_walk){.cache = cache};
    if (cache == NULL) return;
    walk->facts = atomic_load(&pt_tick_languages[PT_JOURNAL_LANGUAGE_JAVASCRIPT].facts);
    cache->pages.samples++;
    cache->lines.budget = BUDGET_CHARACTERS;
}

/* The tier of the frame at hand. Optimized code may keep no more words than the context, the
 * function and the number of arguments; interpreted and baseline code keep more. */
static pt_v8_tier tier_of(const pt_tick_v8_walk *walk)
{
    const pt_tick_v8_facts *const facts = walk->facts;
    const uint64_t *const fp = (const uint64_t *)(uintptr_t)walk->fp;
    const bool is_in_file = walk->pc - facts->low < facts->limit - facts->low;
    pt_tick_reading r = {.pages = &walk->cache->pages, .is_fresh = true, .is_copying = true};
    const uint64_t words = (walk->fp - walk->sp) / sizeof(uint64_t);
    if (words < PT_V8_TIER_BELOW)
        return words >= 3 && !is_in_file ? PT_V8_OPTIMIZED : PT_V8_NO_TIER;
    return pt_v8_tier_of(facts->layout, pt_tick_read_memory, &r, fp - PT_V8_TIER_BELOW, is_in_file);
}

uint64_t pt_tick_v8_word(pt_tick_v8_walk *walk)
{
    enum { WORDS = 2 * sizeof(uint64_t) }; /* context and function, below the frame pointer */
    /* The innermost frame has its context and its function if the stack pointer is below these
     * two. */
    if (!walk->has_fp || walk->fp % sizeof(uint64_t) != 0 || walk->fp < walk->sp ||
        walk->fp - walk->sp < WORDS || walk->count == PT_TICK_V8_FRAMES_MAX)
        return 0;
    const uint64_t function = pt_v8_frame_function((const uint64_t *)(uintptr_t)walk->fp - 2);
    if (function == 0) return 0;
    const bool is_innermost = !walk->has_met;
    walk->has_met = true;
    const pt_tick_v8_slot *const slot = look_up(walk->cache, walk->facts, function);
    if (slot != NULL && !slot->function.has_script) return 0;
    pt_tick_note_look(PT_JOURNAL_LANGUAGE_JAVASCRIPT, slot != NULL);
    if (slot == NULL) return 0;
    const pt_v8_tier tier = is_innermost ? tier_of(walk) : PT_V8_NO_TIER;
    walk->count++;
    return PT_TICK_FRAME_WORD(slot->number, (int)tier);
}
