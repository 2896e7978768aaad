/* v8.c: see v8.h. */
#include "agent/tick/v8.h"

#include <stdatomic.h>

#include "wire/journal.h"

enum {
    SLOTS = sizeof((pt_tick_v8_cache *)0)->slot / sizeof((pt_tick_v8_cache *)0)->slot[0],
    PARTS = sizeof((pt_tick_v8_cache *)0)->part / sizeof((pt_tick_v8_cache *)0)->part[0],
};

/* ---- lines ---- */

/* Lines are counted once for each part of a source. A sample looks through so many characters; a
 * function that lies further behind is named by a later sample. A look for a part that is counted
 * costs as much as so many characters. */
enum { PART_CHARACTERS = 16 << 10, BUDGET_CHARACTERS = 512 << 10, LOOK_CHARACTERS = 8 };

static uint64_t key_of(const pt_v8_function *f, const pt_v8_source *source, uint32_t part)
{
    const uint64_t key = ((uint64_t)(uint32_t)f->id << 32 | part) * UINT64_C(0x9e3779b97f4a7c15) ^
                         (uint64_t)source->length << 17;
    return key != 0 ? key : 1;
}

static pt_tick_v8_part *part_of(pt_tick_v8_cache *cache, uint64_t key)
{
    return &cache->part[(key >> 40) % PARTS];
}

/* The lines before a position. False: unreadable, or too far for this sample. */
static bool lines_before(pt_tick_reading *r, pt_tick_v8_cache *cache, const pt_v8_function *f,
                         const pt_v8_source *source, uint32_t position, uint32_t *ret_lines)
{
    uint32_t part = position / PART_CHARACTERS, lines = 0, more;
    for (; part > 0; part--) {
        if (cache->budget < LOOK_CHARACTERS) return false;
        cache->budget -= LOOK_CHARACTERS;
        const uint64_t key = key_of(f, source, part);
        const pt_tick_v8_part *const known = part_of(cache, key);
        if (known->key == key) {
            lines = known->lines;
            break;
        }
    }
    uint32_t at = part * PART_CHARACTERS;
    while (at < position) {
        const uint32_t left = position - at;
        const uint32_t count = left < PART_CHARACTERS ? left : PART_CHARACTERS;
        if (count > cache->budget) return false;
        cache->budget -= count;
        if (!pt_v8_count_lines(source, pt_tick_read_memory, r, at, at + count, &more)) return false;
        lines += more;
        at += count;
        if (at % PART_CHARACTERS != 0) continue;
        const uint64_t key = key_of(f, source, at / PART_CHARACTERS);
        *part_of(cache, key) = (pt_tick_v8_part){.key = key, .lines = lines};
    }
    *ret_lines = lines;
    return true;
}

/* The line of a function's beginning, as V8's own profiler has it; 0: the source is not there.
 * False: a later sample will know. */
static bool line_of(pt_tick_reading *r, pt_tick_v8_cache *cache, const pt_v8_layout *layout,
                    const pt_v8_function *f, int32_t *ret_line)
{
    pt_v8_source source;
    uint32_t lines;
    *ret_line = 0;
    if (f->start < 0 || !pt_v8_source_of(layout, pt_tick_read_memory, r, f->script, &source) ||
        (uint32_t)f->start > source.length)
        return true;
    /* The source may be long, and its objects have been found to be what they should be. */
    pt_tick_reading asking = {.pages = &cache->pages, .is_fresh = true};
    if (!lines_before(&asking, cache, f, &source, (uint32_t)f->start, &lines)) return false;
    const int32_t first = pt_v8_first_line(layout, pt_tick_read_memory, r, f->script);
    const int64_t line = (int64_t)first + lines + 1;
    if (line <= INT32_MAX) *ret_line = (int32_t)line;
    return true;
}

/* ---- functions ---- */

static size_t put_text(uint8_t *to, const char *text)
{
    const size_t bytes = strlen(text);
    memcpy(to, text, bytes);
    return bytes;
}

/* Copies name, file and first line of the function, and finds its number. */
static bool take_content(pt_tick_reading *r, pt_tick_v8_cache *cache, const pt_tick_v8_facts *facts,
                         const pt_v8_function *f, uint32_t *ret_number)
{
    uint8_t *const name = cache->text;
    size_t name_bytes = 0, file_bytes = 0;
    int32_t line;
    if (f->text != 0 && !pt_v8_text(facts->layout, pt_tick_read_memory, r, f->text, (char *)name,
                                    PT_TICK_V8_NAME_BYTES, &name_bytes))
        return false;
    if (name_bytes == 0) name_bytes = put_text(name, "(anonymous)");
    uint8_t *const file = name + name_bytes;
    if (!pt_v8_script_name(facts->layout, pt_tick_read_memory, r, f->script, (char *)file,
                           PT_TICK_V8_FILE_BYTES, &file_bytes))
        return false;
    file_bytes =
        file_bytes > 0 ? pt_v8_path((char *)file, file_bytes) : put_text(file, "<anonymous>");
    if (!line_of(r, cache, facts->layout, f, &line)) return false;
    const pt_tick_known_code like = {.first_line = line,
                                     .name_bytes = (uint16_t)name_bytes,
                                     .file_bytes = (uint16_t)file_bytes,
                                     .language = PT_JOURNAL_LANGUAGE_JAVASCRIPT};
    *ret_number = pt_tick_code_number(facts->codes, &like, name);
    return true;
}

/* An address has a set of slots: the slot that holds it, else the slot that was used longest ago. A
 * stack of hundreds of functions has no set with more of them than slots, as good as never: to read
 * a function anew in each sample is dear. */
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

/* The slot of the function; NULL: it cannot be named now. */
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
    cache->budget = BUDGET_CHARACTERS;
}

uint64_t pt_tick_v8_word(pt_tick_v8_walk *walk)
{
    enum { WORDS = 2 * sizeof(uint64_t) }; /* context and function, below the frame pointer */
    /* The innermost frame has them once the stack pointer is below. */
    if (!walk->has_fp || walk->fp % sizeof(uint64_t) != 0 || walk->fp < walk->sp ||
        walk->fp - walk->sp < WORDS || walk->count == PT_TICK_V8_FRAMES_MAX)
        return 0;
    const uint64_t function = pt_v8_frame_function((const uint64_t *)(uintptr_t)walk->fp - 2);
    if (function == 0) return 0;
    const pt_tick_v8_slot *const slot = look_up(walk->cache, walk->facts, function);
    if (slot != NULL && !slot->function.has_script) return 0;
    pt_tick_note_look(PT_JOURNAL_LANGUAGE_JAVASCRIPT, slot != NULL);
    if (slot == NULL) return 0;
    walk->count++;
    return PT_TICK_FRAME_WORD(slot->number, 0);
}
