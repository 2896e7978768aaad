/* addr2line.c: makes the answers that GNU addr2line would give. It follows object/object.h, and in
 * addition these rules of GNU addr2line:
 *
 *   - An address without DWARF has the name of the nearest function symbol before it
 *     (pt_object_nearest_symbol), that symbol's file, and line 0.
 *   - A C++ function without a linkage name (a member of a local type) has the name of that symbol,
 *     or its own name in DWARF:
 *       not inlined, nothing inlined there   the symbol's name
 *       not inlined, around inlined ones     its own name; the symbol's name if this run of
 *                                            addr2line has named it without inlined ones before
 *       inlined, innermost                   the symbol's name in the first answer of this run with
 *                                            this inlined copy, its own name in later answers
 *       inlined, with others inlined in it   its own name
 *   - An address outside of all allocated sections is "??".
 */
#include "personality/perl/addr2line.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "base/file.h"
#include "base/grow.h"
#include "base/hash.h"
#include "object/demangle.h"
#include "object/object.h"
#include "source/images.h"

struct pt_perl_addr2line {
    pt_perl_session *session;
    pt_source_options source;
    pt_source_search search;
    pt_object *object;
    pt_index asked; /* keys of the functions without linkage names that this run has named */
    PT_VECTOR(uint64_t) asked_keys;
};

pt_perl_addr2line *pt_perl_addr2line_new(pt_perl_session *session, const char *path)
{
    pt_image_file file = PT_IMAGE_FILE_INIT;
    if (pt_file_read(path, PT_FILE_REGULAR, UINT64_MAX, &file.blob, NULL) != PT_OK) return NULL;
    file.path = pt_strdup(path);
    pt_perl_addr2line *tool = pt_alloc(1, sizeof *tool);
    tool->session = session;
    tool->search = (pt_source_search){.options = &tool->source};
    if (pt_object_open(&file, pt_source_find_companion, &tool->search, &tool->object, NULL) !=
        PT_OK) {
        free(tool);
        return NULL;
    }
    pt_object_keep_as_written(tool->object);
    return tool;
}

void pt_perl_addr2line_free(pt_perl_addr2line *tool)
{
    if (tool == NULL) return;
    const char *const shrunk = pt_object_shrunk(tool->object);
    if (shrunk != NULL) pt_perl_say("%s: " PT_FILE_SHRANK "\n", shrunk);
    pt_object_free(tool->object);
    free(tool->asked_keys.items);
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

static char *demangled_name(const char *name)
{
    char *text = pt_demangle(name, PT_DEMANGLE_BINUTILS);
    return text != NULL ? text : pt_strdup(name);
}

/* Answers question `index` from the symbol table alone. */
static void answer_by_symbol(const question *q, size_t index)
{
    pt_object_nearest symbol = {.file = NULL};
    const bool found = pt_object_nearest_symbol(q->tool->object, q->addrs[index], &symbol);
    pt_perl_line line = {.function = found ? demangled_name(symbol.name) : pt_strdup("??"),
                         .file_line = pt_strf("%s:0", symbol.file != NULL ? symbol.file : "??")};
    q->answered[index] = true;
    q->sink(q->context, index, &line, 1);
    PT_FREE_ALL(line.function, line.file_line);
}

static bool was_asked(const pt_perl_addr2line *tool, uint64_t key)
{
    return PT_INDEX_FIND(&tool->asked, key, id, tool->asked_keys.items[id] == key) != PT_NONE;
}

/* Adds a key to tool->asked. Returns false if the key is there already. */
static bool add_asked(pt_perl_addr2line *tool, uint64_t key)
{
    if (was_asked(tool, key)) return false;
    PT_INDEX_PUSH(&tool->asked, key, tool->asked_keys, key);
    return true;
}

/* The key of a function whose code begins at a symbol. */
static uint64_t outer_key(uint64_t symbol_addr)
{
    return pt_hash_mix(symbol_addr, 7);
}

/* The key of an inlined copy of frames[0]: made of the functions around it and the places of the
 * calls. */
static uint64_t inlined_key(uint64_t symbol_addr, const pt_object_frame *frames, size_t count)
{
    uint64_t key = pt_hash_mix(symbol_addr, pt_hash_bytes(frames[0].name, strlen(frames[0].name)));
    for (size_t i = 1; i < count; i++)
        key = pt_hash_mix(key, pt_hash_bytes(frames[i].name, strlen(frames[i].name)) +
                                   frames[i].line * 4096ull + frames[i].column);
    return key;
}

/* The name of frame i of `count` at an address, by the rule for functions without linkage names at
 * the head of this file. */
static const char *frame_name(const question *q, uint64_t addr, const pt_object_frame *frames,
                              size_t count, size_t i)
{
    if (frames[i].linkage_name[0] != '\0') return frames[i].linkage_name;
    const bool outermost = i + 1 == count;
    if (i > 0 && !outermost) return frames[i].name;
    pt_perl_addr2line *tool = q->tool;
    pt_object_nearest symbol;
    if (!pt_object_nearest_symbol(tool->object, addr, &symbol))
        return frames[i].name[0] != '\0' ? frames[i].name : "??";
    if (i > 0) return was_asked(tool, outer_key(symbol.addr)) ? symbol.name : frames[i].name;
    if (outermost) {
        add_asked(tool, outer_key(symbol.addr));
        return symbol.name;
    }
    return add_asked(tool, inlined_key(symbol.addr, frames, count)) ? symbol.name : frames[0].name;
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
        lines[i].function = demangled_name(frame_name(q, q->addrs[index], frames, count, i));
        lines[i].file_line = pt_strf(
            "%s:%" PRIu32, frames[i].file[0] != '\0' ? frames[i].file : "??", frames[i].line);
    }
    q->answered[index] = true;
    q->sink(q->context, index, lines, shown);
    for (size_t i = 0; i < shown; i++)
        PT_FREE_ALL(lines[i].function, lines[i].file_line);
}

void pt_perl_addr2line_ask(pt_perl_addr2line *tool, const uint64_t *addrs, size_t count,
                           bool inlines, pt_perl_lines_sink *sink, void *context)
{
    pt_index_done(&tool->asked); /* each call of this function stands for a run of addr2line */
    tool->asked_keys.count = 0;
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
