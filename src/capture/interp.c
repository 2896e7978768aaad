/* interp.c: see interp.h. */
#include "capture/interp.h"

#include <stdlib.h>
#include <string.h>
#include <sys/uio.h>

#include "base/buf.h"
#include "base/hash.h"
#include "base/index.h"

enum {
    NAME_MAX_BYTES = 1024,
    FILE_MAX_BYTES = 4096,
    LINES_MAX_BYTES = 64 << 10, /* of a line table; frames of a larger one get the first line */
    ALL_LINES_MAX_BYTES = 64 << 20,
    CODES_MAX = 1 << 20,
    WRONG_MAX = 16,
};

/* A code object of a process. */
typedef struct {
    uint64_t addr;
    uint32_t check, start;          /* start: pt_proc.start of the process */
    uint32_t function, lines_bytes; /* function PT_NONE: its names could not be read */
    pt_function content;
    uint8_t form; /* of the lines: PT_PYTHON_LINES_X */
    int32_t first_line;
    uint8_t *lines; /* owned */
} known_code;

struct pt_named {
    pt_builder *builder;
    PT_VECTOR(known_code) code; /* the first stands for all objects that were freed */
    pt_index code_of;
    uint64_t lines_bytes, gone;
    pt_buf refused; /* lines */
};

pt_named *pt_named_new(pt_builder *builder)
{
    pt_named *const named = pt_alloc(1, sizeof *named);
    named->builder = builder;
    pt_index_init(&named->code_of);
    named->refused = (pt_buf)PT_BUF_INIT;
    PT_PUSH(named->code, (known_code){.function = PT_NONE});
    return named;
}

void pt_named_free(pt_named *named)
{
    if (named == NULL) return;
    for (size_t i = 0; i < named->code.count; i++)
        free(named->code.items[i].lines);
    free(named->code.items);
    pt_index_done(&named->code_of);
    pt_buf_done(&named->refused);
    free(named);
}

const char *pt_named_refused(pt_named *named)
{
    return pt_buf_text(&named->refused);
}

uint64_t pt_named_gone(const pt_named *named)
{
    return named->gone;
}

/* ---- the interpreter of a process ---- */

static void move_evaluator(pt_interp_evaluator *evaluator, uint64_t bias)
{
    for (int part = 0; part < 2; part++) {
        evaluator->low[part] += bias;
        evaluator->limit[part] += bias;
    }
}

/* Notes a line, each once. */
static void note_refusal(pt_named *named, pt_python_refusal refusal, const pt_python_build *build)
{
    enum { REFUSED_MAX_BYTES = 1024 };
    char reason[160];
    pt_python_reason(refusal, build, reason, sizeof reason);
    PT_FREE char *line = pt_strf("%s: " PT_PYTHON_MISSING "\n", reason);
    if (named->refused.size < REFUSED_MAX_BYTES &&
        strstr(pt_buf_text(&named->refused), line) == NULL)
        pt_putf(&named->refused, "%s", line);
}

void pt_named_find(pt_named *named, const pt_procs *procs, pt_proc *proc)
{
    pt_proc_python found = {.right = proc->python.right, .wrong = proc->python.wrong};
    uint32_t thread_keys = 0;
    for (size_t i = 0; i < proc->map.count; i++) {
        const pt_proc_map *const map = &proc->map.items[i];
        const pt_image *const image = procs->images.all.items[map->image];
        const pt_interp_image *const facts = &image->interp;
        uint64_t bias;
        if (facts->thread_keys != 0) thread_keys = facts->thread_keys;
        if (facts->refusal != PT_PYTHON_READABLE)
            note_refusal(named, facts->refusal, &facts->build);
        if (facts->layout == NULL || found.facts.runtime != 0 ||
            !pt_image_bias(image, map->range.start, map->range.file_offset, &bias))
            continue;
        found.layout = facts->layout;
        found.facts = (pt_bpf_python){.runtime = facts->runtime + bias,
                                      .code_type = facts->code_type + bias,
                                      .layout = *facts->layout};
        found.text_type = facts->text_type + bias;
        found.bytes_type = facts->bytes_type + bias;
        found.evaluator = facts->evaluator;
        move_evaluator(&found.evaluator, bias);
    }
    found.facts.thread_keys = thread_keys;
    if (found.facts.runtime != proc->python.facts.runtime) found.right = found.wrong = 0;
    proc->python = found;
}

const pt_bpf_python *pt_named_python(const pt_proc *proc)
{
    const pt_proc_python *const python = &proc->python;
    const bool is_refused = python->wrong >= WRONG_MAX && python->right == 0;
    return python->facts.runtime != 0 && python->facts.thread_keys != 0 && !is_refused
               ? &python->facts
               : NULL;
}

/* ---- code objects ---- */

static bool read_process(void *arg, uint64_t addr, void *to, size_t size)
{
    const pt_proc *const proc = arg;
    const struct iovec local = {.iov_base = to, .iov_len = size};
    const struct iovec remote = {.iov_base = (void *)(uintptr_t)addr, .iov_len = size};
    return process_vm_readv((pid_t)proc->pid, &local, 1, &remote, 1, 0) == (ssize_t)size;
}

/* An object's memory that is free has no count of references there. */
static bool is_alive(pt_proc *proc, uint64_t object)
{
    uint64_t references;
    return object != 0 && read_process(proc, object, &references, sizeof references) &&
           references != 0 && references <= UINT32_MAX;
}

/* Reads a code object. False: it is not the object that the kernel copied, or is unreadable. */
static bool read_same(pt_proc *proc, uint64_t addr, uint32_t check, pt_python_code *ret_code)
{
    uint32_t now;
    return pt_python_code_read(proc->python.layout, read_process, proc, addr, ret_code, &now) &&
           now == check && ret_code->type == proc->python.facts.code_type && is_alive(proc, addr) &&
           is_alive(proc, ret_code->name) && is_alive(proc, ret_code->file) &&
           is_alive(proc, ret_code->lines);
}

/* The memory of a process, some of it in a copy. */
typedef struct {
    pt_proc *proc;
    const pt_bpf_code *copy; /* NULL: none */
    bool has_asked;          /* the process was read for the parts that the copy does not have */
} reading;

static bool take_copied(const uint64_t *copy, uint32_t bytes, uint64_t start, uint64_t addr,
                        void *to, size_t size)
{
    if (addr < start || addr - start > bytes || size > bytes - (addr - start)) return false;
    memcpy(to, (const uint8_t *)copy + (addr - start), size);
    return true;
}

static bool read_memory(void *arg, uint64_t addr, void *to, size_t size)
{
    reading *const r = arg;
    const pt_bpf_code *const copy = r->copy;
    if (copy != NULL &&
        (take_copied(copy->name, copy->name_bytes, copy->fields.name, addr, to, size) ||
         take_copied(copy->file, copy->file_bytes, copy->fields.file, addr, to, size) ||
         take_copied(copy->lines, copy->lines_bytes, copy->fields.lines, addr, to, size)))
        return true;
    r->has_asked = true;
    return read_process(r->proc, addr, to, size);
}

/* Was all that was read of the object? */
static bool is_still(const reading *r, uint64_t addr, uint32_t check)
{
    pt_python_code again;
    return !r->has_asked || read_same(r->proc, addr, check, &again);
}

/* Reads the line table. Frames of an object without have its first line. */
static void read_lines(pt_named *named, reading *r, const pt_python_code *code, known_code *known)
{
    uint64_t lines, bytes;
    if (!pt_python_bytes(read_memory, r, code->lines, r->proc->python.bytes_type, &lines, &bytes) ||
        bytes > LINES_MAX_BYTES || named->lines_bytes + bytes > ALL_LINES_MAX_BYTES)
        return;
    PT_FREE uint8_t *table = pt_alloc(bytes + 1, 1);
    if (!read_memory(r, lines, table, (size_t)bytes) || !is_still(r, known->addr, known->check))
        return;
    known->lines = table;
    known->lines_bytes = (uint32_t)bytes;
    named->lines_bytes += bytes;
    table = NULL;
}

/* Completes a code object whose address and check are known. copy: or NULL. */
static bool read_code(pt_named *named, pt_proc *proc, const pt_bpf_code *copy, known_code *known)
{
    const pt_proc_python *const python = &proc->python;
    char name[NAME_MAX_BYTES], file[FILE_MAX_BYTES];
    size_t name_bytes, file_bytes;
    pt_python_code code;
    reading r = {.proc = proc, .copy = copy};
    if (copy != NULL)
        code = copy->fields;
    else if (!read_same(proc, known->addr, known->check, &code))
        return false;
    if (!pt_python_text(python->layout, read_memory, &r, code.name, python->text_type, name,
                        sizeof name, &name_bytes) ||
        !pt_python_text(python->layout, read_memory, &r, code.file, python->text_type, file,
                        sizeof file, &file_bytes) ||
        !is_still(&r, known->addr, known->check))
        return false;
    const uint32_t text = pt_builder_string(named->builder, name, name_bytes).v;
    known->content = (pt_function){.name = text,
                                   .system_name = text,
                                   .file = pt_builder_string(named->builder, file, file_bytes).v,
                                   .start_line = code.first_line};
    known->function = pt_builder_function(named->builder, &known->content).v;
    known->first_line = code.first_line;
    known->form = python->layout->lines;
    read_lines(named, &r, &code, known);
    return true;
}

/* The row of a code object; PT_NONE: it is new, and *ret_hash is for its row. */
static uint32_t find_code(const pt_named *named, const pt_proc *proc, uint64_t addr, uint32_t check,
                          uint64_t *ret_hash)
{
    const known_code *const all = named->code.items;
    *ret_hash = pt_hash_mix(addr, pt_hash_u32_pair(proc->start, check));
    return PT_INDEX_FIND(&named->code_of, *ret_hash, i,
                         all[i].addr == addr && all[i].check == check &&
                             all[i].start == proc->start);
}

void pt_named_learn(pt_named *named, pt_proc *proc, const pt_bpf_code *copy)
{
    uint64_t hash;
    const uint32_t row = find_code(named, proc, copy->code, copy->check, &hash);
    const bool is_known = row != PT_NONE && named->code.items[row].function != PT_NONE;
    if (is_known || proc->python.layout == NULL || named->code.count >= CODES_MAX) return;
    known_code code = {
        .addr = copy->code, .check = copy->check, .start = proc->start, .function = PT_NONE};
    if (!read_code(named, proc, copy, &code)) return;
    if (row != PT_NONE)
        named->code.items[row] = code;
    else
        PT_INDEX_PUSH(&named->code_of, hash, named->code, code);
}

/* The number of a code object; 0: it is gone. */
static uint32_t number_of(pt_named *named, pt_proc *proc, uint64_t addr, uint32_t check)
{
    uint64_t hash;
    uint32_t row = find_code(named, proc, addr, check, &hash);
    if (row == PT_NONE && named->code.count < CODES_MAX) {
        known_code code = {.addr = addr, .check = check, .start = proc->start, .function = PT_NONE};
        if (!proc->has_exited) read_code(named, proc, NULL, &code);
        row = PT_INDEX_PUSH(&named->code_of, hash, named->code, code);
    }
    if (row != PT_NONE && named->code.items[row].function != PT_NONE) return row;
    named->gone++;
    return 0;
}

/* ---- stacks ---- */

static uint64_t word_of(uint32_t number, int32_t place)
{
    return PT_INTERP_FRAME | (uint64_t)number << 32 | (uint32_t)(place + 1);
}

/* Notes whether the first frames of the process were as the layout says. */
static void note_first(pt_named *named, pt_proc *proc, const pt_bpf_stack *walked)
{
    pt_proc_python *const python = &proc->python;
    if (walked->python_count != PT_BPF_PYTHON_BAD)
        python->right = 1;
    else if (python->wrong < WRONG_MAX && ++python->wrong == WRONG_MAX && python->right == 0)
        note_refusal(named, PT_PYTHON_LIES, NULL);
}

void pt_named_join(pt_named *named, pt_proc *proc, const pt_bpf_stack *walked,
                   uint32_t native_count, bool is_whole, uint32_t room, pt_named_chain *ret_chain)
{
    uint64_t frames[PT_BPF_PYTHON_MAX];
    uint32_t count = 0;
    ret_chain->has_python = false;
    ret_chain->is_certain = true;
    if (walked->python_count != 0) note_first(named, proc, walked);
    for (; walked->python_count != PT_BPF_PYTHON_BAD && count < walked->python_count; count++) {
        const uint64_t *const two = walked->pcs + walked->count + 2 * (size_t)count;
        const uint64_t addr = PT_BPF_PYTHON_CODE(two[0]);
        const uint32_t number =
            addr != 0 ? number_of(named, proc, addr, PT_BPF_PYTHON_CHECK(two[1])) : 0;
        frames[count] = word_of(number, PT_BPF_PYTHON_PLACE(two[1])) |
                        ((two[0] & PT_BPF_PYTHON_ENTRY) != 0 ? PT_INTERP_ENTRY : 0) |
                        (addr == 0 ? PT_INTERP_EMPTY : 0);
        ret_chain->has_python |= addr != 0;
    }
    const uint32_t most = room > count ? room - count : 0;
    ret_chain->is_cut = native_count > most;
    if (ret_chain->is_cut) native_count = most;
    is_whole &= !ret_chain->is_cut;
    if (count == 0) {
        memcpy(ret_chain->words, walked->pcs, native_count * sizeof walked->pcs[0]);
        ret_chain->count = native_count;
        return;
    }
    ret_chain->is_certain =
        pt_interp_merge(&proc->python.evaluator, walked->pcs, native_count, is_whole, frames, count,
                        ret_chain->words, &ret_chain->count) == PT_MERGE_CERTAIN;
}

pt_line pt_named_line(const pt_named *named, uint64_t word, pt_function *ret_function)
{
    const uint32_t number = (uint32_t)(word >> 32) & 0xffffff;
    const int32_t place = (int32_t)((uint32_t)word - 1);
    const known_code *const code = &named->code.items[number];
    if (number == 0 || number >= named->code.count) {
        const uint32_t gone = pt_builder_text(named->builder, PT_NAMED_GONE).v;
        *ret_function = (pt_function){.name = gone, .system_name = gone};
        return (pt_line){.function = pt_builder_function(named->builder, ret_function).v};
    }
    *ret_function = code->content;
    return (pt_line){.function = code->function,
                     .line = pt_python_line(code->form, code->lines, code->lines_bytes,
                                            code->first_line, place)};
}
