/* addr2line.c: GNU addr2line's answers, with its habits:
 *
 *   - where there is no DWARF the nearest function symbol before the address is named, however far,
 *     with the file of its FILE symbol and line 0
 *   - a C++ function without a linkage name (of a local type, say) is called by the symbol that its
 *     code lies in the first time an address in it is asked for, and by its own name afterwards
 *   - what lies in no allocated section is ??
 *
 * The choice among symbols is that of binutils 2.40 (_bfd_elf_find_function, as it behaves).
 */
#include "personality/perl/addr2line.h"

#include <elf.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "base/file.h"
#include "base/grow.h"
#include "base/hash.h"
#include "cmd/options.h"
#include "elf/image.h"
#include "object/demangle.h"
#include "object/object.h"
#include "source/images.h"

typedef struct {
    uint64_t value, size;
    uint32_t section, order;
    const char *name, *file; /* file: NULL when unknown */
    bool is_function, is_untyped;
} function_symbol;

struct pt_perl_addr2line {
    pt_perl_session *session;
    pt_source_options source;
    pt_source_search search;
    pt_object *object;
    pt_blob debug_blob; /* of the separate debug file, for its symbols */
    pt_elf debug_elf;
    function_symbol *symbols; /* by section, value, order */
    size_t symbol_count, symbol_cap;
    pt_index asked; /* C++ functions without linkage names that were asked for */
    uint64_t *asked_keys;
    size_t asked_count, asked_cap;
};

/* ---- Function symbols ---- */

static int by_place(const void *a, const void *b)
{
    const function_symbol *x = a, *y = b;
    if (x->section != y->section) return x->section < y->section ? -1 : 1;
    if (x->value != y->value) return x->value < y->value ? -1 : 1;
    return x->order < y->order ? -1 : x->order > y->order;
}

static bool may_be_function(const pt_elf_symbol *symbol)
{
    if (symbol->section_index == SHN_UNDEF || symbol->is_reserved_index) return false;
    if (symbol->type != STT_NOTYPE && symbol->type != STT_FUNC && symbol->type != STT_GNU_IFUNC)
        return false;
    return symbol->size_bytes > 0 || symbol->binding != STB_LOCAL || symbol->type != STT_NOTYPE ||
           symbol->visibility != STV_HIDDEN;
}

static void collect_symbols(pt_perl_addr2line *tool, const pt_elf *elf)
{
    pt_elf_symbols table;
    if (!pt_elf_symbols_open(elf, SHT_SYMTAB, &table) &&
        !pt_elf_symbols_open(elf, SHT_DYNSYM, &table))
        return;
    enum { NOTHING, SYMBOL, FILE_AFTER_SYMBOL } seen = NOTHING;
    const char *file = NULL;
    pt_elf_symbol symbol;
    for (uint32_t i = 1; pt_elf_symbol_at(&table, i, &symbol); i++) {
        if (symbol.type == STT_FILE) {
            file = symbol.name;
            if (seen == SYMBOL) seen = FILE_AFTER_SYMBOL;
            continue;
        }
        if (seen == NOTHING) seen = SYMBOL;
        if (!may_be_function(&symbol)) continue;
        const bool has_file = symbol.binding == STB_LOCAL || seen != FILE_AFTER_SYMBOL;
        tool->symbols = pt_grow(tool->symbols, &tool->symbol_cap, tool->symbol_count + 1,
                                sizeof *tool->symbols);
        tool->symbols[tool->symbol_count++] =
            (function_symbol){.value = symbol.value,
                              .size = symbol.size_bytes > 0 ? symbol.size_bytes : 1,
                              .section = symbol.section_index,
                              .order = i,
                              .name = symbol.name,
                              .file = has_file ? file : NULL,
                              .is_function = symbol.type != STT_NOTYPE,
                              .is_untyped = symbol.type == STT_NOTYPE};
    }
    if (tool->symbol_count > 0)
        qsort(tool->symbols, tool->symbol_count, sizeof *tool->symbols, by_place);
}

/* Of two symbols at one value: whether the later is preferred. */
static bool fits_better(const function_symbol *best, const function_symbol *other, uint64_t addr)
{
    if (best->value + best->size <= addr) return other->size > best->size;
    if (other->value + other->size <= addr) return false;
    if (best->is_function != other->is_function) return other->is_function;
    if (best->is_untyped != other->is_untyped) return best->is_untyped;
    return other->size < best->size;
}

static const function_symbol *find_symbol(const pt_perl_addr2line *tool, uint32_t section,
                                          uint64_t addr)
{
    size_t low = 0, high = tool->symbol_count; /* the first symbol past (section, addr) */
    while (low < high) {
        const size_t middle = low + (high - low) / 2;
        const function_symbol *s = &tool->symbols[middle];
        if (s->section < section || (s->section == section && s->value <= addr))
            low = middle + 1;
        else
            high = middle;
    }
    if (low == 0 || tool->symbols[low - 1].section != section) return NULL;
    size_t first = low - 1;
    while (first > 0 && tool->symbols[first - 1].section == section &&
           tool->symbols[first - 1].value == tool->symbols[low - 1].value)
        first--;
    const function_symbol *best = &tool->symbols[first];
    for (size_t i = first + 1; i < low; i++)
        if (fits_better(best, &tool->symbols[i], addr)) best = &tool->symbols[i];
    return best;
}

/* The allocated section that holds an address, 0 if none does. */
static uint32_t section_of(const pt_elf *elf, uint64_t addr)
{
    pt_elf_section section;
    for (uint32_t i = 1; pt_elf_section_at(elf, i, &section); i++)
        if ((section.flags & SHF_ALLOC) && !(section.flags & SHF_TLS) && addr >= section.addr &&
            addr - section.addr < section.size_bytes)
            return i;
    return 0;
}

/* ---- Opening ---- */

static void open_debug_symbols(pt_perl_addr2line *tool)
{
    pt_object_facts facts;
    const pt_elf *elf = pt_object_elf(tool->object);
    pt_object_look(tool->object, PT_OBJECT_LINES, &facts);
    if (facts.debug_path != NULL &&
        pt_file_read(facts.debug_path, PT_FILE_REGULAR, UINT64_MAX, &tool->debug_blob, NULL) ==
            PT_OK &&
        pt_elf_open(tool->debug_blob.data, tool->debug_blob.size, &tool->debug_elf) == PT_ELF_OK)
        elf = &tool->debug_elf;
    collect_symbols(tool, elf);
}

pt_perl_addr2line *pt_perl_addr2line_new(pt_perl_session *session, const char *path)
{
    pt_image_file file = PT_IMAGE_FILE_INIT;
    if (pt_file_read(path, PT_FILE_REGULAR, UINT64_MAX, &file.blob, NULL) != PT_OK) return NULL;
    file.path = pt_strdup(path);
    pt_perl_addr2line *tool = pt_alloc(1, sizeof *tool);
    tool->session = session;
    tool->debug_blob = PT_BLOB_INIT;
    tool->search = (pt_source_search){.options = &tool->source};
    if (pt_object_open(&file, pt_source_find_companion, &tool->search, &tool->object, NULL) !=
        PT_OK) {
        free(tool);
        return NULL;
    }
    pt_object_keep_as_written(tool->object);
    open_debug_symbols(tool);
    return tool;
}

void pt_perl_addr2line_free(pt_perl_addr2line *tool)
{
    if (tool == NULL) return;
    const char *const shrunk = pt_object_shrunk(tool->object);
    if (shrunk != NULL) pt_perl_say("%s: " PT_FILE_SHRANK "\n", shrunk);
    pt_object_free(tool->object);
    pt_blob_done(&tool->debug_blob);
    free(tool->symbols);
    free(tool->asked_keys);
    pt_index_done(&tool->asked);
    free(tool);
}

/* ---- Asking ---- */

typedef struct {
    pt_perl_addr2line *tool;
    const uint64_t *addrs;
    bool inlines;
    bool *answered;
    pt_perl_lines_sink *sink;
    void *context;
} question;

static char *demangled(const char *name)
{
    char *text = pt_demangle(name, PT_DEMANGLE_BINUTILS);
    return text != NULL ? text : pt_strdup(name);
}

/* From the symbols alone. */
static void answer_by_symbol(const question *q, size_t index)
{
    pt_perl_addr2line *tool = q->tool;
    const uint64_t addr = q->addrs[index];
    const uint32_t section = section_of(pt_object_elf(tool->object), addr);
    const function_symbol *symbol = section > 0 ? find_symbol(tool, section, addr) : NULL;
    const char *file = symbol != NULL ? symbol->file : NULL;
    pt_perl_line line = {.function = symbol != NULL ? demangled(symbol->name) : pt_strdup("??"),
                         .file_line = pt_strf("%s:0", file != NULL ? file : "??")};
    q->answered[index] = true;
    q->sink(q->context, index, &line, 1);
    free(line.function);
    free(line.file_line);
}

/* Whether something is asked for the first time. */
static bool is_first_time(pt_perl_addr2line *tool, uint64_t key)
{
    pt_probe probe;
    for (uint32_t id = pt_index_first(&tool->asked, key, &probe); id != PT_NONE;
         id = pt_index_next(&tool->asked, &probe))
        if (tool->asked_keys[id] == key) return false;
    tool->asked_keys = pt_grow(tool->asked_keys, &tool->asked_cap, tool->asked_count + 1,
                               sizeof *tool->asked_keys);
    tool->asked_keys[tool->asked_count] = key;
    pt_index_add(&tool->asked, key, (uint32_t)tool->asked_count++);
    return true;
}

static bool was_asked(const pt_perl_addr2line *tool, uint64_t key)
{
    pt_probe probe;
    for (uint32_t id = pt_index_first(&tool->asked, key, &probe); id != PT_NONE;
         id = pt_index_next(&tool->asked, &probe))
        if (tool->asked_keys[id] == key) return true;
    return false;
}

/* A function whose code begins at a symbol. */
static uint64_t outer_key(const function_symbol *symbol)
{
    return pt_hash_mix(symbol->value, 7);
}

/* An inlined copy, known by whom it was inlined to, and where. */
static uint64_t inlined_key(const function_symbol *symbol, const pt_object_frame *frames,
                            size_t count)
{
    uint64_t key =
        pt_hash_mix(symbol->value, pt_hash_bytes(frames[0].name, strlen(frames[0].name)));
    for (size_t i = 1; i < count; i++)
        key = pt_hash_mix(key, pt_hash_bytes(frames[i].name, strlen(frames[i].name)) +
                                   frames[i].line * 4096ull + frames[i].column);
    return key;
}

/* The name of frame i of count, by the habit described above. */
static const char *frame_name(const question *q, uint64_t addr, const pt_object_frame *frames,
                              size_t count, size_t i)
{
    if (frames[i].linkage_name[0] != '\0') return frames[i].linkage_name;
    const bool outermost = i + 1 == count;
    if (i > 0 && !outermost) return frames[i].name;
    pt_perl_addr2line *tool = q->tool;
    const uint32_t section = section_of(pt_object_elf(tool->object), addr);
    const function_symbol *symbol = section > 0 ? find_symbol(tool, section, addr) : NULL;
    if (symbol == NULL) return frames[i].name[0] != '\0' ? frames[i].name : "??";
    if (i > 0) return was_asked(tool, outer_key(symbol)) ? symbol->name : frames[i].name;
    if (outermost) {
        is_first_time(tool, outer_key(symbol));
        return symbol->name;
    }
    return is_first_time(tool, inlined_key(symbol, frames, count)) ? symbol->name : frames[0].name;
}

static void answer_by_frames(void *context, size_t index, const pt_object_frame *frames,
                             size_t count, uint64_t symbol_bytes)
{
    (void)symbol_bytes;
    const question *q = context;
    const bool only_symbol = count == 1 && frames[0].file[0] == '\0';
    if (count == 0 || only_symbol) {
        answer_by_symbol(q, index);
        return;
    }
    const size_t shown = q->inlines ? count : 1;
    PT_FREE pt_perl_line *lines = pt_alloc(shown, sizeof *lines);
    for (size_t i = 0; i < shown; i++) {
        lines[i].function = demangled(frame_name(q, q->addrs[index], frames, count, i));
        lines[i].file_line = pt_strf(
            "%s:%" PRIu32, frames[i].file[0] != '\0' ? frames[i].file : "??", frames[i].line);
    }
    q->answered[index] = true;
    q->sink(q->context, index, lines, shown);
    for (size_t i = 0; i < shown; i++) {
        free(lines[i].function);
        free(lines[i].file_line);
    }
}

void pt_perl_addr2line_ask(pt_perl_addr2line *tool, const uint64_t *addrs, size_t count,
                           bool inlines, pt_perl_lines_sink *sink, void *context)
{
    pt_index_done(&tool->asked); /* each question is another run of addr2line */
    tool->asked_count = 0;
    PT_FREE bool *answered = pt_alloc(count + 1, sizeof *answered);
    const question q = {.tool = tool,
                        .addrs = addrs,
                        .inlines = inlines,
                        .answered = answered,
                        .sink = sink,
                        .context = context};
    pt_object_resolve(tool->object, PT_OBJECT_LINES, addrs, count, tool->session->context->pool,
                      answer_by_frames, (void *)(uintptr_t)&q);
    for (size_t i = 0; i < count; i++)
        if (!answered[i]) answer_by_symbol(&q, i);
}
