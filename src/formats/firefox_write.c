/* firefox_write.c: writes the Firefox Profiler's processed format in version 48. The layout of
 * later versions still changes; the Profiler upgrades version 48 when it loads the file.
 *
 * The file has one thread for each distinct combination of process, thread and name in the samples.
 * Addresses are written relative to their image, as the format requires. */
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>

#include "base/file.h"
#include "base/hash.h"
#include "base/units.h"
#include "formats/firefox_write.h"

static const firefox_weight weights[] = {
    {"samples", "samples", "count", 1},
    {"tracing-ms", "time", "nanoseconds", 1000000},
    {"bytes", "space", "bytes", 1},
};

const firefox_weight *firefox_weight_of(const char *name)
{
    for (size_t i = 0; name != NULL && i < PT_COUNT(weights); i++) {
        if (strcmp(weights[i].name, name) == 0) return &weights[i];
    }
    return &weights[0];
}

/* ---- Threads and times ---- */

static thread_key key_of(const pt_samples *s, uint32_t i)
{
    return (thread_key){.pid = s->pid ? s->pid[i] : PT_NONE,
                        .tid = s->tid ? s->tid[i] : PT_NONE,
                        .comm = s->comm ? s->comm[i] : 0};
}

PT_ORDER(compare_moments, moment, PT_UP(thread) ?: PT_UP(time) ?: PT_UP(sample));

/* Is the sample a mark with a time? Marks without a time are written as samples. */
static bool is_mark(const fx_writer *w, uint32_t sample)
{
    return w->p->sample->time_ns != NULL && w->p->sample->time_ns[sample] != 0 &&
           pt_sample_is_mark(w->p, &w->columns, sample);
}

static bool is_change(const fx_writer *w, uint32_t sample)
{
    return w->p->sample->time_ns != NULL && w->p->sample->time_ns[sample] != 0 &&
           pt_sample_counter(w->p, &w->columns, sample) != PT_COUNTER_KINDS;
}

int64_t pt_firefox_since(const fx_writer *w, uint32_t sample)
{
    const int64_t *const times = w->p->sample->time_ns;
    return w->timed && times[sample] != 0 ? pt_json_span(w->start, times[sample]) : 0;
}

static void find_start(fx_writer *w)
{
    const pt_samples *const s = w->p->sample;
    int64_t first = INT64_MAX;
    for (uint32_t i = 0; i < s->t.count; i++) {
        const bool is_sample = s->value[w->event][i] != 0;
        if (!is_sample && !is_mark(w, i) && !is_change(w, i)) continue;
        const int64_t time = s->time_ns ? s->time_ns[i] : 0;
        w->timeless += is_sample && time == 0;
        if (time != 0 && time < first) first = time;
    }
    w->timed = first != INT64_MAX;
    w->start = w->timed ? first - (first % 1000000 + 1000000) % 1000000 : 0;
}

static uint32_t add_thread(fx_writer *w, thread_key key, pt_index *index)
{
    const uint64_t hash = pt_hash_mix((uint64_t)key.pid << 32 | key.tid, key.comm);
    PT_INDEX_EACH (index, hash, id) {
        const thread_key *const other = &w->thread.items[id];
        if (other->pid == key.pid && other->tid == key.tid && other->comm == key.comm) return id;
    }
    return PT_INDEX_PUSH(index, hash, w->thread, key);
}

static void place_samples(fx_writer *w)
{
    const pt_samples *const s = w->p->sample;
    PT_AUTO(pt_index) index;
    pt_index_init(&index);
    find_start(w);
    w->moment = pt_alloc((size_t)s->t.count + 1, sizeof *w->moment);
    w->mark = pt_alloc((size_t)s->t.count + 1, sizeof *w->mark);
    for (uint32_t i = 0; i < s->t.count; i++) {
        const bool marks = is_mark(w, i);
        if (!marks && s->value[w->event][i] == 0) continue;
        const moment m = {.sample = i,
                          .thread = add_thread(w, key_of(s, i), &index),
                          .time = pt_firefox_since(w, i)};
        if (marks)
            w->mark[w->mark_count++] = m;
        else
            w->moment[w->count++] = m;
    }
    if (w->count > 0) qsort(w->moment, w->count, sizeof *w->moment, compare_moments);
    if (w->mark_count > 0) qsort(w->mark, w->mark_count, sizeof *w->mark, compare_moments);
}

/* ---- The tables of a thread ---- */

/* The row of a frame's function in the table of functions. A function is a name, a file and a start
 * line in an image. The profile's strings are interned, so texts are compared by their
 * addresses. */
static uint32_t func_number(fx_writer *w, uint32_t frame)
{
    const pt_named_frame *const f = &w->frames.frame.items[frame];
    const uint32_t *const mapping = w->p->location->mapping;
    const uint64_t hash = pt_hash_mix(pt_hash_mix((uintptr_t)f->name, (uintptr_t)f->file),
                                      (uint64_t)f->start_line ^ mapping[f->location]);
    PT_INDEX_EACH (&w->func_index, hash, id) {
        const pt_named_frame *const other = &w->frames.frame.items[w->func.items[id]];
        if (other->name == f->name && other->file == f->file &&
            other->start_line == f->start_line && mapping[other->location] == mapping[f->location])
            return id;
    }
    return PT_INDEX_PUSH(&w->func_index, hash, w->func, frame);
}

static uint32_t frame_number(fx_writer *w, uint32_t frame)
{
    if (w->frame_number[frame] == 0) {
        PT_GROW(w->frame, w->frame.count + 1);
        PT_GROW(w->func_of, w->frame.count + 1);
        w->func_of.items[w->frame.count] = func_number(w, frame);
        w->frame.items[w->frame.count++] = frame;
        w->frame_number[frame] = (uint32_t)w->frame.count;
        const uint32_t mapping = w->p->location->mapping[w->frames.frame.items[frame].location];
        if (mapping != PT_NONE && w->resource_number[mapping] == 0) {
            PT_PUSH(w->resource, mapping);
            w->resource_number[mapping] = (uint32_t)w->resource.count;
        }
    }
    return w->frame_number[frame] - 1;
}

static uint32_t add_stack(fx_writer *w, uint32_t prefix, uint32_t frame)
{
    const uint64_t hash = pt_hash_u32_pair(prefix, frame);
    const uint32_t found =
        PT_INDEX_FIND(&w->stack_index, hash, id,
                      w->stack.items[id].prefix == prefix && w->stack.items[id].frame == frame);
    if (found != PT_NONE) return found;
    return PT_INDEX_PUSH(&w->stack_index, hash, w->stack,
                         (stack_row){.prefix = prefix, .frame = frame});
}

uint32_t pt_firefox_stack_row(fx_writer *w, uint32_t stack, uint32_t skip)
{
    const uint32_t *const locations = pt_stack_frames(w->p, stack);
    uint32_t row = PT_NONE;
    for (uint32_t i = pt_stack_depth(w->p, stack); i > skip; i--) {
        const uint32_t first = w->frames.first[locations[i - 1]];
        for (uint32_t k = pt_named_count(&w->frames, locations[i - 1]); k > 0; k--)
            row = add_stack(w, row, frame_number(w, w->frames.of[first + k - 1]));
    }
    return row;
}

/* The row of a stack in the stack table; PT_NONE = the empty stack. */
static uint32_t stack_number(fx_writer *w, uint32_t stack)
{
    if (w->stack_number[stack] > 0) return w->stack_number[stack] - 2;
    const uint32_t row = pt_firefox_stack_row(w, stack, 0);
    PT_PUSH(w->used_stack, stack);
    w->stack_number[stack] = row + 2;
    return row;
}

static void end_thread(fx_writer *w)
{
    for (size_t i = 0; i < w->frame.count; i++)
        w->frame_number[w->frame.items[i]] = 0;
    for (size_t i = 0; i < w->used_stack.count; i++)
        w->stack_number[w->used_stack.items[i]] = 0;
    for (size_t i = 0; i < w->resource.count; i++)
        w->resource_number[w->resource.items[i]] = 0;
    for (size_t i = 0; i < w->name.count; i++)
        w->name_number[w->name.items[i]] = 0;
    w->name.count = w->frame.count = w->stack.count = w->used_stack.count = w->resource.count =
        w->func.count = 0;
    pt_index_done(&w->stack_index);
    pt_index_init(&w->stack_index);
    pt_index_done(&w->func_index);
    pt_index_init(&w->func_index);
}

/* ---- JSON ---- */

static void put_empty(pt_json_w *json, const char *key)
{
    pt_json_key_array(json, key);
    pt_json_array_end(json);
}

/* Writes a column of count equal cells; INT64_MIN = null. */
static void put_same(pt_json_w *json, const char *key, size_t count, int64_t value)
{
    PT_JSON_EACH (json, key, i, count)
        pt_json_int_or_null(json, value, value != INT64_MIN);
}

void pt_firefox_put_ms(pt_json_w *json, int64_t ns)
{
    pt_json_put_ns(json, ns, 1000000);
}

static const pt_named_frame *func_at(const fx_writer *w, size_t number)
{
    return &w->frames.frame.items[w->func.items[number]];
}

static const pt_named_frame *frame_at(const fx_writer *w, size_t number)
{
    return &w->frames.frame.items[w->frame.items[number]];
}

/* The address relative to the image: the address by the image's headers if that is known, else the
 * offset in the file. */
static uint64_t relative_address(const pt_profile *p, uint32_t location)
{
    const uint64_t address = p->location->address[location];
    if (p->location->mapping[location] == PT_NONE) return address;
    const pt_mapping *const m = &p->mapping->row[p->location->mapping[location]];
    if (m->flags & PT_MAPPING_HAS_BIAS) return address - m->bias;
    return address - m->start + m->file_offset;
}

/* 0 for the function itself, 1 for a function inlined into it, and so on. The frames of a location
 * have consecutive rows, the innermost first. */
static uint32_t inline_depth(const fx_writer *w, uint32_t frame)
{
    const uint32_t location = w->frames.frame.items[frame].location;
    const uint32_t innermost = w->frames.of[w->frames.first[location]];
    return pt_named_count(&w->frames, location) - 1 - (frame - innermost);
}

static void put_frame_table(fx_writer *w)
{
    pt_json_w *const json = &w->json;
    const size_t count = w->frame.count;
    pt_json_key_object(json, "frameTable");
    pt_json_key_int(json, "length", (int64_t)count);
    PT_JSON_EACH (json, "address", i, count) {
        const uint32_t location = frame_at(w, i)->location;
        const uint64_t address = relative_address(w->p, location);
        pt_json_int(json, w->p->location->address[location] == 0 || address > INT64_MAX
                              ? -1
                              : (int64_t)address);
    }
    PT_JSON_EACH (json, "inlineDepth", i, count)
        pt_json_uint(json, inline_depth(w, w->frame.items[i]));
    put_same(json, "category", count, 0);
    put_same(json, "subcategory", count, 0);
    PT_JSON_EACH (json, "func", i, count)
        pt_json_uint(json, w->func_of.items[i]);
    put_same(json, "nativeSymbol", count, INT64_MIN);
    put_same(json, "innerWindowID", count, 0);
    put_same(json, "implementation", count, INT64_MIN);
    PT_JSON_EACH (json, "line", i, count)
        pt_json_int_or_null(json, frame_at(w, i)->line, frame_at(w, i)->line > 0);
    PT_JSON_EACH (json, "column", i, count)
        pt_json_int_or_null(json, frame_at(w, i)->column, frame_at(w, i)->column > 0);
    pt_json_object_end(json);
}

/* Writes the functions. Strings 2n and 2n + 1 are the name and the file of function n; the names of
 * resources follow. */
static void put_func_table(fx_writer *w)
{
    pt_json_w *const json = &w->json;
    const size_t count = w->func.count;
    pt_json_key_object(json, "funcTable");
    pt_json_key_int(json, "length", (int64_t)count);
    PT_JSON_EACH (json, "name", i, count)
        pt_json_uint(json, 2 * i);
    PT_JSON_EACH (json, "isJS", i, count)
        pt_json_bool(json, false);
    PT_JSON_EACH (json, "relevantForJS", i, count)
        pt_json_bool(json, false);
    PT_JSON_EACH (json, "resource", i, count) {
        const uint32_t mapping = w->p->location->mapping[func_at(w, i)->location];
        pt_json_int(json, mapping == PT_NONE ? -1 : (int64_t)w->resource_number[mapping] - 1);
    }
    PT_JSON_EACH (json, "fileName", i, count) {
        pt_json_int_or_null(json, (int64_t)(2 * i + 1), func_at(w, i)->file_bytes > 0);
    }
    PT_JSON_EACH (json, "lineNumber", i, count)
        pt_json_int_or_null(json, func_at(w, i)->start_line, func_at(w, i)->start_line > 0);
    put_same(json, "columnNumber", count, INT64_MIN);
    pt_json_object_end(json);
}

static void put_stack_table(fx_writer *w)
{
    pt_json_w *const json = &w->json;
    pt_json_key_object(json, "stackTable");
    pt_json_key_int(json, "length", (int64_t)w->stack.count);
    PT_JSON_EACH (json, "prefix", i, w->stack.count) {
        pt_json_int_or_null(json, w->stack.items[i].prefix, w->stack.items[i].prefix != PT_NONE);
    }
    PT_JSON_EACH (json, "frame", i, w->stack.count)
        pt_json_uint(json, w->stack.items[i].frame);
    put_same(json, "category", w->stack.count, 0);
    put_same(json, "subcategory", w->stack.count, 0);
    pt_json_object_end(json);
}

static void put_strings(fx_writer *w)
{
    pt_json_w *const json = &w->json;
    pt_json_key_array(json, "stringArray");
    for (size_t i = 0; i < w->func.count; i++) {
        const pt_named_frame *const frame = func_at(w, i);
        char text[24];
        snprintf(text, sizeof text, "0x%" PRIx64, relative_address(w->p, frame->location));
        if (pt_location_is_nameless(w->p, frame->location))
            pt_json_text(json, text);
        else
            pt_json_text_n(json, frame->name, frame->name_bytes);
        pt_json_text_n(json, frame->file, frame->file_bytes);
    }
    for (size_t i = 0; i < w->resource.count; i++)
        pt_json_text(json,
                     pt_base_name(pt_text(w->p, w->p->mapping->row[w->resource.items[i]].file)));
    pt_firefox_write_marker_names(w);
    pt_json_array_end(json);
}

static void put_resources(fx_writer *w)
{
    pt_json_w *const json = &w->json;
    const size_t count = w->resource.count;
    pt_json_key_object(json, "resourceTable");
    pt_json_key_int(json, "length", (int64_t)count);
    pt_json_key_array(json, "lib");
    for (size_t i = 0; i < count; i++)
        pt_json_uint(json,
                     w->resource.items[i]); /* libraries are the mappings, in the same order */
    pt_json_array_end(json);
    PT_JSON_EACH (json, "name", i, count)
        pt_json_uint(json, 2 * w->func.count + i);
    put_same(json, "host", count, INT64_MIN);
    put_same(json, "type", count, 1); /* type: library */
    pt_json_object_end(json);
}

static void put_weight(fx_writer *w, int64_t value)
{
    if (w->factor == 0)
        pt_json_int(&w->json, value);
    else if (w->factor == 1)
        pt_firefox_put_ms(&w->json, value);
    else
        pt_json_double(&w->json, (double)value * w->factor / 1e6);
}

static void put_samples(fx_writer *w, const moment *from, size_t count)
{
    pt_json_w *const json = &w->json;
    const pt_samples *const s = w->p->sample;
    bool all_one = true;
    pt_json_key_object(json, "samples");
    pt_json_key_int(json, "length", (int64_t)count);
    PT_JSON_EACH (json, "stack", i, count) {
        const uint32_t row = stack_number(w, s->stack[from[i].sample]);
        all_one &= s->value[w->event][from[i].sample] == 1;
        pt_json_int_or_null(json, row, row != PT_NONE);
    }
    PT_JSON_EACH (json, "time", i, count)
        pt_firefox_put_ms(json, w->timed ? from[i].time : (int64_t)i * 1000000);
    pt_json_key_text(json, "weightType", w->weight->name);
    if (all_one && w->weight == &weights[0]) {
        pt_json_key_null(json, "weight");
    } else {
        PT_JSON_EACH (json, "weight", i, count)
            put_weight(w, s->value[w->event][from[i].sample]);
    }
    pt_json_object_end(json);
}

static void put_no_rows(pt_json_w *json, const char *table, const char *const *columns)
{
    pt_json_key_object(json, table);
    pt_json_key_int(json, "length", 0);
    for (; *columns != NULL; columns++)
        put_empty(json, *columns);
    pt_json_object_end(json);
}

static void put_id(pt_json_w *json, const char *key, uint32_t id, bool as_text)
{
    PT_FREE char *text = pt_strf("%u", id);
    pt_json_key(json, key);
    if (as_text || id == PT_NONE)
        pt_json_text(json, id == PT_NONE ? "" : text);
    else
        pt_json_uint(json, id);
}

static void put_thread(fx_writer *w, uint32_t id, const moment *from, size_t count,
                       const moment *marks, size_t mark_count)
{
    static const char *const symbols[] = {"libIndex", "address", "name", "functionSize", NULL};
    pt_json_w *const json = &w->json;
    const thread_key *const key = &w->thread.items[id];
    pt_json_object(json);
    pt_json_key_text_n(json, "name", pt_text(w->p, key->comm), pt_text_bytes(w->p, key->comm));
    pt_json_key_bool(json, "isMainThread", key->tid == PT_NONE || key->pid == key->tid);
    pt_json_key_text(json, "processType", "default");
    pt_json_key_text(json, "processName", "");
    pt_json_key_int(json, "processStartupTime", 0);
    pt_json_key_null(json, "processShutdownTime");
    pt_json_key_int(json, "registerTime", 0);
    pt_json_key_null(json, "unregisterTime");
    put_id(json, "pid", key->pid, true);
    put_id(json, "tid", key->tid, false);
    put_empty(json, "pausedRanges");
    put_samples(w, from, count);
    pt_firefox_write_markers(w, marks, mark_count);
    put_stack_table(w);
    put_frame_table(w);
    put_func_table(w);
    put_resources(w);
    put_no_rows(json, "nativeSymbols", symbols);
    put_strings(w);
    pt_json_object_end(json);
    end_thread(w);
}

/* Writes the id by which Mozilla's symbol servers identify a build: the first 16 bytes of the build
 * id as a GUID, whose first three fields are little endian, and an age of 0. */
static void put_breakpad_id(pt_json_w *json, const char *build_id)
{
    static const uint8_t order[16] = {3, 2, 1, 0, 5, 4, 7, 6, 8, 9, 10, 11, 12, 13, 14, 15};
    char text[34] = "";
    if (strlen(build_id) >= 32) {
        for (size_t i = 0; i < 16; i++) {
            for (size_t k = 0; k < 2; k++) {
                const char c = build_id[2 * order[i] + k];
                text[2 * i + k] = (char)(c >= 'a' && c <= 'f' ? c - 'a' + 'A' : c);
            }
        }
        text[32] = '0';
    }
    pt_json_key_text(json, "breakpadId", text);
}

static void put_libs(fx_writer *w)
{
    pt_json_w *const json = &w->json;
    PT_JSON_OBJECTS (json, "libs", i, w->p->mapping->t.count) {
        const pt_mapping *const m = &w->p->mapping->row[i];
        const char *const path = pt_text(w->p, m->file), *const name = pt_base_name(path);
        const char *const build_id = pt_text(w->p, m->build_id);
        pt_json_key_text(json, "arch", "");
        pt_json_key_text(json, "name", name);
        pt_json_key_text(json, "path", path);
        pt_json_key_text(json, "debugName", name);
        pt_json_key_text(json, "debugPath", path);
        put_breakpad_id(json, build_id);
        pt_json_key_text(json, "codeId", build_id[0] != '\0' ? build_id : NULL);
    }
}

static void put_meta(fx_writer *w)
{
    pt_json_w *const json = &w->json;
    const pt_provenance *const from = pt_profile_provenance(w->p);
    pt_json_key_object(json, "meta");
    pt_json_key_int(json, "preprocessedProfileVersion", FIREFOX_PROCESSED_VERSION);
    pt_json_key_int(json, "version", FIREFOX_GECKO_VERSION);
    pt_json_key(json, "startTime");
    pt_firefox_put_ms(json, w->timed ? w->start : from->start_ns - from->start_ns % 1000000);
    pt_json_key(json, "interval");
    pt_firefox_put_ms(json, from->period > 0 ? from->period : 1000000);
    pt_json_key_text(json, "product", "pitot");
    pt_json_key_text(json, "importedFrom", "pitot");
    pt_json_key_int(json, "processType", 0);
    pt_json_key_int(json, "stackwalk", 1);
    pt_json_key_bool(json, "debug", false);
    pt_json_key_bool(json, "symbolicated", true);
    pt_json_key_array(json, "categories");
    pt_json_object(json);
    pt_json_key_text(json, "name", "Other");
    pt_json_key_text(json, "color", "grey");
    pt_json_key_array(json, "subcategories");
    pt_json_text(json, "Other");
    pt_json_array_end(json);
    pt_json_object_end(json);
    for (size_t i = 0; i < w->category.count; i++) {
        pt_json_object(json);
        pt_json_key_text(json, "name", pt_text(w->p, w->category.items[i]));
        pt_json_key_text(json, "color", "blue");
        pt_json_key_array(json, "subcategories");
        pt_json_text(json, "Other");
        pt_json_array_end(json);
        pt_json_object_end(json);
    }
    pt_json_array_end(json);
    put_empty(json, "markerSchema");
    pt_json_object_end(json);
}

static void put_document(fx_writer *w)
{
    pt_json_w *const json = &w->json;
    pt_json_object(json);
    put_meta(w);
    put_libs(w);
    pt_json_key_array(json, "threads");
    uint32_t i = 0, m = 0;
    for (uint32_t thread = 0; thread < w->thread.count; thread++) {
        const uint32_t from = i, mark = m;
        while (i < w->count && w->moment[i].thread == thread)
            i++;
        while (m < w->mark_count && w->mark[m].thread == thread)
            m++;
        put_thread(w, thread, &w->moment[from], i - from, &w->mark[mark], m - mark);
    }
    pt_json_array_end(json);
    put_empty(json, "pages");
    pt_firefox_write_counters(w);
    put_empty(json, "profilerOverhead");
    pt_json_object_end(json);
}

/* ---- The whole file ---- */

static void choose_weight(fx_writer *w)
{
    const pt_unit *const unit = pt_unit_parse(pt_text(w->p, w->p->event->row[w->event].unit));
    w->weight = &weights[0];
    if (unit != NULL && unit->family == PT_FAMILY_TIME) {
        w->weight = &weights[1];
        w->factor = unit->factor;
    } else if (unit != NULL && unit->family == PT_FAMILY_BYTES && unit->factor == 1) {
        w->weight = &weights[2];
    }
}

static void report_facts(const fx_writer *w, pt_diag *diag)
{
    const pt_profile *const p = w->p;
    uint64_t moved = 0, cpus = 0;
    for (uint32_t i = 0; i < p->mapping->t.count; i++) {
        const pt_mapping *const m = &p->mapping->row[i];
        moved += m->start != 0 || m->limit != 0 || m->file_offset != 0;
    }
    for (uint32_t i = 0; p->sample->cpu && i < p->sample->t.count; i++)
        cpus += p->sample->cpu[i] != PT_NONE;
    if (moved > 0)
        pt_diag_add(diag, moved,
                    "images without the addresses where they were loaded: addresses count from the "
                    "image's start");
    if (cpus > 0) pt_diag_add(diag, cpus, "samples without their CPU");
    if (w->timeless > 0)
        pt_diag_add(diag, w->timeless,
                    w->timed ? "samples without a time, shown at the start"
                             : "samples without a time, one after the other, 1 ms each");
}

pt_status pt_firefox_write(const pt_profile *profile, const pt_output *output,
                           const pt_write_options *options, pt_error *reterr)
{
    uint32_t event;
    pt_out *const out = pt_json_open_event(profile, output, options, &event, reterr);
    if (out == NULL) return reterr != NULL ? reterr->status : PT_ERR_SYSTEM;
    fx_writer w = {.p = profile, .event = event};
    pt_named_frames_init(&w.frames, profile, true);
    pt_index_init(&w.stack_index);
    pt_index_init(&w.func_index);
    w.frame_number = pt_alloc(w.frames.frame.count + 1, sizeof *w.frame_number);
    w.stack_number = pt_alloc((size_t)profile->stack->t.count + 1, sizeof *w.stack_number);
    w.resource_number = pt_alloc((size_t)profile->mapping->t.count + 1, sizeof *w.resource_number);
    w.columns = pt_mark_columns_of(profile);
    w.name_number = pt_alloc((size_t)profile->string->t.count + 1, sizeof *w.name_number);
    w.category_number = pt_alloc((size_t)profile->string->t.count + 1, sizeof *w.category_number);
    choose_weight(&w);
    place_samples(&w);
    pt_firefox_find_categories(&w);
    pt_json_w_init(&w.json, out, 0);
    put_document(&w);
    pt_json_w_done(&w.json);
    pt_out_char(out, '\n');
    report_facts(&w, options->diag);
    pt_named_frames_done(&w.frames);
    pt_index_done(&w.stack_index);
    pt_index_done(&w.func_index);
    PT_FREE_ALL(w.func.items, w.func_of.items, w.thread.items, w.moment, w.mark, w.category.items,
                w.category_number, w.name.items, w.name_number, w.frame.items, w.frame_number,
                w.stack.items, w.stack_number, w.used_stack.items, w.resource.items,
                w.resource_number);
    return pt_out_flush(out, reterr);
}
