/* instruments.c: reads the tables that Xcode's Instruments exports: `xctrace export --input
 * FILE.trace --xpath '/trace-toc/run/data/table[@schema="time-profile"]'`.
 *
 *   <trace-query-result><node><schema name="time-profile">...</schema>
 *   <row><sample-time id="1" fmt="00:00.1">100000000</sample-time>
 *     <thread id="2" fmt="Main Thread (0x1) (App, pid: 7)"><tid id="3">1</tid>
 *       <process id="4" fmt="App (7)"><pid id="5">7</pid></process></thread>
 *     <weight id="6" fmt="1.00 ms">1000000</weight>          or cycle-weight, of cpu-profile
 *     <tagged-backtrace id="7"><backtrace id="8"><frame id="9" name="memcpy" addr="0x1f">
 *       <binary id="10" name="libsystem" UUID="5CB1..." path="/usr/lib/a" load-addr="0x10"/>
 *       </frame><frame ref="11"/></backtrace></tagged-backtrace></row>
 *   <row><sample-time>...</sample-time><thread ref="2"/><weight ref="6"/>
 *     <tagged-backtrace ref="7"/></row>
 *
 * There is no specification; the form is the one that readers of such files expect. An element with
 * a ref stands for the earlier element with this id, at any distance. Frames are innermost first. A
 * row with a backtrace is a sample; rows without a backtrace are dropped. The reader understands
 * these parts of XML 1.0: elements, attributes, texts, the five entities and character references.
 * Other parts are skipped. */
#include <stdlib.h>

#include "base/hash.h"
#include "base/text.h"
#include "base/units.h"
#include "base/utf8.h"
#include "formats/legacy.h"
#include "formats/plain.h"

enum { DEPTH_MAX = 64, ATTRIBUTES_MAX = 16 };

/* The elements that the reader uses. */
typedef enum {
    OTHER,
    ROW,
    TIME,
    THREAD,
    PROCESS,
    TID,
    PID,
    WEIGHT,
    CYCLES,
    BACKTRACE,
    FRAME,
    BINARY,
} element_kind;

static const struct {
    const char *name;
    element_kind kind;
} elements[] = {
    {"row", ROW},
    {"sample-time", TIME},
    {"thread", THREAD},
    {"tid", TID},
    {"pid", PID},
    {"weight", WEIGHT},
    {"frame", FRAME},
    {"cycle-weight", CYCLES},
    {"binary", BINARY},
    {"process", PROCESS},
    {"backtrace", BACKTRACE},
    {"tagged-backtrace", BACKTRACE},
    {"stack", BACKTRACE},
};

/* The content of an element with an id: a number, or the row that was made of the element. */
typedef struct {
    int64_t id, number;
    element_kind kind;
    uint32_t row, tid, pid; /* tid, pid: of a thread, whose row is its name */
} element;

/* An open element. */
typedef struct {
    element_kind kind;
    int64_t id; /* 0 = none */
} open_element;

typedef struct {
    uint32_t stack, tid, pid, comm;
    int64_t time, weight, cycles;
    bool has_stack;
} sample_row;

typedef struct {
    pt_span key, value;
} attribute;

typedef struct {
    pt_builder *b;
    const char *at, *start, *end;
    pt_index index;
    PT_VECTOR(element) element;
    PT_VECTOR(uint32_t) frame;
    PT_VECTOR(sample_row) row;
    open_element open[DEPTH_MAX];
    size_t depth;
    sample_row now;
    pt_function function; /* function of the frame element that is open */
    pt_location location;
    bool in_frame, has_cycles;
    uint64_t missing; /* references to ids that no element has */
    const char *fault;
} instruments_reader;

/* ---- XML ---- */

static bool is_name_end(char c)
{
    return pt_is_space(c) || c == '>' || c == '/' || c == '=';
}

static pt_span take_word(instruments_reader *x)
{
    const char *const begin = x->at;
    while (x->at < x->end && !is_name_end(*x->at))
        x->at++;
    return (pt_span){begin, (size_t)(x->at - begin)};
}

/* Moves to the byte after the next `text`; false at the end of the file. */
static bool skip_past(instruments_reader *x, const char *text)
{
    const char *const found = memmem(x->at, (size_t)(x->end - x->at), text, strlen(text));
    x->at = found != NULL ? found + strlen(text) : x->end;
    return found != NULL;
}

/* Decodes the entity at the beginning of the text and sets *ret_bytes to the entity's length.
 * Returns false if there is none. */
static bool read_entity(pt_span s, uint32_t *ret_char, size_t *ret_bytes)
{
    static const struct {
        const char *name;
        char c;
    } named[] = {{"&lt;", '<'}, {"&gt;", '>'}, {"&amp;", '&'}, {"&quot;", '"'}, {"&apos;", '\''}};
    for (size_t i = 0; i < PT_COUNT(named); i++) {
        if (!pt_span_begins(s, named[i].name)) continue;
        *ret_char = (uint32_t)named[i].c;
        *ret_bytes = strlen(named[i].name);
        return true;
    }
    pt_span rest = s;
    int64_t number = 0;
    uint64_t hex = 0;
    if (pt_span_skip(&rest, "&#x")
            ? !pt_span_hex(&rest, &hex)
            : !pt_span_skip(&rest, "&#") || !pt_span_number(&rest, false, &number))
        return false;
    const uint64_t c = hex | (uint64_t)number;
    if (!pt_span_skip(&rest, ";")) return false;
    *ret_char = c == 0 || c > 0x10ffff ? PT_UTF8_REPLACEMENT : (uint32_t)c; /* 0 ends a text */
    *ret_bytes = s.size - rest.size;
    return true;
}

/* Interns a text, with the character in place of each entity. */
static uint32_t intern_text(instruments_reader *x, pt_span s)
{
    if (s.size == 0 || memchr(s.at, '&', s.size) == NULL)
        return pt_builder_string(x->b, s.at, s.size).v;
    uint8_t *const plain = pt_alloc(s.size, 1); /* an entity is longer than its character */
    size_t size = 0, used;
    for (uint32_t c; s.size > 0; s = (pt_span){s.at + used, s.size - used}) {
        used = 1;
        if (*s.at == '&' && read_entity(s, &c, &used))
            size += pt_utf8_encode(c, plain + size);
        else
            plain[size++] = (uint8_t)*s.at;
    }
    const uint32_t string = pt_builder_string(x->b, (const char *)plain, size).v;
    free(plain);
    return string;
}

/* Reads the attributes of a tag up to its ">". *ret_closed is true if the tag ends in "/>". Returns
 * false if the tag has no end. */
static bool read_attributes(instruments_reader *x, attribute list[static ATTRIBUTES_MAX],
                            size_t *ret_count, bool *ret_closed)
{
    *ret_count = 0;
    *ret_closed = false;
    while (x->at < x->end) {
        if (*x->at == '>') {
            x->at++;
            return true;
        }
        if (pt_is_space(*x->at) || *x->at == '/' || *x->at == '=') {
            *ret_closed = *x->at++ == '/';
            continue;
        }
        const pt_span key = take_word(x);
        if (x->end - x->at < 2 || x->at[0] != '=' || (x->at[1] != '"' && x->at[1] != '\''))
            continue;
        const char quote = x->at[1];
        const char *const begin = x->at + 2;
        const char *const close = memchr(begin, quote, (size_t)(x->end - begin));
        if (close == NULL) break;
        x->at = close + 1;
        if (*ret_count < ATTRIBUTES_MAX)
            list[(*ret_count)++] =
                (attribute){.key = key, .value = {begin, (size_t)(close - begin)}};
    }
    x->at = x->end;
    return false;
}

static pt_span find_attribute(const attribute *list, size_t count, const char *key)
{
    for (size_t i = 0; i < count; i++)
        if (pt_equals_n(list[i].key.at, list[i].key.size, key)) return list[i].value;
    return (pt_span){0};
}

static int64_t number_of(pt_span s)
{
    int64_t number;
    s = pt_span_trim(s);
    return s.size > 0 && pt_span_number(&s, false, &number) ? number : 0;
}

static uint64_t hex_of(pt_span s)
{
    uint64_t number;
    return pt_span_skip(&s, "0x") && pt_span_hex(&s, &number) ? number : 0;
}

/* ---- Elements ---- */

static element *find_element(instruments_reader *x, int64_t id)
{
    const uint32_t row =
        PT_INDEX_FIND(&x->index, pt_hash_mix((uint64_t)id, 1), i, x->element.items[i].id == id);
    return row != PT_NONE ? &x->element.items[row] : NULL;
}

static void keep_element(instruments_reader *x, element e)
{
    if (e.id == 0 || find_element(x, e.id) != NULL) return;
    PT_INDEX_PUSH(&x->index, pt_hash_mix((uint64_t)e.id, 1), x->element, e);
}

static uint32_t small_number(int64_t number)
{
    return number >= 0 && number < PT_NONE ? (uint32_t)number : PT_NONE;
}

/* Puts the content of a complete element into the row, or into the element around it. */
static void apply_element(instruments_reader *x, const element *e)
{
    switch (e->kind) {
    case TIME: x->now.time = e->number; break;
    case TID: x->now.tid = small_number(e->number); break;
    case PID: x->now.pid = small_number(e->number); break;
    case PROCESS: x->now.pid = e->pid; break;
    case WEIGHT: x->now.weight = e->number; break;
    case CYCLES: x->now.cycles = e->number; break;
    case THREAD:
        x->now.comm = e->row;
        x->now.tid = e->tid;
        x->now.pid = e->pid;
        break;
    case BACKTRACE:
        x->now.stack = e->row;
        x->now.has_stack = true;
        break;
    case FRAME: PT_PUSH(x->frame, e->row); break;
    case BINARY: x->location.mapping = e->row; break;
    default: break;
    }
}

/* The name in a thread's text "Main Thread 0x1a2b (App, pid: 7)": the part before the number. */
static pt_span thread_name(pt_span text)
{
    for (size_t i = 0; i < text.size; i++) {
        const pt_span rest = {text.at + i, text.size - i};
        if (pt_span_begins(rest, " 0x") || pt_span_begins(rest, " (0x")) text.size = i;
    }
    return pt_span_trim(text);
}

static uint32_t make_binary(instruments_reader *x, const attribute *list, size_t count)
{
    const pt_span path = find_attribute(list, count, "path"),
                  name = find_attribute(list, count, "name"),
                  uuid = find_attribute(list, count, "UUID");
    const uint64_t start = hex_of(find_attribute(list, count, "load-addr"));
    const pt_mapping mapping = {.start = start,
                                .limit = UINT64_MAX,
                                .file = intern_text(x, path.size > 0 ? path : name),
                                .build_id = pt_plain_build_id(x->b, uuid).v,
                                .flags = PT_MAPPING_HAS_FUNCTIONS};
    return pt_builder_mapping(x->b, &mapping).v;
}

static uint32_t make_frame(instruments_reader *x)
{
    pt_function function = x->function;
    if (pt_begins(pt_builder_get_text(x->b, (pt_string_id){function.name}), "0x"))
        function.name = 0;
    return pt_plain_mapped_location(x->b, &x->location, &function, 0);
}

static void begin_element(instruments_reader *x, element_kind kind, const attribute *list,
                          size_t count)
{
    if (kind == ROW) {
        x->now = (sample_row){.tid = PT_NONE, .pid = PT_NONE};
    } else if (kind == THREAD) {
        const pt_span name = thread_name(find_attribute(list, count, "fmt"));
        x->now.comm = intern_text(x, name);
    } else if (kind == BACKTRACE) {
        x->frame.count = 0;
        x->now.has_stack = false;
    } else if (kind == FRAME) {
        x->function = (pt_function){.name = intern_text(x, find_attribute(list, count, "name"))};
        x->location = (pt_location){.mapping = PT_NONE,
                                    .address = hex_of(find_attribute(list, count, "addr"))};
    } else if (kind == BINARY) {
        x->location.mapping = make_binary(x, list, count);
    }
}

/* Ends an element. text: the text before the element's end tag. */
static void end_element(instruments_reader *x, open_element e, pt_span text)
{
    element k = {.id = e.id, .kind = e.kind};
    switch (e.kind) {
    case ROW:
        if (x->now.has_stack) PT_PUSH(x->row, x->now);
        return;
    case TIME:
    case TID:
    case PID:
    case WEIGHT:
    case CYCLES: k.number = number_of(text); break;
    case THREAD:
        k.row = x->now.comm;
        k.tid = x->now.tid;
        k.pid = x->now.pid;
        break;
    case PROCESS: k.pid = x->now.pid; break;
    case BACKTRACE: /* a tagged-backtrace has the stack of the backtrace inside it */
        k.row =
            x->now.has_stack
                ? x->now.stack
                : pt_builder_stack(x->b, x->frame.items, x->frame.count, PT_STACK_END_UNKNOWN).v;
        break;
    case FRAME: k.row = make_frame(x); break;
    case BINARY: k.row = x->location.mapping; break;
    case OTHER: return;
    }
    x->has_cycles |= e.kind == CYCLES;
    apply_element(x, &k);
    keep_element(x, k);
}

static element_kind kind_of(pt_span name)
{
    for (size_t i = 0; i < PT_COUNT(elements); i++)
        if (pt_equals_n(name.at, name.size, elements[i].name)) return elements[i].kind;
    return OTHER;
}

/* Reads a tag whose "<" was read; text: the text before the tag. */
static bool read_tag(instruments_reader *x, pt_span text)
{
    if (x->at < x->end && *x->at == '/') {
        if (x->depth > 0) end_element(x, x->open[--x->depth], text);
        return skip_past(x, ">");
    }
    const pt_span left = {x->at, (size_t)(x->end - x->at)};
    if (pt_span_begins(left, "!--")) return skip_past(x, "-->");
    if (pt_span_begins(left, "!") || pt_span_begins(left, "?")) return skip_past(x, ">");
    attribute list[ATTRIBUTES_MAX];
    size_t count;
    bool is_closed;
    const element_kind kind = kind_of(take_word(x));
    if (!read_attributes(x, list, &count, &is_closed)) return false;
    const pt_span ref = find_attribute(list, count, "ref");
    if (ref.size > 0) {
        /* A tag with a "ref" has the content of the element that it refers to. */
        const element *const found = find_element(x, number_of(ref));
        const bool is_there = found != NULL && found->kind == kind;
        x->missing += !is_there && kind != OTHER;
        if (is_there) apply_element(x, found);
        if (is_closed) return true;
    } else {
        begin_element(x, kind, list, count);
    }
    const open_element e = {.kind = ref.size > 0 ? OTHER : kind,
                            .id = number_of(find_attribute(list, count, "id"))};
    if (is_closed) {
        end_element(x, e, (pt_span){0});
        return true;
    }
    if (x->depth == DEPTH_MAX) {
        x->fault = "elements are nested more than 64 deep";
        return false;
    }
    x->open[x->depth++] = e;
    return true;
}

static void read_document(instruments_reader *x)
{
    while (x->at < x->end) {
        const char *const text = x->at;
        const char *const tag = memchr(text, '<', (size_t)(x->end - text));
        if (tag == NULL) return;
        x->at = tag + 1;
        if (read_tag(x, (pt_span){text, (size_t)(tag - text)})) continue;
        if (x->fault == NULL) x->fault = "a tag has no end";
        return;
    }
}

static void put_rows(instruments_reader *x)
{
    pt_plain_event(x->b, "samples", "count");
    pt_plain_event(x->b, "time", "nanoseconds");
    if (x->has_cycles) pt_plain_event(x->b, "cycles", "count");
    for (size_t i = 0; i < x->row.count; i++) {
        const sample_row *const row = &x->row.items[i];
        const pt_sample sample = {.stack = row->stack,
                                  .values = (int64_t[]){1, row->weight, row->cycles},
                                  .time_ns = row->time,
                                  .pid = row->pid,
                                  .tid = row->tid,
                                  .cpu = PT_NONE,
                                  .comm = row->comm};
        pt_builder_timed_sample(x->b, &sample);
    }
    pt_builder_set_default_event(x->b, x->has_cycles ? 2 : 1);
}

static pt_status instruments_read(pt_reader *reader, pt_builder *builder,
                                  const pt_read_hooks *hooks, pt_error *reterr)
{
    instruments_reader x = {.b = builder,
                            .at = (const char *)reader->pos,
                            .start = (const char *)reader->pos,
                            .end = (const char *)reader->end};
    pt_index_init(&x.index);
    read_document(&x);
    put_rows(&x);
    pt_status status = PT_OK;
    if (x.depth > 0 && x.fault == NULL) x.fault = "an element has no end";
    if (x.row.count == 0)
        status = pt_error_set(reterr, PT_ERR_FORMAT,
                              "no row has a backtrace; export the table time-profile or "
                              "cpu-profile");
    else if (x.fault != NULL || x.missing > 0)
        status = pt_error_set(reterr, PT_ERR_DAMAGED, "%s; kept %s",
                              x.fault != NULL ? x.fault : "references to missing elements",
                              pt_count_noun(x.row.count, "samples").text);
    pt_index_done(&x.index);
    PT_FREE_ALL(x.element.items, x.frame.items, x.row.items);
    (void)hooks;
    return status;
}

static int probe_instruments(const pt_probe_input *input)
{
    const size_t look = input->head_bytes < 512 ? input->head_bytes : 512;
    static const char root[] = "<trace-query-result>";
    return memmem(input->head, look, root, sizeof root - 1) != NULL ? 95 : 0;
}

const pt_format pt_format_instruments = {
    .name = "instruments",
    .aliases = "xctrace",
    .summary = "XML that Xcode's Instruments exports: xctrace export",
    .kind = PT_PROBE_HEURISTIC,
    .capabilities = PT_CAN_STACKS | PT_CAN_EVENTS | PT_CAN_DEFAULT | PT_CAN_ADDRESSES |
                    PT_CAN_MAPPINGS | PT_CAN_TIME | PT_CAN_NAMES | PT_CAN_UNITS,
    .probe = probe_instruments,
    .read = instruments_read,
};
