/* ruby.c: see ruby.h. */
#include "agent/tick/ruby.h"

/* ---- the thread ---- */

/* The thread's table of modules. */
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

/* The thread's execution context; 0: it has none. */
static uint64_t context_of_thread(pt_tick_reading *r, const pt_tick_ruby_facts *facts)
{
    enum { ENTRY_BYTES = 16 };
    uint64_t count, variables, context;
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

/* Copies name, file and first line of the code, and finds its number. */
static bool take_content(pt_tick_reading *r, pt_tick_ruby_cache *cache,
                         const pt_tick_ruby_facts *facts, const pt_ruby_code *code, uint64_t owner,
                         uint32_t *ret_number)
{
    char *const text = (char *)cache->text;
    size_t name_bytes = 0, file_bytes = 0;
    learn_keys(r, cache, facts);
    if (!pt_ruby_name(facts->layout, pt_tick_read_memory, r, &cache->keys, code, owner, text,
                      PT_TICK_RUBY_NAME_BYTES, &name_bytes) ||
        !pt_ruby_text(pt_tick_read_memory, r, code->path, text + name_bytes,
                      PT_TICK_RUBY_FILE_BYTES, &file_bytes))
        return false;
    const pt_tick_known_code like = {.first_line = code->first_line,
                                     .name_bytes = (uint16_t)name_bytes,
                                     .file_bytes = (uint16_t)file_bytes,
                                     .language = PT_JOURNAL_LANGUAGE_RUBY};
    *ret_number = pt_tick_code_number(facts->codes, &like, cache->text);
    return true;
}

/* False: there is no code. */
static bool number_of(pt_tick_reading *r, pt_tick_ruby_cache *cache,
                      const pt_tick_ruby_facts *facts, const pt_ruby_frame *frame,
                      pt_ruby_code *ret_code, uint32_t *ret_number)
{
    uint64_t check;
    if (!pt_ruby_code_at(facts->layout, pt_tick_read_memory, r, frame->body, ret_code) ||
        !pt_ruby_check(pt_tick_read_memory, r, ret_code, &check))
        return false;
    const uint64_t owner = pt_ruby_owner(pt_tick_read_memory, r, frame->env);
    const uint64_t key = frame->body ^ owner << 1;
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

uint32_t pt_tick_ruby_frames(void *of_thread, const void *of_process, const pt_tick_frames *frames)
{
    const pt_tick_ruby_facts *const facts = of_process;
    pt_tick_ruby_cache *const cache = of_thread;
    if (pt_tick_is_wrong(PT_JOURNAL_LANGUAGE_RUBY, PT_TICK_RUBY_WRONG_LOOKS)) return 0;
    cache->pages.samples++;
    pt_tick_reading r = {.pages = &cache->pages, .is_fresh = true};
    const uint64_t context = context_of_thread(&r, facts);
    if (context == 0) return 0;
    pt_ruby_walk walk;
    pt_ruby_frame frame;
    pt_ruby_code code;
    uint32_t count = 0;
    const uint32_t most =
        frames->most < PT_TICK_RUBY_FRAMES_MAX ? frames->most : (uint32_t)PT_TICK_RUBY_FRAMES_MAX;
    pt_ruby_step step = pt_ruby_walk_begin(&walk, facts->layout, pt_tick_read_memory, &r, context,
                                           2 * PT_TICK_RUBY_FRAMES_MAX);
    while (step == PT_RUBY_FRAME && count < most &&
           (step = pt_ruby_walk_next(&walk, &frame)) == PT_RUBY_FRAME) {
        uint32_t number = 0;
        const bool is_right = number_of(&r, cache, facts, &frame, &code, &number);
        if (count == 0) pt_tick_note_look(PT_JOURNAL_LANGUAGE_RUBY, is_right);
        if (!is_right) return count;
        const int32_t line = pt_ruby_line(facts->layout, pt_tick_read_memory, &r, &code, frame.pc);
        frames->words[(frames->at + count++) & frames->mask] =
            PT_TICK_FRAME_WORD(number, line) | (frame.is_entry ? PT_INTERP_ENTRY : 0);
        r.is_fresh = false;
    }
    if (step == PT_RUBY_BAD_READ && count == 0) pt_tick_note_look(PT_JOURNAL_LANGUAGE_RUBY, false);
    return count;
}
