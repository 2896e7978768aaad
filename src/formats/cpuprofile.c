/* cpuprofile.c: reads V8's .cpuprofile and .heapprofile: Chrome DevTools, node --cpu-prof and
 * --heap-prof.
 *
 *   {"nodes": [{"id", "callFrame": {"functionName", "url", "lineNumber", "columnNumber"},
 *               "hitCount", "children": [id, ...] or "parent": id}, ...],
 *    "startTime", "endTime", "samples": [id, ...], "timeDeltas": [us, ...]}
 *
 *   {"head": {"functionName", "url", "lineNumber", "id", "hitCount", "children": [{...}, ...]},
 *    "samples": [id, ...], "timestamps": [us, ...]}                            Chrome before 2016
 *
 *   {"head": {"callFrame": {...}, "selfSize": bytes, "id", "children": [{...}, ...]},
 *    "samples": [{"size", "nodeId", "ordinal"}, ...]}                          .heapprofile
 *
 * Specification: domains Profiler and HeapProfiler of the Chrome DevTools protocol. Lines and
 * columns count from 0 and are the start of the function. The node without a parent, "(root)", is
 * not a function.
 *
 * A sample represents the time from its own time to the time of the next sample, as in speedscope
 * and DevTools; the last sample represents no time. Times that decrease are raised to the previous
 * time. Without samples, the hit counts are read. Line ticks are ignored. */
#include "formats/cpuprofile.h"

#include "base/hash.h"
#include "base/units.h"
#include "formats/marks.h"

static int probe_cpuprofile(const pt_probe_input *input)
{
    if (pt_json_head_has(input, "nodes.[].callFrame.functionName", NULL)) return 85;
    return pt_json_head_has(input, "head.functionName", NULL) &&
                   pt_json_head_has(input, "head.hitCount", NULL)
               ? 85
               : 0;
}

static int probe_v8_heap(const pt_probe_input *input)
{
    return pt_json_head_has(input, "head.callFrame.functionName", NULL) &&
                   pt_json_head_has(input, "head.selfSize", NULL)
               ? 85
               : 0;
}

/* ---- Nodes ---- */

static uint32_t add_node(cpuprofile_reader *c, uint32_t parent)
{
    PT_GROW(c->node, c->node.count + 1);
    c->node.items[c->node.count] =
        (cpu_node){.parent = parent, .stack = PT_NONE, .location = PT_NONE};
    return (uint32_t)c->node.count++;
}

/* A number that counts from 0, converted to count from 1; 0 (unknown) for a negative number. */
static int64_t from_one(const pt_json_r *r)
{
    return r->token == PT_JSON_INT && r->integer >= 0 && r->integer < INT64_MAX ? r->integer + 1
                                                                                : 0;
}

/* Reads a member of a call frame, or of a node of the old form. The value is the latest token. */
static void read_frame_member(cpuprofile_reader *c, cpu_node *n, const char *key)
{
    const pt_json_r *const r = c->json;
    if (strcmp(key, "functionName") == 0) {
        n->is_root = r->token == PT_JSON_STRING && pt_json_is(r, "(root)");
        if (r->token == PT_JSON_STRING && r->length > 0)
            n->function.name = pt_builder_string(c->builder, r->text, r->length).v;
    } else if (strcmp(key, "url") == 0) {
        if (r->token == PT_JSON_STRING)
            n->function.file = pt_builder_string(c->builder, r->text, r->length).v;
    } else if (strcmp(key, "lineNumber") == 0) {
        n->function.start_line = n->line.line = from_one(r);
    } else if (strcmp(key, "columnNumber") == 0) {
        n->line.column = from_one(r);
    }
}

/* Copies the key of the latest token, truncated to fit, and moves to the value. */
static void take_key(pt_json_r *r, char key[static 24])
{
    const size_t bytes = r->length < 23 ? r->length : 23;
    memcpy(key, r->text, bytes);
    key[bytes] = '\0';
    pt_json_next(r);
}

static void read_call_frame(cpuprofile_reader *c, cpu_node *n)
{
    char key[24];
    while (pt_json_next(c->json) == PT_JSON_KEY) {
        take_key(c->json, key);
        read_frame_member(c, n, key);
        pt_json_skip(c->json); /* a value of any type */
    }
}

static void read_hits(cpuprofile_reader *c, cpu_node *n)
{
    const pt_json_r *const r = c->json;
    if (r->token == PT_JSON_INT && r->integer >= 0)
        n->hits = r->integer;
    else
        c->lost++;
}

/* Reads a node whose opening brace was read, and the nodes within this node, up to its closing
 * brace. */
static void read_node(cpuprofile_reader *c)
{
    pt_json_r *const r = c->json;
    const unsigned outside = r->depth - 1;
    uint32_t row = add_node(c, PT_NONE);
    char key[24];
    while (r->depth > outside && pt_json_next(r) > PT_JSON_EOF) {
        cpu_node *const n = &c->node.items[row];
        if (r->token == PT_JSON_OBJECT) { /* the value is an element of "children" */
            row = add_node(c, row);
        } else if (r->token == PT_JSON_OBJECT_END) {
            row = n->parent == PT_NONE ? row : n->parent;
        } else if (r->token == PT_JSON_INT) {
            PT_GROW(c->child, c->child.count + 1);
            c->child.items[c->child.count].parent = row;
            c->child.items[c->child.count++].id = r->integer;
        } else if (r->token == PT_JSON_KEY) {
            take_key(r, key);
            if (strcmp(key, "children") == 0 && r->token == PT_JSON_ARRAY) continue;
            if (strcmp(key, "callFrame") == 0 && r->token == PT_JSON_OBJECT) {
                read_call_frame(c, n);
                continue;
            }
            if (strcmp(key, "id") == 0 && r->token == PT_JSON_INT) n->id = r->integer;
            if (strcmp(key, c->is_heap ? "selfSize" : "hitCount") == 0) read_hits(c, n);
            if (strcmp(key, "parent") == 0 && r->token == PT_JSON_INT) {
                n->parent_id = r->integer;
                n->has_parent_id = true;
            }
            read_frame_member(c, n, key);
            pt_json_skip(r);
        } else if (r->token == PT_JSON_ARRAY) {
            pt_json_skip(r);
        }
    }
}

static uint32_t find_node(const cpuprofile_reader *c, int64_t id)
{
    return PT_INDEX_FIND(&c->index, pt_hash_mix((uint64_t)id, 1), row, c->node.items[row].id == id);
}

static void link_nodes(cpuprofile_reader *c)
{
    for (size_t i = 0; i < c->node.count; i++) {
        const int64_t id = c->node.items[i].id;
        if (find_node(c, id) == PT_NONE)
            pt_index_add(&c->index, pt_hash_mix((uint64_t)id, 1), (uint32_t)i);
    }
    for (size_t i = 0; i < c->child.count; i++) {
        const uint32_t row = find_node(c, c->child.items[i].id);
        if (row != PT_NONE && row != c->child.items[i].parent)
            c->node.items[row].parent = c->child.items[i].parent;
    }
    for (size_t i = 0; i < c->node.count; i++) {
        cpu_node *const n = &c->node.items[i];
        if (n->has_parent_id && n->parent == PT_NONE) n->parent = find_node(c, n->parent_id);
    }
}

static uint32_t location_of(cpuprofile_reader *c, cpu_node *n)
{
    if (n->location != PT_NONE) return n->location;
    if (n->function.name == 0) n->function.name = pt_builder_text(c->builder, "(anonymous)").v;
    n->line.function = pt_builder_function(c->builder, &n->function).v;
    const pt_location location = {.mapping = PT_NONE};
    return n->location = pt_builder_location(c->builder, &location, &n->line, 1).v;
}

/* The stack of a node. A cycle of parents is followed once. */
static uint32_t stack_of(cpuprofile_reader *c, uint32_t row)
{
    cpu_node *const leaf = &c->node.items[row];
    if (leaf->stack != PT_NONE) return leaf->stack;
    c->frame.count = 0;
    const uint64_t most = pt_builder_depth_max(c->builder);
    pt_stack_end end = PT_STACK_END_UNKNOWN;
    for (uint32_t at = row; at != PT_NONE && c->frame.count < c->node.count;
         at = c->node.items[at].parent) {
        cpu_node *const n = &c->node.items[at];
        if (n->is_root && n->parent == PT_NONE) break;
        if (c->frame.count == most) {
            end = pt_builder_cut_stack(c->builder);
            break;
        }
        PT_PUSH(c->frame, location_of(c, n));
    }
    leaf->stack = pt_builder_stack(c->builder, c->frame.items, c->frame.count, end).v;
    return leaf->stack;
}

/* ---- Samples ---- */

static void read_ids(cpuprofile_reader *c)
{
    pt_json_r *const r = c->json;
    while (pt_json_next(r) > PT_JSON_EOF && r->token != PT_JSON_ARRAY_END) {
        PT_PUSH(c->sample, r->token == PT_JSON_INT ? r->integer : -1);
        pt_json_skip(r);
    }
}

static void read_times(cpuprofile_reader *c, bool stamps)
{
    pt_json_r *const r = c->json;
    if (c->has_stamps != stamps) c->time.count = 0;
    c->has_stamps = stamps;
    while (pt_json_next(r) > PT_JSON_EOF && r->token != PT_JSON_ARRAY_END) {
        PT_PUSH(c->time, pt_json_scale_time(&c->scale, pt_json_num_of(r)));
        pt_json_skip(r);
    }
}

/* Converts differences to times, which never decrease. */
static void place_in_time(cpuprofile_reader *c)
{
    int64_t at = c->has_stamps ? 0 : c->start, latest = INT64_MIN;
    for (size_t i = 0; i < c->time.count; i++) {
        if (c->has_stamps)
            at = c->time.items[i];
        else if (__builtin_add_overflow(at, c->time.items[i], &at))
            at = INT64_MAX;
        latest = at > latest ? at : latest;
        c->time.items[i] = latest;
    }
}

/* Adds the samples; `common` has the fields that all these samples share. */
static void put_samples(cpuprofile_reader *c, const pt_sample *common)
{
    for (size_t i = 0; i < c->sample.count; i++) {
        const uint32_t row = find_node(c, c->sample.items[i]);
        const bool timed = i < c->time.count, last = i + 1 >= c->sample.count;
        if (row != PT_NONE && last && c->has_end && c->node.items[row].is_root) break;
        c->homeless += row == PT_NONE;
        c->timeless += !timed;
        if (row == PT_NONE) continue;
        const int64_t lasts = !last && i + 1 < c->time.count
                                  ? pt_json_span(c->time.items[i], c->time.items[i + 1])
                                  : 0;
        pt_sample sample = *common;
        sample.stack = stack_of(c, row);
        sample.values = (int64_t[2 + PT_MARKS_EVENTS]){1, lasts};
        sample.time_ns = c->time.items[timed ? i : c->time.count - 1];
        sample.cpu = PT_NONE;
        pt_builder_timed_sample(c->builder, &sample);
    }
}

/* Adds samples without times. */
static void put_counts(cpuprofile_reader *c)
{
    for (size_t i = 0; i < c->sample.count; i++) {
        const uint32_t row = find_node(c, c->sample.items[i]);
        c->homeless += row == PT_NONE;
        if (row != PT_NONE)
            pt_builder_sample(c->builder, (pt_stack_id){stack_of(c, row)}, PT_NO_LABELS,
                              (int64_t[]){1});
    }
    c->timeless += c->sample.count;
}

static void put_hits(cpuprofile_reader *c)
{
    for (size_t i = 0; i < c->node.count; i++) {
        const int64_t hits = c->node.items[i].hits;
        if (hits != 0)
            pt_builder_sample(c->builder, (pt_stack_id){stack_of(c, (uint32_t)i)}, PT_NO_LABELS,
                              &hits);
    }
}

void pt_cpuprofile_put(cpuprofile_reader *c, const pt_sample *common)
{
    link_nodes(c);
    place_in_time(c);
    if (c->time.count > 0) put_samples(c, common);
}

static void put_profile(cpuprofile_reader *c)
{
    link_nodes(c);
    if (c->is_heap) {
        pt_plain_event(c->builder, "inuse_space", "bytes");
        put_hits(c);
        return;
    }
    pt_plain_event(c->builder, "samples", "count");
    if (c->sample.count > 0 && c->time.count > 0) {
        pt_plain_event(c->builder, "time", "nanoseconds");
        place_in_time(c);
        put_samples(c, &(pt_sample){.pid = PT_NONE, .tid = PT_NONE});
    } else if (c->sample.count > 0) {
        put_counts(c);
    } else {
        put_hits(c);
    }
}

/* ---- The document ---- */

void pt_cpuprofile_members(cpuprofile_reader *c)
{
    pt_json_r *const r = c->json;
    const unsigned outside = r->depth - 1;
    char key[24];
    while (r->depth > outside && pt_json_next(r) > PT_JSON_EOF) {
        if (r->token != PT_JSON_KEY) continue; /* the end of an object */
        take_key(r, key);
        if (strcmp(key, "cpuProfile") == 0 && r->token == PT_JSON_OBJECT) continue;
        const bool is_array = r->token == PT_JSON_ARRAY;
        if (strcmp(key, "nodes") == 0 && is_array) {
            while (pt_json_next(r) == PT_JSON_OBJECT)
                read_node(c);
        } else if (strcmp(key, "head") == 0 && r->token == PT_JSON_OBJECT) {
            read_node(c);
        } else if (strcmp(key, "samples") == 0 && is_array && !c->is_heap) {
            read_ids(c);
        } else if (strcmp(key, "timeDeltas") == 0 && is_array) {
            read_times(c, false);
        } else if (strcmp(key, "timestamps") == 0 && is_array) {
            read_times(c, true);
        } else if (strcmp(key, CPUPROFILE_END) == 0) {
            c->has_end = r->token == PT_JSON_BOOL && r->boolean;
            pt_json_skip(r);
        } else if (strcmp(key, "startTime") == 0) {
            c->start = pt_json_scale_time(&c->scale, pt_json_num_of(r));
            pt_json_skip(r);
        } else {
            pt_json_skip(r);
        }
    }
}

void pt_cpuprofile_report(const cpuprofile_reader *c, pt_diag *diag)
{
    pt_json_scale_report(&c->scale, true, diag);
    pt_diag_add(diag, c->homeless, "samples of missing nodes");
    pt_diag_add(diag, c->lost, "%s that are no whole numbers from 0 on dropped",
                c->is_heap ? "sizes" : "hit counts");
    pt_diag_add(diag, c->timeless, "samples without a time");
}

void pt_cpuprofile_init(cpuprofile_reader *c, pt_builder *builder)
{
    *c = (cpuprofile_reader){.builder = builder, .scale = {.scale = 1000}};
    pt_index_init(&c->index);
}

void pt_cpuprofile_done(cpuprofile_reader *c)
{
    pt_index_done(&c->index);
    PT_FREE_ALL(c->node.items, c->child.items, c->sample.items, c->time.items, c->frame.items);
}

static pt_status conclude_profile(const cpuprofile_reader *c, const pt_error *error, pt_diag *diag,
                                  pt_error *reterr)
{
    const uint32_t kept = pt_builder_sample_count(c->builder);
    pt_cpuprofile_report(c, diag);
    if (error->status != PT_OK) return pt_json_failed(error, c->builder, reterr);
    if (c->node.count == 0)
        return pt_error_set(reterr, PT_ERR_FORMAT, "a .%s without nodes",
                            c->is_heap ? "v8-heap" : "cpuprofile");
    if (c->homeless > 0)
        return pt_error_set(reterr, PT_ERR_DAMAGED, "samples of missing nodes left out; kept %s",
                            pt_count_noun(kept, "samples").text);
    return PT_OK;
}

static pt_status read_document(pt_reader *reader, pt_builder *builder, const pt_read_hooks *hooks,
                               bool is_heap, pt_error *reterr)
{
    cpuprofile_reader c;
    pt_json_r json;
    pt_error error = PT_ERROR_INIT;
    pt_cpuprofile_init(&c, builder);
    c.is_heap = is_heap;
    c.json = &json;
    pt_json_r_init(&json, reader->pos, pt_reader_left(reader), &error);
    pt_json_r *const r = c.json;
    if (pt_json_next(r) == PT_JSON_OBJECT)
        pt_cpuprofile_members(&c);
    else if (r->token != PT_JSON_ERROR)
        pt_error_set(r->error, PT_ERR_FORMAT, "there is no \"nodes\" at the top of the JSON");
    pt_json_r_done(&json);
    put_profile(&c);
    const pt_status status = conclude_profile(&c, &error, hooks->diag, reterr);
    pt_cpuprofile_done(&c);
    return status;
}

static pt_status cpuprofile_read(pt_reader *reader, pt_builder *builder, const pt_read_hooks *hooks,
                                 pt_error *reterr)
{
    return read_document(reader, builder, hooks, false, reterr);
}

static pt_status v8_heap_read(pt_reader *reader, pt_builder *builder, const pt_read_hooks *hooks,
                              pt_error *reterr)
{
    return read_document(reader, builder, hooks, true, reterr);
}

const pt_format pt_format_cpuprofile = {
    .name = "cpuprofile",
    .aliases = "chrome v8",
    .extensions = ".cpuprofile",
    .summary = "V8's .cpuprofile: Chrome DevTools, node --cpu-prof",
    .kind = PT_PROBE_HEURISTIC,
    .capabilities = PT_CAN_STACKS | PT_CAN_LINES | PT_CAN_NAMES | PT_CAN_UNITS | PT_CAN_TIME_ONLY,
    .holds_event = pt_cpuprofile_holds_event,
    .held_events = "samples/count time/nanoseconds",
    .probe = probe_cpuprofile,
    .read = cpuprofile_read,
    .write = pt_cpuprofile_write,
};

const pt_format pt_format_v8_heap = {
    .name = "v8-heap",
    .extensions = ".heapprofile",
    .summary = "V8's .heapprofile: Chrome DevTools, node --heap-prof",
    .kind = PT_PROBE_HEURISTIC,
    .capabilities = PT_CAN_STACKS | PT_CAN_LINES | PT_CAN_NAMES | PT_CAN_UNITS,
    .probe = probe_v8_heap,
    .read = v8_heap_read,
};
