/* php.c: see php.h. */
#include "agent/tick/php.h"

/* ---- functions ---- */

/* Copies name, file and first line of the function, and finds the function's number (codes.h). */
static bool take_content(pt_tick_reading *r, pt_tick_php_cache *cache,
                         const pt_tick_php_facts *facts, const pt_php_function *f,
                         uint32_t *ret_number)
{
    char *const text = (char *)cache->text;
    size_t name_bytes = 0, file_bytes = 0;
    if (!pt_php_name(pt_tick_read_memory, r, f, text, PT_TICK_PHP_NAME_BYTES, &name_bytes) ||
        (f->file != 0 && !pt_php_text(pt_tick_read_memory, r, f->file, text + name_bytes,
                                      PT_TICK_PHP_FILE_BYTES, &file_bytes)))
        return false;
    const pt_tick_known_code like = {.first_line = f->first_line,
                                     .name_bytes = (uint16_t)name_bytes,
                                     .file_bytes = (uint16_t)file_bytes,
                                     .language = PT_JOURNAL_LANGUAGE_PHP};
    *ret_number = pt_tick_code_number(facts->codes, &like, cache->text);
    return true;
}

/* The number of a function. Returns false if there is no function. */
static bool number_of(pt_tick_reading *r, pt_tick_php_cache *cache, const pt_tick_php_facts *facts,
                      uint64_t function, pt_php_function *ret_function, uint32_t *ret_number)
{
    uint64_t check;
    if (!pt_php_function_at(facts->layout, pt_tick_read_memory, r, function, ret_function) ||
        !pt_php_check(pt_tick_read_memory, r, ret_function, &check))
        return false;
    const uint64_t key = ret_function->kind == PT_PHP_INTERNAL ? function : ret_function->first;
    pt_tick_slot *const slot = pt_tick_slot_of(cache->slots, key, cache->pages.samples);
    if (slot->key != key || slot->check != check) {
        r->is_fresh = true;
        slot->key = 0;
        if (!take_content(r, cache, facts, ret_function, ret_number)) return false;
        *slot = (pt_tick_slot){.key = key, .check = check, .number = *ret_number};
    }
    slot->sample = cache->pages.samples;
    *ret_number = slot->number;
    return true;
}

/* ---- a sample ---- */

static bool has_evaluator(const pt_tick_php_facts *facts, const pt_tick_frames *frames)
{
    for (uint32_t i = 0; i < frames->native; i++)
        if (pt_interp_is_evaluator(facts->evaluator,
                                   frames->words[(frames->at - frames->native + i) & frames->mask],
                                   i == 0))
            return true;
    return false;
}

/* Is the chain of frames this thread's? */
static bool is_owner(pt_tick_reading *r, const pt_tick_php_facts *facts,
                     const pt_tick_frames *frames, bool was_owner)
{
    if (has_evaluator(facts, frames)) return true;
    if (frames->is_whole) return false;
    return was_owner || pt_php_is_innermost(pt_tick_read_memory, r, facts->globals,
                                            frames->regs[PT_PHP_REG_FRAME]);
}

/* The instruction of the innermost frame: from the registers if they hold this frame, else from
 * memory. */
static uint64_t instruction_of(const pt_php_frame *frame, const pt_php_function *function,
                               const uint64_t *regs)
{
    const bool has_registers = regs[PT_PHP_REG_FRAME] == frame->addr &&
                               pt_php_has_instruction(function, regs[PT_PHP_REG_INSTRUCTION]);
    return has_registers ? regs[PT_PHP_REG_INSTRUCTION] : frame->instruction;
}

typedef struct {
    pt_tick_reading memory;
    pt_tick_php_cache *cache;
    const pt_tick_php_facts *facts;
    const uint64_t *regs; /* for the innermost frame; NULL for the other frames */
} sampling;

static pt_interp_step next_frame(void *arg, uint64_t *ret_word)
{
    sampling *const s = arg;
    pt_php_frame frame;
    pt_php_function function;
    uint32_t number;
    const pt_interp_step step = pt_php_walk_next(&s->cache->walk, &frame);
    if (step != PT_INTERP_FRAME_READ ||
        !number_of(&s->memory, s->cache, s->facts, frame.function, &function, &number))
        return step;
    const uint64_t instruction =
        s->regs != NULL ? instruction_of(&frame, &function, s->regs) : frame.instruction;
    const int32_t line = pt_php_line(s->facts->layout, pt_tick_read_memory, &s->memory,
                                     s->facts->globals, &function, instruction);
    s->regs = NULL;
    *ret_word = PT_TICK_FRAME_WORD(number, line) | (frame.is_entry ? PT_INTERP_ENTRY : 0);
    return step;
}

uint32_t pt_tick_php_frames(void *of_thread, const void *of_process, const pt_tick_frames *frames)
{
    sampling s = {.cache = of_thread, .facts = of_process, .regs = frames->regs};
    pt_tick_php_cache *const cache = s.cache;
    uint64_t generator_class;
    if (pt_tick_is_wrong(PT_JOURNAL_LANGUAGE_PHP, PT_TICK_PHP_WRONG_LOOKS)) return 0;
    cache->pages.samples++;
    s.memory = (pt_tick_reading){.pages = &cache->pages, .is_fresh = true};
    cache->runs_php = is_owner(&s.memory, s.facts, frames, cache->runs_php);
    if (!cache->runs_php || !pt_tick_read_memory(&s.memory, s.facts->generator_class,
                                                 &generator_class, sizeof generator_class))
        return 0;
    const pt_interp_step first =
        pt_php_walk_begin(&cache->walk, s.facts->layout, pt_tick_read_memory, &s.memory,
                          s.facts->globals, generator_class, 2 * PT_TICK_PHP_FRAMES_MAX);
    return pt_tick_put_frames(PT_JOURNAL_LANGUAGE_PHP, frames, PT_TICK_PHP_FRAMES_MAX, &s.memory,
                              first, next_frame, &s);
}
