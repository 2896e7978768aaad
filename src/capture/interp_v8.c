/* interp_v8.c: the V8 of a process: node itself, or its library.
 *
 * The kernel's walker sends the address of a function's shared function info, and in the first
 * sample of a cpu with it a copy of the objects that name it. Names that the copy lacks (long ones,
 * of objects that the collector is moving), and the source for the line, are read from the process
 * when the sample arrives: V8 keeps them among its old objects, which the collector seldom moves.
 * The check shows if another function is at the address by then. */
#include <elf.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/clock.h"
#include "base/memory.h"
#include "base/text.h"
#include "capture/interp_language.h"
#include "wire/journal.h"

/* ---- the file ---- */

/* Sets the fields of the layout that a symbol's value is for; bit i of *found: field i is known. */
static void take_symbol(const pt_elf *elf, const pt_elf_symbol *symbol, pt_v8_layout *layout,
                        uint64_t *found)
{
    enum { NAMES = sizeof pt_v8_symbols[0].names / sizeof pt_v8_symbols[0].names[0] };
    for (size_t i = 0; i < pt_v8_symbol_count; i++)
        for (int k = 0; k < NAMES && pt_v8_symbols[i].names[k] != NULL; k++) {
            if (strcmp(pt_v8_symbols[i].names[k], symbol->name) != 0) continue;
            int32_t value = 0; /* a value of 0 is not stored in the file */
            const uint8_t *const bytes = pt_interp_bytes_at(elf, symbol->value, sizeof value);
            if (bytes != NULL) memcpy(&value, bytes, sizeof value);
            memcpy((char *)layout + pt_v8_symbols[i].offset, &value, sizeof value);
            *found |= UINT64_C(1) << i;
        }
}

/* Reads the symbols of a table. */
static void read_symbols(const pt_elf *elf, uint32_t type, pt_v8_layout *layout, uint64_t *found,
                         bool *ret_has_node)
{
    pt_elf_symbols symbols;
    pt_elf_symbol symbol;
    if (!pt_elf_symbols_open(elf, type, &symbols)) return;
    for (uint32_t i = 1; pt_elf_symbol_at(&symbols, i, &symbol); i++) {
        if (symbol.section_index == SHN_UNDEF) continue;
        if (pt_begins(symbol.name, "v8dbg_")) take_symbol(elf, &symbol, layout, found);
        *ret_has_node |= pt_begins(symbol.name, PT_V8_NODE);
    }
}

static void read_v8(const pt_elf *elf, const char *path, pt_interp_image *image)
{
    pt_v8_layout layout = {0};
    uint64_t found = 0;
    bool has_node = false;
    const uint64_t all = (UINT64_C(1) << pt_v8_symbol_count) - 1;
    (void)path;
    read_symbols(elf, SHT_DYNSYM, &layout, &found, &has_node);
    if (found == 0 && !has_node)
        return; /* another program of that name, or a node whose V8 is in a library */
    if (found != all) read_symbols(elf, SHT_SYMTAB, &layout, &found, &has_node);
    if (found == all && pt_v8_layout_is_known(&layout)) {
        image->facts = (pt_bpf_interp){.language = PT_BPF_JAVASCRIPT, .v8 = {.layout = layout}};
        return;
    }
    image->refused = PT_BPF_JAVASCRIPT;
    snprintf(image->reason, sizeof image->reason, "%s",
             found == all ? PT_V8_UNKNOWN : PT_V8_HIDDEN);
}

/* ---- functions ---- */

/* The source of a script, which is read from the beginning on. */
typedef struct {
    pt_proc *proc;
    uint64_t start;
    size_t bytes; /* that are held */
    uint8_t held[16 << 10];
} source_reading;

static bool read_source(void *arg, uint64_t addr, void *to, size_t size)
{
    source_reading *const r = arg;
    if (addr < r->start || addr - r->start > r->bytes || size > r->bytes - (addr - r->start)) {
        const ssize_t got = pt_proc_read_memory(r->proc, addr, r->held, sizeof r->held);
        r->start = addr;
        r->bytes = got > 0 ? (size_t)got : 0;
        if (size > r->bytes) return pt_code_read_process(r->proc, addr, to, size);
    }
    memcpy(to, r->held + (addr - r->start), size);
    return true;
}

/* Where a function's objects are read. */
typedef struct {
    const pt_v8_layout *layout;
    pt_v8_reader from;
} object_reading;

static bool has_check(const object_reading *o, uint64_t addr, uint32_t check)
{
    uint64_t now;
    return pt_v8_check(o->layout, o->from.read, o->from.arg, addr, &now) &&
           pt_interp_short_check(now) == check;
}

/* ---- the kernel's copy ---- */

/* Reads from bytes that were copied from an address. Returns false if they are others. */
static bool take_bytes(const void *copy, uint64_t from, size_t bytes, uint64_t addr, void *to,
                       size_t size)
{
    if (addr < from || addr - from > bytes || size > bytes - (addr - from)) return false;
    memcpy(to, (const uint8_t *)copy + (addr - from), size);
    return true;
}

static bool take_words(const pt_bpf_v8_words *w, uint64_t addr, void *to, size_t size)
{
    return w->addr != 0 && take_bytes(w->words, w->addr, sizeof w->words, addr, to, size);
}

/* An implementation of pt_interp_read that asks no process. */
static bool read_copy(void *arg, uint64_t addr, void *to, size_t size)
{
    const pt_code_reading *const r = arg;
    const pt_bpf_code *const code = r->copy;
    const pt_bpf_v8_copy *const copy = &code->v8;
    const uint64_t map_type = (uint64_t)r->proc->interp.facts.v8.layout.map_type;
    if (take_words(&copy->script, addr, to, size) || take_words(&copy->scope, addr, to, size) ||
        (copy->tail_addr != 0 &&
         take_bytes(copy->tail, copy->tail_addr, sizeof copy->tail, addr, to, size)) ||
        take_bytes(code->name, code->name_from.addr, code->name_from.bytes, addr, to, size) ||
        take_bytes(code->file, code->file_from.addr, code->file_from.bytes, addr, to, size))
        return true;
    for (size_t i = 0; i < PT_BPF_V8_OBJECTS; i++) {
        const pt_bpf_v8_object *const o = &copy->objects[i];
        const uint16_t type = (uint16_t)o->type;
        if (o->object != 0 &&
            (take_bytes(o->head, o->object - 1, sizeof o->head, addr, to, size) ||
             take_bytes(&type, o->head[0] - 1 + map_type, sizeof type, addr, to, size)))
            return true;
    }
    return false;
}

/* ---- names and lines ---- */

/* Finds the source of a function. The source of a new script may still move, and then other text
 * lies at its address. */
static bool has_source(const object_reading *o, const pt_v8_function *f, pt_v8_source *ret)
{
    *ret = (pt_v8_source){.addr = 0};
    return pt_v8_source_of(o->layout, o->from.read, o->from.arg, f->script, ret);
}

/* Reads the function's names. Returns false if another function is there, it is unreadable, or it
 * was moved meanwhile. */
static bool try_v8_names(const object_reading *o, uint64_t addr, uint32_t check, pt_v8_function *f,
                         pt_code_content *ret)
{
    const pt_v8_reader *const from = &o->from;
    pt_v8_text_room name = {.text = ret->name, .cap = sizeof ret->name};
    pt_v8_text_room file = {.text = ret->file, .cap = sizeof ret->file};
    if (!has_check(o, addr, check) || !pt_v8_shared_at(o->layout, from->read, from->arg, addr, f))
        return false;
    ret->is_own_native = !f->has_script;
    if (!f->has_script) return has_check(o, addr, check);
    const bool is_compiled = f->start >= 0; /* else V8 has discarded the compiled code */
    if (!is_compiled || !pt_v8_names(o->layout, from->read, from->arg, f, &name, &file))
        return false;
    ret->name_bytes = name.bytes;
    ret->file_bytes = file.bytes;
    return has_check(o, addr, check);
}

/* Adds to the budget by the time that has passed. */
static void refill_budget(pt_code_budget *budget)
{
    enum { CHARACTERS_MAX = 64 << 20, CHARACTER_NS = 20 };
    const int64_t now_ns = pt_clock_ns(CLOCK_MONOTONIC);
    const int64_t more = (now_ns - budget->refilled_ns) / CHARACTER_NS;
    const int64_t all = budget->characters + more;
    if (more <= 0) return;
    budget->characters = all < CHARACTERS_MAX ? (uint32_t)all : CHARACTERS_MAX;
    budget->refilled_ns = now_ns;
}

/* The line on which the function begins; 0: unknown. */
static int32_t count_lines(pt_code_reading *r, const pt_v8_layout *layout, const pt_v8_function *f)
{
    pt_proc *const proc = r->proc;
    source_reading source;
    int32_t line;
    source.proc = proc;
    source.start = source.bytes = 0;
    if (proc->source_lines == NULL) proc->source_lines = pt_alloc(1, sizeof *proc->source_lines);
    refill_budget(r->budget);
    proc->source_lines->budget = r->budget->characters;
    const pt_v8_reader objects = {pt_code_read_process, proc}, characters = {read_source, &source};
    const bool is_known =
        pt_v8_line_of(proc->source_lines, layout, &objects, &characters, f, &line);
    r->budget->characters = proc->source_lines->budget;
    return is_known ? line : 0;
}

/* The same, for a function and a source that must not move meanwhile: 0 if they did. */
static int32_t read_line(pt_code_reading *r, const object_reading *process, uint64_t addr,
                         uint32_t check, const pt_v8_function *f)
{
    pt_v8_source before, after;
    const bool has_before = has_source(process, f, &before);
    const int32_t line = count_lines(r, process->layout, f);
    const bool is_same = has_source(process, f, &after) == has_before &&
                         before.addr == after.addr && before.length == after.length &&
                         has_check(process, addr, check);
    return is_same ? line : 0;
}

static bool read_v8_function(pt_code_reading *r, uint64_t addr, uint32_t check,
                             pt_code_content *ret)
{
    enum { TRIES = 3 };
    const pt_v8_layout *const layout = &r->proc->interp.facts.v8.layout;
    const object_reading copy = {layout, {read_copy, r}};
    const object_reading process = {layout, {pt_code_read_process, r->proc}};
    const bool has_copy = r->copy != NULL && r->copy->more_from.bytes == sizeof r->copy->v8;
    pt_v8_function f;
    bool is_read = has_copy && try_v8_names(&copy, addr, check, &f, ret);
    for (int i = 0; i < TRIES && !is_read; i++)
        is_read = try_v8_names(&process, addr, check, &f, ret);
    if (is_read && f.has_script) ret->first_line = read_line(r, &process, addr, check, &f);
    return is_read;
}

const pt_interp_language pt_interp_v8 = {
    .language = PT_JOURNAL_LANGUAGE_JAVASCRIPT,
    .is_hurried = true,
    .lie = PT_V8_LIES,
    .missing = PT_V8_MISSING,
    .is_file = pt_v8_is_file,
    .read_file = read_v8,
    .read_code = read_v8_function,
};
