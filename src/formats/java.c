/* java.c: reads profiles of Java programs in forms similar to gperftools': binary CPU, text heap
 * and contention.
 *
 *   | 0 | 3 | 1 | period_us | 0 |  then records and trailer as in gperftools.c     CPU
 *
 *   --- heapz 1 ---                     or --- contentionz 1 ---
 *   format = java
 *   resolution = bytes                  the unit of the second value
 *   sampling period = 100               contention: weight of a sample
 *   ms since reset = 60000
 *      7048        1 @ 0x00000003 0x00000004        value, count: the other order than in C++
 *
 *   all three end in a table of the addresses, which are only numbers:
 *     0x00000003 GC
 *     0x00000006 com.example.f (source.java:6)
 *     0x00000009 write (/lib/libc.so)
 *     0x0000000c generated stub/JIT
 *
 * Rule: profile/legacy_java_profile.go of google/pprof. Addresses are not adjusted, and are dropped
 * once they have their names. Heap samples are scaled as samples of a Poisson process with a mean
 * of 512 KiB.
 */
#include "formats/legacy.h"

#include <ctype.h>
#include <inttypes.h>
#include <math.h>
#include <string.h>

#include "base/grow.h"
#include "base/hash.h"

#define HEAP_PERIOD 524288

/* ---- Locations ---- */

typedef struct {
    uint64_t number;
    pt_line line; /* .function: row of java.function; PT_NONE: no name yet */
} java_location;

typedef struct {
    pt_function row;
    uint32_t id; /* id in the profile; PT_NONE before the first location of the address is added */
} java_function;

typedef struct {
    pt_builder *b;
    const pt_read_hooks *hooks;
    PT_VECTOR(java_location) at;
    pt_index index;   /* number -> location */
    pt_index by_name; /* name -> function */
    PT_VECTOR(java_function) function;
    uint64_t malformed, first_malformed, saturated;
} java;

static void java_init(java *j, pt_builder *b, const pt_read_hooks *hooks)
{
    *j = (java){.b = b, .hooks = hooks};
    pt_index_init(&j->index);
    pt_index_init(&j->by_name);
}

static void java_done(java *j)
{
    PT_FREE_ALL(j->at.items, j->function.items);
    pt_index_done(&j->index);
    pt_index_done(&j->by_name);
}

static uint32_t find_location(const java *j, uint64_t number)
{
    return PT_INDEX_FIND(&j->index, pt_hash_mix(number, 3), id, j->at.items[id].number == number);
}

static uint32_t location_of(java *j, uint64_t number)
{
    const uint32_t found = find_location(j, number);
    if (found != PT_NONE) return found;
    PT_GROW(j->at, j->at.count + 1);
    j->at.items[j->at.count] = (java_location){.number = number, .line = {.function = PT_NONE}};
    pt_index_add(&j->index, pt_hash_mix(number, 3), (uint32_t)j->at.count);
    return (uint32_t)j->at.count++;
}

/* The function of a name. The function's file is the first file that occurs with the name. */
static uint32_t function_of(java *j, pt_span name, pt_span file)
{
    const uint32_t text = pt_builder_string(j->b, name.at, name.size).v;
    const uint64_t hash = pt_hash_mix(text, 5);
    const uint32_t found =
        PT_INDEX_FIND(&j->by_name, hash, id, j->function.items[id].row.name == text);
    if (found != PT_NONE) return found;
    const java_function f = {
        .row = {.name = text,
                .system_name = text,
                .file = pt_builder_string(j->b, file.at, file.size).v},
        .id = PT_NONE,
    };
    return PT_INDEX_PUSH(&j->by_name, hash, j->function, f);
}

/* The function's row in the profile. Rows come in the order of locations, as in google/pprof, not
 * in that of the table of names. */
static uint32_t function_id(java *j, uint32_t function)
{
    java_function *const f = &j->function.items[function];
    if (f->id == PT_NONE) f->id = pt_builder_append_function(j->b, &f->row).v;
    return f->id;
}

/* Splits "NAME (INSIDE)" at the last parenthesis that follows a blank; false if the text does not
 * end in a parenthesis. */
static bool split_parenthesis(pt_span s, pt_span *ret_name, pt_span *ret_inside)
{
    if (s.size < 3 || s.at[s.size - 1] != ')') return false;
    for (size_t i = s.size - 1; i-- > 1;) {
        if (s.at[i] != '(' || !isspace((unsigned char)s.at[i - 1])) continue;
        size_t end = i - 1;
        *ret_name = (pt_span){s.at, end};
        *ret_inside = (pt_span){s.at + i + 1, s.size - i - 2};
        return true;
    }
    return false;
}

/* Splits "FILE:LINE". */
static bool split_line(pt_span s, pt_span *ret_file, int64_t *ret_line)
{
    size_t colon = s.size;
    while (colon > 0 && s.at[colon - 1] != ':')
        colon--;
    if (colon < 2) return false;
    pt_span number = {s.at + colon, s.size - colon};
    const bool fits = pt_span_number(&number, true, ret_line);
    if (!fits || number.size != 0) return false;
    *ret_file = (pt_span){s.at, colon - 1};
    return true;
}

static pt_span base_name(pt_span path)
{
    while (path.size > 1 && path.at[path.size - 1] == '/')
        path.size--;
    for (size_t i = path.size; i-- > 0;) {
        if (path.at[i] == '/' && i + 1 < path.size)
            return (pt_span){path.at + i + 1, path.size - i - 1};
    }
    return path;
}

/* Gives a location its name, file and line from the text of the table. */
static void name_location(java *j, uint32_t id, pt_span text)
{
    pt_span name = text, file = {"", 0}, inside;
    int64_t line = 0;
    if (split_parenthesis(text, &name, &inside)) {
        if (!split_line(inside, &file, &line))
            file = inside.size > 0 ? base_name(inside) : (pt_span){".", 1};
        if (line < 0) line = 0;
    } else if (memmem(text.at, text.size, "generated stub/JIT", 18) != NULL) {
        name = (pt_span){"STUB", 4};
    }
    j->at.items[id].line = (pt_line){.function = function_of(j, name, file), .line = line};
}

/* Parses a line of the table, "0xNUMBER TEXT". */
static bool take_location_line(java *j, pt_span s)
{
    uint64_t number = 0;
    s = pt_span_trim(s);
    if (!pt_span_skip(&s, "0x") || !pt_span_hex(&s, &number)) return false;
    if (s.size == 0 || !isspace((unsigned char)*s.at)) return false;
    const uint32_t id = find_location(j, number);
    if (id != PT_NONE) name_location(j, id, pt_span_trim(s));
    return true;
}

static pt_status finish_profile(java *j, pt_reader *r, pt_error *reterr)
{
    pt_span line;
    while (pt_span_line(r, &line))
        take_location_line(j, line);
    for (size_t i = 0; i < j->at.count; i++) {
        pt_line at = j->at.items[i].line;
        const bool named = at.function != PT_NONE;
        if (named) at.function = function_id(j, at.function);
        const pt_location location = {.mapping = PT_NONE};
        pt_builder_append_location(j->b, &location, &at, named);
    }
    pt_diag_add(j->hooks->diag, j->saturated, "counts above 2^63-1 set to that number");
    return pt_malformed_lines(j->b, j->malformed, j->first_malformed, reterr);
}

static void add_event(pt_builder *b, const char *type, const char *unit, size_t unit_bytes)
{
    pt_builder_event(b, &(pt_event){.type = pt_builder_text(b, type).v,
                                    .unit = pt_builder_string(b, unit, unit_bytes).v});
}

/* ---- Binary CPU ---- */

typedef struct {
    unsigned word_bytes;
    bool big_endian;
    uint64_t period_us;
} cpu_header;

static bool find_cpu_header(const uint8_t *head, size_t bytes, cpu_header *ret)
{
    static const cpu_header variants[] = {{4, false, 0}, {4, true, 0}, {8, false, 0}, {8, true, 0}};
    for (size_t i = 0; i < PT_COUNT(variants); i++) {
        pt_reader r;
        pt_reader_init(&r, head, bytes, NULL);
        pt_reader_set_word(&r, variants[i].word_bytes);
        pt_reader_set_order(&r, variants[i].big_endian);
        uint64_t word[5] = {0};
        for (size_t k = 0; k < 5; k++)
            word[k] = pt_read_word(&r);
        if (!pt_reader_ok(&r) || word[0] != 0 || word[1] != 3 || word[2] != 1 || word[3] == 0 ||
            word[3] > INT64_MAX / 1000 || word[4] != 0)
            continue;
        *ret = variants[i];
        ret->period_us = word[3];
        return true;
    }
    return false;
}

static int cpu_probe(const pt_probe_input *input)
{
    cpu_header h;
    return find_cpu_header(input->head, input->head_bytes, &h) ? 90 : 0;
}

/* Reads a record; false at the trailer, and if the file ends inside the record. */
static bool take_record(java *j, pt_reader *r, int64_t period_ns)
{
    const uint64_t at = pt_reader_offset(r);
    const uint64_t count = pt_read_word(r), depth = pt_read_word(r);
    if (!pt_reader_ok(r)) return false;
    if (depth > pt_reader_left(r) / r->word_bytes) {
        pt_reader_fail_at(r, at, PT_ERR_DAMAGED,
                          "record at byte %" PRIu64 " claims %" PRIu64 " frames, %zu are left", at,
                          depth, pt_reader_left(r) / r->word_bytes);
        return false;
    }
    const pt_reader begin = *r;
    const bool trailer = count == 0 && depth == 1 && pt_read_word(r) == 0;
    if (trailer) return false;
    r->pos = begin.pos;
    uint32_t *const frames = pt_builder_stack_space(j->b, depth);
    for (uint64_t i = 0; i < depth; i++)
        frames[i] = location_of(j, pt_read_word(r));
    int64_t values[2] = {count > INT64_MAX ? INT64_MAX : (int64_t)count, 0};
    if (__builtin_mul_overflow(values[0], period_ns, &values[1])) {
        values[1] = INT64_MAX;
        j->saturated++;
    }
    pt_builder_sample(j->b, pt_builder_stack_commit(j->b, depth, PT_STACK_END_UNKNOWN),
                      PT_NO_LABELS, values);
    return true;
}

static pt_status cpu_read(pt_reader *r, pt_builder *b, const pt_read_hooks *hooks, pt_error *reterr)
{
    cpu_header h;
    java j;
    pt_error error = PT_ERROR_INIT;
    r->error = &error;
    if (!find_cpu_header(r->pos, pt_reader_left(r), &h))
        return pt_error_set(reterr, PT_ERR_FORMAT, "has no header of a Java CPU profile");
    pt_reader_set_word(r, h.word_bytes);
    pt_reader_set_order(r, h.big_endian);
    pt_skip(r, 5 * (uint64_t)h.word_bytes);
    java_init(&j, b, hooks);
    add_event(b, "samples", "count", 5);
    add_event(b, "cpu", "nanoseconds", 11);
    const int64_t period_ns = (int64_t)h.period_us * 1000;
    pt_provenance *const p = pt_builder_provenance(b);
    p->has_period_type = true;
    p->period_type = pt_builder_text(b, "cpu").v;
    p->period_unit = pt_builder_text(b, "nanoseconds").v;
    p->period = period_ns;
    p->word_bytes = h.word_bytes;
    p->big_endian = h.big_endian;
    pt_legacy_drop_frames(b, PT_LEGACY_CPU);
    while (pt_reader_left(r) > 0 && take_record(&j, r, period_ns))
        ;
    const pt_status read = r->status;
    pt_reader text = *r;
    text.parent = NULL;
    pt_status status = finish_profile(&j, &text, reterr);
    if (status == PT_OK && read != PT_OK) {
        if (reterr != NULL) *reterr = error;
        status = read;
    }
    java_done(&j);
    r->error = NULL;
    return status;
}

const pt_format pt_format_java_cpu = {
    .name = "java-cpu",
    .summary = "CPU profiles of Java programs in gperftools' binary form",
    .kind = PT_PROBE_MAGIC,
    .capabilities =
        PT_CAN_STACKS | PT_CAN_NAMES | PT_CAN_LINES | PT_CAN_UNITS | PT_CAN_EVENTS | PT_CAN_HEADER,
    .probe = cpu_probe,
    .read = cpu_read,
};

/* ---- Text heap and contention ---- */

typedef struct {
    java j;
    bool heap;
    bool described;
    pt_legacy line; /* used for its addresses only */
    int64_t period;
} reading;

static bool parse_first_line(pt_span line, bool *ret_heap)
{
    line = pt_span_trim(line);
    *ret_heap = pt_span_skip(&line, "--- heapz 1 ---");
    return (*ret_heap || pt_span_skip(&line, "--- contentionz 1 ---")) && line.size == 0;
}

/* Parses "KEY=VALUE" of letters, digits and blanks. */
static bool parse_attribute(pt_span line, pt_span *ret_key, pt_span *ret_value)
{
    return pt_span_pair(line, ret_key, ret_value) && ret_key->size > 0 && ret_value->size > 0 &&
           *ret_value->at != '=';
}

/* Both kinds begin like C++ profiles, but have a line "format = java". */
static int text_probe(const pt_probe_input *input)
{
    pt_reader r;
    pt_span line, key, value;
    bool heap, says_java = false;
    pt_reader_init(&r, input->head, input->head_bytes, NULL);
    if (!pt_span_line(&r, &line) || !parse_first_line(line, &heap)) return 0;
    while (!says_java && pt_span_line(&r, &line)) {
        if (parse_attribute(line, &key, &value))
            says_java = pt_span_is(key, "format") || pt_span_is(key, "resolution");
    }
    return says_java || heap ? 96 : 0;
}

static void describe_events(reading *r, pt_span unit)
{
    if (r->described) return;
    r->described = true;
    pt_builder *const b = r->j.b;
    add_event(b, r->heap ? "inuse_objects" : "contentions", "count", 5);
    add_event(b, r->heap ? "inuse_space" : "delay", unit.at, unit.size);
    pt_legacy_drop_frames(b, r->heap ? PT_LEGACY_HEAP : PT_LEGACY_CONTENTION);
}

static bool take_attribute(reading *r, pt_span line)
{
    pt_span key, value;
    if (!parse_attribute(line, &key, &value)) return false;
    pt_provenance *const p = pt_builder_provenance(r->j.b);
    if (pt_span_is(key, "format")) return pt_span_is(value, "java");
    if (pt_span_is(key, "resolution")) {
        describe_events(r, value);
        return true;
    }
    int64_t number;
    if (r->heap || !pt_span_number(&value, false, &number) || value.size != 0) return false;
    if (pt_span_is(key, "sampling period")) {
        r->period = p->period = number;
        p->period_type = pt_builder_text(r->j.b, "contentions").v;
        p->period_unit = pt_builder_text(r->j.b, "count").v;
        return true;
    }
    if (!pt_span_is(key, "ms since reset")) return false;
    if (__builtin_mul_overflow(number, 1000000, &p->duration_ns)) p->duration_ns = INT64_MAX;
    return true;
}

static void scale_values(reading *r, int64_t *values)
{
    if (r->heap) {
        if (values[1] == 0) {
            values[0] = 0;
            return;
        }
        const double average = (double)values[1] / (double)values[0];
        const double factor = 1 / (1 - exp(-average / HEAP_PERIOD));
        values[0] = pt_legacy_scale(values[0], factor);
        values[1] = pt_legacy_scale(values[1], factor);
        return;
    }
    for (size_t i = 0; i < 2 && r->period != 0; i++) {
        if (__builtin_mul_overflow(values[i], r->period, &values[i])) {
            values[i] = INT64_MAX;
            r->j.saturated++;
        }
    }
}

/* Parses "VALUE COUNT @ 0x..."; false for another form, where the table begins. */
static bool parse_sample(reading *r, pt_span line, int64_t *values)
{
    line = pt_span_trim(line);
    if (!pt_span_number(&line, false, &values[1])) return false;
    pt_span_skip_blanks(&line);
    if (!pt_span_number(&line, false, &values[0])) return false;
    pt_span_skip_blanks(&line);
    return pt_span_skip(&line, "@") && pt_legacy_addresses(&r->line, line);
}

static void take_sample(reading *r, int64_t *values, uint64_t offset)
{
    pt_builder *const b = r->j.b;
    if (r->heap && values[0] == 0) {
        if (r->j.malformed++ == 0) r->j.first_malformed = offset;
        return;
    }
    pt_labels_id labels = PT_NO_LABELS;
    if (r->heap) {
        const pt_label label = {.key = pt_builder_text(b, "bytes").v,
                                .kind = PT_LABEL_NUMBER,
                                .num = values[1] / values[0]};
        labels = pt_builder_labels(b, &label, 1);
    }
    scale_values(r, values);
    const size_t depth = r->line.pcs.count;
    uint32_t *const frames = pt_builder_stack_space(b, depth);
    for (size_t i = 0; i < depth; i++)
        frames[i] = location_of(&r->j, r->line.pcs.items[i]);
    pt_builder_sample(b, pt_builder_stack_commit(b, depth, PT_STACK_END_UNKNOWN), labels, values);
}

/* Reads attributes, then samples. The reader stops before the first line that is neither. */
static void take_lines(reading *r, pt_reader *reader)
{
    bool samples = false;
    for (;;) {
        const pt_reader before = *reader;
        const uint64_t offset = pt_reader_offset(reader);
        pt_span line;
        int64_t values[2];
        if (!pt_span_line(reader, &line)) return;
        if (pt_span_trim(line).size == 0) continue;
        if (parse_sample(r, line, values)) {
            if (!samples)
                describe_events(r,
                                (pt_span){r->heap ? "bytes" : "nanoseconds", r->heap ? 5u : 11u});
            samples = true;
            take_sample(r, values, offset);
        } else if (samples || memchr(line.at, '=', line.size) == NULL) {
            *reader = before;
            return;
        } else if (!take_attribute(r, line)) {
            if (r->j.malformed++ == 0) r->j.first_malformed = offset;
        }
    }
}

static pt_status text_read(pt_reader *reader, pt_builder *b, const pt_read_hooks *hooks,
                           pt_error *reterr)
{
    reading r = {0};
    pt_span line;
    if (!pt_span_line(reader, &line) || !parse_first_line(line, &r.heap))
        return pt_error_set(reterr, PT_ERR_FORMAT, "does not begin with a line of a Java profile");
    java_init(&r.j, b, hooks);
    pt_legacy_init(&r.line, b, hooks);
    pt_builder_provenance(b)->has_period_type = true;
    take_lines(&r, reader);
    describe_events(&r, (pt_span){r.heap ? "bytes" : "nanoseconds", r.heap ? 5u : 11u});
    const pt_status status = finish_profile(&r.j, reader, reterr);
    pt_legacy_done(&r.line);
    java_done(&r.j);
    return status;
}

const pt_format pt_format_java_text = {
    .name = "java-text",
    .summary = "heap and contention profiles of Java programs, as text",
    .kind = PT_PROBE_MAGIC,
    .capabilities = PT_CAN_STACKS | PT_CAN_NAMES | PT_CAN_LINES | PT_CAN_UNITS | PT_CAN_EVENTS |
                    PT_CAN_LABELS | PT_CAN_HEADER,
    .probe = text_probe,
    .read = text_read,
};
