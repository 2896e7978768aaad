/* callgrind_write.c: writes a profile for KCachegrind and callgrind_annotate. callgrind.c draws the
 * format.
 *
 * Stacks become calls: the own cost of a function at each line, and the inclusive cost of each
 * call, counted once per stack. A recursive call leads to a separate function, "f'2", as callgrind
 * names it with --separate-recs, so that no cost is counted twice at any depth. Inlined functions
 * are functions.
 *
 * Addresses are left out: speedscope takes the line number after an address for a cost.
 *
 * Only profiles with arcs have numbers of calls. Other calls get the number 1, since
 * callgrind_annotate ignores calls with 0. */
#include "formats/callgrind.h"

#include <inttypes.h>
#include <stdlib.h>

#include "base/grow.h"
#include "base/hash.h"
#include "base/saturate.h"
#include "formats/json_profile.h"

typedef struct {
    uint32_t object, file; /* strings */
    const char *name;
    size_t name_bytes;
} function_key;

/* Rows of a node, which are chained. */
typedef struct {
    uint32_t first, last; /* PT_NONE = none */
} chain;

/* A function at a depth of its recursion, which KCachegrind shows as a function of its own. */
typedef struct {
    uint32_t function, level;
    chain self, call;
} node;

/* The own cost of a node at a line, or the cost of a call. */
typedef struct {
    uint32_t node, callee; /* if callee is PT_NONE, own cost */
    uint32_t next;         /* PT_NONE ends the chain */
    uint64_t calls;
    int64_t line, target_line;
    bool counted; /* the number of calls is exact */
} cost_row;

typedef struct {
    PT_VECTOR(cost_row) row;
    PT_VECTOR(int64_t) cost; /* a value of each event for each row */
    pt_index index;
} cost_rows;

typedef struct {
    const pt_profile *p;
    uint32_t events;
    pt_named_frames frames;
    PT_VECTOR(function_key) function;
    PT_VECTOR(node) node;
    cost_rows self, call;
    pt_index function_index, node_index;
    uint32_t *function_of;    /* frame -> function */
    uint32_t *level;          /* recursion depth of each function in the current stack */
    PT_VECTOR(uint32_t) path; /* frames of the current stack, root first */
    int64_t *values;
    uint64_t saturated, negative, uncounted, changed;
} callgrind_writer;

/* ---- Functions ---- */

static uint32_t add_function(callgrind_writer *w, function_key key)
{
    const uint64_t hash =
        pt_hash_mix(pt_hash_bytes(key.name, key.name_bytes), (uint64_t)key.object << 32 | key.file);
    PT_INDEX_EACH (&w->function_index, hash, id) {
        const function_key *const other = &w->function.items[id];
        if (other->object == key.object && other->file == key.file &&
            other->name_bytes == key.name_bytes &&
            memcmp(other->name, key.name, key.name_bytes) == 0)
            return id;
    }
    return PT_INDEX_PUSH(&w->function_index, hash, w->function, key);
}

/* The file (a string) of a frame's function; 0 = unknown. */
static uint32_t file_of(const pt_profile *p, uint32_t location, uint32_t line)
{
    const uint32_t first = p->location->line_first[location];
    if (first == p->location->line_first[location + 1]) return 0;
    const uint32_t function = p->line->function[first + line];
    return function == PT_NONE ? 0 : p->function->file[function];
}

static void find_functions(callgrind_writer *w)
{
    const pt_profile *const p = w->p;
    pt_named_frames_init(&w->frames, p, true);
    w->function_of = pt_alloc(w->frames.frame.count + 1, sizeof *w->function_of);
    for (uint32_t i = 0; i < p->location->t.count; i++) {
        const uint32_t mapping = p->location->mapping[i];
        for (uint32_t k = 0; k < pt_named_count(&w->frames, i); k++) {
            const uint32_t frame = w->frames.of[w->frames.first[i] + k];
            const pt_named_frame *const named = &w->frames.frame.items[frame];
            w->function_of[frame] = add_function(
                w, (function_key){.object = mapping == PT_NONE ? 0 : p->mapping->row[mapping].file,
                                  .file = file_of(p, i, k),
                                  .name = named->name,
                                  .name_bytes = named->name_bytes});
        }
    }
    w->level = pt_alloc(w->function.count + 1, sizeof *w->level);
}

static uint32_t add_node(callgrind_writer *w, uint32_t function, uint32_t level)
{
    const uint64_t hash = pt_hash_u32_pair(function, level);
    const uint32_t found =
        PT_INDEX_FIND(&w->node_index, hash, id,
                      w->node.items[id].function == function && w->node.items[id].level == level);
    if (found != PT_NONE) return found;
    return PT_INDEX_PUSH(&w->node_index, hash, w->node,
                         (node){.function = function,
                                .level = level,
                                .self = {PT_NONE, PT_NONE},
                                .call = {PT_NONE, PT_NONE}});
}

/* ---- Costs ---- */

static void add_values(callgrind_writer *w, const cost_rows *to, uint32_t row)
{
    for (uint32_t e = 0; e < w->events; e++)
        w->saturated +=
            pt_saturating_into(&to->cost.items[(size_t)row * w->events + e], w->values[e]);
}

static bool is_same_place(const cost_row *a, const cost_row *b)
{
    return a->node == b->node && a->callee == b->callee && a->line == b->line &&
           a->target_line == b->target_line;
}

/* Appends a row, whose costs are 0, to the chain. */
static uint32_t append_row(const callgrind_writer *w, cost_rows *to, chain *in, cost_row row,
                           uint64_t hash)
{
    const uint32_t id = PT_INDEX_PUSH(&to->index, hash, to->row, row);
    if (in->first == PT_NONE)
        in->first = id;
    else
        to->row.items[in->last].next = id;
    in->last = id;
    PT_GROW(to->cost, to->row.count * w->events);
    memset(&to->cost.items[(size_t)id * w->events], 0, w->events * sizeof *to->cost.items);
    return id;
}

/* Adds the values to the row for this node, line and callee, and appends the row if it is new. */
static void add_cost(callgrind_writer *w, cost_rows *to, chain *in, cost_row row)
{
    row.next = PT_NONE;
    const uint64_t hash =
        pt_hash_mix(pt_hash_mix((uint64_t)row.node << 32 | row.callee, (uint64_t)row.line),
                    (uint64_t)row.target_line);
    const uint32_t found =
        PT_INDEX_FIND(&to->index, hash, id, is_same_place(&to->row.items[id], &row));
    if (found != PT_NONE)
        to->row.items[found].calls = pt_saturating_count(to->row.items[found].calls, row.calls);
    add_values(w, to, found != PT_NONE ? found : append_row(w, to, in, row, hash));
}

static void add_self(callgrind_writer *w, uint32_t of, int64_t line)
{
    add_cost(w, &w->self, &w->node.items[of].self,
             (cost_row){.node = of, .callee = PT_NONE, .line = line});
}

static void add_call(callgrind_writer *w, cost_row call)
{
    add_cost(w, &w->call, &w->node.items[call.node].call, call);
}

/* ---- Stacks ---- */

static void open_path(callgrind_writer *w, uint32_t stack)
{
    const uint32_t *const locations = pt_stack_frames(w->p, stack);
    w->path.count = 0;
    for (uint32_t i = pt_stack_depth(w->p, stack); i > 0; i--) {
        const uint32_t count = pt_named_count(&w->frames, locations[i - 1]);
        PT_GROW(w->path, w->path.count + count);
        for (uint32_t k = count; k > 0; k--)
            w->path.items[w->path.count++] =
                w->frames.of[w->frames.first[locations[i - 1]] + k - 1];
    }
}

static void add_stack(callgrind_writer *w)
{
    uint32_t caller = PT_NONE;
    for (size_t i = 0; i < w->path.count; i++) {
        const uint32_t frame = w->path.items[i];
        const pt_named_frame *const named = &w->frames.frame.items[frame];
        const uint32_t function = w->function_of[frame];
        const uint32_t of = add_node(w, function, ++w->level[function]);
        if (i > 0) {
            const pt_named_frame *const from = &w->frames.frame.items[w->path.items[i - 1]];
            add_call(w, (cost_row){.node = caller,
                                   .callee = of,
                                   .line = from->line,
                                   .target_line = named->start_line});
        }
        if (i + 1 == w->path.count) add_self(w, of, named->line);
        caller = of;
    }
    for (size_t i = 0; i < w->path.count; i++)
        w->level[w->function_of[w->path.items[i]]] = 0;
}

static int64_t not_negative(callgrind_writer *w, int64_t value)
{
    w->negative += value < 0;
    return value < 0 ? 0 : value;
}

static void add_samples(callgrind_writer *w)
{
    const pt_samples *const s = w->p->sample;
    for (uint32_t i = 0; i < s->t.count; i++) {
        bool any = false;
        for (uint32_t e = 0; e < w->events; e++) {
            w->values[e] = not_negative(w, s->value[e][i]);
            any |= w->values[e] != 0;
        }
        if (!any) continue;
        open_path(w, s->stack[i]);
        if (w->path.count == 0) {
            const uint32_t none =
                add_function(w, (function_key){.name = "[no stack]", .name_bytes = 10});
            add_self(w, add_node(w, none, 1), 0);
            continue;
        }
        add_stack(w);
    }
}

/* The node of a location's innermost function, and the line in it. */
static uint32_t node_at(callgrind_writer *w, uint32_t location, int64_t *ret_line)
{
    const uint32_t frame = w->frames.of[w->frames.first[location]];
    *ret_line = w->frames.frame.items[frame].line;
    return add_node(w, w->function_of[frame], 1);
}

static void add_arcs(callgrind_writer *w)
{
    const pt_arcs *const arcs = w->p->arc;
    for (uint32_t i = 0; i < arcs->t.count; i++) {
        for (uint32_t e = 0; e < w->events; e++)
            w->values[e] = arcs->cost && e < arcs->event_count && arcs->cost[e]
                               ? not_negative(w, arcs->cost[e][i])
                               : 0;
        cost_row call = {.calls = arcs->calls[i], .counted = true};
        call.node = node_at(w, arcs->from[i], &call.line);
        call.callee = node_at(w, arcs->to[i], &call.target_line);
        add_call(w, call);
    }
}

/* ---- Text ---- */

/* Names written so far, for each kind: the first time as "(id) name", then as "(id)". */
typedef struct {
    pt_index index;
    PT_VECTOR(uint64_t) at; /* offset in texts */
    pt_buf texts;
} written_names;

typedef struct {
    callgrind_writer *w;
    pt_out *out;
    written_names names[3]; /* objects, files, functions */
    uint32_t object, file;  /* place of the current lines */
} callgrind_text;

static void put_name(callgrind_text *t, unsigned kind, const char *key, const char *name,
                     size_t bytes, uint32_t level)
{
    written_names *const names = &t->names[kind];
    const size_t begin = names->texts.size;
    pt_put(&names->texts, name, bytes);
    for (size_t i = begin; i < names->texts.size; i++) {
        uint8_t *const c = &names->texts.data[i];
        const bool bad = *c == '\n' || *c == '\r' || *c == '\0' ||
                         (i == begin && (*c == ' ' || *c == '\t')) ||
                         (i + 1 == names->texts.size && (*c == ' ' || *c == '\t'));
        t->w->changed += bad;
        if (bad) *c = '_';
    }
    if (level > 1) pt_putf(&names->texts, "'%u", level);
    if (names->texts.size == begin) pt_put_text(&names->texts, "???");
    pt_put_u8(&names->texts, '\0');
    const char *const text = (const char *)names->texts.data + begin;
    const uint64_t hash = pt_hash_bytes(text, strlen(text));
    PT_INDEX_EACH (&names->index, hash, id) {
        if (strcmp((const char *)names->texts.data + names->at.items[id], text) != 0) continue;
        names->texts.size = begin;
        pt_outf(t->out, "%s(%u)\n", key, id + 1);
        return;
    }
    PT_INDEX_PUSH(&names->index, hash, names->at, begin);
    pt_outf(t->out, "%s(%zu) %s\n", key, names->at.count, text);
}

static void put_position(callgrind_text *t, int64_t line)
{
    pt_outf(t->out, "%" PRId64, line > 0 ? line : 0);
}

static void put_costs(callgrind_text *t, const int64_t *costs)
{
    for (uint32_t e = 0; e < t->w->events; e++) /* also zeros, since speedscope shows NaN if a line
                                                 * has no cost */
        pt_outf(t->out, " %" PRId64, costs[e]);
    pt_out_char(t->out, '\n');
}

static void put_object(callgrind_text *t, const char *key, uint32_t object)
{
    put_name(t, 0, key, pt_text(t->w->p, object), pt_text_bytes(t->w->p, object), 1);
}

static void put_file(callgrind_text *t, const char *key, uint32_t file)
{
    put_name(t, 1, key, pt_text(t->w->p, file), pt_text_bytes(t->w->p, file), 1);
}

static void put_call(callgrind_text *t, const cost_row *call, const int64_t *costs)
{
    callgrind_writer *const w = t->w;
    const node *const callee = &w->node.items[call->callee];
    const function_key *const function = &w->function.items[callee->function];
    if (function->object != t->object) put_object(t, "cob=", function->object);
    if (function->file != t->file) put_file(t, "cfi=", function->file);
    put_name(t, 2, "cfn=", function->name, function->name_bytes, callee->level);
    w->uncounted += call->counted && call->calls == 0;
    pt_outf(t->out, "calls=%" PRIu64 " ", call->calls > 0 ? call->calls : 1);
    put_position(t, call->target_line);
    pt_out_char(t->out, '\n');
    put_position(t, call->line);
    put_costs(t, costs);
}

static void put_node(callgrind_text *t, const node *n)
{
    callgrind_writer *const w = t->w;
    const function_key *const function = &w->function.items[n->function];
    pt_out_char(t->out, '\n');
    if (function->object != t->object) put_object(t, "ob=", function->object);
    put_file(t, "fl=", function->file);
    put_name(t, 2, "fn=", function->name, function->name_bytes, n->level);
    t->object = function->object;
    t->file = function->file;
    for (uint32_t i = n->self.first; i != PT_NONE; i = w->self.row.items[i].next) {
        put_position(t, w->self.row.items[i].line);
        put_costs(t, &w->self.cost.items[(size_t)i * w->events]);
    }
    for (uint32_t i = n->call.first; i != PT_NONE; i = w->call.row.items[i].next)
        put_call(t, &w->call.row.items[i], &w->call.cost.items[(size_t)i * w->events]);
}

/* The event as a word such as "Ir" or "cpu_(nanoseconds)"; the caller frees it. */
static char *event_word(const pt_profile *p, uint32_t e, uint64_t *changed)
{
    const pt_event *const event = &p->event->row[e];
    const char *const type = pt_text(p, event->type), *const unit = pt_text(p, event->unit);
    char *const word = strcmp(unit, "count") == 0 && strchr(type, '(') == NULL
                           ? pt_strdup(type[0] != '\0' ? type : "samples")
                           : pt_strf("%s_(%s)", type[0] != '\0' ? type : "samples", unit);
    for (char *c = word; *c != '\0'; c++) {
        if ((uint8_t)*c > ' ') continue;
        *c = '_';
        ++*changed;
    }
    *changed += type[0] == '\0';
    return word;
}

/* Writes the line that names the default event, unless that is the first event. If several events
 * have the same word, readers take the last of these events. */
static void put_shown(callgrind_text *t, pt_diag *diag)
{
    const pt_profile *const p = t->w->p;
    const uint32_t shown = pt_profile_default_event(p);
    uint64_t changed = 0;
    if (shown == 0) return;
    PT_FREE char *word = event_word(p, shown, &changed);
    pt_outf(t->out, "desc: " CALLGRIND_SHOWN "%s\n", word);
    for (uint32_t e = shown + 1; e < p->event->t.count; e++) {
        PT_FREE char *other = event_word(p, e, &changed);
        if (strcmp(word, other) != 0) continue;
        pt_diag_add(diag, 1, "default event lost, since another event has the same name");
        break;
    }
}

static bool is_one_line(const char *text, size_t bytes)
{
    return memchr(text, '\n', bytes) == NULL && strlen(text) == bytes;
}

static void put_line(callgrind_text *t, const char *key, uint32_t string)
{
    const pt_profile *const p = t->w->p;
    if (string == 0) return;
    if (is_one_line(pt_text(p, string), pt_text_bytes(p, string)))
        pt_outf(t->out, "%s: %s\n", key, pt_text(p, string));
    else
        t->w->changed++;
}

static void put_header(callgrind_text *t, const pt_write_options *options)
{
    const pt_profile *const p = t->w->p;
    uint64_t foreign = 0;
    pt_outf(t->out, "# callgrind format\nversion: 1\n");
    put_line(t, "creator", pt_profile_provenance(p)->tool);
    put_line(t, "cmd", pt_profile_provenance(p)->command_line);
    for (uint32_t i = 0; i < p->extra->t.count; i++) {
        const char *const key = pt_text(p, p->extra->key[i]);
        const size_t mark = strlen(CALLGRIND_EXTRA);
        if (strncmp(key, CALLGRIND_EXTRA, mark) == 0)
            put_line(t, key + mark, p->extra->value[i]);
        else
            foreign++;
    }
    pt_diag_add(options->diag, foreign, "header lines of other formats left out");
    put_shown(t, options->diag);
    pt_out_text(t->out, "positions: line\nevents:");
    for (uint32_t e = 0; e < t->w->events; e++) {
        PT_FREE char *word = event_word(p, e, &t->w->changed);
        pt_outf(t->out, " %s", word);
    }
    pt_out_text(t->out, "\nsummary:");
    memset(t->w->values, 0, t->w->events * sizeof *t->w->values);
    for (size_t i = 0; i < t->w->self.row.count; i++) {
        for (uint32_t e = 0; e < t->w->events; e++)
            pt_saturating_into(&t->w->values[e], t->w->self.cost.items[i * t->w->events + e]);
    }
    for (uint32_t e = 0; e < t->w->events; e++)
        pt_outf(t->out, " %" PRId64, t->w->values[e]);
    pt_out_char(t->out, '\n');
}

static void put_text(callgrind_writer *w, pt_out *out, const pt_write_options *options)
{
    /* No object and no file is written yet, so both are written before the first function. */
    callgrind_text t = {.w = w, .out = out, .object = PT_NONE, .file = PT_NONE};
    for (unsigned k = 0; k < 3; k++)
        pt_index_init(&t.names[k].index);
    put_header(&t, options);
    for (uint32_t i = 0; i < w->p->mapping->t.count; i++)
        put_object(&t, "ob=", w->p->mapping->row[i].file);
    for (size_t i = 0; i < w->node.count && pt_out_ok(out); i++) {
        if (w->node.items[i].self.first != PT_NONE || w->node.items[i].call.first != PT_NONE)
            put_node(&t, &w->node.items[i]);
    }
    for (unsigned k = 0; k < 3; k++) {
        pt_index_done(&t.names[k].index);
        pt_buf_done(&t.names[k].texts);
        free(t.names[k].at.items);
    }
}

pt_status pt_callgrind_write(const pt_profile *profile, const pt_output *output,
                             const pt_write_options *options, pt_error *reterr)
{
    if (profile->event->t.count == 0)
        return pt_error_set(reterr, PT_ERR_USAGE, "the profile has no values to write");
    pt_out *const out = output->open(output->context, "", reterr);
    if (!out) return PT_ERR_SYSTEM;
    callgrind_writer w = {.p = profile, .events = profile->event->t.count};
    pt_index_init(&w.function_index);
    pt_index_init(&w.node_index);
    pt_index_init(&w.self.index);
    pt_index_init(&w.call.index);
    w.values = pt_alloc(w.events, sizeof *w.values);
    find_functions(&w);
    add_samples(&w);
    add_arcs(&w);
    put_text(&w, out, options);
    pt_diag_add(options->diag, w.saturated, "sums too large for 64 bits, set to the largest");
    pt_diag_add(options->diag, w.negative, "negative costs written as 0");
    pt_diag_add(options->diag, w.uncounted, "calls with an unknown number written as 1");
    pt_diag_add(options->diag, w.changed,
                "characters that callgrind cannot hold in a name, replaced");
    pt_index_done(&w.function_index);
    pt_index_done(&w.node_index);
    pt_index_done(&w.self.index);
    pt_index_done(&w.call.index);
    pt_named_frames_done(&w.frames);
    PT_FREE_ALL(w.function.items, w.node.items, w.self.row.items, w.call.row.items,
                w.self.cost.items, w.call.cost.items, w.function_of, w.level, w.path.items,
                w.values);
    return pt_out_flush(out, reterr);
}
