/* interp.c: see interp.h. */
#include "capture/interp.h"

#include <stdlib.h>
#include <string.h>

#include "base/buf.h"
#include "base/hash.h"
#include "base/index.h"
#include "capture/interp_java.h"
#include "capture/interp_language.h"
#include "process/path_kind.h"
#include "wire/journal.h"

enum {
    ALL_LINES_MAX_BYTES = 64 << 20,
    CODES_MAX = 1 << 20,
    SHARE = 8, /* a process may use one part in this many of each limit above */
    WRONG_MAX = 16,
};

/* A function of a process. */
typedef struct {
    uint64_t addr;
    uint32_t check, start; /* start: pt_proc.start of the process; 0: the row is free */
    uint32_t before;   /* the process's previous row, of a free row the next free one; 0: none */
    uint32_t function; /* PT_NONE: its names could not be read */
    pt_function content;
    uint8_t language; /* PT_JOURNAL_LANGUAGE_X */
    /* The next four: as in pt_code_content. */
    bool is_own_native;
    uint8_t form; /* of the lines */
    uint32_t lines_bytes;
    uint8_t *lines; /* the line table, owned */
} known_code;

struct pt_named {
    pt_builder *builder;
    /* The first row of each language stands for all functions that were freed. */
    PT_VECTOR(known_code) code;
    pt_index code_of;  /* has rows that became free, too */
    uint32_t free_row; /* 0: none */
    uint32_t freed;    /* rows that became free since code_of was built */
    uint64_t lines_bytes, gone;
    pt_code_budget budget;
    pt_buf refused; /* lines */
};

pt_named *pt_named_new(pt_builder *builder)
{
    pt_named *const named = pt_alloc(1, sizeof *named);
    named->builder = builder;
    pt_index_init(&named->code_of);
    named->refused = (pt_buf)PT_BUF_INIT;
    for (int i = 0; i < PT_JOURNAL_LANGUAGES; i++)
        PT_PUSH(named->code, (known_code){.function = PT_NONE, .language = (uint8_t)i});
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

const pt_interp_language *const pt_interp_languages[PT_BPF_LANGUAGES] = {
    [PT_BPF_PYTHON] = &pt_interp_python, [PT_BPF_PHP] = &pt_interp_php,
    [PT_BPF_PERL] = &pt_interp_perl,     [PT_BPF_RUBY] = &pt_interp_ruby,
    [PT_BPF_JAVASCRIPT] = &pt_interp_v8,
};

static void move_evaluator(pt_interp_evaluator *evaluator, uint64_t bias)
{
    for (int part = 0; part < 2; part++) {
        evaluator->low[part] += bias;
        evaluator->limit[part] += bias;
    }
    evaluator->file_low += bias;
    evaluator->file_limit += bias;
}

void pt_named_refuse(pt_named *named, const char *reason, const char *missing)
{
    enum { REFUSED_MAX_BYTES = 1024 };
    PT_FREE char *line = pt_strf("%s: %s\n", reason, missing);
    if (named->refused.size < REFUSED_MAX_BYTES &&
        strstr(pt_buf_text(&named->refused), line) == NULL)
        pt_putf(&named->refused, "%s", line);
}

static const pt_interp_language *language_of(const pt_proc_interp *interp)
{
    return pt_interp_languages[interp->facts.language];
}

/* Notes the interpreter of an image. bias: of the image's addresses. */
static void take_interp(pt_proc_interp *interp, const pt_interp_image *image, uint64_t bias)
{
    interp->facts = image->facts;
    interp->facts.state += bias;
    interp->evaluator = image->evaluator;
    move_evaluator(&interp->evaluator, bias);
    const pt_interp_language *const row = language_of(interp);
    if (row->move != NULL) row->move(&interp->facts, bias);
    interp->language = row->language;
}

void pt_named_find(pt_named *named, const pt_procs *procs, pt_proc *proc)
{
    pt_proc_interp found = {.right = proc->interp.right, .wrong = proc->interp.wrong};
    uint32_t thread_keys = 0;
    for (size_t i = 0; i < proc->map.count; i++) {
        const pt_proc_map *const map = &proc->map.items[i];
        const pt_image *const image = procs->images.all.items[map->image];
        const pt_interp_image *const facts = &image->interp;
        uint64_t bias;
        if (facts->thread_keys != 0) thread_keys = facts->thread_keys;
        if (facts->refused != PT_BPF_NO_LANGUAGE)
            pt_named_refuse(named, facts->reason, pt_interp_languages[facts->refused]->missing);
        if (found.facts.language == PT_BPF_NO_LANGUAGE &&
            facts->facts.language != PT_BPF_NO_LANGUAGE &&
            pt_image_bias(image, map->range.start, map->range.file_offset, &bias))
            take_interp(&found, facts, bias);
    }
    found.facts.thread_keys = thread_keys;
    if (found.facts.language != proc->interp.facts.language ||
        found.facts.state != proc->interp.facts.state)
        found.right = found.wrong = 0;
    proc->interp = found;
}

const pt_bpf_interp *pt_named_wanted(const pt_proc *proc)
{
    const pt_proc_interp *const interp = &proc->interp;
    const pt_interp_language *const row = language_of(interp);
    const bool is_refused = interp->wrong >= WRONG_MAX && interp->right == 0;
    const bool is_known = row != NULL && (!row->needs_glibc || interp->facts.thread_keys != 0);
    return is_known && !is_refused ? &interp->facts : NULL;
}

bool pt_named_is_hurried(const pt_proc *proc)
{
    const pt_interp_language *const row = language_of(&proc->interp);
    return row != NULL && row->is_hurried;
}

/* ---- functions ---- */

bool pt_code_read_process(void *arg, uint64_t addr, void *to, size_t size)
{
    return pt_proc_read_memory(arg, addr, to, size) == (ssize_t)size;
}

/* Reads from the kernel's copy. Beyond the end of a text that was copied whole, the bytes are
 * zeros. Returns false if the copy lacks the bytes. */
static bool take_copied(const uint64_t *copy, const pt_bpf_origin *from, uint64_t addr, void *to,
                        size_t size)
{
    if (addr < from->addr || addr - from->addr > from->bytes) return false;
    const uint64_t left = from->bytes - (addr - from->addr);
    if (size > left && (!from->is_ended || left == 0)) return false;
    memset(to, 0, size);
    memcpy(to, (const uint8_t *)copy + (addr - from->addr), size < left ? size : (size_t)left);
    return true;
}

bool pt_code_read_memory(void *arg, uint64_t addr, void *to, size_t size)
{
    pt_code_reading *const r = arg;
    const pt_bpf_code *const copy = r->copy;
    if (copy != NULL && (take_copied(copy->name, &copy->name_from, addr, to, size) ||
                         take_copied(copy->file, &copy->file_from, addr, to, size) ||
                         take_copied(copy->more, &copy->more_from, addr, to, size)))
        return true;
    r->has_asked = true;
    return pt_code_read_process(r->proc, addr, to, size);
}

static void take_names(pt_named *named, const pt_code_content *content, known_code *known)
{
    pt_builder *const b = named->builder;
    const uint32_t text = pt_builder_string(b, content->name, content->name_bytes).v;
    known->content =
        (pt_function){.name = text,
                      .system_name = text,
                      .file = pt_builder_string(b, content->file, content->file_bytes).v,
                      .start_line = content->first_line};
    known->function = pt_builder_function(b, &known->content).v;
}

/* Reads a function whose address and check are known. copy: the kernel's, or NULL. */
static bool read_code(pt_named *named, pt_proc *proc, const pt_bpf_code *copy, known_code *known)
{
    pt_code_reading r = {.proc = proc, .budget = &named->budget, .copy = copy};
    pt_code_content content;
    content.name_bytes = content.file_bytes = 0;
    content.lines = NULL;
    content.lines_bytes = content.form = 0;
    content.first_line = 0;
    content.is_own_native = false;
    known->language = proc->interp.language;
    if (!language_of(&proc->interp)->read_code(&r, known->addr, known->check, &content))
        return false;
    known->is_own_native = content.is_own_native;
    take_names(named, &content, known);
    if (named->lines_bytes + content.lines_bytes > ALL_LINES_MAX_BYTES ||
        proc->lines_bytes + content.lines_bytes > ALL_LINES_MAX_BYTES / SHARE) {
        free(content.lines);
        return true;
    }
    known->form = content.form;
    known->lines = content.lines;
    known->lines_bytes = content.lines_bytes;
    named->lines_bytes += content.lines_bytes;
    proc->lines_bytes += content.lines_bytes;
    return true;
}

static uint64_t code_hash(const known_code *code)
{
    return pt_hash_mix(code->addr, pt_hash_u32_pair(code->start, code->check));
}

/* The row of a function by its address, check and start; PT_NONE if the function is new. */
static uint32_t find_code(const pt_named *named, const known_code *code)
{
    const known_code *const all = named->code.items;
    return PT_INDEX_FIND(&named->code_of, code_hash(code), i,
                         all[i].addr == code->addr && all[i].check == code->check &&
                             all[i].start == code->start);
}

static bool has_room(const pt_named *named, const pt_proc *proc)
{
    return (named->free_row != 0 || named->code.count < CODES_MAX) &&
           proc->code_count < CODES_MAX / SHARE;
}

/* Adds a function of the process. Returns its row. */
static uint32_t add_code(pt_named *named, pt_proc *proc, known_code code)
{
    uint32_t row = named->free_row;
    code.before = proc->last_code;
    if (row != 0) {
        named->free_row = named->code.items[row].before;
        named->code.items[row] = code;
    } else {
        row = (uint32_t)named->code.count;
        PT_PUSH(named->code, code);
    }
    pt_index_add(&named->code_of, code_hash(&code), row);
    proc->last_code = row;
    proc->code_count++;
    return row;
}

void pt_named_forget(pt_named *named, pt_proc *proc)
{
    enum { FREED_MIN = 1024 };
    pt_java_free(proc->java); /* the cache holds numbers of rows */
    proc->java = NULL;
    for (uint32_t row = proc->last_code; row != 0;) {
        known_code *const code = &named->code.items[row];
        const uint32_t before = code->before;
        named->lines_bytes -= code->lines_bytes;
        free(code->lines);
        *code = (known_code){.function = PT_NONE, .before = named->free_row};
        named->free_row = row;
        named->freed++;
        row = before;
    }
    proc->last_code = proc->code_count = proc->lines_bytes = 0;
    free(proc->source_lines);
    proc->source_lines = NULL;
    if (named->freed <= FREED_MIN || named->freed <= named->code_of.count / 2) return;
    pt_index_done(&named->code_of);
    for (uint32_t row = 0; row < named->code.count; row++)
        if (named->code.items[row].start != 0)
            pt_index_add(&named->code_of, code_hash(&named->code.items[row]), row);
    named->freed = 0;
}

void pt_named_learn(pt_named *named, pt_proc *proc, const pt_bpf_code *copy)
{
    known_code code = {
        .addr = copy->code, .check = copy->check, .start = proc->start, .function = PT_NONE};
    const uint32_t row = find_code(named, &code);
    const bool is_known = row != PT_NONE && named->code.items[row].function != PT_NONE;
    if (is_known || language_of(&proc->interp) == NULL ||
        copy->language != proc->interp.facts.language || /* it maps another interpreter now */
        (row == PT_NONE && !has_room(named, proc)))
        return;
    if (!read_code(named, proc, copy, &code)) return;
    if (row == PT_NONE) {
        add_code(named, proc, code);
        return;
    }
    code.before = named->code.items[row].before;
    named->code.items[row] = code;
}

/* The number of a function; if the function is gone, the number of the row for its language. */
static uint32_t number_of(pt_named *named, pt_proc *proc, uint64_t addr, uint32_t check)
{
    known_code code = {.addr = addr, .check = check, .start = proc->start, .function = PT_NONE};
    uint32_t row = find_code(named, &code);
    if (row == PT_NONE && has_room(named, proc)) {
        if (!proc->has_exited && language_of(&proc->interp) != NULL)
            read_code(named, proc, NULL, &code);
        row = add_code(named, proc, code);
    }
    if (row != PT_NONE && named->code.items[row].function != PT_NONE) return row;
    named->gone++;
    return proc->interp.language;
}

uint32_t pt_named_add(pt_named *named, pt_proc *proc, uint64_t addr, uint32_t check,
                      uint8_t language, const pt_code_content *content)
{
    known_code code = {.addr = addr, .check = check, .start = proc->start, .language = language};
    const uint32_t row = find_code(named, &code);
    if (row != PT_NONE) return row;
    if (!has_room(named, proc)) return language;
    take_names(named, content, &code);
    return add_code(named, proc, code);
}

/* ---- stacks ---- */

uint64_t pt_named_word(uint32_t number, int32_t place)
{
    return PT_INTERP_FRAME | (uint64_t)number << 32 | ((uint32_t)place + 1);
}

/* Notes whether the first frames of the process fit the layout. A frame whose texts were unreadable
 * shows neither fit nor misfit. */
static void note_first(pt_named *named, pt_proc *proc, const pt_bpf_stack *walked)
{
    pt_proc_interp *const interp = &proc->interp;
    if (walked->frame_count != PT_BPF_FRAMES_BAD) {
        const uint64_t *const first = walked->pcs + walked->count;
        if (PT_BPF_FRAME_CODE(first[0]) == 0 || PT_BPF_FRAME_CHECK(first[1]) != 0)
            interp->right = 1;
        return;
    }
    const pt_interp_language *const row = language_of(interp);
    if (row == NULL || interp->wrong == WRONG_MAX || ++interp->wrong < WRONG_MAX ||
        interp->right != 0)
        return;
    pt_named_refuse(named, row->lie, row->missing);
}

static bool has_evaluator(const pt_proc_interp *interp, const uint64_t *pcs, uint32_t count)
{
    for (uint32_t i = 0; i < count; i++)
        if (pt_interp_is_evaluator(&interp->evaluator, pcs[i], i == 0)) return true;
    return false;
}

/* The number of the interpreter's frames that the stack has. */
static uint32_t count_frames(const pt_proc_interp *interp, const pt_bpf_stack *walked,
                             uint32_t native_count, bool is_whole)
{
    const uint32_t count = walked->frame_count;
    if (count == 0 || count == PT_BPF_FRAMES_BAD || count > PT_BPF_FRAMES_MAX) return 0;
    const pt_interp_language *const row = language_of(interp);
    if (row == NULL) return 0; /* the process runs another program now */
    const bool is_own = !row->is_one_chain || has_evaluator(interp, walked->pcs, native_count) ||
                        (!is_whole && (walked->pcs[walked->count] & PT_BPF_FRAME_HELD) != 0);
    return is_own ? count : 0;
}

/* Joins the frames of an interpreter that runs on the native stack (V8): puts each frame after its
 * native frame. */
static void join_by_place(pt_named *named, pt_proc *proc, const pt_bpf_stack *walked,
                          uint32_t native_count, uint32_t frame_count, uint32_t room,
                          pt_named_chain *ret_chain)
{
    const uint64_t *frame = walked->pcs + walked->count;
    const uint64_t *const end = frame + 2 * (size_t)frame_count;
    uint32_t count = 0, i = 0;
    for (; i < native_count && count < room; i++) {
        ret_chain->words[count++] = walked->pcs[i];
        if (frame == end || PT_BPF_FRAME_PLACE(frame[1]) != (int32_t)i) continue;
        const uint32_t number =
            number_of(named, proc, PT_BPF_FRAME_CODE(frame[0]), PT_BPF_FRAME_CHECK(frame[1]));
        const unsigned tier = PT_BPF_FRAME_TIER(frame[0]);
        frame += 2;
        if (named->code.items[number].is_own_native || count == room) continue;
        ret_chain->words[count++] = pt_named_word(number, (int32_t)tier);
        ret_chain->has_frames = true;
    }
    ret_chain->count = count;
    ret_chain->is_cut = i < native_count;
}

void pt_named_join(pt_named *named, pt_proc *proc, const pt_bpf_stack *walked,
                   uint32_t native_count, bool is_whole, uint32_t room, pt_named_chain *ret_chain)
{
    uint64_t frames[PT_BPF_FRAMES_MAX];
    const uint32_t count = count_frames(&proc->interp, walked, native_count, is_whole);
    ret_chain->has_frames = false;
    ret_chain->is_certain = true;
    if (walked->frame_count != 0) note_first(named, proc, walked);
    if (!pt_mapped_languages[proc->interp.language].is_counted) {
        join_by_place(named, proc, walked, native_count, count, room, ret_chain);
        return;
    }
    for (uint32_t i = 0; i < count; i++) {
        const uint64_t *const two = walked->pcs + walked->count + 2 * (size_t)i;
        const uint64_t addr = PT_BPF_FRAME_CODE(two[0]);
        const uint32_t number =
            addr != 0 ? number_of(named, proc, addr, PT_BPF_FRAME_CHECK(two[1])) : 0;
        frames[i] = pt_named_word(number, PT_BPF_FRAME_PLACE(two[1])) |
                    ((two[0] & PT_BPF_FRAME_ENTRY) != 0 ? PT_INTERP_ENTRY : 0) |
                    ((two[0] & PT_BPF_FRAME_LAST) != 0 ? PT_INTERP_LAST : 0) |
                    (addr == 0 ? PT_INTERP_EMPTY : 0);
        ret_chain->has_frames |= addr != 0;
    }
    const uint32_t most = room > count ? room - count : 0;
    const bool is_cut = native_count > most;
    if (is_cut) native_count = most;
    is_whole &= !is_cut;
    ret_chain->is_cut = is_cut || !pt_interp_is_whole(frames, count);
    if (count == 0) {
        memcpy(ret_chain->words, walked->pcs, native_count * sizeof walked->pcs[0]);
        ret_chain->count = native_count;
        return;
    }
    ret_chain->is_certain =
        pt_interp_merge(&proc->interp.evaluator, walked->pcs, native_count, is_whole, frames, count,
                        ret_chain->words, &ret_chain->count) == PT_MERGE_CERTAIN;
}

static const known_code *code_of(const pt_named *named, uint64_t word)
{
    const uint32_t number = (uint32_t)(word >> 32) & 0xffffff;
    return &named->code.items[number < named->code.count ? number : 0];
}

static int32_t place_of(uint64_t word)
{
    return (int32_t)((uint32_t)word - 1);
}

unsigned pt_named_tier(const pt_named *named, uint64_t word)
{
    const bool is_v8 = code_of(named, word)->language == PT_JOURNAL_LANGUAGE_JAVASCRIPT;
    return is_v8 && (uint32_t)place_of(word) < PT_V8_TIERS ? (unsigned)place_of(word)
                                                           : PT_V8_NO_TIER;
}

pt_line pt_named_line(const pt_named *named, uint64_t word, pt_function *ret_function,
                      uint8_t *ret_language)
{
    const int32_t place = place_of(word);
    const known_code *const code = code_of(named, word);
    *ret_language = code->language;
    if (code->function == PT_NONE) {
        PT_FREE char *text = pt_strf("[%s code]", pt_mapped_languages[code->language].name);
        const uint32_t gone = pt_builder_text(named->builder, text).v;
        *ret_function = (pt_function){.name = gone, .system_name = gone};
        return (pt_line){.function = pt_builder_function(named->builder, ret_function).v};
    }
    *ret_function = code->content;
    if (pt_mapped_languages[code->language].has_lines)
        return (pt_line){.function = code->function, .line = place};
    return (pt_line){.function = code->function,
                     .line = pt_python_line(code->form, code->lines, code->lines_bytes,
                                            (int32_t)code->content.start_line, place)};
}
