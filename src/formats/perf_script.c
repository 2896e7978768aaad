/* perf_script.c: reads the output of `perf script`, the usual input of flame graph scripts.
 *
 *   # hostname : vm                                                     header, with --header
 *   comm pid[/tid] [cpu] seconds.fraction: period event: [ip sym (dso)] a sample
 *   <tab>  ip sym+0xoff (dso)                                           its frames, innermost first
 *   <tab>  ip sym (inlined)                                             inlined into the next frame
 *          ip<tab>sym (dso)                                             a frame by simpleperf
 *     file.c:12                                                         -F +srcline
 *                                                                       an empty line ends a sample
 *
 * There is no specification; the reference is tools/perf/builtin-script.c. Any of a sample's fields
 * may be missing (-F). Names and paths may contain blanks and parentheses, so frames are parsed
 * from the right. Addresses are offsets in their file, as perf prints them.
 *
 * The frames of a sample are looked up as a single text, and the single lines only if that text is
 * new, so repeated stacks cost only a hash. */
#include "base/text.h"
#include "formats/format.h"

#include <inttypes.h>
#include <stdlib.h>

#include "base/grow.h"
#include "base/hash.h"
#include "base/units.h"
#include "formats/perf_events.h"
#include "process/path_kind.h"

enum {
    EVENTS_MAX = 256,
    WORDS_MAX = 24, /* words of a name before the time */
};

typedef struct {
    const char *at, *end;
} span;

/* A sample, kept until all events are known. */
typedef struct {
    int64_t time_ns, value;
    uint32_t stack, pid, tid, cpu, comm, event;
} row;

/* A text that was in the input before, and its id. */
typedef struct {
    const char *at;
    uint32_t size, id;
} seen_text;

typedef struct {
    pt_index index;
    seen_text *items;
    size_t count, cap;
} seen_texts;

typedef struct {
    pt_builder *builder;
    const pt_read_hooks *hooks;
    PT_VECTOR(row) row;
    seen_texts blocks, frames, dsos, events, comms;
    uint32_t event_names[EVENTS_MAX];
    struct {
        pt_line *items;
        size_t count, cap;
        uint64_t address;
        bool waits; /* the frame into which the lines were inlined has not come yet */
    } inlined;      /* lines of inlined functions at `address`, innermost first */
    PT_VECTOR(uint32_t) frame;
    uint64_t odd, first_odd, line, without_event;
    bool has_period; /* some sample has a period */
} script_reader;

/* ---- text ---- */

static span trimmed_span(span s)
{
    while (s.at < s.end && pt_is_blank(*s.at))
        s.at++;
    while (s.end > s.at && (pt_is_blank(s.end[-1]) || s.end[-1] == '\r'))
        s.end--;
    return s;
}

/* Takes the next word; returns an empty span at the end. */
static span next_word(span *rest)
{
    while (rest->at < rest->end && pt_is_blank(*rest->at))
        rest->at++;
    span word = {rest->at, rest->at};
    while (word.end < rest->end && !pt_is_blank(*word.end))
        word.end++;
    rest->at = word.end;
    return word;
}

static bool is_number(span s)
{
    if (s.at == s.end || s.end - s.at > 19) return false;
    for (const char *at = s.at; at < s.end; at++)
        if (!pt_is_digit(*at)) return false;
    return true;
}

static uint64_t number_of(span s)
{
    uint64_t value = 0;
    for (; s.at < s.end && pt_is_digit(*s.at); s.at++)
        value = value * 10 + (uint64_t)(*s.at - '0');
    return value;
}

/* Parses hexadecimal digits; false without digits or beyond 64 bits. */
static bool take_hex(span *s, uint64_t *ret_value)
{
    uint64_t value = 0;
    const char *const start = s->at;
    for (; s->at < s->end; s->at++) {
        const char c = *s->at;
        const int digit = pt_is_digit(c) ? c - '0' : c >= 'a' && c <= 'f' ? c - 'a' + 10 : -1;
        if (digit < 0) break;
        value = value << 4 | (uint64_t)digit;
    }
    *ret_value = value;
    return s->at > start && s->at - start <= 16;
}

/* The entry of a text, which is added with id PT_NONE if it is new. */
static seen_text *intern_text(seen_texts *t, span s)
{
    const size_t size = (size_t)(s.end - s.at);
    const uint64_t hash = pt_hash_bytes(s.at, size);
    const uint32_t found = PT_INDEX_FIND(
        &t->index, hash, i, t->items[i].size == size && memcmp(t->items[i].at, s.at, size) == 0);
    if (found != PT_NONE) return &t->items[found];
    pt_index_add(&t->index, hash, (uint32_t)t->count);
    PT_GROW(*t, t->count + 1);
    t->items[t->count] = (seen_text){.at = s.at, .size = (uint32_t)size, .id = PT_NONE};
    return &t->items[t->count++];
}

static uint32_t string_of(script_reader *r, span s)
{
    return pt_builder_string(r->builder, s.at, (size_t)(s.end - s.at)).v;
}

/* ---- the line of a sample ---- */

typedef struct {
    span comm, event, rest; /* rest: the text after the event */
    uint64_t pid, tid, cpu, period;
    int64_t time_ns;
    bool has_pid, has_tid, has_cpu, has_time, has_period;
} sample_line;

/* Parses "198789.478194:". */
static bool parse_time(span word, int64_t *ret_ns)
{
    if (word.end - word.at < 4 || word.end[-1] != ':') return false;
    const char *const dot = memchr(word.at, '.', (size_t)(word.end - word.at));
    if (dot == NULL) return false;
    const span seconds = {word.at, dot}, fraction = {dot + 1, word.end - 1};
    if (!is_number(seconds) || !is_number(fraction) || fraction.end - fraction.at > 9 ||
        seconds.end - seconds.at > 9)
        return false;
    uint64_t ns = number_of(fraction);
    for (ptrdiff_t digits = fraction.end - fraction.at; digits < 9; digits++)
        ns *= 10;
    *ret_ns = (int64_t)(number_of(seconds) * 1000000000u + ns);
    return true;
}

/* Parses "25097" or "25097/25099". */
static bool parse_ids(span word, sample_line *to)
{
    const char *const slash = memchr(word.at, '/', (size_t)(word.end - word.at));
    const span first = {word.at, slash != NULL ? slash : word.end};
    const span second = {slash != NULL ? slash + 1 : word.end, word.end};
    if (!is_number(first) || (slash != NULL && !is_number(second))) return false;
    to->pid = number_of(first);
    to->tid = slash != NULL ? number_of(second) : to->pid;
    to->has_pid = slash != NULL;
    to->has_tid = true;
    return true;
}

static bool parse_cpu(span word, uint64_t *ret_cpu)
{
    const span inside = {word.at + 1, word.end - 1};
    if (word.end - word.at < 3 || *word.at != '[' || word.end[-1] != ']' || !is_number(inside))
        return false;
    *ret_cpu = number_of(inside);
    return true;
}

/* Parses the text after the time, or after the thread: [period] event: [frame]. */
static void parse_event(span rest, sample_line *to)
{
    span after = rest, word = next_word(&after);
    if (is_number(word)) {
        to->period = number_of(word);
        to->has_period = true;
        rest = after;
        word = next_word(&after);
    }
    /* An event may contain blanks in its terms, but a blank follows the colon that ends it. */
    while (word.at < word.end && word.end[-1] != ':')
        word = next_word(&after);
    if (word.at == word.end) return;
    to->event = trimmed_span((span){rest.at, word.end});
    while (to->event.end > to->event.at && to->event.end[-1] == ':')
        to->event.end--;
    to->rest = trimmed_span(after);
}

/* Parses a sample's line, beginning with a search for the time: a thread's name may contain blanks
 * and numbers, so only the words directly before the time can be the ids and the cpu. Returns false
 * if the line has no time. */
static bool parse_sample(span line, sample_line *ret)
{
    *ret = (sample_line){.period = 1};
    span rest = line, before[2] = {0}, word = next_word(&rest);
    for (unsigned words = 0; word.at < word.end && words < WORDS_MAX; words++) {
        ret->has_time = parse_time(word, &ret->time_ns);
        if (ret->has_time) break;
        before[0] = before[1];
        before[1] = word;
        word = next_word(&rest);
    }
    if (!ret->has_time) return false;
    const char *comm_end = word.at;
    ret->has_cpu = before[1].at != NULL && parse_cpu(before[1], &ret->cpu);
    if (ret->has_cpu) comm_end = before[1].at;
    const span ids = ret->has_cpu ? before[0] : before[1];
    if (ids.at != NULL && parse_ids(ids, ret)) comm_end = ids.at;
    ret->comm = trimmed_span((span){line.at, comm_end});
    parse_event(rest, ret);
    return true;
}

/* Parses a sample's line without a time: the first number is the thread. */
static bool parse_timeless(span line, sample_line *ret)
{
    *ret = (sample_line){.period = 1};
    span rest = line;
    for (span word = next_word(&rest); word.at < word.end; word = next_word(&rest)) {
        if (word.at == line.at || !parse_ids(word, ret)) continue;
        ret->comm = trimmed_span((span){line.at, word.at});
        span after = rest;
        if (parse_cpu(next_word(&after), &ret->cpu)) {
            ret->has_cpu = true;
            rest = after;
        }
        parse_event(rest, ret);
        rest = trimmed_span(rest);
        return rest.at == rest.end || ret->event.at < ret->event.end;
    }
    return false;
}

/* ---- frames ---- */

static void note_odd(script_reader *r)
{
    if (r->odd++ == 0) r->first_odd = r->line;
}

typedef struct {
    uint64_t address;
    span symbol, dso; /* empty = unknown */
} frame_line;

/* The opening parenthesis that matches the last closing one; NULL if there is none. */
static const char *opening_of(span s)
{
    int depth = 0;
    for (const char *at = s.end; at > s.at; at--) {
        if (at[-1] == ')') depth++;
        if (at[-1] == '(' && --depth == 0) return at - 1;
    }
    return NULL;
}

static bool is_unknown(span s)
{
    return s.at == s.end || (s.end - s.at == 9 && memcmp(s.at, "[unknown]", 9) == 0);
}

/* The span without "+0x1f" at its end. */
static span without_offset(span s)
{
    const char *at = s.end;
    while (at > s.at && at[-1] != '+')
        at--;
    span digits = {at + 2, s.end};
    uint64_t offset;
    if (at == s.at || s.end - at < 3 || at[0] != '0' || at[1] != 'x') return s;
    return take_hex(&digits, &offset) && digits.at == s.end ? (span){s.at, at - 1} : s;
}

static bool parse_frame(span line, frame_line *ret)
{
    span s = trimmed_span(line);
    *ret = (frame_line){0};
    if (s.end - s.at > 2 && s.at[0] == '0' && s.at[1] == 'x') s.at += 2;
    if (!take_hex(&s, &ret->address) || (s.at < s.end && !pt_is_blank(*s.at))) return false;
    s = trimmed_span(s);
    const char *const open = s.end > s.at && s.end[-1] == ')' ? opening_of(s) : NULL;
    if (open != NULL && (open == s.at || pt_is_blank(open[-1]))) {
        ret->dso = (span){open + 1, s.end - 1};
        s.end = open;
    }
    ret->symbol = without_offset(trimmed_span(s));
    if (is_unknown(ret->symbol)) ret->symbol = (span){0};
    if (is_unknown(ret->dso)) ret->dso = (span){0};
    return true;
}

static uint32_t mapping_of(script_reader *r, span dso, bool *ret_is_kernel)
{
    const size_t size = (size_t)(dso.end - dso.at);
    const pt_mapped as = pt_mapped_as(dso.at, size, 0, 0); /* the address of the mapping is
                                                            * unknown */
    *ret_is_kernel =
        as.kind == PT_MAPPED_KERNEL || (size > 3 && memcmp(dso.end - 3, ".ko", 3) == 0);
    seen_text *const seen = intern_text(&r->dsos, dso);
    if (seen->id == PT_NONE) {
        const pt_mapping mapping = {.limit = UINT64_MAX,
                                    .file = string_of(r, (span){as.name, as.name + as.name_bytes}),
                                    .flags = *ret_is_kernel                 ? PT_MAPPING_KERNEL
                                             : pt_mapped_is_memory(as.kind) ? PT_MAPPING_JIT
                                                                            : 0};
        seen->id = pt_builder_append_mapping(r->builder, &mapping).v;
    }
    return seen->id;
}

/* The line of a symbol. source: "  file.c:12", or empty. */
static pt_line line_of(script_reader *r, span symbol, span source)
{
    const uint32_t name = string_of(r, symbol);
    pt_function function = {.name = name, .system_name = name};
    pt_line line = {0};
    source = trimmed_span(source);
    const char *colon = source.end;
    while (colon > source.at && pt_is_digit(colon[-1]))
        colon--;
    if (colon > source.at && colon < source.end && colon[-1] == ':') {
        function.file = string_of(r, (span){source.at, colon - 1});
        line.line = (int64_t)(number_of((span){colon, source.end}) & INT64_MAX);
    }
    line.function = pt_builder_function(r->builder, &function).v;
    return line;
}

static uint32_t make_location(script_reader *r, const frame_line *f, bool is_leaf)
{
    bool is_kernel = false;
    pt_location location = {.mapping = PT_NONE, .address = f->address};
    if (f->dso.at != f->dso.end) location.mapping = mapping_of(r, f->dso, &is_kernel);
    is_kernel |= f->address >> 63 != 0;
    location.flags = (is_kernel ? PT_LOCATION_KERNEL : PT_LOCATION_USER) |
                     (is_leaf ? 0u : PT_LOCATION_RETURN_ADDR);
    const uint32_t id =
        pt_builder_location(r->builder, &location, r->inlined.items, r->inlined.count).v;
    r->inlined.count = 0;
    return id;
}

/* The line that begins at `at`, and the start of the next one. */
static span line_at(const char *at, const char *end, const char **ret_next)
{
    const char *const newline = memchr(at, '\n', (size_t)(end - at));
    span line = {at, newline != NULL ? newline : end};
    *ret_next = newline != NULL ? newline + 1 : end;
    if (line.end > line.at && line.end[-1] == '\r') line.end--;
    return line;
}

static void put_frame(script_reader *r, uint32_t location)
{
    PT_PUSH(r->frame, location);
}

/* Makes a frame of the inlined lines that still wait for the frame of their address. No such frame
 * comes if perf knows the function only from debug information: perf then also marks that function
 * as inlined. */
static void end_inlined(script_reader *r)
{
    if (!r->inlined.waits) return;
    r->inlined.waits = false;
    const frame_line f = {.address = r->inlined.address};
    put_frame(r, make_location(r, &f, r->frame.count == 0));
}

static void add_frame(script_reader *r, span line, span source)
{
    frame_line f;
    const bool is_leaf = r->frame.count == 0;
    const bool is_plain = !is_leaf && !r->inlined.waits;
    const span both = {line.at, source.at < source.end ? source.end : line.end};
    const size_t place = is_plain ? (size_t)(intern_text(&r->frames, both) - r->frames.items) : 0;
    uint32_t id = is_plain ? r->frames.items[place].id : PT_NONE;
    if (id == PT_NONE) {
        if (!parse_frame(line, &f)) {
            note_odd(r);
            return;
        }
        if (f.address != r->inlined.address) end_inlined(r);
        r->inlined.address = f.address;
        if (f.symbol.at != f.symbol.end) {
            PT_PUSH(r->inlined, line_of(r, f.symbol, source));
        }
        r->inlined.waits = f.dso.end - f.dso.at == 7 && memcmp(f.dso.at, "inlined", 7) == 0;
        if (r->inlined.waits) return;
        id = make_location(r, &f, r->frame.count == 0);
        if (is_plain) r->frames.items[place].id = id;
    }
    put_frame(r, id);
}

static uint32_t make_stack(script_reader *r, span block, span leaf)
{
    r->frame.count = r->inlined.count = 0;
    r->inlined.waits = false;
    frame_line f;
    if (leaf.at < leaf.end && parse_frame(leaf, &f)) add_frame(r, leaf, (span){0});
    for (const char *at = block.at; at < block.end;) {
        const span line = line_at(at, block.end, &at);
        span source = {0};
        const char *next;
        if (at < block.end && *at == ' ') source = line_at(at, block.end, &next);
        if (source.at < source.end && parse_frame(source, &f)) source = (span){0};
        if (source.at < source.end) at = next;
        add_frame(r, line, source);
    }
    end_inlined(r);
    return pt_builder_stack(r->builder, r->frame.items, r->frame.count, PT_STACK_END_UNKNOWN).v;
}

/* ---- samples ---- */

static uint32_t text_id(script_reader *r, seen_texts *t, span s)
{
    if (s.at == s.end) return 0;
    seen_text *const seen = intern_text(t, s);
    if (seen->id == PT_NONE) seen->id = string_of(r, s);
    return seen->id;
}

/* The event's column; 0 = none. */
static uint32_t event_of(script_reader *r, span name)
{
    if (name.at == name.end) return 0;
    seen_text *const seen = intern_text(&r->events, name);
    if (seen->id != PT_NONE) return seen->id;
    const uint32_t string = pt_perf_event_name(r->builder, name.at, (size_t)(name.end - name.at));
    uint32_t event = 1;
    while (event < EVENTS_MAX && r->event_names[event] != 0 && r->event_names[event] != string)
        event++;
    if (event == EVENTS_MAX) event = 0; /* too many events: its samples count as samples only */
    if (event != 0) r->event_names[event] = string;
    seen->id = event;
    return event;
}

static bool span_begins(span s, const char *with)
{
    const size_t size = strlen(with);
    return (size_t)(s.end - s.at) >= size && memcmp(s.at, with, size) == 0;
}

/* Adds a sample. block: the lines of its frames. */
static void add_sample(script_reader *r, const sample_line *s, span block)
{
    if (span_begins(s->event, "PERF_RECORD_") || span_begins(s->rest, "PERF_RECORD_")) return;
    uint32_t stack;
    if (block.at == block.end) {
        stack = make_stack(r, block, s->rest);
    } else {
        seen_text *const seen = intern_text(&r->blocks, block);
        const size_t place = (size_t)(seen - r->blocks.items);
        if (seen->id == PT_NONE) {
            stack = make_stack(r, block, (span){0});
            r->blocks.items[place].id = stack;
        } else {
            stack = seen->id;
        }
    }
    if (stack == PT_NONE) return;
    PT_PUSH(r->row, (row){
                        .time_ns = s->has_time ? s->time_ns : 0,
                        .value = s->period <= INT64_MAX ? (int64_t)s->period : INT64_MAX,
                        .stack = stack,
                        .pid = s->has_pid && s->pid < PT_NONE ? (uint32_t)s->pid : PT_NONE,
                        .tid = s->has_tid && s->tid < PT_NONE ? (uint32_t)s->tid : PT_NONE,
                        .cpu = s->has_cpu && s->cpu < PT_NONE ? (uint32_t)s->cpu : PT_NONE,
                        .comm = text_id(r, &r->comms, s->comm),
                        .event = event_of(r, s->event),
                    });
    r->has_period |= s->has_period;
    r->without_event += s->event.at < s->event.end && r->row.items[r->row.count - 1].event == 0;
}

/* Does the line begin a sample? It may begin with blanks: perf pads the names of threads if it
 * prints no callchains. */
static bool is_sample_line(span line)
{
    sample_line s;
    return parse_sample(line, &s) || (parse_timeless(line, &s) && s.event.at < s.event.end);
}

/* The end of a sample's frames: lines that begin with a tab or, for source lines and simpleperf's
 * frames, with two blanks and are no sample. */
static const char *block_end(const char *at, const char *end, uint64_t *lines)
{
    while (at < end) {
        if (*at != '\t') {
            const char *next;
            if (end - at < 2 || at[0] != ' ' || at[1] != ' ') break;
            if (is_sample_line(line_at(at, end, &next))) break;
        }
        const char *const newline = memchr(at, '\n', (size_t)(end - at));
        at = newline != NULL ? newline + 1 : end;
        ++*lines;
    }
    return at;
}

/* Parses a line such as "# hostname : vm". */
static void add_header_line(script_reader *r, span line)
{
    pt_provenance *const p = pt_builder_provenance(r->builder);
    const struct {
        const char *key;
        uint32_t *to;
    } keys[] = {{"# hostname : ", &p->host},
                {"# os release : ", &p->os},
                {"# cpudesc : ", &p->cpu_model},
                {"# cmdline : ", &p->command_line}};
    for (size_t i = 0; i < PT_COUNT(keys); i++)
        if (span_begins(line, keys[i].key))
            *keys[i].to =
                string_of(r, trimmed_span((span){line.at + strlen(keys[i].key), line.end}));
}

static void read_lines(script_reader *r, const char *at, const char *end)
{
    const char *const start = at;
    for (uint64_t count = 1; at < end; count++) {
        const char *next;
        if (count % 4096 == 0 && r->hooks->reach != NULL)
            r->hooks->reach(r->hooks->context, (uint64_t)(at - start));
        const span line = line_at(at, end, &next);
        at = next;
        r->line++;
        if (trimmed_span(line).at == trimmed_span(line).end) continue;
        if (*line.at == '#') {
            add_header_line(r, line);
            continue;
        }
        sample_line sample;
        const bool is_sample =
            *line.at != '\t' && (parse_sample(line, &sample) || parse_timeless(line, &sample));
        if (!is_sample) {
            note_odd(r);
            continue;
        }
        const char *const block = at;
        at = block_end(at, end, &r->line);
        add_sample(r, &sample, (span){block, at});
    }
}

/* ---- the end ---- */

/* Turns all events into counts: without periods, the time of a clock's sample is unknown. */
static void count_samples_only(pt_builder *b)
{
    const uint32_t count = pt_builder_text(b, "count").v;
    for (uint32_t e = 1; e < pt_builder_event_count(b); e++) {
        pt_event *const event = pt_builder_event_at(b, e);
        event->unit = count;
        event->kind = PT_EVENT_COUNT;
        event->period_varies = false;
    }
    if (pt_builder_event_count(b) > 1) pt_builder_provenance(b)->period_unit = count;
}

static void emit_sample(script_reader *r)
{
    int64_t values[EVENTS_MAX] = {0};
    pt_perf_events_of_names(r->builder, r->event_names + 1, EVENTS_MAX - 1);
    if (!r->has_period) count_samples_only(r->builder);
    pt_builder_reserve_samples(r->builder, r->row.count, 0);
    for (size_t i = 0; i < r->row.count; i++) {
        const row *const s = &r->row.items[i];
        values[0] = 1;
        if (s->event != 0) values[s->event] = s->value;
        const pt_sample sample = {.stack = s->stack,
                                  .values = values,
                                  .time_ns = s->time_ns,
                                  .pid = s->pid,
                                  .tid = s->tid,
                                  .cpu = s->cpu,
                                  .comm = s->comm};
        pt_builder_timed_sample(r->builder, &sample);
        values[s->event] = 0;
    }
}

static void texts_done(seen_texts *t)
{
    pt_index_done(&t->index);
    free(t->items);
}

static void reader_done(script_reader *r)
{
    texts_done(&r->blocks);
    texts_done(&r->frames);
    texts_done(&r->dsos);
    texts_done(&r->events);
    texts_done(&r->comms);
    PT_FREE_ALL(r->row.items, r->inlined.items, r->frame.items);
}

static pt_status perf_script_read(pt_reader *reader, pt_builder *builder,
                                  const pt_read_hooks *hooks, pt_error *reterr)
{
    script_reader r = {.builder = builder, .hooks = hooks};
    read_lines(&r, (const char *)reader->pos, (const char *)reader->end);
    emit_sample(&r);
    pt_diag_add(hooks->diag, r.without_event,
                "samples of more events than %d: each counts as a sample only", EVENTS_MAX - 1);
    pt_status status = PT_OK;
    if (r.row.count == 0)
        status = pt_error_set(reterr, PT_ERR_FORMAT, "no sample in perf script's form");
    else if (r.odd > 0)
        status =
            pt_error_set(reterr, PT_ERR_DAMAGED,
                         "%s without a sample or frame (the first is line %" PRIu64 "); kept %s",
                         pt_count_noun(r.odd, "lines").text, r.first_odd,
                         pt_count_noun(r.row.count, "samples").text);
    reader_done(&r);
    return status;
}

/* Looks for a sample that is followed by a frame, on the same line or on the next. If the sample
 * has no time, it must have a thread, and the frame must be on a line that begins with a tab and
 * names a file, as perf prints it. */
static int probe_perf_script(const pt_probe_input *input)
{
    const char *at = (const char *)input->head;
    const char *const end = at + input->head_bytes;
    unsigned lines = 0;
    while (at < end && lines < 256) {
        const char *next;
        const span line = line_at(at, end, &next);
        sample_line sample;
        frame_line frame;
        at = next;
        if (line.at == line.end || *line.at == '#') continue;
        lines++;
        if (*line.at == '\t') return 0;
        if (!parse_sample(line, &sample)) {
            if (!parse_timeless(line, &sample) || sample.rest.at < sample.rest.end || at == end ||
                *at != '\t')
                return 0;
            return parse_frame(line_at(at, end, &next), &frame) && frame.dso.at < frame.dso.end ? 70
                                                                                                : 0;
        }
        if (sample.event.at == sample.event.end) continue;
        if (sample.rest.at < sample.rest.end && parse_frame(sample.rest, &frame)) return 60;
        if (at < end && pt_is_blank(*at) && parse_frame(line_at(at, end, &next), &frame)) return 80;
    }
    return 0;
}

const pt_format pt_format_perf_script = {
    .name = "perf-script",
    .aliases = "perf_script perfscript",
    .summary = "perf script's output",
    .kind = PT_PROBE_HEURISTIC,
    .capabilities = PT_CAN_STACKS | PT_CAN_EVENTS | PT_CAN_LINES | PT_CAN_INLINES |
                    PT_CAN_ADDRESSES | PT_CAN_MAPPINGS | PT_CAN_TIME | PT_CAN_NAMES,
    .probe = probe_perf_script,
    .read = perf_script_read,
};
