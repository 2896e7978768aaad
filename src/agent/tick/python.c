/* python.c: see python.h. */
#include "agent/tick/python.h"

#include <pthread.h>
#include <stdatomic.h>
#include <string.h>

#include "agent/tick/tick.h"

enum {
    LINES_MAX_BYTES = 64 << 10,
    SETS = sizeof((pt_tick_python_cache *)0)->code / sizeof((pt_tick_python_cache *)0)->code[0],
};

/* ---- reading ---- */

typedef struct {
    pt_tick_reading memory; /* the first field: callbacks get its address */
    pt_tick_python_cache *cache;
} reading;

/* A walk (interp/python_walk.h) whose bytes are the memory itself. */
typedef struct {
    const pt_python_layout *layout;
    reading *reading;
    const uint64_t *bytes;
    uint64_t page; /* that the last bytes lay in; 0: none */
    uint64_t next;
    uint32_t left;
    bool has_ahead;
    pt_python_frame ahead;
} python_walking;

static inline const pt_python_layout *layout_of(const python_walking *walk)
{
    return walk->layout;
}

/* Most frames lie in the page of their caller. */
static inline bool fetch_bytes(python_walking *walk, uint64_t addr, uint32_t size)
{
    const pt_tick_reading *const memory = &walk->reading->memory;
    const uint64_t page = addr / PT_TICK_PAGE_BYTES;
    const bool is_known =
        page == walk->page && !memory->is_fresh && (addr + size - 1) / PT_TICK_PAGE_BYTES == page;
    walk->bytes =
        is_known ? (const uint64_t *)(uintptr_t)addr : pt_tick_readable_at(memory, addr, size);
    if (walk->bytes == NULL) return false;
    walk->page = page;
    return true;
}

#include "interp/python_walk.h"

static inline const void *readable_at(const reading *r, uint64_t addr, size_t size)
{
    return pt_tick_readable_at(&r->memory, addr, size);
}

static bool read_memory(void *arg, uint64_t addr, void *to, size_t size)
{
    return pt_tick_read_memory(&((reading *)arg)->memory, addr, to, size);
}

bool pt_tick_python_peek(pt_tick_python_cache *cache, uint64_t addr, void *to, size_t size)
{
    pt_tick_reading r = {.pages = &cache->pages};
    return cache != NULL && pt_tick_read_memory(&r, addr, to, size);
}

/* ---- code objects ---- */

/* Stands, in place of a function's number, for code whose frames CPython never shows. */
#define HIDDEN UINT32_MAX

static inline uint64_t load_word(const void *at, size_t offset)
{
    uint64_t word;
    memcpy(&word, (const char *)at + offset, sizeof word);
    return word;
}

/* A fingerprint of an object's name, file and line table, from parts that can be read at once:
 * lengths, the hash that a text keeps, first and last characters. It distinguishes objects that lie
 * at the same address at different times. */
static bool print_of(const reading *r, const pt_python_code *code, uint64_t *ret_print)
{
    enum { LENGTH = 16, HASH = 24, TEXT = 48, BYTES = 32, HEAD = 56 };
    const void *const name = readable_at(r, code->name, HEAD);
    const void *const file = readable_at(r, code->file, HEAD);
    const void *const lines = readable_at(r, code->lines, HEAD - 8);
    if (name == NULL || file == NULL || lines == NULL) return false;
    const uint64_t length = load_word(file, LENGTH), bytes = load_word(lines, LENGTH);
    const void *end = file, *last = lines;
    if (length > 16 && length < PT_TICK_PYTHON_FILE_BYTES)
        end = readable_at(r, code->file + TEXT - 16 + length, 8);
    if (bytes > 16 && bytes < LINES_MAX_BYTES)
        last = readable_at(r, code->lines + BYTES - 8 + bytes, 8);
    if (end == NULL || last == NULL) return false;
    const uint64_t sum = load_word(name, LENGTH) * UINT64_C(0x9e3779b97f4a7c15) +
                         load_word(name, HASH) * UINT64_C(0xbf58476d1ce4e5b9) +
                         length * UINT64_C(0x94d049bb133111eb) +
                         load_word(file, HASH) * UINT64_C(0x9fb21c651e98df25) +
                         load_word(file, TEXT) * UINT64_C(0xff51afd7ed558ccd) +
                         load_word(end, 0) * UINT64_C(0xc4ceb9fe1a85ec53) +
                         bytes * UINT64_C(0x2545f4914f6cdd1d) +
                         load_word(lines, BYTES) * UINT64_C(0xd6e8feb86659fd93) +
                         load_word(last, 0) * UINT64_C(0xa0761d6478bd642f);
    *ret_print = sum ^ sum >> 32;
    return true;
}

/* Copies the object's content and finds the object's number (codes.h). Returns false if the object
 * is no code object. */
static bool take_content(reading *r, const pt_tick_python_facts *facts, const pt_python_code *code,
                         uint32_t *ret_number)
{
    uint8_t *const text = r->cache->text;
    size_t name_bytes, file_bytes;
    uint64_t lines, lines_bytes;
    pt_interp_read *const read = read_memory;
    if (!pt_python_text(facts->layout, read, r, code->name, facts->text_type, (char *)text,
                        PT_TICK_PYTHON_NAME_BYTES, &name_bytes) ||
        !pt_python_text(facts->layout, read, r, code->file, facts->text_type,
                        (char *)text + name_bytes, PT_TICK_PYTHON_FILE_BYTES, &file_bytes) ||
        !pt_python_bytes(read, r, code->lines, facts->bytes_type, &lines, &lines_bytes))
        return false;
    if (lines_bytes > LINES_MAX_BYTES)
        lines_bytes = 0; /* frames then have the line of the
                          * function's beginning */
    const size_t bytes = name_bytes + file_bytes;
    if (lines_bytes > 0 && !read_memory(r, lines, text + bytes, lines_bytes)) return false;
    const pt_tick_known_code like = {.first_line = code->first_line,
                                     .name_bytes = (uint16_t)name_bytes,
                                     .file_bytes = (uint16_t)file_bytes,
                                     .lines_bytes = (uint32_t)lines_bytes,
                                     .language = PT_JOURNAL_LANGUAGE_PYTHON,
                                     .minor = facts->layout->minor};
    *ret_number = pt_tick_code_number(facts->codes, &like, text);
    return true;
}

/* Is the object at the slot's address still the slot's? All pages that are read were tested not
 * long ago. */
static inline bool is_still(const pt_tick_python_facts *facts, const pt_tick_python_slot *slot)
{
    const reading trusting = {.memory = {.is_trusted = true}};
    pt_python_code code;
    uint64_t print;
    code = code_at(facts->layout, (const uint64_t *)(uintptr_t)slot->code);
    return code.type == facts->code_type && code.name == slot->name && code.file == slot->file &&
           code.lines == slot->lines && code.first_line == slot->first_line &&
           print_of(&trusting, &code, &print) && print == slot->print;
}

/* An address has two slots in the cache: the slot that holds it, else the slot that was used longer
 * ago. */
static inline pt_tick_python_slot *slot_of(pt_tick_python_cache *cache, uint64_t addr)
{
    pt_tick_python_slot *const set =
        cache->code[(addr * UINT64_C(0x9e3779b97f4a7c15) >> 40) % SETS];
    if (set[0].code == addr) return &set[0];
    if (set[1].code == addr) return &set[1];
    return &set[cache->pages.samples - set[1].sample > cache->pages.samples - set[0].sample];
}

/* Reads the code object at addr. If that object is still the slot's object, the slot stays as it
 * is; else the slot gets the object and its number. Returns false if there is no code object. */
static bool fill_slot(reading *r, const pt_tick_python_facts *facts, uint64_t addr,
                      pt_tick_python_slot *slot)
{
    pt_python_code code;
    uint64_t print;
    uint32_t number;
    const void *const object = readable_at(r, addr, PT_PYTHON_CODE_BYTES);
    if (object == NULL || addr % 8 != 0) return false;
    code = code_at(facts->layout, object);
    if (code.type != facts->code_type || !print_of(r, &code, &print)) return false;
    const bool is_same = slot->code == addr && slot->name == code.name && slot->file == code.file &&
                         slot->lines == code.lines && slot->first_line == code.first_line &&
                         slot->print == print;
    if (is_same) {
        slot->sample = r->cache->pages.samples;
        return true;
    }
    slot->code = 0;
    if (pt_python_is_hidden(facts->layout, read_memory, r, addr, &code))
        number = HIDDEN;
    else if (!take_content(r, facts, &code, &number))
        return false;
    *slot = (pt_tick_python_slot){.code = addr,
                                  .name = code.name,
                                  .file = code.file,
                                  .lines = code.lines,
                                  .print = print,
                                  .first_line = code.first_line,
                                  .number = number,
                                  .sample = r->cache->pages.samples};
    return true;
}

/* Finds the number of a code object. Compares the object with its slot once in a sample: the thread
 * stands still, and its frames keep their code. Returns false if there is no code object. */
static inline bool number_of(reading *r, const pt_tick_python_facts *facts, uint64_t addr,
                             uint32_t *ret_number)
{
    pt_tick_python_slot *const slot = slot_of(r->cache, addr);
    if (slot->code != addr || slot->seen != r->cache->samples) {
        const bool is_trusted = slot->code == addr && !r->memory.is_fresh &&
                                r->cache->pages.samples - slot->sample < PT_TICK_TRUST;
        if (!is_trusted || !is_still(facts, slot)) {
            r->memory.is_fresh = true;
            if (!fill_slot(r, facts, addr, slot)) return false;
        }
        slot->seen = r->cache->samples;
    }
    *ret_number = slot->number;
    return true;
}

/* ---- a sample ---- */

/* The address of the thread's state; 0 if the thread has none, or another thread ends the
 * interpreter. */
static uint64_t state_of_thread(reading *r, const pt_tick_python_facts *facts)
{
    uint64_t ending;
    struct {
        int32_t is_made;
        pthread_key_t key;
    } key; /* Py_tss_t */
    if (!read_memory(r, facts->runtime + facts->layout->key, &key, sizeof key) ||
        key.is_made != 1 ||
        !read_memory(r, facts->runtime + facts->layout->finalizing, &ending, sizeof ending))
        return 0;
    const uint64_t state = (uint64_t)(uintptr_t)facts->getspecific(key.key);
    return state % 8 == 0 && (ending == 0 || ending == state) ? state : 0;
}

uint32_t pt_tick_python_frames(void *of_thread, const void *of_process,
                               const pt_tick_frames *frames)
{
    const pt_tick_python_facts *const facts = of_process;
    pt_tick_python_cache *const cache = of_thread;
    if (pt_tick_is_wrong(PT_JOURNAL_LANGUAGE_PYTHON, PT_TICK_PYTHON_WRONG_LOOKS)) return 0;
    cache->pages.samples++;
    cache->samples++;
    reading r = {.memory = {.pages = &cache->pages, .is_fresh = true}, .cache = cache};
    bool is_innermost = true;
    const uint64_t state = state_of_thread(&r, facts);
    if (state == 0) return 0;
    const uint32_t most = frames->most < PT_TICK_PYTHON_FRAMES_MAX
                              ? frames->most
                              : (uint32_t)PT_TICK_PYTHON_FRAMES_MAX;
    python_walking walk = {.layout = facts->layout, .reading = &r};
    pt_python_frame frame;
    uint32_t count = 0;
    pt_python_step step = begin_frames(&walk, state, 2 * PT_TICK_PYTHON_FRAMES_MAX);
    while (step == PT_PYTHON_FRAME && count < most &&
           (step = next_frame(&walk, &frame)) == PT_PYTHON_FRAME) {
        uint32_t number = 0;
        const bool is_right = frame.code == 0 || number_of(&r, facts, frame.code, &number);
        if (frame.code != 0 && is_innermost)
            pt_tick_note_look(PT_JOURNAL_LANGUAGE_PYTHON, is_right);
        if (!is_right) return count;
        const bool is_hidden = number == HIDDEN;
        if (is_hidden && !frame.is_entry) continue;
        frames->words[(frames->at + count++) & frames->mask] =
            PT_TICK_FRAME_WORD(is_hidden ? 0 : number, frame.place) |
            (frame.is_entry ? PT_INTERP_ENTRY : 0) |
            (frame.code == 0 || is_hidden ? PT_INTERP_EMPTY : 0);
        r.memory.is_fresh = is_innermost = false;
    }
    if (step == PT_PYTHON_BAD_READ && count == 0)
        pt_tick_note_look(PT_JOURNAL_LANGUAGE_PYTHON, false);
    if (step == PT_PYTHON_END) pt_tick_end_frames(frames, count);
    return count;
}
