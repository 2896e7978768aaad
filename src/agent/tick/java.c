/* java.c: see java.h. */
#include "agent/tick/java.h"

#include <stdatomic.h>

#include "agent/tick/tick.h"
#include "wire/journal.h"

enum {
    PLACES = sizeof((pt_tick_java_cache *)0)->place / sizeof((pt_tick_java_cache *)0)->place[0],
    METHODS = sizeof((pt_tick_java_cache *)0)->method / sizeof((pt_tick_java_cache *)0)->method[0],
    TRUST = 64, /* samples for which code that belongs to no method is not compared again */
    READS_MAX = 1 << 16, /* in a sample: damaged memory can make each frame cost many reads */
};

static size_t index_of(uint64_t addr, size_t count)
{
    return (size_t)(addr * UINT64_C(0x9e3779b97f4a7c15) >> 32) % count;
}

/* ---- memory ---- */

/* A callback of interp/java.h. The pages of the code cache need no test in each sample: the virtual
 * machine never unmaps a part of its code cache that it has used. */
static bool read_memory(void *arg, uint64_t addr, void *to, size_t size)
{
    pt_tick_java_walk *const java = arg;
    if (java->reads_left == 0) return false;
    java->reads_left--;
    const bool is_code = pt_java_has_code(java->facts->vm, addr);
    pt_tick_reading r = {.pages = &java->cache->pages,
                         .copies = &java->cache->copies,
                         .is_fresh = !is_code,
                         .is_copying = !is_code && java->is_copying};
    return pt_tick_read_memory(&r, addr, to, size);
}

static bool read_stack(void *arg, uint64_t addr, uint64_t *ret_word)
{
    enum { FRAME_MAX = 16 * PT_TICK_PAGE_BYTES };
    pt_tick_walk *const walk = ((pt_tick_java_walk *)arg)->walk;
    if (addr % sizeof *ret_word != 0 || addr < walk->state.sp || addr < walk->stack.low ||
        addr > UINT64_MAX - sizeof *ret_word)
        return false;
    if (addr - walk->state.sp < FRAME_MAX)
        pt_tick_walk_see_stack(walk, (uintptr_t)addr + sizeof *ret_word);
    if (addr + sizeof *ret_word > walk->stack.limit) return false;
    memcpy(ret_word, (const void *)(uintptr_t)addr, sizeof *ret_word);
    return true;
}

/* ---- code ---- */

/* Is the blob of the cache still at its address in memory? The code of a method is recognised by
 * the number of its compilation, which no other compilation has. */
static bool is_same(pt_tick_java_walk *java, pt_tick_java_place *place)
{
    const pt_java_vm *const vm = java->facts->vm;
    const pt_java_blob *const blob = &place->blob;
    uint64_t method;
    uint32_t compile;
    uint8_t is_used;
    if (blob->kind == PT_JAVA_NMETHOD)
        return read_memory(java, blob->addr - vm->layout.block_bytes + vm->layout.block_used,
                           &is_used, sizeof is_used) &&
               is_used == 1 &&
               read_memory(java, blob->addr + vm->layout.nmethod_method, &method, sizeof method) &&
               read_memory(java, blob->addr + vm->layout.nmethod_compile, &compile,
                           sizeof compile) &&
               method == blob->method && compile == blob->compile;
    if (java->cache->pages.samples - place->sample < TRUST) return true;
    place->sample = java->cache->pages.samples;
    return pt_java_blob_is(vm, read_memory, java, blob);
}

/* Finds the place of a pc in the cache, or reads the blob at the pc into the cache. Returns NULL if
 * the virtual machine has no code there. */
static pt_tick_java_place *find_place(pt_tick_java_walk *java, uint64_t pc)
{
    pt_tick_java_place *const place = &java->cache->place[index_of(pc, PLACES)];
    if (place->pc == pc && is_same(java, place)) return place;
    place->pc = 0;
    place->count = 0;
    if (!pt_java_blob_at(java->facts->vm, read_memory, java, pc, &place->blob)) return NULL;
    place->pc = pc;
    place->sample = java->cache->pages.samples;
    return place;
}

static const pt_java_blob *blob_at(void *arg, uint64_t pc)
{
    const pt_tick_java_place *const place = find_place(arg, pc);
    return place != NULL ? &place->blob : NULL;
}

static bool is_code(void *arg, uint64_t pc)
{
    const pt_tick_java_walk *const java = arg;
    return pt_java_has_code(java->facts->vm, pc) ||
           pt_unwind_module_at(java->walk->modules, pc) != NULL;
}

/* ---- methods ---- */

static uint32_t number_of(const pt_tick_java_walk *java, size_t name_bytes, size_t file_bytes,
                          int32_t first_line)
{
    const pt_tick_known_code like = {.first_line = first_line,
                                     .name_bytes = (uint16_t)name_bytes,
                                     .file_bytes = (uint16_t)file_bytes,
                                     .language = PT_JOURNAL_LANGUAGE_JAVA};
    return pt_tick_code_number(java->facts->codes, &like, java->cache->text);
}

/* Reads a method and its names, and finds the method's number (codes.h). */
static bool name_method(pt_tick_java_walk *java, uint64_t method, pt_tick_java_method *known)
{
    const pt_java_vm *const vm = java->facts->vm;
    char *const text = (char *)java->cache->text;
    pt_java_method *const m = &known->method;
    size_t name_bytes, file_bytes;
    if (!pt_java_method_at(vm, read_memory, java, method, m) ||
        !pt_java_name(vm, read_memory, java, m, text, PT_TICK_JAVA_NAME_BYTES, &name_bytes) ||
        !pt_java_file(vm, read_memory, java, m, text + name_bytes, PT_TICK_JAVA_FILE_BYTES,
                      &file_bytes))
        return false;
    known->number =
        number_of(java, name_bytes, file_bytes, pt_java_line(vm, read_memory, java, m, 0));
    known->sample = java->cache->pages.samples;
    return true;
}

/* Is the method of the cache still at its address in memory? If a program loads and unloads classes
 * all the time, their methods come to lie at the same addresses, so names are compared. */
static bool is_same_method(pt_tick_java_walk *java, pt_tick_java_method *known)
{
    char *const text = (char *)java->cache->text;
    const uint32_t sample = java->cache->pages.samples;
    pt_java_method now;
    size_t bytes;
    if (known->sample == sample) return true;
    const pt_tick_known_code *const code = pt_tick_code_of(java->facts->codes, known->number);
    if (!pt_java_method_at(java->facts->vm, read_memory, java, known->method.method, &now) ||
        now.body != known->method.body || now.class_name != known->method.class_name ||
        now.name != known->method.name || now.code_bytes != known->method.code_bytes ||
        now.file != known->method.file || now.lines_limit != known->method.lines_limit)
        return false;
    /* Number 0: the table of names was full. */
    if (known->number != 0 && (code == NULL ||
                               !pt_java_name(java->facts->vm, read_memory, java, &now, text,
                                             PT_TICK_JAVA_NAME_BYTES, &bytes) ||
                               bytes != code->name_bytes || memcmp(text, code + 1, bytes) != 0))
        return false;
    known->sample = sample;
    return true;
}

static pt_tick_java_method *find_method(pt_tick_java_walk *java, uint64_t method)
{
    pt_tick_java_method *const known = &java->cache->method[index_of(method, METHODS)];
    if (method != 0 && known->method.method == method && is_same_method(java, known)) return known;
    pt_tick_java_method now = {.number = 0};
    java->is_copying = true;
    pt_tick_forget_copies(&java->cache->copies);
    const bool is_named = name_method(java, method, &now);
    java->is_copying = false;
    pt_tick_note_look(PT_JOURNAL_LANGUAGE_JAVA, is_named);
    if (!is_named) return NULL;
    *known = now;
    return known;
}

static const pt_java_method *method_at(void *arg, uint64_t method)
{
    const pt_tick_java_method *const known = find_method(arg, method);
    return known != NULL ? &known->method : NULL;
}

/* ---- words ---- */

/* The frame word (PT_TICK_FRAME_WORD) of a method at a place; 0 if the method cannot be read. */
static uint64_t word_of_scope(pt_tick_java_walk *java, const pt_java_scope *scope)
{
    pt_tick_java_method *const known = find_method(java, scope->method);
    if (known == NULL) return 0;
    if (!known->has_line || known->bci != scope->bci) {
        known->line = pt_java_line(java->facts->vm, read_memory, java, &known->method, scope->bci);
        known->bci = scope->bci;
        known->has_line = true;
    }
    return PT_TICK_FRAME_WORD(known->number, known->line);
}

/* The frame word of code that belongs to no method. The name of its function is the code's name in
 * brackets. */
static uint64_t word_of_blob(const pt_tick_java_walk *java, const pt_java_blob *blob)
{
    uint8_t *const text = java->cache->text;
    const size_t bytes = strlen(blob->name);
    text[0] = '[';
    memcpy(text + 1, blob->name, bytes);
    text[1 + bytes] = ']';
    return PT_TICK_FRAME_WORD(number_of(java, bytes + 2, 0, 0), 0);
}

/* Writes the frame words of the methods at a place of an nmethod. Returns the number of words; 0 if
 * the methods cannot be read. */
static uint32_t read_words(pt_tick_java_walk *java, const pt_java_blob *blob, uint64_t pc)
{
    pt_tick_java_cache *const cache = java->cache;
    const uint32_t count =
        pt_java_scopes_at(java->facts->vm, read_memory, java, blob, pc, cache->scopes);
    for (uint32_t i = 0; i < count; i++) {
        cache->words[i] = word_of_scope(java, &cache->scopes[i]);
        if (cache->words[i] == 0) return 0;
    }
    return count;
}

/* Writes the frame words of the functions at a pc to java->cache->words; they come from the
 * thread's cache if it has them. Returns the number of words. */
static uint32_t words_of_place(pt_tick_java_walk *java, uint64_t pc)
{
    pt_tick_java_place *const place = find_place(java, pc);
    if (place == NULL) return 0;
    if (place->count == 0) {
        const uint32_t count = read_words(java, &place->blob, pc);
        if (count == 0 || count > PT_TICK_JAVA_PLACE_WORDS) return count;
        memcpy(place->words, java->cache->words, count * sizeof place->words[0]);
        place->count = count;
        return count;
    }
    memcpy(java->cache->words, place->words, place->count * sizeof place->words[0]);
    return place->count;
}

/* ---- a sample ---- */

void pt_tick_java_begin(pt_tick_java_walk *java, pt_tick_java_cache *cache, pt_tick_walk *walk)
{
    java->facts = NULL;
    if (cache == NULL || pt_tick_is_wrong(PT_JOURNAL_LANGUAGE_JAVA, PT_TICK_JAVA_WRONG_LOOKS))
        return;
    java->is_copying = false;
    java->facts = atomic_load(&pt_tick_languages[PT_JOURNAL_LANGUAGE_JAVA].facts);
    if (java->facts == NULL) return;
    java->cache = cache;
    java->walk = walk;
    java->reads_left = READS_MAX;
    java->reader = (pt_java_reader){.vm = java->facts->vm,
                                    .arg = java,
                                    .read = read_memory,
                                    .read_stack = read_stack,
                                    .blob_at = blob_at,
                                    .method_at = method_at,
                                    .is_code = is_code};
    cache->pages.samples++;
}

bool pt_tick_java_has_frame(const pt_tick_java_walk *java)
{
    const pt_unwind_state *const state = &java->walk->state;
    return pt_java_has_code(java->facts->vm, state->pc - state->is_return);
}

int pt_tick_java_step(pt_tick_java_walk *java, uint32_t *ret_count)
{
    enum { RAX = 0, RBX = 3, R13 = 13 }; /* of x86-64, by DWARF number */
    pt_tick_walk *const walk = java->walk;
    pt_unwind_state *const state = &walk->state;
    pt_java_frame frame = {.pc = state->pc,
                           .sp = state->sp,
                           .fp = state->is_fp_lost ? 0 : state->fp,
                           .is_return = state->is_return};
    pt_java_found found;
    if (state->regs != NULL) {
        frame.bytecode = state->regs[R13];
        frame.result = state->regs[RAX];
        frame.method = state->regs[RBX];
    }
    *ret_count = 0;
    const pt_tick_java_place *const place = find_place(java, state->pc);
    if (place == NULL) return PT_JOURNAL_END_NO_RULE;
    const pt_java_blob blob = place->blob; /* other places may take its room */
    const bool is_step = pt_java_step(&java->reader, &blob, &frame, &found);
    if (blob.kind == PT_JAVA_NMETHOD && found.scope.method == 0)
        *ret_count = words_of_place(java, found.pc);
    if (*ret_count == 0) {
        uint64_t word = 0;
        if (found.scope.method != 0) word = word_of_scope(java, &found.scope);
        java->cache->words[0] = word != 0 ? word : word_of_blob(java, &blob);
        *ret_count = 1;
    }
    if (!is_step) return PT_JOURNAL_END_NO_RULE;
    *state = (pt_unwind_state){.pc = frame.pc,
                               .sp = frame.sp,
                               .fp = frame.fp,
                               .is_return = true,
                               .is_unchecked = state->is_unchecked};
    walk->pc = frame.pc;
    return PT_TICK_FRAME;
}
