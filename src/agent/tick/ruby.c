/* ruby.c: see ruby.h. */
#include "agent/tick/ruby.h"

/* ---- the thread ---- */

/* The thread pointer. On x86-64 the word to which the thread pointer points holds the value of the
 * thread pointer. */
static uint64_t pointer_of_thread(void)
{
    uint64_t addr;
#if defined(__x86_64__) && defined(__LP64__)
    __asm__("mov %%fs:0, %0" : "=r"(addr));
#else
    addr = 0; /* no known layout needs it here */
#endif
    return addr;
}

static uint64_t modules_of_thread(void)
{
    uint64_t addr;
#if defined(__x86_64__) && defined(__LP64__)
    __asm__("mov %%fs:8, %0" : "=r"(addr));
#elif defined(__aarch64__)
    const uint64_t *pointer;
    __asm__("mrs %0, tpidr_el0" : "=r"(pointer));
    addr = *pointer;
#else
    addr = 0;
#endif
    return addr;
}

/* The address of the thread's execution context; 0 if the thread has none. */
static uint64_t context_of_thread(pt_tick_reading *r, const pt_tick_ruby_facts *facts)
{
    enum { ENTRY_BYTES = 16 };
    uint64_t count, variables, context;
    if (facts->module == 0)
        return pt_ruby_context(facts->layout, pt_tick_read_memory, r, facts->context,
                               pointer_of_thread());
    const uint64_t table = modules_of_thread();
    if (table == 0 || !pt_tick_read_memory(r, table - ENTRY_BYTES, &count, sizeof count) ||
        facts->module > count ||
        !pt_tick_read_memory(r, table + facts->module * ENTRY_BYTES, &variables,
                             sizeof variables) ||
        variables == UINT64_MAX || variables == 0 || /* the thread has not used them yet */
        !pt_tick_read_memory(r, variables + facts->context, &context, sizeof context))
        return 0;
    return context % sizeof context == 0 ? context : 0;
}

/* ---- code ---- */

/* Ruby makes its classes after the library has found it, so the keys are learnt in a sample. */
static void learn_keys(pt_tick_reading *r, pt_tick_ruby_cache *cache,
                       const pt_tick_ruby_facts *facts)
{
    uint64_t object, string;
    if (cache->keys.name != 0 || facts->object == 0 || facts->string == 0 ||
        !pt_tick_read_memory(r, facts->object, &object, sizeof object) ||
        !pt_tick_read_memory(r, facts->string, &string, sizeof string))
        return;
    pt_ruby_keys keys;
    if (pt_ruby_keys_find(facts->layout, pt_tick_read_memory, r, object, string, &keys))
        cache->keys = keys;
}

/* Copies name, file and first line of the code, and finds the number of its function (codes.h). */
static bool take_content(pt_tick_reading *r, pt_tick_ruby_cache *cache,
                         const pt_tick_ruby_facts *facts, const pt_ruby_code *code, uint64_t owner,
                         uint32_t *ret_number)
{
    char *const text = (char *)cache->text;
    size_t name_bytes = 0, file_bytes = 0;
    pt_ruby_names names;
    learn_keys(r, cache, facts);
    if (!pt_ruby_names_at(facts->layout, pt_tick_read_memory, r, &cache->keys, code, owner,
                          &names) ||
        !pt_ruby_name(pt_tick_read_memory, r, &names, text, PT_TICK_RUBY_NAME_BYTES, &name_bytes) ||
        !pt_ruby_path(pt_tick_read_memory, r, &names, text + name_bytes, PT_TICK_RUBY_FILE_BYTES,
                      &file_bytes))
        return false;
    const pt_tick_known_code like = {.first_line = code->first_line,
                                     .name_bytes = (uint16_t)name_bytes,
                                     .file_bytes = (uint16_t)file_bytes,
                                     .language = PT_JOURNAL_LANGUAGE_RUBY};
    *ret_number = pt_tick_code_number(facts->codes, &like, cache->text);
    return true;
}

/* The number of the frame's code. Returns false if there is no code. */
static bool number_of(pt_tick_reading *r, pt_tick_ruby_cache *cache,
                      const pt_tick_ruby_facts *facts, const pt_ruby_frame *frame,
                      pt_ruby_code *ret_code, uint32_t *ret_number)
{
    uint64_t check;
    if (!pt_ruby_code_at(facts->layout, pt_tick_read_memory, r, frame->body, ret_code))
        return false;
    const uint64_t owner = pt_ruby_owner(pt_tick_read_memory, r, frame->env);
    if (!pt_ruby_check(facts->layout, pt_tick_read_memory, r, &cache->keys, ret_code, owner,
                       &check))
        return false;
    const uint64_t key = pt_ruby_key(frame, owner);
    pt_tick_slot *const slot = pt_tick_slot_of(cache->slots, key, cache->pages.samples);
    if (slot->key != key || slot->check != check) {
        r->is_fresh = true;
        slot->key = 0;
        if (!take_content(r, cache, facts, ret_code, owner, ret_number)) return false;
        *slot = (pt_tick_slot){.key = key, .check = check, .number = *ret_number};
    }
    slot->sample = cache->pages.samples;
    *ret_number = slot->number;
    return true;
}

/* ---- a sample ---- */

typedef struct {
    pt_tick_reading memory;
    pt_tick_ruby_cache *cache;
    const pt_tick_ruby_facts *facts;
    pt_ruby_walk walk;
} sampling;

static pt_interp_step next_frame(void *arg, uint64_t *ret_word)
{
    sampling *const s = arg;
    pt_ruby_frame frame;
    pt_ruby_code code;
    uint32_t number;
    const pt_interp_step step = pt_ruby_walk_next(&s->walk, &frame);
    if (step != PT_INTERP_FRAME_READ ||
        !number_of(&s->memory, s->cache, s->facts, &frame, &code, &number))
        return step;
    const int32_t line =
        pt_ruby_line(s->facts->layout, pt_tick_read_memory, &s->memory, &code, frame.pc);
    *ret_word = PT_TICK_FRAME_WORD(number, line) | (frame.is_entry ? PT_INTERP_ENTRY : 0);
    return step;
}

uint32_t pt_tick_ruby_frames(void *of_thread, const void *of_process, const pt_tick_frames *frames)
{
    sampling s = {.cache = of_thread, .facts = of_process};
    if (pt_tick_is_wrong(PT_JOURNAL_LANGUAGE_RUBY, PT_TICK_RUBY_WRONG_LOOKS)) return 0;
    s.cache->pages.samples++;
    s.memory = (pt_tick_reading){.pages = &s.cache->pages, .is_fresh = true};
    const uint64_t context = context_of_thread(&s.memory, s.facts);
    if (context == 0) return 0;
    const pt_interp_step first =
        pt_ruby_walk_begin(&s.walk, s.facts->layout, pt_tick_read_memory, &s.memory, context,
                           2 * PT_TICK_RUBY_FRAMES_MAX);
    return pt_tick_put_frames(PT_JOURNAL_LANGUAGE_RUBY, frames, PT_TICK_RUBY_FRAMES_MAX, &s.memory,
                              first, next_frame, &s);
}
