/* perl.c: see perl.h. */
#include "agent/tick/perl.h"

typedef struct {
    pt_tick_reading memory;
    pt_tick_perl_cache *cache;
    const pt_tick_perl_facts *facts;
    pt_perl_walk walk;
} sampling;

/* Copies name, file and first line of the code, and finds the number of its function (codes.h). */
static bool take_content(sampling *s, const pt_perl_code *code, uint32_t *ret_number)
{
    char *const text = (char *)s->cache->text;
    size_t name_bytes = 0, file_bytes = 0;
    if (!pt_perl_name(pt_tick_read_memory, &s->memory, code, text, PT_TICK_PERL_NAME_BYTES,
                      &name_bytes) ||
        !pt_perl_file(pt_tick_read_memory, &s->memory, code, text + name_bytes,
                      PT_TICK_PERL_FILE_BYTES, &file_bytes))
        return false;
    const pt_tick_known_code like = {.first_line = code->first_line,
                                     .name_bytes = (uint16_t)name_bytes,
                                     .file_bytes = (uint16_t)file_bytes,
                                     .language = PT_JOURNAL_LANGUAGE_PERL};
    *ret_number = pt_tick_code_number(s->facts->codes, &like, s->cache->text);
    return true;
}

/* The number of the frame's code. Returns false if the frame has no code. */
static bool number_of(sampling *s, const pt_perl_frame *frame, const pt_perl_code *code,
                      uint32_t *ret_number)
{
    uint64_t check;
    if (!pt_perl_check(pt_tick_read_memory, &s->memory, code, &check)) return false;
    const uint64_t key = pt_perl_key(frame, code);
    pt_tick_slot *const slot = pt_tick_slot_of(s->cache->slots, key, s->cache->pages.samples);
    if (slot->key != key || slot->check != check) {
        s->memory.is_fresh = true;
        slot->key = 0;
        if (!take_content(s, code, ret_number)) return false;
        *slot = (pt_tick_slot){.key = key, .check = check, .number = *ret_number};
    }
    slot->sample = s->cache->pages.samples;
    *ret_number = slot->number;
    return true;
}

static pt_interp_step next_frame(void *arg, uint64_t *ret_word)
{
    sampling *const s = arg;
    pt_perl_frame frame;
    pt_perl_code code;
    uint32_t number;
    const pt_interp_step step = pt_perl_walk_next(&s->walk, &frame);
    if (step != PT_INTERP_FRAME_READ) return step;
    if (frame.kind == PT_PERL_EMPTY) {
        *ret_word = PT_INTERP_FRAME | PT_INTERP_ENTRY | PT_INTERP_EMPTY;
        return step;
    }
    if (!pt_perl_code_at(s->facts->layout, pt_tick_read_memory, &s->memory, &frame, &code) ||
        !number_of(s, &frame, &code, &number))
        return step;
    *ret_word = PT_TICK_FRAME_WORD(number, code.line) | (frame.is_entry ? PT_INTERP_ENTRY : 0);
    return step;
}

uint32_t pt_tick_perl_frames(void *of_thread, const void *of_process, const pt_tick_frames *frames)
{
    sampling s = {.cache = of_thread, .facts = of_process};
    pthread_key_t key;
    if (pt_tick_is_wrong(PT_JOURNAL_LANGUAGE_PERL, PT_TICK_PERL_WRONG_LOOKS)) return 0;
    s.cache->pages.samples++;
    s.memory = (pt_tick_reading){.pages = &s.cache->pages, .is_fresh = true};
    if (!pt_tick_read_memory(&s.memory, s.facts->key, &key, sizeof key)) return 0;
    const uint64_t interpreter = (uint64_t)(uintptr_t)s.facts->getspecific(key);
    if (interpreter == 0) return 0;
    const pt_interp_step first =
        pt_perl_walk_begin(&s.walk, s.facts->layout, pt_tick_read_memory, &s.memory, interpreter,
                           4 * PT_TICK_PERL_FRAMES_MAX);
    return pt_tick_put_frames(PT_JOURNAL_LANGUAGE_PERL, frames, PT_TICK_PERL_FRAMES_MAX, &s.memory,
                              first, next_frame, &s);
}
