/* firefox.c: reads the samples of Firefox profiles: the processed format of the Firefox Profiler
 * (also of samply), in all versions so far, and the raw format of Firefox itself.
 *
 *   {"meta": {"startTime": ms, "preprocessedProfileVersion"}, "libs": [{"path", "codeId"}],
 *    "threads": [{"name", "pid", "tid",
 *                 "samples":    {"stack": [row], "time": [ms], "weight": [...], "weightType"},
 *                 "stackTable": {"frame": [row], "prefix": [row or null]},
 *                 "frameTable": {"func": [row], "address", "line", "column"},
 *                 "funcTable":  {"name": [string], "fileName": [string], "resource": [row]},
 *                 "resourceTable": {"lib": [row]}, "stringArray": [...]}],
 *    "shared": {the tables, in later versions}}
 *
 *   raw: the same tables as {"schema": {"prefix": 0, ...}, "data": [[...], ...]}, frames as text
 *   "name (file:line:column)" in "stringTable"; perhaps within {"profile": ...}; other processes
 *   in "processes"
 *
 * Specification: docs-developer/CHANGELOG-formats.md and src/types/profile.ts of
 * firefox-devtools/profiler. Markers, screenshots and counters: firefox_marks.c. Pages are
 * ignored. */
#include "formats/firefox.h"

#include <stdio.h>
#include <stdlib.h>

#include "base/grow.h"
#include "base/units.h"
#include "formats/firefox_int.h"
#include "formats/legacy.h"

static const struct {
    const char *table, *name;
    column_id id;
    bool is_time; /* milliseconds in the file, nanoseconds here */
} known[] = {
    {"samples", "stack", SAMPLE_STACK, false},
    {"samples", "time", SAMPLE_TIME, true},
    {"samples", "timeDeltas", SAMPLE_DELTA, true},
    {"stackTable", "prefix", STACK_PREFIX, false},
    {"stackTable", "prefixOffset", STACK_OFFSET, false},
    {"stackTable", "frame", STACK_FRAME, false},
    {"frameTable", "func", FRAME_FUNC, false},
    {"frameTable", "address", FRAME_ADDRESS, false},
    {"frameTable", "line", FRAME_LINE, false},
    {"frameTable", "column", FRAME_COLUMN, false},
    {"frameTable", "location", FRAME_TEXT, false},
    {"funcTable", "name", FUNC_NAME, false},
    {"funcTable", "fileName", FUNC_FILE, false},
    {"funcTable", "source", FUNC_SOURCE, false},
    {"funcTable", "lineNumber", FUNC_LINE, false},
    {"funcTable", "resource", FUNC_RESOURCE, false},
    {"resourceTable", "lib", RESOURCE_LIB, false},
    {"sources", "filename", SOURCE_FILE, false},
    {"markers", "name", MARKER_NAME, false},
    {"markers", "startTime", MARKER_START, true},
    {"markers", "endTime", MARKER_END, true},
    {"markers", "time", MARKER_TIME, true},
    {"markers", "phase", MARKER_PHASE, false},
    {"markers", "category", MARKER_CATEGORY, false},
    {"markers", "data", MARKER_DATA, false},
    {"counter", "time", COUNTER_TIME, true},
    {"counter", "timeDeltas", COUNTER_DELTA, true},
    {"counter", "count", COUNTER_CHANGE, false},
};
enum { KNOWN = PT_COUNT(known), SCHEMA_MAX = 32 };

static int probe_firefox(const pt_probe_input *input)
{
    if (pt_json_head_has(input, "meta.preprocessedProfileVersion", NULL)) return 90;
    if (pt_json_head_has(input, "meta.interval", NULL) &&
        pt_json_head_has(input, "meta.version", NULL))
        return 80;
    if (pt_json_head_has(input, "profile.libs", NULL) ||
        pt_json_head_has(input, "profile.meta.interval", NULL))
        return 75;
    return 0;
}

/* ---- Tables ---- */

static void put_cell(fx_tables *t, column_id id, int64_t value)
{
    PT_PUSH(t->column[id], value);
}

/* Converts the value at the latest token to a cell of column known[which], and reads on to the end
 * of the value. */
static int64_t read_cell(fx_reader *x, int which)
{
    pt_json_r *const r = &x->json;
    int64_t value = NULL_CELL;
    if (known[which].id == MARKER_DATA)
        value = r->token == PT_JSON_OBJECT ? r->pos - 1 - x->document : NULL_CELL;
    else if (known[which].is_time && (r->token == PT_JSON_INT || r->token == PT_JSON_NUMBER))
        value = pt_json_scale_time(&x->scale, pt_json_num_of(r));
    else if (r->token == PT_JSON_INT)
        value = r->integer;
    pt_json_skip(r);
    return value;
}

static int find_column(const char *table, const char *name, size_t bytes)
{
    for (int i = 0; i < KNOWN; i++) {
        if (strcmp(known[i].table, table) == 0 && strlen(known[i].name) == bytes &&
            memcmp(known[i].name, name, bytes) == 0)
            return i;
    }
    return -1;
}

static void read_column(fx_reader *x, fx_tables *t, int which)
{
    pt_json_r *const r = &x->json;
    while (pt_json_next(r) > PT_JSON_EOF && r->token != PT_JSON_ARRAY_END)
        put_cell(t, known[which].id, read_cell(x, which));
}

static void read_weights(fx_reader *x, fx_tables *t)
{
    pt_json_r *const r = &x->json;
    while (pt_json_next(r) > PT_JSON_EOF && r->token != PT_JSON_ARRAY_END) {
        PT_PUSH(t->weight, pt_json_num_of(r));
        pt_json_skip(r);
    }
}

static void read_strings(fx_reader *x, fx_tables *t)
{
    pt_json_r *const r = &x->json;
    while (pt_json_next(r) > PT_JSON_EOF && r->token != PT_JSON_ARRAY_END) {
        const bool is_text = r->token == PT_JSON_STRING;
        put_cell(t, STRINGS, is_text ? pt_builder_string(x->builder, r->text, r->length).v : 0);
        pt_json_skip(r);
    }
}

/* Reads {"prefix": 0, "frame": 1}, the column at each position of a row. */
static void read_schema(fx_reader *x, const char *table, int which[SCHEMA_MAX])
{
    pt_json_r *const r = &x->json;
    while (pt_json_next(r) == PT_JSON_KEY) {
        const int column = find_column(table, r->text, r->length);
        pt_json_next(r);
        if (column >= 0 && r->token == PT_JSON_INT && r->integer >= 0 && r->integer < SCHEMA_MAX)
            which[r->integer] = column;
        pt_json_skip(r);
    }
}

static void read_rows(fx_reader *x, fx_tables *t, const int which[SCHEMA_MAX])
{
    pt_json_r *const r = &x->json;
    while (pt_json_next(r) == PT_JSON_ARRAY) {
        int64_t row[KNOWN];
        for (int i = 0; i < KNOWN; i++)
            row[i] = NULL_CELL;
        for (int i = 0; pt_json_next(r) > PT_JSON_EOF && r->token != PT_JSON_ARRAY_END; i++) {
            if (i < SCHEMA_MAX && which[i] >= 0)
                row[which[i]] = read_cell(x, which[i]);
            else
                pt_json_skip(r);
        }
        for (int i = 0; i < SCHEMA_MAX; i++) {
            if (which[i] >= 0) put_cell(t, known[which[i]].id, row[which[i]]);
        }
    }
}

/* Reads rows that came before their schema in the document. text: the rows, from the bracket on.
 * which: the column at each position of a row; NULL = there is no schema, and the list is the
 * column of the markers' data. */
static void read_rows_late(fx_reader *x, fx_tables *t, const int *which, const uint8_t *text,
                           size_t size)
{
    pt_json_r here = x->json;
    pt_json_r_init(&x->json, text, size, NULL);
    if (pt_json_next(&x->json) == PT_JSON_ARRAY) {
        if (which != NULL)
            read_rows(x, t, which);
        else
            read_column(x, t, find_column("markers", "data", 4));
    }
    pt_json_r_done(&x->json);
    x->json = here;
}

void pt_firefox_read_table(fx_reader *x, fx_tables *t, const char *table)
{
    pt_json_r *const r = &x->json;
    const uint8_t *early = NULL;
    size_t early_bytes = 0;
    bool has_schema = false;
    int schema[SCHEMA_MAX];
    for (int i = 0; i < SCHEMA_MAX; i++)
        schema[i] = -1;
    const bool is_samples = strcmp(table, "samples") == 0;
    while (pt_json_next(r) == PT_JSON_KEY) {
        const int column = find_column(table, r->text, r->length);
        const bool is_schema = pt_json_is(r, "schema"), is_data = pt_json_is(r, "data"),
                   is_weight = is_samples && pt_json_is(r, "weight"),
                   is_type = is_samples && pt_json_is(r, "weightType");
        pt_json_next(r);
        if (is_type && r->token == PT_JSON_STRING) {
            free(t->weight_type);
            t->weight_type = pt_strndup(r->text, r->length);
        } else if (is_schema && r->token == PT_JSON_OBJECT) {
            read_schema(x, table, schema);
            has_schema = true;
        } else if (is_data && r->token == PT_JSON_ARRAY && has_schema) {
            read_rows(x, t, schema);
        } else if (is_data && r->token == PT_JSON_ARRAY) {
            early = r->pos - 1;
            pt_json_skip(r);
            early_bytes = (size_t)(r->pos - early);
        } else if (is_weight && r->token == PT_JSON_ARRAY) {
            read_weights(x, t);
        } else if (column >= 0 && r->token == PT_JSON_ARRAY) {
            read_column(x, t, column);
        } else {
            pt_json_skip(r);
        }
    }
    const bool is_markers = strcmp(table, "markers") == 0;
    if (early != NULL && (has_schema || is_markers))
        read_rows_late(x, t, has_schema ? schema : NULL, early, early_bytes);
}

/* If the member `key` of a thread, or of "shared", is a table, reads the table; else returns false.
 * The value is the latest token. */
static bool read_table_member(fx_reader *x, fx_tables *t, const char *key)
{
    pt_json_r *const r = &x->json;
    if ((strcmp(key, "stringArray") == 0 || strcmp(key, "stringTable") == 0) &&
        r->token == PT_JSON_ARRAY) {
        read_strings(x, t);
        return true;
    }
    for (size_t i = 0; i < KNOWN; i++) {
        if (strcmp(known[i].table, key) != 0 || r->token != PT_JSON_OBJECT) continue;
        pt_firefox_read_table(x, t, known[i].table);
        return true;
    }
    return false;
}

static void take_key(pt_json_r *r, char key[static 32])
{
    const size_t bytes = r->length < 31 ? r->length : 31;
    memcpy(key, r->text, bytes);
    key[bytes] = '\0';
    pt_json_next(r);
}

/* An id from a number, or from a text of digits. */
uint32_t pt_firefox_id(const pt_json_r *r)
{
    if (r->token == PT_JSON_INT)
        return r->integer >= 0 && r->integer < PT_NONE ? (uint32_t)r->integer : PT_NONE;
    uint64_t value = 0;
    if (r->token != PT_JSON_STRING || r->length == 0 || r->length > 10) return PT_NONE;
    for (size_t i = 0; i < r->length; i++) {
        if (r->text[i] < '0' || r->text[i] > '9') return PT_NONE;
        value = value * 10 + (uint64_t)(r->text[i] - '0');
    }
    return value < PT_NONE ? (uint32_t)value : PT_NONE;
}

static void read_thread(fx_reader *x)
{
    pt_json_r *const r = &x->json;
    fx_thread *const thread = pt_alloc(1, sizeof *thread);
    char key[32];
    thread->pid = thread->tid = PT_NONE;
    PT_PUSH(x->thread, thread);
    while (pt_json_next(r) == PT_JSON_KEY) {
        take_key(r, key);
        if (strcmp(key, "name") == 0 && r->token == PT_JSON_STRING)
            thread->name = pt_builder_string(x->builder, r->text, r->length).v;
        if (strcmp(key, "pid") == 0) thread->pid = pt_firefox_id(r);
        if (strcmp(key, "tid") == 0) thread->tid = pt_firefox_id(r);
        if (!read_table_member(x, &thread->tables, key)) pt_json_skip(r);
    }
}

/* ---- The document ---- */

static void read_shared(fx_reader *x)
{
    char key[32];
    while (pt_json_next(&x->json) == PT_JSON_KEY) {
        take_key(&x->json, key);
        if (!read_table_member(x, &x->shared, key)) pt_json_skip(&x->json);
    }
}

/* Reads the list of categories: the names, in the order of their numbers. */
static void read_categories(fx_reader *x)
{
    pt_json_r *const r = &x->json;
    while (pt_json_next(r) == PT_JSON_OBJECT) {
        uint32_t name = 0;
        while (pt_json_next(r) == PT_JSON_KEY) {
            const bool is_name = pt_json_is(r, "name");
            pt_json_next(r);
            if (is_name && r->token == PT_JSON_STRING)
                name = pt_builder_string(x->builder, r->text, r->length).v;
            pt_json_skip(r);
        }
        PT_PUSH(x->category, name);
    }
}

/* All processes of a file have the same categories. */
static void read_meta(fx_reader *x)
{
    pt_json_r *const r = &x->json;
    while (pt_json_next(r) == PT_JSON_KEY) {
        const bool is_start = pt_json_is(r, "startTime");
        const bool is_categories = pt_json_is(r, "categories") && x->category.count == 0;
        pt_json_next(r);
        if (is_start && (r->token == PT_JSON_INT || r->token == PT_JSON_NUMBER))
            x->start_ns = pt_json_scale_time(&x->scale, pt_json_num_of(r));
        if (is_categories && r->token == PT_JSON_ARRAY)
            read_categories(x);
        else
            pt_json_skip(r);
    }
}

static void read_libs(fx_reader *x)
{
    pt_json_r *const r = &x->json;
    while (pt_json_next(r) == PT_JSON_OBJECT) {
        pt_mapping m = {0};
        while (pt_json_next(r) == PT_JSON_KEY) {
            const bool is_path = pt_json_is(r, "path"), is_code = pt_json_is(r, "codeId");
            uint64_t *const to = pt_json_is(r, "start")    ? &m.start
                                 : pt_json_is(r, "end")    ? &m.limit
                                 : pt_json_is(r, "offset") ? &m.file_offset
                                                           : NULL;
            pt_json_next(r);
            if (to != NULL && r->token == PT_JSON_INT && r->integer >= 0)
                *to = (uint64_t)r->integer;
            if (is_path && r->token == PT_JSON_STRING)
                m.file = pt_builder_string(x->builder, r->text, r->length).v;
            if (is_code && r->token == PT_JSON_STRING)
                m.build_id = pt_builder_string(x->builder, r->text, r->length).v;
            pt_json_skip(r);
        }
        if (m.limit > m.start)
            PT_PUSH(x->range,
                    (lib_range){.start = m.start, .end = m.limit, .lib = (uint32_t)x->lib.count});
        else
            m.start = m.limit = m.file_offset = 0;
        PT_PUSH(x->lib, m);
    }
}

PT_ORDER(compare_ranges, lib_range, PT_UP(start) ?: PT_UP(lib));

/* Reads the members of a profile whose opening brace was read. Nested profiles are read to `depth`
 * levels.
 */
/* NOLINTNEXTLINE(misc-no-recursion): limited by depth */
static void read_profile(fx_reader *x, unsigned depth)
{
    pt_json_r *const r = &x->json;
    const size_t first = x->thread.count, first_counter = x->counter.count;
    size_t range_from = 0, range_to = 0;
    char key[32];
    while (pt_json_next(r) == PT_JSON_KEY) {
        take_key(r, key);
        if (strcmp(key, "threads") == 0 && r->token == PT_JSON_ARRAY) {
            x->has_threads = true;
            while (pt_json_next(r) == PT_JSON_OBJECT)
                read_thread(x);
        } else if (strcmp(key, "counters") == 0 && r->token == PT_JSON_ARRAY) {
            pt_firefox_read_counters(x);
        } else if (strcmp(key, "meta") == 0 && r->token == PT_JSON_OBJECT) {
            read_meta(x);
        } else if (strcmp(key, "shared") == 0 && r->token == PT_JSON_OBJECT) {
            read_shared(x);
        } else if (strcmp(key, "libs") == 0 && r->token == PT_JSON_ARRAY) {
            range_from = x->range.count;
            read_libs(x);
            range_to = x->range.count;
            if (range_to > range_from)
                qsort(x->range.items + range_from, range_to - range_from, sizeof(lib_range),
                      compare_ranges);
        } else if (strcmp(key, "profile") == 0 && r->token == PT_JSON_OBJECT && depth > 0) {
            read_profile(x, depth - 1);
        } else if (strcmp(key, "processes") == 0 && r->token == PT_JSON_ARRAY && depth > 0) {
            const int64_t start = x->start_ns;
            while (pt_json_next(r) == PT_JSON_OBJECT)
                read_profile(x, depth - 1);
            x->start_ns = start;
        } else {
            pt_json_skip(r);
        }
    }
    for (size_t i = first; i < x->thread.count; i++) {
        fx_thread *const thread = x->thread.items[i];
        if (thread->start_ns == 0) thread->start_ns = x->start_ns;
        if (thread->range_to > 0) continue; /* a nested profile's thread */
        thread->range_from = range_from;
        thread->range_to = range_to;
    }
    for (size_t i = first_counter; i < x->counter.count; i++) {
        fx_counter *const c = x->counter.items[i];
        if (c->start_ns == 0) c->start_ns = x->start_ns;
        if (c->pid == PT_NONE && first < x->thread.count) c->pid = x->thread.items[first]->pid;
    }
}

/* ---- Rows to frames ---- */

/* The tables with a column: the tables of the thread, or the shared tables. */
static fx_tables *tables_with(fx_reader *x, fx_thread *thread, column_id id)
{
    return thread->tables.column[id].count > 0 ? &thread->tables : &x->shared;
}

/* A cell of a column; NULL_CELL if the row is missing. */
int64_t pt_firefox_cell(fx_reader *x, fx_thread *thread, column_id id, int64_t row)
{
    const fx_tables *const t = tables_with(x, thread, id);
    if (row < 0 || (uint64_t)row >= t->column[id].count) return NULL_CELL;
    return t->column[id].items[row];
}

/* A cell's string of the builder; 0 = none. */
uint32_t pt_firefox_text(fx_reader *x, fx_thread *thread, column_id id, int64_t row)
{
    const int64_t string = pt_firefox_cell(x, thread, STRINGS, pt_firefox_cell(x, thread, id, row));
    return string == NULL_CELL ? 0 : (uint32_t)string;
}

static int64_t positive_of(int64_t value)
{
    return value > 0 ? value : 0;
}

/* Parses ":12" at the end of text[0, *size) and removes it; returns -1 if there is no such
 * number. */
static int64_t take_number(const char *text, size_t *size)
{
    size_t begin = *size;
    while (begin > 0 && text[begin - 1] >= '0' && text[begin - 1] <= '9')
        begin--;
    if (begin == *size || *size - begin > 18 || begin == 0 || text[begin - 1] != ':') return -1;
    const int64_t value = strtoll(text + begin, NULL, 10);
    *size = begin - 1;
    return value;
}

/* Removes "[12]", the number of a source, which Firefox writes after a function's place. */
static void drop_source(char *text)
{
    size_t size = strlen(text);
    if (size == 0 || text[--size] != ']') return;
    const size_t close = size;
    while (size > 0 && text[size - 1] >= '0' && text[size - 1] <= '9')
        size--;
    if (size == close || size < 2 || text[size - 1] != '[') return;
    const char before = text[size - 2];
    const bool is_line = before >= '0' && before <= '9' && strstr(text, "://") != NULL;
    if (before == ')' || is_line) text[size - 1] = '\0';
}

/* Parses the frame's text "name (file:line:column)" of raw profiles. */
static void take_text(fx_reader *x, uint32_t string, pt_function *f, pt_line *line)
{
    PT_FREE char *text = pt_strdup(pt_builder_get_text(x->builder, (pt_string_id){string}));
    drop_source(text);
    const size_t size = strlen(text);
    char *open = text;
    f->name = pt_builder_string(x->builder, text, size).v;
    if (size == 0 || text[size - 1] != ')') return;
    while ((open = strstr(open, " (")) != NULL && strchr(open + 2, '(') != NULL)
        open++;
    if (open == NULL || open == text) return;
    const char *const file = open + 2;
    size_t bytes = (size_t)(text + size - 1 - file);
    const int64_t last = take_number(file, &bytes);
    const int64_t first = take_number(file, &bytes);
    if (last < 0) return; /* such as "(in libfoo)" */
    f->name = pt_builder_string(x->builder, text, (size_t)(open - text)).v;
    f->file = pt_builder_string(x->builder, file, bytes).v;
    f->start_line = line->line = first >= 0 ? first : last;
    line->column = first >= 0 ? last + 1 : 0; /* columns of the raw form begin at 0 */
}

/* Is the name only the address, as for functions without symbols? */
static bool is_address(fx_reader *x, uint32_t name, int64_t address)
{
    char text[24];
    if (address <= 0) return false;
    snprintf(text, sizeof text, "0x%llx", (unsigned long long)address);
    return strcmp(pt_builder_get_text(x->builder, (pt_string_id){name}), text) == 0;
}

/* The mapping of an address, in the raw form. */
static uint32_t find_mapping(fx_reader *x, const fx_thread *thread, uint64_t address)
{
    size_t from = thread->range_from, to = thread->range_to;
    while (from < to) {
        const size_t middle = from + (to - from) / 2;
        if (x->range.items[middle].start <= address)
            from = middle + 1;
        else
            to = middle;
    }
    if (from == thread->range_from || address >= x->range.items[from - 1].end) return PT_NONE;
    return pt_builder_mapping(x->builder, &x->lib.items[x->range.items[from - 1].lib]).v;
}

/* The address of a raw frame whose text is only an address, "0x7f12"; 0 = the text is a name. */
static uint64_t address_of(fx_reader *x, uint32_t text)
{
    const char *const at = pt_builder_get_text(x->builder, (pt_string_id){text});
    pt_span s = {at, strlen(at)};
    uint64_t address;
    return pt_span_skip(&s, "0x") && pt_span_hex(&s, &address) && s.size == 0 ? address : 0;
}

static uint32_t mapping_of(fx_reader *x, fx_thread *thread, int64_t func)
{
    const int64_t lib =
        pt_firefox_cell(x, thread, RESOURCE_LIB, pt_firefox_cell(x, thread, FUNC_RESOURCE, func));
    if (lib < 0 || (uint64_t)lib >= x->lib.count) return PT_NONE;
    return pt_builder_mapping(x->builder, &x->lib.items[lib]).v;
}

static uint32_t make_location(fx_reader *x, fx_thread *thread, int64_t frame)
{
    pt_function f = {0};
    pt_line line = {.line = positive_of(pt_firefox_cell(x, thread, FRAME_LINE, frame)),
                    .column = positive_of(pt_firefox_cell(x, thread, FRAME_COLUMN, frame))};
    pt_location location = {.mapping = PT_NONE};
    const int64_t func = pt_firefox_cell(x, thread, FRAME_FUNC, frame);
    if (pt_firefox_cell(x, thread, FRAME_TEXT, frame) != NULL_CELL) {
        take_text(x, pt_firefox_text(x, thread, FRAME_TEXT, frame), &f, &line);
        location.address = address_of(x, f.name);
        if (location.address != 0) location.mapping = find_mapping(x, thread, location.address);
    } else {
        const int64_t source = pt_firefox_cell(x, thread, FUNC_SOURCE, func);
        f.name = pt_firefox_text(x, thread, FUNC_NAME, func);
        f.file = source != NULL_CELL ? pt_firefox_text(x, thread, SOURCE_FILE, source)
                                     : pt_firefox_text(x, thread, FUNC_FILE, func);
        f.start_line = positive_of(pt_firefox_cell(x, thread, FUNC_LINE, func));
        location.mapping = mapping_of(x, thread, func);
        location.address = (uint64_t)positive_of(pt_firefox_cell(x, thread, FRAME_ADDRESS, frame));
    }
    if (is_address(x, f.name, (int64_t)location.address))
        return pt_builder_location(x->builder, &location, NULL, 0).v;
    if (f.name == 0) f.name = pt_builder_text(x->builder, "[unknown]").v;
    line.function = pt_builder_function(x->builder, &f).v;
    return pt_builder_location(x->builder, &location, &line, 1).v;
}

static uint32_t location_of(fx_reader *x, fx_thread *thread, int64_t frame)
{
    const column_id of =
        tables_with(x, thread, FRAME_FUNC)->column[FRAME_FUNC].count > 0 ? FRAME_FUNC : FRAME_TEXT;
    fx_tables *const t = tables_with(x, thread, of);
    const size_t count = t->column[of].count;
    if (frame < 0 || (uint64_t)frame >= count) {
        x->dangling++;
        return PT_NONE;
    }
    if (t->location == NULL) t->location = pt_alloc(count + 1, sizeof *t->location);
    if (t->location[frame] == 0) t->location[frame] = make_location(x, thread, frame) + 1;
    return t->location[frame] - 1;
}

static int64_t prefix_of(fx_reader *x, fx_thread *thread, int64_t stack)
{
    const int64_t prefix = pt_firefox_cell(x, thread, STACK_PREFIX, stack);
    const int64_t back = pt_firefox_cell(x, thread, STACK_OFFSET, stack);
    return prefix != NULL_CELL ? prefix : back > 0 ? stack - back : NULL_CELL;
}

/* Is the frame "(root)"? Raw stacks begin with this frame, which is not a function. */
static bool is_root(fx_reader *x, fx_thread *thread, int64_t frame)
{
    const uint32_t text = pt_firefox_text(x, thread, FRAME_TEXT, frame);
    return text != 0 &&
           strcmp(pt_builder_get_text(x->builder, (pt_string_id){text}), "(root)") == 0;
}

uint32_t pt_firefox_stack(fx_reader *x, fx_thread *thread, int64_t stack)
{
    fx_tables *const t = tables_with(x, thread, STACK_FRAME);
    const size_t count = t->column[STACK_FRAME].count;
    const bool there = stack >= 0 && (uint64_t)stack < count;
    if (t->stack == NULL) t->stack = pt_alloc(count + 1, sizeof *t->stack);
    if (there && t->stack[stack] != 0) return t->stack[stack] - 1;
    x->frame.count = 0;
    x->dangling += !there && stack != NULL_CELL;
    int64_t row = stack;
    /* A cycle of prefixes is followed once. */
    const uint64_t most = pt_builder_depth_max(x->builder);
    pt_stack_end end = PT_STACK_END_UNKNOWN;
    while (row >= 0 && (uint64_t)row < count && x->frame.count < count) {
        const int64_t frame = t->column[STACK_FRAME].items[row];
        const int64_t prefix = prefix_of(x, thread, row);
        if (prefix == NULL_CELL && is_root(x, thread, frame)) break;
        const uint32_t location = location_of(x, thread, frame);
        if (location == PT_NONE) break;
        if (x->frame.count == most) {
            end = pt_builder_cut_stack(x->builder);
            break;
        }
        PT_PUSH(x->frame, location);
        row = prefix;
    }
    const uint32_t id = pt_builder_stack(x->builder, x->frame.items, x->frame.count, end).v;
    if (there) t->stack[stack] = id + 1;
    return id;
}

/* ---- Samples ---- */

static uint32_t find_event(pt_builder *b, const firefox_weight *weight)
{
    const pt_event event = {.type = pt_builder_text(b, weight->type).v,
                            .unit = pt_builder_text(b, weight->unit).v};
    for (uint32_t i = 0; i < pt_builder_event_count(b); i++) {
        const pt_event *const other = pt_builder_event_at(b, i);
        if (other->type == event.type && other->unit == event.unit) return i;
    }
    return pt_builder_event(b, &event);
}

static void put_thread(fx_reader *x, fx_thread *thread, int64_t *values)
{
    const fx_tables *const t = &thread->tables;
    const firefox_weight *const weight = firefox_weight_of(t->weight_type);
    const uint32_t event = find_event(x->builder, weight);
    pt_json_scale scale = {.scale = weight->scale};
    int64_t time = thread->start_ns;
    for (size_t i = 0; i < t->column[SAMPLE_STACK].count; i++) {
        const bool has_weight = i < t->weight.count;
        const int64_t stamp =
            i < t->column[SAMPLE_TIME].count ? t->column[SAMPLE_TIME].items[i] : NULL_CELL;
        const int64_t delta =
            i < t->column[SAMPLE_DELTA].count ? t->column[SAMPLE_DELTA].items[i] : NULL_CELL;
        if (delta != NULL_CELL && __builtin_add_overflow(time, delta, &time)) time = INT64_MAX;
        int64_t when = delta != NULL_CELL ? time : 0;
        if (stamp != NULL_CELL && __builtin_add_overflow(thread->start_ns, stamp, &when))
            when = INT64_MAX;
        values[event] = has_weight ? pt_json_scale_weight(&scale, t->weight.items[i]) : 1;
        const pt_sample sample = {
            .stack = pt_firefox_stack(x, thread, t->column[SAMPLE_STACK].items[i]),
            .values = values,
            .time_ns = when,
            .pid = thread->pid,
            .tid = thread->tid,
            .cpu = PT_NONE,
            .comm = thread->name,
        };
        pt_builder_timed_sample(x->builder, &sample);
        values[event] = 0;
    }
    if (weight->scale == 1) x->rounded += scale.rounded;
    x->scale.limited += scale.limited;
}

/* Adds the samples of all threads, and their markers and counters. The events of samples come
 * first, and the last of them is the default event. An event of markers is the default only if the
 * file has no samples. */
static void put_samples(fx_reader *x)
{
    const unsigned needed = pt_firefox_marks_needed(x);
    uint32_t shown = PT_NONE;
    for (size_t i = 0; i < x->thread.count; i++) {
        const fx_tables *const t = &x->thread.items[i]->tables;
        if (t->column[SAMPLE_STACK].count > 0 || needed == 0)
            shown = find_event(x->builder, firefox_weight_of(t->weight_type));
    }
    if (x->thread.count == 0 && needed == 0) find_event(x->builder, firefox_weight_of(NULL));
    PT_AUTO(pt_marks) marks = {0};
    pt_marks_open(&marks, x->builder, needed);
    if (needed != 0) pt_builder_set_default_event(x->builder, shown != PT_NONE ? shown : 0);
    for (size_t i = 0; i < x->thread.count; i++) {
        if (x->thread.items[i]->tables.column[SAMPLE_STACK].count > 0)
            put_thread(x, x->thread.items[i], marks.values);
        pt_firefox_put_markers(x, &marks, x->thread.items[i]);
    }
    pt_firefox_put_counters(x, &marks);
}

void pt_firefox_tables_done(fx_tables *t)
{
    for (size_t i = 0; i < COLUMNS; i++)
        free(t->column[i].items);
    PT_FREE_ALL(t->weight.items, t->weight_type, t->location, t->stack);
}

static pt_status conclude_profile(fx_reader *x, const pt_error *error, pt_diag *diag,
                                  pt_error *reterr)
{
    x->scale.rounded = x->rounded;
    pt_json_scale_report(&x->scale, false, diag);
    if (x->beginless > 0)
        pt_diag_add(diag, x->beginless, "markers that end and did not begin, shown where they end");
    if (x->endless > 0)
        pt_diag_add(diag, x->endless, "markers that begin and do not end, shown to the last time");
    if (x->dangling > 0) pt_diag_add(diag, x->dangling, "references to missing rows of tables");
    if (error->status != PT_OK) return pt_json_failed(error, x->builder, reterr);
    if (!x->has_threads)
        return pt_error_set(reterr, PT_ERR_FORMAT, "a profile of Firefox without threads");
    if (x->dangling > 0)
        return pt_error_set(reterr, PT_ERR_DAMAGED, "references to missing rows; kept %s",
                            pt_count_noun(pt_builder_sample_count(x->builder), "samples").text);
    return PT_OK;
}

static pt_status firefox_read(pt_reader *reader, pt_builder *builder, const pt_read_hooks *hooks,
                              pt_error *reterr)
{
    fx_reader x = {.builder = builder, .scale = {.scale = 1000000}, .document = reader->pos};
    pt_error error = PT_ERROR_INIT;
    pt_json_r_init(&x.json, reader->pos, pt_reader_left(reader), &error);
    if (pt_json_next(&x.json) == PT_JSON_OBJECT)
        read_profile(&x, 4);
    else if (error.status == PT_OK)
        pt_error_set(&error, PT_ERR_FORMAT, "there is no \"threads\" at the top of the JSON");
    pt_json_r_done(&x.json);
    put_samples(&x);
    const pt_status status = conclude_profile(&x, &error, hooks->diag, reterr);
    for (size_t i = 0; i < x.thread.count; i++) {
        pt_firefox_tables_done(&x.thread.items[i]->tables);
        free(x.thread.items[i]);
    }
    pt_firefox_tables_done(&x.shared);
    for (size_t i = 0; i < x.counter.count; i++) {
        pt_firefox_tables_done(&x.counter.items[i]->tables);
        free(x.counter.items[i]);
    }
    PT_FREE_ALL(x.counter.items, x.category.items, x.thread.items, x.lib.items, x.range.items,
                x.frame.items);
    return status;
}

const pt_format pt_format_firefox = {
    .name = "firefox",
    .aliases = "gecko samply",
    .extensions = ".firefox.json",
    .summary = "Firefox Profiler's JSON: profiler.firefox.com, samply",
    .kind = PT_PROBE_HEURISTIC,
    .capabilities = PT_CAN_STACKS | PT_CAN_LINES | PT_CAN_ADDRESSES | PT_CAN_MAPPINGS |
                    PT_CAN_NAMES | PT_CAN_UNITS | PT_CAN_TIME,
    .held_events = "samples/count time/nanoseconds space/bytes marker/count "
                   "marker-time/nanoseconds memory/bytes network/bytes counter/count",
    .holds_event = pt_firefox_holds_event,
    .probe = probe_firefox,
    .read = firefox_read,
    .write = pt_firefox_write,
};
