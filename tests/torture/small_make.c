/* small_make.c: see small_files.h. */
#include "small_files.h"

#include "base/compress.h"

#include <string.h>

/* What a compressed file may become. */
#define LARGE_BYTES_MAX ((size_t)1 << 20)

uint64_t pt_random_next(pt_random *random) /* splitmix64 of Steele, Lea and Flood, 2014 */
{
    uint64_t x = random->state += UINT64_C(0x9e3779b97f4a7c15);
    x = (x ^ (x >> 30)) * UINT64_C(0xbf58476d1ce4e5b9);
    x = (x ^ (x >> 27)) * UINT64_C(0x94d049bb133111eb);
    return x ^ (x >> 31);
}

size_t pt_random_below(pt_random *random, size_t n)
{
    return n > 0 ? (size_t)(pt_random_next(random) % n) : 0;
}

/* Small numbers mostly, and all sizes up to most. */
static size_t some_count(pt_random *r, size_t most)
{
    const unsigned bits = most > 1 ? 64 - (unsigned)__builtin_clzll(most) : 1;
    return pt_random_below(r, (size_t)1 << pt_random_below(r, bits + 1)) % (most + 1);
}

/* ---- edits of bytes ---- */

/* Puts what lies in [at, at + cut) anew: copies times the bytes of `with`. */
static void replace_bytes(pt_buf *file, size_t at, size_t cut, const void *with, size_t size,
                          size_t copies)
{
    pt_buf out = PT_BUF_INIT;
    pt_put(&out, file->data, at);
    for (size_t i = 0; i < copies && out.size < LARGE_BYTES_MAX; i++)
        pt_put(&out, with, size);
    pt_put(&out, file->data + at + cut, file->size - at - cut);
    pt_buf_done(file);
    *file = out;
}

static void flip_bytes(pt_random *r, pt_buf *file)
{
    for (size_t n = 1 + some_count(r, 16); n > 0 && file->size > 0; n--)
        file->data[pt_random_below(r, file->size)] = (uint8_t)pt_random_next(r);
}

static void cut_end(pt_random *r, pt_buf *file)
{
    file->size = pt_random_below(r, file->size + 1);
}

static void splice_seed(pt_random *r, pt_buf *file, const pt_seeds *seeds)
{
    const pt_buf *const other = &seeds->items[pt_random_below(r, seeds->count)];
    const size_t from = pt_random_below(r, other->size + 1);
    const size_t at = pt_random_below(r, file->size + 1);
    replace_bytes(file, at, file->size - at, other->data + from, other->size - from, 1);
}

static void store_extreme(pt_random *r, pt_buf *file)
{
    static const uint64_t extremes[] = {0,
                                        1,
                                        0x7f,
                                        0x80,
                                        0xff,
                                        0x7fff,
                                        0xffff,
                                        0x7ffffff,
                                        0x7fffffff,
                                        0x80000000,
                                        0xffffffff,
                                        0x100000000,
                                        1u << 20,
                                        1u << 28,
                                        UINT64_C(1) << 40,
                                        INT64_MAX,
                                        (uint64_t)INT64_MIN,
                                        UINT64_MAX,
                                        UINT64_MAX - 1,
                                        UINT64_C(1) << 62};
    const size_t bytes = (size_t)1 << pt_random_below(r, 4);
    if (file->size < bytes) return;
    uint64_t value = extremes[pt_random_below(r, sizeof extremes / sizeof extremes[0])];
    if (pt_random_below(r, 4) == 0) value = __builtin_bswap64(value);
    memcpy(file->data + pt_random_below(r, file->size - bytes + 1), &value, bytes);
}

/* Puts another number in the place of a run of digits. */
static void replace_number(pt_random *r, pt_buf *file)
{
    static const char *const numbers[] = {"0",
                                          "-1",
                                          "4294967295",
                                          "9223372036854775807",
                                          "18446744073709551615",
                                          "99999999999999999999999",
                                          "1e308",
                                          "0.0000000000000001",
                                          "ffffffffffffffff",
                                          "100000000",
                                          "nan"};
    size_t at = pt_random_below(r, file->size + 1);
    while (at < file->size && (file->data[at] < '0' || file->data[at] > '9'))
        at++;
    size_t end = at;
    while (end < file->size && file->data[end] >= '0' && file->data[end] <= '9')
        end++;
    const char *const with = numbers[pt_random_below(r, sizeof numbers / sizeof numbers[0])];
    if (end > at) replace_bytes(file, at, end - at, with, strlen(with), 1);
}

/* Says a part of the file again and again; whole lines half of the time. */
static void repeat_part(pt_random *r, pt_buf *file, size_t most)
{
    size_t at = pt_random_below(r, file->size + 1);
    size_t end = at + 1 + some_count(r, 200);
    if (end > file->size) end = file->size;
    if (pt_random_below(r, 2) == 0) {
        while (at > 0 && file->data[at - 1] != '\n')
            at--;
        while (end < file->size && file->data[end - 1] != '\n')
            end++;
    }
    if (end <= at) return;
    PT_FREE char *part = pt_strndup((const char *)file->data + at, end - at);
    replace_bytes(file, end, 0, part, end - at, 1 + some_count(r, most / (end - at)));
}

/* Puts a run of what readers nest, escape or search for. */
static void insert_run(pt_random *r, pt_buf *file, size_t most)
{
    static const char *const runs[] = {"<",  "(",   "[",          "{",         "a<",     "f(",
                                       "\\", "\"",  "'",          "&",         ";",      "a;",
                                       " ",  "\t",  "\n",         "::",        "a::",    ",",
                                       "[[", "[0,", "{\"a\":",    "_Z",        "_ZN1a",  "N1a1b",
                                       "%",  "\0",  "\xff",       "\x80",      "\xc3",   ".",
                                       "..", "/",   "#",          "|",         "\x1b[",  "*",
                                       "=>", "->",  "-",          "x",         "0",      "9",
                                       "@",  "S_",  "St6vectorI", "operator<", "{clone}"};
    const char *const run = runs[pt_random_below(r, sizeof runs / sizeof runs[0])];
    const size_t size = run[0] == '\0' ? 1 : strlen(run);
    replace_bytes(file, pt_random_below(r, file->size + 1), 0, run, size,
                  1 + some_count(r, most / size));
}

static void edit_once(pt_random *r, pt_buf *file, const pt_seeds *seeds, size_t most)
{
    switch (pt_random_below(r, 8)) {
    case 0: flip_bytes(r, file); break;
    case 1: cut_end(r, file); break;
    case 2: splice_seed(r, file, seeds); break;
    case 3: store_extreme(r, file); break;
    case 4: replace_number(r, file); break;
    case 5: insert_run(r, file, most); break;
    default: repeat_part(r, file, most); break;
    }
}

/* ---- profile.proto by its own structure ---- */

/* How much there is of everything. */
typedef struct {
    size_t names, name_bytes, functions, locations, lines, samples, depth, labels, values, mappings;
    uint64_t salt;
} proportions;

static void put_field(pt_buf *to, unsigned number, uint64_t value)
{
    pt_put_varint(to, number << 3);
    pt_put_varint(to, value);
}

static void put_bytes(pt_buf *to, unsigned number, const void *data, size_t size)
{
    pt_put_varint(to, number << 3 | 2);
    pt_put_varint(to, size);
    pt_put(to, data, size);
}

static void put_message(pt_buf *to, unsigned number, pt_buf *message)
{
    put_bytes(to, number, message->data != NULL ? message->data : (const uint8_t *)"",
              message->size);
    pt_buf_clear(message);
}

static void put_names(pt_random *r, const proportions *p, pt_buf *to)
{
    static const char *const parts[] = {"a<",         "f(", "x",    "::", "a::", "_ZN1a", "<",
                                        "{",          "\"", "\\",   ";",  ".",   "/",     "&",
                                        "operator()", "\n", "\xff", "[",  " "};
    static const char *const first[] = {"", "cpu", "nanoseconds", "main", "main.c", "key"};
    for (size_t i = 0; i < sizeof first / sizeof first[0]; i++)
        put_bytes(to, 6, first[i], strlen(first[i]));
    pt_buf name = PT_BUF_INIT;
    for (size_t i = 0; i < p->names; i++) {
        const char *const part = parts[pt_random_below(r, sizeof parts / sizeof parts[0])];
        pt_put_text(&name, pt_random_below(r, 3) == 0 ? "_ZN" : "f");
        while (name.size < p->name_bytes)
            pt_put_text(&name, part);
        pt_putf(&name, "%zu", pt_random_below(r, p->names + 1));
        put_message(to, 6, &name);
    }
    pt_buf_done(&name);
}

static void put_code(pt_random *r, const proportions *p, pt_buf *to)
{
    pt_buf m = PT_BUF_INIT, line = PT_BUF_INIT;
    const size_t texts = 6 + p->names;
    for (size_t i = 0; i < p->mappings; i++) {
        put_field(&m, 1, i + 1);
        put_field(&m, 2, 0x1000 * i);
        put_field(&m, 3, pt_random_below(r, 2) ? 0x1000 * i + 0x1000 : UINT64_MAX);
        put_field(&m, 5, pt_random_below(r, texts));
        put_message(to, 3, &m);
    }
    for (size_t i = 0; i < p->functions; i++) {
        put_field(&m, 1, i + 1);
        put_field(&m, 2, pt_random_below(r, texts));
        put_field(&m, 3, pt_random_below(r, texts));
        put_field(&m, 4, pt_random_below(r, texts));
        put_message(to, 5, &m);
    }
    for (size_t i = 0; i < p->locations; i++) {
        put_field(&m, 1, i + 1);
        put_field(&m, 2, pt_random_below(r, p->mappings + 2));
        put_field(&m, 3, pt_random_below(r, 9) == 0 ? UINT64_MAX : 0x1000 + i);
        for (size_t l = 0; l < p->lines; l++) {
            put_field(&line, 1, 1 + (p->salt % 2 ? l : i) % (p->functions + 1));
            put_field(&line, 2, pt_random_below(r, 3) == 0 ? INT64_MAX : l);
            put_message(&m, 4, &line);
        }
        put_message(to, 4, &m);
    }
    pt_buf_done(&line);
    pt_buf_done(&m);
}

static void put_samples(pt_random *r, const proportions *p, pt_buf *to)
{
    pt_buf m = PT_BUF_INIT, inner = PT_BUF_INIT;
    for (size_t i = 0; i < p->values; i++) {
        put_field(&inner, 1, 1 + (i > 0 ? pt_random_below(r, p->names + 5) : 0));
        put_field(&inner, 2, 2);
        put_message(to, 1, &inner);
    }
    for (size_t i = 0; i < p->samples; i++) {
        for (size_t d = 0; d < p->depth; d++) /* a cycle, or all locations in turn */
            pt_put_varint(&inner, 1 + (p->salt & 4 ? d : d * i + d) % (p->locations + 1));
        put_message(&m, 1, &inner);
        for (size_t v = 0; v < p->values; v++)
            pt_put_varint(&inner,
                          pt_random_below(r, 9) == 0 ? (uint64_t)INT64_MIN >> (i % 3) : 1000 + i);
        put_message(&m, 2, &inner);
        for (size_t l = 0; l < p->labels; l++) {
            put_field(&inner, 1, 5 + (p->salt & 2 ? l % (p->names + 1) : 0));
            put_field(&inner, p->salt & 8 ? 3 : 2, p->salt & 8 ? i * l : 1 + l % (p->names + 5));
            put_message(&m, 3, &inner);
        }
        put_message(to, 2, &m);
    }
    pt_buf_done(&inner);
    pt_buf_done(&m);
}

static proportions choose_proportions(pt_random *r)
{
    proportions p = {.names = some_count(r, 200),
                     .name_bytes = some_count(r, 300000),
                     .functions = 1 + some_count(r, 3000),
                     .locations = 1 + some_count(r, 3000),
                     .lines = 1 + some_count(r, 300),
                     .samples = 1 + some_count(r, 3000),
                     .depth = 1 + some_count(r, 100000),
                     .labels = some_count(r, 3000),
                     .values = 1 + some_count(r, 50),
                     .mappings = some_count(r, 300),
                     .salt = pt_random_next(r)};
    size_t *const sizes[] = {&p.names, &p.name_bytes, &p.lines,  &p.samples,
                             &p.depth, &p.labels,     &p.values, &p.mappings};
    for (size_t i = 0; i < sizeof sizes / sizeof sizes[0]; i++) /* one or two are large at a time */
        if (pt_random_below(r, 4) != 0) *sizes[i] = *sizes[i] % 4 + (sizes[i] != &p.labels);
    if (p.names * p.name_bytes > LARGE_BYTES_MAX) p.names = LARGE_BYTES_MAX / p.name_bytes;
    if (p.locations * p.lines > 100000) p.lines = 1 + 100000 / p.locations;
    if (p.samples * (p.depth + p.labels * 4 + p.values) > LARGE_BYTES_MAX)
        p.samples = 1 + LARGE_BYTES_MAX / (p.depth + p.labels * 4 + p.values);
    return p;
}

static void put_proto(pt_random *r, const proportions *p, pt_buf *ret)
{
    ret->size = 0;
    put_samples(r, p, ret);
    put_code(r, p, ret);
    put_names(r, p, ret);
}

static bool halve(size_t *const *sizes, size_t count)
{
    bool is_smaller = false;
    for (size_t i = 0; i < count; i++) {
        is_smaller = is_smaller || *sizes[i] > 1;
        *sizes[i] -= *sizes[i] / 2;
    }
    return is_smaller;
}

/* First there is less of what no two are alike of, which compresses worst; then of the rest. */
static bool make_less(proportions *p)
{
    size_t *const unlike[] = {&p->functions, &p->locations, &p->samples, &p->names, &p->mappings};
    size_t *const alike[] = {&p->lines, &p->depth, &p->labels, &p->values, &p->name_bytes};
    return halve(unlike, sizeof unlike / sizeof unlike[0]) ||
           halve(alike, sizeof alike / sizeof alike[0]);
}

/* ---- one file ---- */

/* Is the gzip of it small? Then *file becomes it. */
static bool squeeze(pt_buf *file)
{
    pt_buf packed = PT_BUF_INIT;
    pt_out out;
    pt_out_to_buf(&out, &packed);
    pt_gzip(file->data, file->size, 9, NULL, &out);
    pt_out_done(&out, NULL);
    const bool fits = packed.size <= PT_SMALL_BYTES_MAX;
    if (fits) {
        pt_buf_done(file);
        *file = packed;
    } else {
        pt_buf_done(&packed);
    }
    return fits;
}

void pt_small_file(pt_random *r, const pt_seeds *seeds, bool is_proto, pt_buf *ret_file)
{
    *ret_file = PT_BUF_INIT;
    pt_buf_reserve(ret_file, 1);
    if (is_proto && pt_random_below(r, 2) == 0) {
        proportions p = choose_proportions(r);
        const bool is_flipped = pt_random_below(r, 8) == 0;
        const pt_random same = *r;
        do {
            *r = same;
            put_proto(r, &p, ret_file);
            if (is_flipped) flip_bytes(r, ret_file);
            if (squeeze(ret_file)) return;
        } while (make_less(&p));
        ret_file->size = 0;
    }
    const pt_buf *const seed = &seeds->items[pt_random_below(r, seeds->count)];
    pt_put(ret_file, seed->data, seed->size);
    const bool is_packed = pt_random_below(r, 3) == 0;
    for (size_t edits = 1 + some_count(r, 6); edits > 0; edits--)
        edit_once(r, ret_file, seeds, is_packed ? 400000 : PT_SMALL_BYTES_MAX);
    if (ret_file->size > LARGE_BYTES_MAX) ret_file->size = LARGE_BYTES_MAX;
    if (is_packed && ret_file->size > 0 && squeeze(ret_file)) return;
    if (ret_file->size > PT_SMALL_BYTES_MAX) ret_file->size = PT_SMALL_BYTES_MAX;
}
