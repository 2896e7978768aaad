/* gen.c: makes large profiles of a service that never ran, for measuring and for checking.
 *
 *   shape U: nearly every sample has a stack of its own      (deep, varied code; goals of
 * docs/bench.md) shape S: three stacks in a hundred samples are distinct  (what services look like)
 *
 * It shares no code with what it measures: its own random numbers, its own protobuf encoder, its
 * own sums. With --truth it writes what each function's flat and cumulative values are, so a reader
 * of the profile can be checked against arithmetic that was never in the profile.
 *
 *   service   functions -> names, files        fixed by --seed
 *             locations -> lines (functions)   fixed by --seed
 *   samples   stack, values, labels            fixed by --seed and --run
 *
 * Equal options give equal bytes. Two runs of one seed are one program observed twice, as the
 * inputs of a merge are.
 */
#include <errno.h>
#include <getopt.h>
#include <inttypes.h>
#include <libdeflate.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum {
    MAX_LINES = 4,
    MAX_VALUES = 6,
    MAX_LABELS = 4,
    MAX_DEPTH = 4096,
    FIXED_ROOTS = 2,
    CALLEES = 4
};

#define MAPPING_START      UINT64_C(0x400000)
#define BYTES_PER_LOCATION 24
#define PERIOD_NS          INT64_C(1000000)
#define TIME_NS            INT64_C(1767225600000000000) /* 2026-01-01 00:00:00 UTC */

enum output_format { FORMAT_PPROF, FORMAT_GPERFTOOLS, FORMAT_PERF, FORMAT_PERF_SCRIPT };

struct options {
    uint64_t samples;
    uint64_t functions;
    uint64_t locations;
    uint64_t seed;
    uint64_t run;
    uint64_t depth_min, depth_max;
    uint64_t values;
    uint64_t labels;
    uint64_t inlines;   /* per cent of the locations with more than one line */
    uint64_t homonyms;  /* per cent of the functions named like their neighbour in another file */
    uint64_t recursion; /* per cent of the frames that repeat the one before */
    uint64_t distinct;  /* shape S: distinct stacks per 1,000 samples */
    bool shape_s;
    bool raw;
    enum output_format format;
    const char *output;
    const char *truth;
    const char *image;    /* perf: what the addresses are in */
    uint64_t text_offset; /* and where its code begins */
};

static _Noreturn void die(const char *what, const char *why)
{
    fprintf(stderr, "gen: %s: %s\n", what, why);
    exit(1);
}

/* --- random numbers: splitmix64, by Steele, Lea and Flood; the constants are the algorithm */

struct random {
    uint64_t state;
};

static uint64_t random_next(struct random *r)
{
    uint64_t z = r->state += UINT64_C(0x9e3779b97f4a7c15);
    z = (z ^ (z >> 30)) * UINT64_C(0xbf58476d1ce4e5b9);
    z = (z ^ (z >> 27)) * UINT64_C(0x94d049bb133111eb);
    return z ^ (z >> 31);
}

static uint64_t random_below(struct random *r, uint64_t limit)
{
    return (uint64_t)(((unsigned __int128)random_next(r) * limit) >> 64);
}

static bool random_percent(struct random *r, uint64_t percent)
{
    return percent != 0 && random_below(r, 100) < percent;
}

/* A number below the limit; small ones are likelier, the more so the higher the power. */
static uint64_t random_skewed(struct random *r, uint64_t limit, int power)
{
    const double u = (double)(random_next(r) >> 11) * 0x1p-53;
    double skewed = u;
    for (int i = 1; i < power; i++)
        skewed *= u;
    return (uint64_t)(skewed * (double)limit);
}

/* --- bytes that grow */

struct bytes {
    uint8_t *at;
    size_t size, room;
};

static void *grow(void *old, size_t count, size_t each)
{
    void *const grown = reallocarray(old, count ? count : 1, each);
    if (!grown) die("memory", strerror(errno));
    return grown;
}

static uint8_t *bytes_more(struct bytes *b, size_t more)
{
    if (b->room - b->size < more) {
        b->room = (b->room + more) * 2;
        b->at = grow(b->at, b->room, 1);
    }
    return b->at + b->size;
}

static void put_raw(struct bytes *b, const void *from, size_t size)
{
    if (size == 0) return;
    memcpy(bytes_more(b, size), from, size);
    b->size += size;
}

/* --- protobuf, as the encoding guide says: varints, and fields of wire types 0 and 2 */

static void put_varint(struct bytes *b, uint64_t value)
{
    uint8_t *const start = bytes_more(b, 10);
    uint8_t *p = start;
    for (; value >= 0x80; value >>= 7)
        *p++ = (uint8_t)(value | 0x80);
    *p++ = (uint8_t)value;
    b->size += (size_t)(p - start);
}

/* Zero is the default and not written, as Go's writer does. */
static void put_int(struct bytes *b, uint32_t field, uint64_t value)
{
    if (value == 0) return;
    put_varint(b, (uint64_t)field << 3);
    put_varint(b, value);
}

static void put_block(struct bytes *b, uint32_t field, const void *from, size_t size)
{
    put_varint(b, (uint64_t)field << 3 | 2);
    put_varint(b, size);
    put_raw(b, from, size);
}

/* The message in `inner` becomes a field of `b`; `inner` is empty again. */
static void put_message(struct bytes *b, uint32_t field, struct bytes *inner)
{
    put_block(b, field, inner->at, inner->size);
    inner->size = 0;
}

/* Go packs a repeated number only if there are more than two; readers must take both. */
static void put_ints(struct bytes *b, uint32_t field, const uint64_t *values, size_t n,
                     struct bytes *scratch)
{
    if (n <= 2) {
        for (size_t i = 0; i < n; i++) {
            put_varint(b, (uint64_t)field << 3);
            put_varint(b, values[i]);
        }
        return;
    }
    for (size_t i = 0; i < n; i++)
        put_varint(scratch, values[i]);
    put_message(b, field, scratch);
}

/* --- the string table */

struct strings {
    char **at;
    size_t n, room;
};

static uint64_t string_add(struct strings *s, const char *text)
{
    if (s->n == s->room) {
        s->room = s->room ? 2 * s->room : 1024;
        s->at = grow(s->at, s->room, sizeof *s->at);
    }
    s->at[s->n] = strdup(text);
    if (!s->at[s->n]) die("memory", strerror(errno));
    return s->n++;
}

/* --- the service: its functions and locations */

struct function {
    uint64_t name_string, file_string;
    uint32_t name; /* functions of one name share it; it indexes the truth */
    uint32_t start_line;
};

struct location {
    uint32_t n_lines;
    uint32_t function[MAX_LINES]; /* innermost first */
    uint32_t line[MAX_LINES];
};

struct service {
    struct strings strings;
    struct function *functions;
    struct location *locations;
    uint64_t n_functions, n_locations, n_names;
    uint32_t *spread; /* rank of heat -> function, so that hot ones are not neighbours */
    uint64_t seed;
    uint64_t mapping_file, build_id;
    uint64_t type[MAX_VALUES], unit[MAX_VALUES];
    uint64_t label_key[MAX_LABELS], label_unit, label_text[64];
};

/* The k-th of a million names like "cache::BlockIndex::lookup", each another. */
static void function_name(uint64_t k, char *name, size_t size)
{
    static const char *const spaces[] = {"net",   "rpc",  "cache", "store", "index",
                                         "query", "auth", "log",   "codec", "sched"};
    static const char *const firsts[] = {"Block", "Page",  "Stream", "Batch", "Shard",
                                         "Token", "Frame", "Record", "Event", "Route"};
    static const char *const seconds[] = {"Index",  "Reader", "Writer", "Pool",   "Table",
                                          "Filter", "Queue",  "Cursor", "Merger", "Planner"};
    static const char *const verbs[] = {"lookup",  "insert",  "flush",  "decode",  "encode",
                                        "advance", "compact", "verify", "resolve", "apply"};
    const uint64_t series = k / 10000;
    if (series == 0)
        snprintf(name, size, "%s::%s%s::%s", spaces[k % 10], firsts[k / 10 % 10],
                 seconds[k / 100 % 10], verbs[k / 1000 % 10]);
    else
        snprintf(name, size, "%s::%s%s::%s_%" PRIu64, spaces[k % 10], firsts[k / 10 % 10],
                 seconds[k / 100 % 10], verbs[k / 1000 % 10], series);
}

static void make_functions(struct service *s, const struct options *o, struct random *r)
{
    uint64_t files[100];
    char text[160];
    for (int i = 0; i < 100; i++) {
        snprintf(text, sizeof text, "src/part%d/unit%d.cc", i / 10, i % 10);
        files[i] = string_add(&s->strings, text);
    }
    s->n_functions = o->functions;
    s->functions = grow(NULL, s->n_functions, sizeof *s->functions);
    for (uint64_t f = 0; f < s->n_functions; f++) {
        struct function *const fn = &s->functions[f];
        fn->file_string = files[f % 100];
        fn->start_line = (uint32_t)(10 + random_below(r, 2000));
        if (f > FIXED_ROOTS && random_percent(r, o->homonyms)) {
            fn->name_string = fn[-1].name_string;
            fn->name = fn[-1].name;
            continue;
        }
        if (f == 0)
            snprintf(text, sizeof text, "_start");
        else if (f == 1)
            snprintf(text, sizeof text, "main");
        else
            function_name(f, text, sizeof text);
        fn->name_string = string_add(&s->strings, text);
        fn->name = (uint32_t)s->n_names++;
    }
}

/* The first location of a function; those of the next one follow. */
static uint64_t first_location(const struct service *s, uint64_t function)
{
    return (function * s->n_locations + s->n_functions - 1) / s->n_functions;
}

static void make_spread(struct service *s, struct random *r)
{
    s->spread = grow(NULL, s->n_functions, sizeof *s->spread);
    for (uint64_t f = 0; f < s->n_functions; f++)
        s->spread[f] = (uint32_t)f;
    for (uint64_t f = s->n_functions - 1; f > FIXED_ROOTS; f--) {
        const uint64_t other = FIXED_ROOTS + random_below(r, f - FIXED_ROOTS + 1);
        const uint32_t swapped = s->spread[f];
        s->spread[f] = s->spread[other];
        s->spread[other] = swapped;
    }
}

static void make_locations(struct service *s, const struct options *o, struct random *r)
{
    s->n_locations = o->locations;
    s->locations = grow(NULL, s->n_locations, sizeof *s->locations);
    for (uint64_t l = 0; l < s->n_locations; l++) {
        struct location *const loc = &s->locations[l];
        loc->n_lines = 1;
        const uint64_t owner = l * s->n_functions / s->n_locations;
        if (owner >= FIXED_ROOTS && random_percent(r, o->inlines))
            loc->n_lines = (uint32_t)(2 + random_below(r, MAX_LINES - 1));
        for (uint32_t i = 0; i < loc->n_lines; i++) {
            const bool outermost = i == loc->n_lines - 1;
            const uint64_t f =
                outermost ? owner : FIXED_ROOTS + random_skewed(r, s->n_functions - FIXED_ROOTS, 2);
            loc->function[i] = (uint32_t)f;
            loc->line[i] =
                s->functions[loc->function[i]].start_line + (uint32_t)random_below(r, 60);
        }
    }
}

static void make_service(struct service *s, const struct options *o)
{
    static const char *const types[MAX_VALUES][2] = {
        {"samples", "count"},     {"cpu", "nanoseconds"},  {"alloc_objects", "count"},
        {"alloc_space", "bytes"}, {"wait", "nanoseconds"}, {"faults", "count"},
    };
    static const char *const keys[MAX_LABELS] = {"thread", "request_bytes", "endpoint", "shard"};
    struct random r = {o->seed * 1000003};

    string_add(&s->strings, "");
    for (uint64_t v = 0; v < o->values; v++) {
        s->type[v] = string_add(&s->strings, types[v][0]);
        s->unit[v] = string_add(&s->strings, types[v][1]);
    }
    s->mapping_file = string_add(&s->strings, "/usr/bin/bench-service");
    s->build_id = string_add(&s->strings, "5ca1ab1e00c0ffee5ca1ab1e00c0ffee5ca1ab1e");
    if (o->labels) {
        char text[32];
        for (int i = 0; i < MAX_LABELS; i++)
            s->label_key[i] = string_add(&s->strings, keys[i]);
        s->label_unit = string_add(&s->strings, "bytes");
        for (int i = 0; i < 64; i++) {
            snprintf(text, sizeof text, "worker-%d", i);
            s->label_text[i] = string_add(&s->strings, text);
        }
    }
    s->seed = o->seed;
    make_functions(s, o, &r);
    make_spread(s, &r);
    make_locations(s, o, &r);
}

static uint64_t location_address(uint64_t location)
{
    return MAPPING_START + 0x1000 + location * BYTES_PER_LOCATION;
}

static uint64_t mapping_limit(const struct service *s)
{
    return (location_address(s->n_locations) + 0xfff) & ~UINT64_C(0xfff);
}

/* --- samples */

struct stack {
    uint32_t depth;
    uint32_t frame[MAX_DEPTH]; /* locations, leaf first */
};

/* A call site calls few functions, the first of them most often, and warm functions are called
 * from more sites than cold ones; at the leaf few functions take most of the time. Returns a
 * location of the callee. */
static uint32_t draw_callee(const struct service *s, struct random *r, uint32_t site, bool leaf)
{
    const uint64_t choice = random_skewed(r, CALLEES, 2) * 2 + leaf;
    struct random edge = {(s->seed << 40 ^ site) * 2 * CALLEES + choice};
    const uint64_t heat = random_skewed(&edge, s->n_functions - FIXED_ROOTS, leaf ? 4 : 2);
    const uint64_t callee = s->spread[FIXED_ROOTS + heat];
    const uint64_t first = first_location(s, callee);
    return (uint32_t)(first + random_below(r, first_location(s, callee + 1) - first));
}

static void draw_stack(const struct service *s, const struct options *o, struct random *r,
                       struct stack *stack)
{
    stack->depth = (uint32_t)(o->depth_min + random_below(r, o->depth_max - o->depth_min + 1));
    uint32_t site = 0;
    for (uint32_t i = stack->depth; i-- > 0;) {
        if (i + FIXED_ROOTS >= stack->depth)
            site = (uint32_t)first_location(s, stack->depth - 1 - i);
        else if (!random_percent(r, o->recursion))
            site = draw_callee(s, r, site, i == 0);
        stack->frame[i] = site;
    }
}

static void draw_values(const struct options *o, struct random *r, uint64_t *values)
{
    values[0] = 1 + random_skewed(r, 4, 8);
    for (uint64_t v = 1; v < o->values; v++)
        values[v] = v == 1 ? values[0] * (uint64_t)PERIOD_NS : 1 + random_skewed(r, 100000, 3);
}

/* Where the stacks come from: shape U draws each anew, shape S draws from a pool. */
struct source {
    struct stack *stack;
    uint64_t n_pool;
    size_t *pool_offset; /* n_pool + 1, into pool_frame */
    uint32_t *pool_frame;
};

static void source_init(struct source *src, const struct service *s, const struct options *o)
{
    src->stack = grow(NULL, 1, sizeof *src->stack);
    if (!o->shape_s) return;

    struct random r = {o->seed * 1000003 + 1};
    src->n_pool = o->samples * o->distinct / 1000;
    if (src->n_pool == 0) src->n_pool = 1;
    src->pool_offset = grow(NULL, src->n_pool + 1, sizeof *src->pool_offset);
    src->pool_frame = grow(NULL, src->n_pool * o->depth_max, sizeof *src->pool_frame);
    src->pool_offset[0] = 0;
    for (uint64_t p = 0; p < src->n_pool; p++) {
        draw_stack(s, o, &r, src->stack);
        memcpy(src->pool_frame + src->pool_offset[p], src->stack->frame,
               src->stack->depth * sizeof *src->pool_frame);
        src->pool_offset[p + 1] = src->pool_offset[p] + src->stack->depth;
    }
}

static const struct stack *source_next(struct source *src, const struct service *s,
                                       const struct options *o, struct random *r)
{
    if (!o->shape_s) {
        draw_stack(s, o, r, src->stack);
    } else {
        const uint64_t p = random_skewed(r, src->n_pool, 2);
        const size_t first = src->pool_offset[p];
        src->stack->depth = (uint32_t)(src->pool_offset[p + 1] - first);
        memcpy(src->stack->frame, src->pool_frame + first,
               src->stack->depth * sizeof *src->stack->frame);
    }
    return src->stack;
}

/* --- the truth: per name, the values of samples whose leaf it is, and of those it is in at all */

struct truth {
    uint64_t n_values;
    uint64_t *flat, *cum; /* [name * n_values + value] */
    uint64_t *seen;       /* the last sample, counted from 1, that this name was in */
};

static void truth_init(struct truth *t, const struct service *s, const struct options *o)
{
    t->n_values = o->values;
    t->flat = calloc(s->n_names * o->values, sizeof *t->flat);
    t->cum = calloc(s->n_names * o->values, sizeof *t->cum);
    t->seen = calloc(s->n_names, sizeof *t->seen);
    if (!t->flat || !t->cum || !t->seen) die("memory", strerror(errno));
}

static void truth_done(struct truth *t)
{
    free(t->flat);
    free(t->cum);
    free(t->seen);
}

static void truth_add(struct truth *t, const struct service *s, uint64_t sample,
                      const struct stack *stack, const uint64_t *values)
{
    for (uint32_t i = 0; i < stack->depth; i++) {
        const struct location *const loc = &s->locations[stack->frame[i]];
        for (uint32_t j = 0; j < loc->n_lines; j++) {
            const uint32_t name = s->functions[loc->function[j]].name;
            if (t->seen[name] == sample) continue;
            t->seen[name] = sample;
            for (uint64_t v = 0; v < t->n_values; v++)
                t->cum[name * t->n_values + v] += values[v];
        }
    }
    const uint32_t leaf = s->functions[s->locations[stack->frame[0]].function[0]].name;
    for (uint64_t v = 0; v < t->n_values; v++)
        t->flat[leaf * t->n_values + v] += values[v];
}

static void truth_write(const struct truth *t, const struct service *s, const char *path)
{
    FILE *const f = fopen(path, "w");
    if (!f) die(path, strerror(errno));
    fputs("name", f);
    for (uint64_t v = 0; v < t->n_values; v++)
        fprintf(f, "\tflat_%s\tcum_%s", s->strings.at[s->type[v]], s->strings.at[s->type[v]]);
    fputc('\n', f);
    uint64_t next = 0; /* the first function of each name, in the order of names */
    for (uint64_t fn = 0; fn < s->n_functions; fn++) {
        const uint32_t name = s->functions[fn].name;
        if (name != next) continue;
        next++;
        if (t->seen[name] == 0) continue;
        fputs(s->strings.at[s->functions[fn].name_string], f);
        for (uint64_t v = 0; v < t->n_values; v++)
            fprintf(f, "\t%" PRIu64 "\t%" PRIu64, t->flat[name * t->n_values + v],
                    t->cum[name * t->n_values + v]);
        fputc('\n', f);
    }
    if (fclose(f) != 0) die(path, strerror(errno));
}

/* --- profile.proto; fields and their numbers from its published text, in the order Go writes */

struct scratch {
    struct bytes message, inner, packed;
};

static void put_labels(const struct service *s, const struct options *o, struct random *r,
                       struct scratch *m)
{
    for (uint64_t i = 0; i < o->labels; i++) {
        put_int(&m->inner, 1, s->label_key[i]);
        if (i % 2 == 0) {
            put_int(&m->inner, 2, s->label_text[random_skewed(r, 64, 2)]);
        } else {
            put_int(&m->inner, 3, 1 + random_skewed(r, 1 << 20, 3));
            if (i == 1) put_int(&m->inner, 4, s->label_unit);
        }
        put_message(&m->message, 3, &m->inner);
    }
}

static void put_sample(struct bytes *out, const struct service *s, const struct options *o,
                       struct random *r, const struct stack *stack, const uint64_t *values,
                       struct scratch *m)
{
    uint64_t ids[MAX_DEPTH];
    for (uint32_t i = 0; i < stack->depth; i++)
        ids[i] = stack->frame[i] + 1;
    put_ints(&m->message, 1, ids, stack->depth, &m->packed);
    put_ints(&m->message, 2, values, o->values, &m->packed);
    put_labels(s, o, r, m);
    put_message(out, 2, &m->message);
}

static void put_types(struct bytes *out, const struct service *s, const struct options *o,
                      struct scratch *m)
{
    for (uint64_t v = 0; v < o->values; v++) {
        put_int(&m->message, 1, s->type[v]);
        put_int(&m->message, 2, s->unit[v]);
        put_message(out, 1, &m->message);
    }
}

static void put_mapping(struct bytes *out, const struct service *s, struct scratch *m)
{
    put_int(&m->message, 1, 1);
    put_int(&m->message, 2, MAPPING_START);
    put_int(&m->message, 3, mapping_limit(s));
    put_int(&m->message, 5, s->mapping_file);
    put_int(&m->message, 6, s->build_id);
    for (uint32_t has = 7; has <= 10; has++) /* functions, files, lines, inline frames */
        put_int(&m->message, has, 1);
    put_message(out, 3, &m->message);
}

static void put_locations(struct bytes *out, const struct service *s, struct scratch *m)
{
    for (uint64_t l = 0; l < s->n_locations; l++) {
        const struct location *const loc = &s->locations[l];
        put_int(&m->message, 1, l + 1);
        put_int(&m->message, 2, 1);
        put_int(&m->message, 3, location_address(l));
        for (uint32_t i = 0; i < loc->n_lines; i++) {
            put_int(&m->inner, 1, loc->function[i] + UINT64_C(1));
            put_int(&m->inner, 2, loc->line[i]);
            put_message(&m->message, 4, &m->inner);
        }
        put_message(out, 4, &m->message);
    }
}

static void put_functions(struct bytes *out, const struct service *s, struct scratch *m)
{
    for (uint64_t f = 0; f < s->n_functions; f++) {
        const struct function *const fn = &s->functions[f];
        put_int(&m->message, 1, f + 1);
        put_int(&m->message, 2, fn->name_string);
        put_int(&m->message, 3, fn->name_string);
        put_int(&m->message, 4, fn->file_string);
        put_int(&m->message, 5, fn->start_line);
        put_message(out, 5, &m->message);
    }
}

static void put_pprof_tables(struct bytes *out, const struct service *s, const struct options *o,
                             struct scratch *m)
{
    put_mapping(out, s, m);
    put_locations(out, s, m);
    put_functions(out, s, m);
    for (size_t i = 0; i < s->strings.n; i++)
        put_block(out, 6, s->strings.at[i], strlen(s->strings.at[i]));
    put_int(out, 9, (uint64_t)TIME_NS);
    put_int(out, 10, o->samples * (uint64_t)PERIOD_NS);
    const uint64_t type = o->values > 1; /* cpu nanoseconds, or samples count if that is all */
    put_int(&m->message, 1, s->type[type]);
    put_int(&m->message, 2, s->unit[type]);
    put_message(out, 11, &m->message);
    put_int(out, 12, type ? (uint64_t)PERIOD_NS : 1);
}

/* --- the gperftools CPU profile, 64 bit, as its file format page says */

static void put_word(struct bytes *out, uint64_t word)
{
    uint8_t le[8];
    for (int i = 0; i < 8; i++)
        le[i] = (uint8_t)(word >> (8 * i));
    put_raw(out, le, sizeof le);
}

static void put_gperftools_header(struct bytes *out)
{
    const uint64_t header[] = {0, 3, 0, (uint64_t)PERIOD_NS / 1000, 0};
    for (size_t i = 0; i < sizeof header / sizeof *header; i++)
        put_word(out, header[i]);
}

/* Above the leaf the file holds return addresses: one byte past what a reader takes for the call.
 */
static void put_gperftools_record(struct bytes *out, const struct stack *stack, uint64_t count)
{
    put_word(out, count);
    put_word(out, stack->depth);
    for (uint32_t i = 0; i < stack->depth; i++)
        put_word(out, location_address(stack->frame[i]) + (i > 0));
}

static void put_gperftools_end(struct bytes *out, const struct service *s)
{
    char line[160];
    const int size = snprintf(line, sizeof line,
                              "%08" PRIx64 "-%08" PRIx64 " r-xp 00000000 08:01 4711 "
                              "/usr/bin/bench-service\n",
                              MAPPING_START, mapping_limit(s));
    put_word(out, 0);
    put_word(out, 1);
    put_word(out, 0);
    put_raw(out, line, (size_t)size);
}

/* --- perf.data of `perf record -g` with frame pointers: linux/perf_event.h, and
 * tools/perf/Documentation/perf.data-file-format.txt */

enum { PERF_HEADER = 104, PERF_ATTR = 128, PERF_DATA_AT = PERF_HEADER + PERF_ATTR + 16 };

static void put_record(struct bytes *out, uint32_t type, uint16_t misc, const struct bytes *body)
{
    put_word(out, type | (uint64_t)misc << 32 | (8 + body->size) << 48);
    put_raw(out, body->at, body->size);
}

/* Text ended by at least one zero, padded to words. */
static void put_padded(struct bytes *out, const char *text)
{
    put_raw(out, text, strlen(text));
    do
        put_raw(out, "", 1);
    while (out->size % 8 != 0);
}

static uint64_t perf_address(const struct options *o, uint32_t location)
{
    return location_address(location) + o->text_offset;
}

/* The header, one event (cpu-clock, a sample a millisecond), a process and its mapping. */
static void put_perf_header(struct bytes *out, const struct options *o)
{
    const uint64_t header[] = {0x32454c4946524550,
                               PERF_HEADER,
                               PERF_ATTR + 16,
                               PERF_HEADER,
                               PERF_ATTR + 16,
                               PERF_DATA_AT,
                               0,
                               0,
                               0,
                               0,
                               0,
                               0,
                               0};
    const uint64_t attr[PERF_ATTR / 8 + 2] = {1 | (uint64_t)PERF_ATTR << 32, 0, PERIOD_NS,
                                              1 | 2 | 4 | 32 | 256,          0, 1 << 18 | 1 << 23};
    struct bytes body = {0};
    for (size_t i = 0; i < sizeof header / sizeof *header; i++)
        put_word(out, header[i]);
    for (size_t i = 0; i < sizeof attr / sizeof *attr; i++)
        put_word(out, attr[i]);
    put_word(&body, 4711 | UINT64_C(4711) << 32);
    put_padded(&body, "bench-service");
    put_word(&body, 4711 | UINT64_C(4711) << 32); /* who and when, as behind each record */
    put_word(&body, 1000);
    put_record(out, 3, 2, &body);
    body.size = 0;
    const uint64_t map[] = {4711 | UINT64_C(4711) << 32, MAPPING_START, 256 << 20, 0, 0, 0, 0, 5};
    for (size_t i = 0; i < sizeof map / sizeof *map; i++)
        put_word(&body, map[i]);
    put_padded(&body, o->image);
    put_word(&body, 4711 | UINT64_C(4711) << 32);
    put_word(&body, 2000);
    put_record(out, 10, 2, &body);
    free(body.at);
}

static void put_perf_sample(struct bytes *out, const struct options *o, const struct stack *stack,
                            uint64_t number)
{
    const uint64_t size = 8 * (7 + (uint64_t)stack->depth);
    put_word(out, 9 | UINT64_C(2) << 32 | size << 48);
    put_word(out, perf_address(o, stack->frame[0]));
    put_word(out, 4711 | (4711 + number % 8) << 32);
    put_word(out, 10000 + number * (uint64_t)PERIOD_NS);
    put_word(out, (uint64_t)PERIOD_NS);
    put_word(out, stack->depth + UINT64_C(1));
    put_word(out, (uint64_t)-512); /* user space */
    for (uint32_t i = 0; i < stack->depth; i++)
        put_word(out, perf_address(o, stack->frame[i]) + (i > 0));
}

/* perf has been round all rings. */
static void put_perf_round(struct bytes *out)
{
    put_word(out, 68 | UINT64_C(8) << 48);
}

static void put_perf_end(struct bytes *out)
{
    const uint64_t size = out->size - PERF_DATA_AT;
    memcpy(out->at + 48, &size, sizeof size);
}

/* --- the same as `perf script` prints it */

static void put_script_sample(struct bytes *out, const struct service *s, const struct stack *stack,
                              uint64_t number)
{
    const uint64_t us = 10 + number * 1000;
    char line[256];
    int size = snprintf(line, sizeof line,
                        "bench-service %5u/%-5" PRIu64 " %5" PRIu64 ".%06" PRIu64 ": %10" PRIu64
                        " cpu-clock:ppp: \n",
                        4711u, 4711 + number % 8, us / 1000000, us % 1000000, (uint64_t)PERIOD_NS);
    put_raw(out, line, (size_t)size);
    for (uint32_t i = 0; i < stack->depth; i++) {
        const uint32_t at = stack->frame[i];
        const struct function *const fn = &s->functions[s->locations[at].function[0]];
        size =
            snprintf(line, sizeof line, "\t%16" PRIx64 " %s+0x%x (/usr/bin/bench-service)\n",
                     location_address(at) + (i > 0), s->strings.at[fn->name_string], 16 + at % 64);
        put_raw(out, line, (size_t)size);
    }
    put_raw(out, "\n", 1);
}

/* --- one after another */

static void write_file(const char *path, const void *from, size_t size)
{
    FILE *const f = strcmp(path, "-") == 0 ? stdout : fopen(path, "wb");
    if (!f) die(path, strerror(errno));
    if (fwrite(from, 1, size, f) != size || fclose(f) != 0) die(path, strerror(errno));
}

static void write_gzip(const char *path, const struct bytes *plain)
{
    struct libdeflate_compressor *const c = libdeflate_alloc_compressor(6);
    if (!c) die("libdeflate", "no compressor");
    const size_t room = libdeflate_gzip_compress_bound(c, plain->size);
    void *const packed = grow(NULL, room, 1);
    const size_t size = libdeflate_gzip_compress(c, plain->at, plain->size, packed, room);
    if (size == 0) die("libdeflate", "the compressed profile outgrew its bound");
    write_file(path, packed, size);
    free(packed);
    libdeflate_free_compressor(c);
}

static void put_begin(struct bytes *out, const struct service *s, const struct options *o,
                      struct scratch *m)
{
    switch (o->format) {
    case FORMAT_PPROF: put_types(out, s, o, m); break;
    case FORMAT_GPERFTOOLS: put_gperftools_header(out); break;
    case FORMAT_PERF: put_perf_header(out, o); break;
    case FORMAT_PERF_SCRIPT: break;
    }
}

static void put_end(struct bytes *out, const struct service *s, const struct options *o,
                    struct scratch *m)
{
    switch (o->format) {
    case FORMAT_PPROF: put_pprof_tables(out, s, o, m); break;
    case FORMAT_GPERFTOOLS: put_gperftools_end(out, s); break;
    case FORMAT_PERF: put_perf_end(out); break;
    case FORMAT_PERF_SCRIPT: break;
    }
}

static void generate(const struct options *o)
{
    static struct service s;
    struct source src = {0};
    struct truth truth = {0};
    struct bytes out = {0};
    struct scratch m = {0};
    struct random r = {o->seed * 1000003 + 2 + o->run};

    make_service(&s, o);
    source_init(&src, &s, o);
    if (o->truth) truth_init(&truth, &s, o);
    put_begin(&out, &s, o, &m);
    for (uint64_t i = 0; i < o->samples; i++) {
        uint64_t values[MAX_VALUES];
        const struct stack *const stack = source_next(&src, &s, o, &r);
        draw_values(o, &r, values);
        switch (o->format) {
        case FORMAT_PPROF: put_sample(&out, &s, o, &r, stack, values, &m); break;
        case FORMAT_GPERFTOOLS: put_gperftools_record(&out, stack, values[0]); break;
        case FORMAT_PERF:
            put_perf_sample(&out, o, stack, i);
            if (i % 1000 == 999) put_perf_round(&out);
            break;
        case FORMAT_PERF_SCRIPT: put_script_sample(&out, &s, stack, i); break;
        }
        if (o->truth) truth_add(&truth, &s, i + 1, stack, values);
    }
    put_end(&out, &s, o, &m);

    if (o->raw || o->format != FORMAT_PPROF)
        write_file(o->output, out.at, out.size);
    else
        write_gzip(o->output, &out);
    if (o->truth) truth_write(&truth, &s, o->truth);
    truth_done(&truth);
}

/* --- options */

static const char usage[] =
    "usage: gen [OPTION]... -o FILE\n"
    "Makes the profile of a service that never ran. Equal options give equal bytes.\n"
    "  -o, --output=FILE    where to; - is standard output\n"
    "  --format=NAME        pprof (the default), gperftools (64 bit), perf (perf.data with\n"
    "                       frame-pointer chains) or perf-script (text)\n"
    "  --image=FILE         perf: the file that addresses are in\n"
    "  --text-offset=N      perf: where its code begins (0)\n"
    "  --shape=U|S          stacks nearly all distinct (U), or few of them (S)\n"
    "  --distinct=N         shape S: distinct stacks in 1,000 samples (30)\n"
    "  --samples=N          (1000000)\n"
    "  --functions=N        (20000)\n"
    "  --locations=N        (three a function)\n"
    "  --depth=MIN-MAX      frames of a stack (20-60)\n"
    "  --values=N           values of a sample, 1 to 6 (2)\n"
    "  --labels=N           labels of a sample, 0 to 4 (0)\n"
    "  --inlines=PERCENT    locations with inlined frames (0)\n"
    "  --homonyms=PERCENT   functions named like another in another file (0)\n"
    "  --recursion=PERCENT  frames that repeat the one before (0)\n"
    "  --seed=N             another service (1)\n"
    "  --run=N              other samples of the same service (0)\n"
    "  --raw                pprof without gzip\n"
    "  --truth=FILE         write each function's flat and cumulative values, tab separated;\n"
    "                       of a gperftools file, too, which has no names itself\n";

static _Noreturn void wrong(const char *what)
{
    fprintf(stderr, "gen: %s\n%s", what, usage);
    exit(2);
}

static uint64_t number(const char *name, const char *text, uint64_t min, uint64_t max)
{
    char *end;
    char message[120];
    errno = 0;
    const unsigned long long n = strtoull(text, &end, 10);
    if (errno || end == text || *end || *text == '-' || n < min || n > max) {
        snprintf(message, sizeof message, "--%s takes a number from %" PRIu64 " to %" PRIu64, name,
                 min, max);
        wrong(message);
    }
    return n;
}

static void depth_option(struct options *o, char *text)
{
    char *const dash = strchr(text, '-');
    if (!dash) wrong("--depth takes two numbers, as in 20-60");
    *dash = '\0';
    o->depth_min = number("depth", text, FIXED_ROOTS + 1, MAX_DEPTH);
    o->depth_max = number("depth", dash + 1, o->depth_min, MAX_DEPTH);
}

static void word_option(struct options *o, const char *name, char *text)
{
    const bool shape = strcmp(name, "shape") == 0;
    if (strcmp(name, "output") == 0)
        o->output = text;
    else if (strcmp(name, "truth") == 0)
        o->truth = text;
    else if (strcmp(name, "image") == 0)
        o->image = text;
    else if (strcmp(name, "depth") == 0)
        depth_option(o, text);
    else if (shape && (strcmp(text, "U") == 0 || strcmp(text, "S") == 0))
        o->shape_s = *text == 'S';
    else if (!shape && strcmp(text, "pprof") == 0)
        o->format = FORMAT_PPROF;
    else if (!shape && strcmp(text, "gperftools") == 0)
        o->format = FORMAT_GPERFTOOLS;
    else if (!shape && strcmp(text, "perf") == 0)
        o->format = FORMAT_PERF;
    else if (!shape && strcmp(text, "perf-script") == 0)
        o->format = FORMAT_PERF_SCRIPT;
    else
        wrong(shape ? "--shape is U or S" : "--format is pprof, gperftools, perf or perf-script");
}

static struct options read_options(int argc, char **argv)
{
    struct options o = {.samples = 1000000,
                        .functions = 20000,
                        .seed = 1,
                        .depth_min = 20,
                        .depth_max = 60,
                        .values = 2,
                        .distinct = 30,
                        .image = "/usr/bin/bench-service"};
    const struct {
        const char *name;
        uint64_t *at, min, max;
    } numbers[] = {
        {"samples", &o.samples, 0, 100000000},
        {"functions", &o.functions, FIXED_ROOTS + 1, 10000000},
        {"locations", &o.locations, 0, 100000000},
        {"values", &o.values, 1, MAX_VALUES},
        {"labels", &o.labels, 0, MAX_LABELS},
        {"inlines", &o.inlines, 0, 100},
        {"homonyms", &o.homonyms, 0, 100},
        {"recursion", &o.recursion, 0, 100},
        {"distinct", &o.distinct, 1, 1000},
        {"seed", &o.seed, 0, UINT32_MAX},
        {"run", &o.run, 0, UINT32_MAX},
        {"text-offset", &o.text_offset, 0, UINT32_MAX},
    };
    enum { N_NUMBERS = sizeof numbers / sizeof *numbers, WORD = N_NUMBERS, RAW, HELP };
    static const char *const words[] = {"output", "truth", "depth", "shape", "format", "image"};
    struct option table[N_NUMBERS + 10] = {0};
    size_t n = 0;
    for (; n < N_NUMBERS; n++)
        table[n] = (struct option){numbers[n].name, required_argument, NULL, (int)(1000 + n)};
    for (size_t i = 0; i < sizeof words / sizeof *words; i++)
        table[n++] = (struct option){words[i], required_argument, NULL, 1000 + WORD};
    table[n++] = (struct option){"raw", no_argument, NULL, 1000 + RAW};
    table[n++] = (struct option){"help", no_argument, NULL, 1000 + HELP};

    for (int c, index; (c = getopt_long(argc, argv, "o:", table, &index)) != -1;) {
        if (c == 'o')
            o.output = optarg;
        else if (c == '?')
            wrong("see the options below");
        else if (c == 1000 + RAW)
            o.raw = true;
        else if (c == 1000 + HELP)
            exit(fputs(usage, stdout) < 0);
        else if (c == 1000 + WORD)
            word_option(&o, table[index].name, optarg);
        else
            *numbers[c - 1000].at =
                number(table[index].name, optarg, numbers[c - 1000].min, numbers[c - 1000].max);
    }
    if (optind < argc || !o.output)
        wrong(o.output ? "it takes no other arguments" : "-o is missing");
    if (o.locations == 0) o.locations = 3 * o.functions;
    if (o.locations < o.functions) wrong("every function needs a location");
    return o;
}

int main(int argc, char **argv)
{
    const struct options o = read_options(argc, argv);
    generate(&o);
    return 0;
}
