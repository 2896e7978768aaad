/* jemalloc.c: reads jemalloc's heap profiles.
 *
 *   heap_v2/524288                       sampled by a Poisson process, mean in bytes
 *     t*: 28106: 56637512 [0: 0]         all threads: in use [allocated]
 *     t3: 28106: 56637512 [0: 0] worker  a thread, and its name
 *   @ 0x5f86da8 0x5f5a1dc                return addresses
 *     t*: 13: 6688 [0: 0]
 *     t3: 13: 6688 [0: 0]
 *
 *   MAPPED_LIBRARIES:
 *
 * Numbers are scaled like those of heap_v2 in formats/heap.c, as in jeprof. If a stack lists its
 * threads, each thread has a sample with a label. The samples share the scale factor of their
 * stack, so that they add up to the scaled line t*. */
#include "formats/heap.h"

#include <stdlib.h>
#include <string.h>

#include "base/grow.h"

static bool parse_jemalloc_header(pt_span line, pt_heap_kind *ret)
{
    line = pt_span_trim(line);
    ret->sampled = true;
    return pt_span_skip(&line, "heap_v2/") && pt_span_number(&line, false, &ret->period) &&
           line.size == 0;
}

static int jemalloc_probe(const pt_probe_input *input)
{
    pt_heap_kind h;
    return parse_jemalloc_header(pt_legacy_first_line(input), &h) ? 95 : 0;
}

/* Parses "t*: FIGURES" or "tN: FIGURES [NAME]"; *ret_thread is -1 for t*, which means all
 * threads. */
static bool parse_thread_line(pt_span s, int64_t *ret_thread, pt_heap_figures *f, pt_span *ret_name)
{
    if (!pt_span_skip(&s, "t")) return false;
    if (pt_span_skip(&s, "*"))
        *ret_thread = -1;
    else if (!pt_span_number(&s, false, ret_thread))
        return false;
    if (!pt_span_skip(&s, ":") || !pt_heap_parse_figures(&s, false, f)) return false;
    *ret_name = pt_span_trim(s);
    return true;
}

typedef struct {
    int64_t thread;
    pt_heap_figures f;
} share;

/* A stack, with the numbers of all threads together and of each thread. */
typedef struct {
    pt_heap_reading r;
    bool open; /* a stack is open */
    bool has_total;
    pt_heap_figures total;
    PT_VECTOR(share) share;
    struct {
        struct thread_name {
            int64_t thread;
            uint32_t name;
        } * items;
        size_t count, cap;
    } name;
} jemalloc;

PT_ORDER(by_thread, struct thread_name, PT_UP(thread));

static pt_labels_id thread_labels(jemalloc *j, const share *s, const pt_heap_figures *total)
{
    pt_label labels[3] = {pt_heap_number_label(j->r.bytes_key, pt_heap_average(&j->r, total)),
                          pt_heap_number_label(j->r.thread_key, s->thread)};
    size_t n = 2;
    const struct thread_name key = {.thread = s->thread};
    const struct thread_name *const found =
        j->name.count > 0 ? bsearch(&key, j->name.items, j->name.count, sizeof key, by_thread)
                          : NULL;
    const uint32_t name = found != NULL ? found->name : 0;
    if (name != 0) {
        labels[n++] = (pt_label){.key = pt_builder_text(j->r.l.b, "thread_name").v,
                                 .kind = PT_LABEL_STRING,
                                 .str = name};
    }
    return pt_builder_labels(j->r.l.b, labels, n);
}

/* Do the numbers of the threads add up to the numbers of the stack? They do not if threads that
 * have ended are missing. */
static bool shares_add_up(const jemalloc *j)
{
    pt_heap_figures sum = {0};
    for (size_t i = 0; i < j->share.count; i++)
        pt_heap_add_figures(&sum, &j->share.items[i].f);
    return sum.inuse_count == j->total.inuse_count && sum.inuse_bytes == j->total.inuse_bytes &&
           sum.alloc_count == j->total.alloc_count && sum.alloc_bytes == j->total.alloc_bytes;
}

/* scaled * figure / whole. */
static int64_t part_of(int64_t scaled, int64_t figure, int64_t whole)
{
    return whole == 0 ? 0 : (int64_t)((__int128)scaled * figure / whole);
}

static void take_part(const jemalloc *j, const pt_heap_figures *f, const int64_t *scaled,
                      int64_t *ret)
{
    const pt_heap_figures *const t = &j->total;
    const int64_t whole[4] = {t->alloc_count, t->alloc_bytes, t->inuse_count, t->inuse_bytes};
    const int64_t part[4] = {f->alloc_count, f->alloc_bytes, f->inuse_count, f->inuse_bytes};
    const size_t first = j->r.h.has_alloc ? 0 : 2;
    for (size_t i = first; i < 4; i++)
        ret[i - first] = part_of(scaled[i - first], part[i], whole[i]);
}

/* Adds a sample for each thread. The last thread's sample gets the rounding error. */
static void add_shares(jemalloc *j, pt_stack_id stack)
{
    int64_t scaled[4] = {0}, left[4];
    const size_t n = j->r.h.has_alloc ? 4 : 2;
    pt_heap_scale(&j->r, &j->total, scaled);
    memcpy(left, scaled, sizeof left);
    for (size_t i = 0; i < j->share.count; i++) {
        const share *const s = &j->share.items[i];
        int64_t values[4] = {0};
        take_part(j, &s->f, scaled, values);
        if (i + 1 == j->share.count) memcpy(values, left, sizeof values);
        for (size_t k = 0; k < n; k++)
            left[k] -= values[k];
        pt_builder_sample(j->r.l.b, stack, thread_labels(j, s, &j->total), values);
    }
}

static void end_stack(jemalloc *j)
{
    if (!j->open) return;
    const pt_stack_id stack = pt_legacy_stack(&j->r.l, true);
    if (!j->has_total) {
        for (size_t i = 0; i < j->share.count; i++)
            pt_heap_add_figures(&j->total, &j->share.items[i].f);
        j->has_total = j->share.count > 0;
    }
    if (j->share.count > 0 && shares_add_up(j))
        add_shares(j, stack);
    else if (j->has_total)
        pt_heap_add_sample(&j->r, &j->total, stack);
    j->open = j->has_total = false;
    j->share.count = 0;
    j->total = (pt_heap_figures){0};
}

static bool take_jemalloc_line(jemalloc *j, pt_span line)
{
    pt_span name;
    share s;
    if (pt_span_skip(&line, "@")) {
        end_stack(j);
        j->open = true;
        return pt_legacy_addresses(&j->r.l, line);
    }
    if (!parse_thread_line(line, &s.thread, &s.f, &name)) return false;
    if (j->open && s.thread < 0) {
        j->total = s.f;
        j->has_total = true;
    } else if (j->open) {
        PT_PUSH(j->share, s);
    } else if (s.thread >= 0 && name.size > 0) {
        PT_PUSH(j->name,
                (struct thread_name){.thread = s.thread,
                                     .name = pt_builder_string(j->r.l.b, name.at, name.size).v});
    }
    return true;
}

/* Do the lines before the first stack have numbers of allocations? */
static bool jemalloc_has_alloc(pt_reader ahead)
{
    pt_span line, name;
    pt_heap_figures f;
    int64_t thread;
    ahead.parent = NULL;
    ahead.error = NULL;
    while (pt_span_line(&ahead, &line)) {
        line = pt_span_trim(line);
        if (pt_span_begins(line, "@")) break;
        if (parse_thread_line(line, &thread, &f, &name)) return pt_heap_has_allocated(&f);
    }
    return false;
}

static pt_status jemalloc_read(pt_reader *reader, pt_builder *b, const pt_read_hooks *hooks,
                               pt_error *reterr)
{
    jemalloc j = {0};
    pt_span line;
    pt_legacy_skip_commands(reader, hooks->diag);
    if (!pt_span_line(reader, &line) || !parse_jemalloc_header(line, &j.r.h))
        return pt_error_set(reterr, PT_ERR_FORMAT, "does not begin with \"heap_v2/\"");
    j.r.h.has_alloc = jemalloc_has_alloc(*reader);
    pt_legacy_init(&j.r.l, b, hooks);
    pt_heap_describe(&j.r);
    bool at_maps = false, sorted = false;
    uint64_t offset = pt_reader_offset(reader);
    while (!at_maps && pt_span_line(reader, &line)) {
        at_maps = pt_span_is_maps(line);
        const pt_span trimmed = pt_span_trim(line);
        if (!at_maps && !pt_span_is_blank(line) && !take_jemalloc_line(&j, trimmed))
            pt_legacy_malformed(&j.r.l, offset);
        if (j.open && !sorted && j.name.count > 0) /* names precede the stacks */
            qsort(j.name.items, j.name.count, sizeof *j.name.items, by_thread);
        sorted |= j.open;
        offset = pt_reader_offset(reader);
    }
    end_stack(&j);
    PT_FREE_ALL(j.share.items, j.name.items);
    return pt_heap_finish(&j.r, reader, at_maps, reterr);
}

const pt_format pt_format_jemalloc = {
    .name = "jemalloc",
    .aliases = "jeprof",
    .summary = "heap profiles of jemalloc, with threads",
    .kind = PT_PROBE_MAGIC,
    .capabilities = PT_CAN_STACKS | PT_CAN_ADDRESSES | PT_CAN_MAPPINGS | PT_CAN_UNITS |
                    PT_CAN_EVENTS | PT_CAN_LABELS,
    .probe = jemalloc_probe,
    .read = jemalloc_read,
};
