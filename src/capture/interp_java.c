/* interp_java.c: see interp_java.h. */
#include "capture/interp_java.h"

#include <elf.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/clock.h"
#include "base/hash.h"
#include "capture/interp_language.h"
#include "interp/java.h"
#include "wire/journal.h"

enum {
    PAGE_BYTES = 4096,
    PAGES = 64,
    PLACES = 2048,
    METHODS = 1024,
    FRESH_NS = 100000000, /* data that was read is not compared again for this time */
    /* A page is read once for all samples that are taken from the rings together: all of them were
     * made longer than this before the page was read. */
    PAGE_FRESH_NS = 1000000,
    TRY_NS = 5000000, /* between the first attempts, until the virtual machine has started */
    TRIES_MAX = 16,   /* attempts; the time between them grows */
    LATE_TRY_NS = 1000000000,
    /* Invalid data could make each frame costly. So a process has a budget of reads, which grows by
     * one each READ_NS. A read that asks the kernel for a page counts as KERNEL_READS. */
    READS_MAX = 4 << 20,
    READ_NS = 50,
    KERNEL_READS = 32,
};

/* A page of the process's memory. */
typedef struct {
    uint64_t addr;
    int64_t read_ns; /* now_ns when it was read, as in the types below */
    bool is_readable;
    uint8_t bytes[PAGE_BYTES];
} read_page;

/* A pc in the code cache. */
typedef struct {
    uint64_t pc; /* 0: empty */
    int64_t read_ns;
    pt_java_blob blob;
    uint32_t count;  /* words of methods; 0: they could not be read yet */
    uint64_t *words; /* owned */
} known_place;

typedef struct {
    pt_java_method method; /* method.method 0: empty */
    int64_t read_ns;
    uint32_t number; /* of pt_named */
} known_method;

struct pt_java {
    pt_java_vm vm;
    bool is_ready, is_refused;
    bool is_gone; /* its memory no longer exists */
    unsigned tries;
    uint32_t heaps; /* parts of the code cache at the last attempt */
    int64_t next_try_ns;
    int64_t now_ns; /* when the current sample was begun */
    int64_t reads_left;
    /* of the current sample */
    pt_named *named;
    pt_proc *proc;
    const pt_unwind_modules *modules;
    const pt_unwind_limits *limits;
    pt_copied_runtime runtime;
    pt_java_reader reader;
    read_page page[PAGES];
    known_place place[PLACES];
    known_method method[METHODS];
};

void pt_java_free(pt_java *java)
{
    if (java == NULL) return;
    for (size_t i = 0; i < PLACES; i++)
        free(java->place[i].words);
    free(java);
}

/* ---- memory ---- */

static read_page *page_of(pt_java *java, uint64_t addr)
{
    const uint64_t start = addr / PAGE_BYTES * PAGE_BYTES;
    read_page *const page = &java->page[pt_hash_mix(start, 0) % PAGES];
    if (page->addr == start && java->now_ns - page->read_ns < PAGE_FRESH_NS) return page;
    page->addr = start;
    page->read_ns = java->now_ns;
    java->reads_left -= KERNEL_READS;
    page->is_readable = pt_code_read_process(java->proc, start, page->bytes, PAGE_BYTES);
    if (!page->is_readable && errno == ESRCH) java->is_gone = true;
    return page;
}

static bool read_memory(void *arg, uint64_t addr, void *to, size_t size)
{
    pt_java *const java = arg;
    if (addr > UINT64_MAX - size || java->reads_left <= 0) return false;
    java->reads_left--;
    for (size_t done = 0; done < size;) {
        const uint64_t at = (addr + done) % PAGE_BYTES;
        const size_t left = size - done, in_page = PAGE_BYTES - at;
        const size_t part = left < in_page ? left : in_page;
        const read_page *const page = page_of(java, addr + done);
        if (!page->is_readable) return false;
        memcpy((uint8_t *)to + done, page->bytes + at, part);
        done += part;
    }
    return true;
}

static bool read_stack(void *arg, uint64_t addr, uint64_t *ret_word)
{
    const pt_unwind_limits *const limits = ((const pt_java *)arg)->limits;
    if (addr % sizeof *ret_word != 0 || addr < limits->low || addr >= limits->limit ||
        limits->limit - addr < sizeof *ret_word)
        return false;
    memcpy(ret_word, limits->copy + (addr - limits->low), sizeof *ret_word);
    return true;
}

/* ---- known code and methods ---- */

/* Has the process ended? Then its memory cannot be read any more. */
static bool has_ended(const pt_java *java)
{
    return java->is_gone || java->proc->has_exited;
}

static bool is_fresh(const pt_java *java, int64_t read_ns)
{
    return has_ended(java) || java->now_ns - read_ns < FRESH_NS;
}

static known_place *find_place(pt_java *java, uint64_t pc)
{
    known_place *const known = &java->place[pt_hash_mix(pc, 0) % PLACES];
    if (known->pc == pc) {
        if (is_fresh(java, known->read_ns)) return known;
        if (pt_java_blob_is(&java->vm, read_memory, java, &known->blob)) {
            known->read_ns = java->now_ns;
            return known;
        }
    }
    pt_java_blob blob;
    if (!pt_java_blob_at(&java->vm, read_memory, java, pc, &blob))
        return known->pc == pc && has_ended(java) ? known : NULL;
    free(known->words);
    *known = (known_place){.pc = pc, .read_ns = java->now_ns, .blob = blob};
    return known;
}

static const pt_java_blob *blob_at(void *arg, uint64_t pc)
{
    const known_place *const known = find_place(arg, pc);
    return known != NULL ? &known->blob : NULL;
}

/* Reads a method with its names, and finds its number. The names are part of the check, since
 * another class may get the addresses of one that was unloaded. */
static bool name_method(pt_java *java, uint64_t method, known_method *known)
{
    pt_code_content content = {.lines = NULL};
    pt_java_method *const m = &known->method;
    if (!pt_java_method_at(&java->vm, read_memory, java, method, m) ||
        !pt_java_name(&java->vm, read_memory, java, m, content.name, sizeof content.name,
                      &content.name_bytes) ||
        !pt_java_file(&java->vm, read_memory, java, m, content.file, sizeof content.file,
                      &content.file_bytes))
        return false;
    content.first_line = pt_java_line(&java->vm, read_memory, java, m, 0);
    uint64_t check = pt_hash_mix(m->body, (uint32_t)content.first_line);
    check = pt_hash_mix(check, pt_hash_bytes(content.name, content.name_bytes));
    check = pt_hash_mix(check, pt_hash_bytes(content.file, content.file_bytes));
    known->number = pt_named_add(java->named, java->proc, m->method, pt_interp_short_check(check),
                                 PT_JOURNAL_LANGUAGE_JAVA, &content);
    return true;
}

static known_method *find_method(pt_java *java, uint64_t method)
{
    known_method *const known = &java->method[pt_hash_mix(method, 0) % METHODS];
    const bool is_known = known->method.method == method && method != 0;
    if (is_known && is_fresh(java, known->read_ns)) return known;
    known_method now = {.read_ns = java->now_ns};
    if (!name_method(java, method, &now)) return is_known && has_ended(java) ? known : NULL;
    *known = now;
    return known;
}

static const pt_java_method *method_at(void *arg, uint64_t method)
{
    const known_method *const known = find_method(arg, method);
    return known != NULL ? &known->method : NULL;
}

static bool is_code(void *arg, uint64_t pc)
{
    const pt_java *const java = arg;
    return pt_java_has_code(&java->vm, pc) || pt_unwind_module_at(java->modules, pc) != NULL;
}

/* ---- words ---- */

/* The word of a method at a place; 0: it cannot be read. */
static uint64_t word_of_scope(pt_java *java, const pt_java_scope *scope)
{
    const known_method *const known = find_method(java, scope->method);
    if (known == NULL) return 0;
    const int32_t line = pt_java_line(&java->vm, read_memory, java, &known->method, scope->bci);
    return pt_named_word(known->number, line);
}

/* The word of code that belongs to no method: its name in brackets. */
static uint64_t word_of_blob(pt_java *java, const pt_java_blob *blob)
{
    pt_code_content content = {.lines = NULL};
    const int bytes = snprintf(content.name, sizeof content.name, "[%s]", blob->name);
    content.name_bytes = (size_t)bytes;
    const uint64_t check = pt_hash_bytes(blob->name, strlen(blob->name));
    return pt_named_word(pt_named_add(java->named, java->proc, blob->addr,
                                      pt_interp_short_check(check), PT_JOURNAL_LANGUAGE_JAVA,
                                      &content),
                         0);
}

/* Reads the words of the methods at a place of an nmethod. 0: they cannot be read now. */
static uint32_t read_words(pt_java *java, const known_place *place,
                           uint64_t words[PT_JAVA_SCOPES_MAX])
{
    pt_java_scope scopes[PT_JAVA_SCOPES_MAX];
    const uint32_t count =
        pt_java_scopes_at(&java->vm, read_memory, java, &place->blob, place->pc, scopes);
    for (uint32_t i = 0; i < count; i++) {
        words[i] = word_of_scope(java, &scopes[i]);
        if (words[i] == 0) return 0;
    }
    return count;
}

/* Writes the words of a place in an nmethod (a compiled method), at most cap, which is not 0. */
static uint32_t put_place(pt_java *java, uint64_t pc, uint64_t *words, uint32_t cap)
{
    known_place *const place = find_place(java, pc);
    if (place == NULL) return 0;
    if (place->count == 0) {
        uint64_t read[PT_JAVA_SCOPES_MAX];
        const uint32_t read_count = read_words(java, place, read);
        if (read_count == 0) {
            words[0] = word_of_blob(java, &place->blob);
            return 1;
        }
        free(place->words);
        place->words = pt_alloc(read_count, sizeof *place->words);
        memcpy(place->words, read, read_count * sizeof *read);
        place->count = read_count;
    }
    const uint32_t count = place->count < cap ? place->count : cap;
    memcpy(words, place->words, count * sizeof *words);
    return count;
}

/* ---- for the walk ---- */

static bool has_code(void *arg, uint64_t pc)
{
    return pt_java_has_code(&((const pt_java *)arg)->vm, pc);
}

static uint32_t step_frame(void *arg, pt_unwind_state *state, const pt_unwind_limits *limits,
                           uint64_t *words, uint32_t cap, pt_unwind_end *ret_end)
{
    enum { RAX = 0, RBX = 3, R13 = 13 }; /* of x86-64, by DWARF number */
    pt_java *const java = arg;
    pt_java_frame frame = {.pc = state->pc,
                           .sp = state->sp,
                           .fp = state->is_fp_lost ? 0 : state->fp,
                           .is_return = state->is_return,
                           .bytecode = state->regs != NULL ? state->regs[R13] : 0,
                           .result = state->regs != NULL ? state->regs[RAX] : 0,
                           .method = state->regs != NULL ? state->regs[RBX] : 0};
    pt_java_found found;
    uint64_t word = 0;
    java->limits = limits;
    *ret_end = PT_UNWIND_END_NO_RULE;
    const known_place *const place = find_place(java, state->pc);
    if (place == NULL) return 0;
    const pt_java_blob blob = place->blob; /* other places may take its room */
    const bool is_step = pt_java_step(&java->reader, &blob, &frame, &found);
    if (is_step) {
        *state = (pt_unwind_state){.pc = frame.pc,
                                   .sp = frame.sp,
                                   .fp = frame.fp,
                                   .is_return = true,
                                   .is_unchecked = state->is_unchecked};
        *ret_end = PT_UNWIND_END_GOING_ON;
    }
    if (cap == 0) return 0;
    if (blob.kind == PT_JAVA_NMETHOD && found.scope.method == 0)
        return put_place(java, found.pc, words, cap);
    if (found.scope.method != 0) word = word_of_scope(java, &found.scope);
    words[0] = word != 0 ? word : word_of_blob(java, &blob);
    return 1;
}

/* ---- the machine of a process ---- */

static const pt_image *image_of(const pt_procs *procs, const pt_proc *proc, uint64_t *ret_bias)
{
    for (size_t i = 0; i < proc->map.count; i++) {
        const pt_proc_map *const map = &proc->map.items[i];
        const pt_image *const image = procs->images.all.items[map->image];
        if (image->interp.java[PT_JAVA_FIELDS] != 0 &&
            pt_image_bias(image, map->range.start, map->range.file_offset, ret_bias))
            return image;
    }
    return NULL;
}

bool pt_java_is_in(const pt_procs *procs, const pt_proc *proc)
{
    uint64_t bias;
    return image_of(procs, proc, &bias) != NULL;
}

/* Reads the virtual machine's tables, if the virtual machine has made them. */
static void read_machine(pt_java *java, const pt_procs *procs)
{
    char reason[160];
    uint64_t bias, symbols[PT_JAVA_SYMBOLS];
    const pt_image *const image = image_of(procs, java->proc, &bias);
    if (image == NULL) return;
    for (int i = 0; i < PT_JAVA_SYMBOLS; i++)
        symbols[i] = image->interp.java[i] != 0 ? image->interp.java[i] + bias : 0;
    const bool is_late = java->tries >= TRIES_MAX;
    java->next_try_ns = java->now_ns + (is_late ? LATE_TRY_NS : TRY_NS << (java->tries / 2));
    java->tries++;
    const pt_java_state state = PT_MACHINE_HOST->elf_machine == EM_X86_64
                                    ? pt_java_vm_read(symbols, read_memory, java, &java->vm)
                                    : PT_JAVA_REFUSED;
    /* The machine makes the parts of its code cache one after the other. */
    java->is_ready = state == PT_JAVA_READY && java->vm.heap_count == java->heaps;
    java->heaps = java->vm.heap_count;
    java->is_refused = state == PT_JAVA_REFUSED || (state == PT_JAVA_PARTIAL && is_late);
    if (!java->is_refused) return;
    snprintf(reason, sizeof reason, PT_JAVA_UNKNOWN, java->vm.major);
    pt_named_refuse(java->named, reason, PT_JAVA_MISSING);
}

const pt_copied_runtime *pt_java_runtime(pt_named *named, const pt_procs *procs, pt_proc *proc,
                                         const pt_unwind_modules *modules)
{
    if (proc->java == NULL) {
        if (proc->has_exited || !proc->has_java) return NULL;
        proc->java = pt_alloc(1, sizeof *proc->java);
        proc->java->runtime =
            (pt_copied_runtime){.arg = proc->java, .has_code = has_code, .step = step_frame};
        proc->java->reader = (pt_java_reader){.vm = &proc->java->vm,
                                              .arg = proc->java,
                                              .read = read_memory,
                                              .read_stack = read_stack,
                                              .blob_at = blob_at,
                                              .method_at = method_at,
                                              .is_code = is_code};
    }
    pt_java *const java = proc->java;
    java->named = named;
    java->proc = proc;
    java->modules = modules;
    const int64_t now_ns = pt_clock_ns(CLOCK_MONOTONIC);
    const int64_t reads = java->reads_left + (now_ns - java->now_ns) / READ_NS;
    java->reads_left = reads < READS_MAX ? reads : READS_MAX;
    java->now_ns = now_ns;
    if (!java->is_ready && !java->is_refused && java->now_ns >= java->next_try_ns)
        read_machine(java, procs);
    return java->is_ready ? &java->runtime : NULL;
}
