/* heap.c: heap profiles as text: tcmalloc, the gperftools heap profiler, Go, jemalloc.
 *
 *   heap profile:    144:  8498176 [   150:  8600000] @ heap_v2/524288
 *        1:     9216 [     1:     9216] @ 0xc635c8 0x42ecc3     objects: bytes in use [allocated]
 *
 *   heap_v2/524288                                               jemalloc
 *     t*: 28106: 56637512 [0: 0]                                 all threads
 *     t3: 28106: 56637512 [0: 0] worker                          one thread, and its name
 *   @ 0x5f86da8 0x5f5a1dc
 *     t*: 13: 6688 [0: 0]
 *     t3: 13: 6688 [0: 0]
 *
 * What the word behind the @ of the first line says (profile/legacy_profile.go of google/pprof):
 *
 *   heap_v2/R heapz_v2/R   sampled by a Poisson process, every R bytes: each figure is divided by
 *                          the probability that a sample of its stack's average size was taken,
 *                          1 - exp(-size/R)
 *   heap/R                 the same with R/2
 *   heapprofile            everything was counted
 *   growth growthz fragmentation fragmentationz    likewise
 *
 * jemalloc's figures are scaled as heap_v2. Where it tells threads apart each has samples of its
 * own, labelled, that share their stack's factor: they add up to what its line t* gives. All
 * addresses are return addresses. Every sample has the label "bytes", the average size.
 *
 * Writing: as "heapprofile", so that figures which are already scaled are not scaled again. */
#include "formats/legacy.h"

#include <inttypes.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/grow.h"

typedef struct {
    int64_t inuse_count, inuse_bytes, alloc_count, alloc_bytes;
} figures;

typedef struct {
    bool sampled;
    bool has_alloc;
    int64_t period;
} header;

/* "N: N [N: N]" with blanks as the writers have them. */
static bool parse_figures(pt_span *s, bool may_sign, figures *ret)
{
    pt_span_skip_blanks(s);
    if (!pt_span_number(s, may_sign, &ret->inuse_count) || !pt_span_skip(s, ":")) return false;
    pt_span_skip_blanks(s);
    if (!pt_span_number(s, may_sign, &ret->inuse_bytes)) return false;
    pt_span_skip_blanks(s);
    if (!pt_span_skip(s, "[")) return false;
    pt_span_skip_blanks(s);
    if (!pt_span_number(s, false, &ret->alloc_count) || !pt_span_skip(s, ":")) return false;
    pt_span_skip_blanks(s);
    if (!pt_span_number(s, false, &ret->alloc_bytes)) return false;
    pt_span_skip_blanks(s);
    return pt_span_skip(s, "]");
}

/* Are there figures of what was allocated beside those of what is in use? */
static bool tells_allocated(const figures *f)
{
    return (f->alloc_count != f->inuse_count && f->alloc_count != 0) ||
           (f->alloc_bytes != f->inuse_bytes && f->alloc_bytes != 0);
}

/* The word behind the @. */
static bool parse_kind(pt_span s, header *h)
{
    static const struct {
        const char *name;
        bool sampled, halved;
    } kinds[] = {
        {"heapz_v2", true, false},       {"heap_v2", true, false}, {"heapprofile", false, false},
        {"growthz", false, false},       {"growth", false, false}, {"fragmentationz", false, false},
        {"fragmentation", false, false}, {"heap", true, true},
    };
    for (size_t i = 0; i < sizeof kinds / sizeof kinds[0]; i++) {
        pt_span rest = s;
        if (!pt_span_skip(&rest, kinds[i].name)) continue;
        if (rest.size > 0 && *rest.at == '_') return false; /* heap_v3 */
        int64_t period = 0;
        if (pt_span_skip(&rest, "/")) pt_span_number(&rest, false, &period);
        h->sampled = kinds[i].sampled;
        h->period = !h->sampled ? 1 : kinds[i].halved ? period / 2 : period;
        return true;
    }
    return false;
}

static bool parse_header(pt_span line, header *ret)
{
    figures f;
    static const char word[] = "heap profile:";
    const char *const at = memmem(line.at, line.size, word, sizeof word - 1);
    if (at == NULL) return false;
    line.size -= (size_t)(at - line.at);
    line.at = at;
    pt_span_skip(&line, word);
    if (!parse_figures(&line, false, &f)) return false;
    pt_span_skip_blanks(&line);
    if (!pt_span_skip(&line, "@")) return false;
    pt_span_skip_blanks(&line);
    /* Growth and fragmentation have one pair that counts (google/pprof). */
    ret->has_alloc = tells_allocated(&f) && pt_span_begins(line, "heap");
    return parse_kind(line, ret);
}

static int probe(const pt_probe_input *input)
{
    header h;
    return parse_header(pt_legacy_first_line(input), &h) ? 95 : 0;
}

/* ---- Samples ---- */

typedef struct {
    pt_legacy l;
    header h;
    uint32_t bytes_key, thread_key;
    uint64_t odd; /* samples with bytes in no objects */
} reading;

static void describe(reading *r)
{
    if (r->h.has_alloc) {
        pt_legacy_event(&r->l, "alloc_objects", NULL);
        pt_legacy_event(&r->l, "alloc_space", "bytes");
        pt_legacy_event(&r->l, "inuse_objects", NULL);
        pt_legacy_event(&r->l, "inuse_space", "bytes");
    } else {
        pt_legacy_event(&r->l, "objects", NULL);
        pt_legacy_event(&r->l, "space", "bytes");
    }
    pt_legacy_period(&r->l, "space", "bytes", r->h.period);
    pt_legacy_drop_frames(r->l.b, PT_LEGACY_HEAP);
    r->bytes_key = pt_builder_text(r->l.b, "bytes").v;
    r->thread_key = pt_builder_text(r->l.b, "thread").v;
}

/* What one figure of the average size stands for. */
static double factor_of(const header *h, int64_t count, int64_t bytes)
{
    if (!h->sampled || count == 0 || bytes == 0 || h->period <= 1) return 1;
    const double average = (double)bytes / (double)count;
    return 1 / (1 - exp(-average / (double)h->period));
}

/* Both figures of a pair, scaled; a pair with no bytes stands for nothing where it is sampled. */
static void scale_pair(const reading *r, int64_t count, int64_t bytes, int64_t *ret)
{
    ret[0] = count;
    ret[1] = bytes;
    if (count == 0 || !r->h.sampled) return;
    if (bytes == 0) {
        ret[0] = 0;
        return;
    }
    const double factor = factor_of(&r->h, count, bytes);
    if (factor == 1) return;
    ret[0] = pt_legacy_scale(count, factor);
    ret[1] = pt_legacy_scale(bytes, factor);
}

static pt_label number_label(uint32_t key, int64_t value)
{
    return (pt_label){.key = key, .kind = PT_LABEL_NUMBER, .num = value};
}

static void scale_figures(const reading *r, const figures *f, int64_t *values)
{
    if (r->h.has_alloc) {
        scale_pair(r, f->alloc_count, f->alloc_bytes, values);
        scale_pair(r, f->inuse_count, f->inuse_bytes, values + 2);
    } else {
        scale_pair(r, f->inuse_count, f->inuse_bytes, values);
    }
}

static int64_t average_of(const reading *r, const figures *f)
{
    if (f->inuse_count != 0) return f->inuse_bytes / f->inuse_count;
    return r->h.has_alloc && f->alloc_count != 0 ? f->alloc_bytes / f->alloc_count : 0;
}

static void add_sample(reading *r, const figures *f, pt_stack_id stack)
{
    int64_t values[4];
    r->odd += (f->inuse_count == 0 && f->inuse_bytes != 0) ||
              (r->h.has_alloc && f->alloc_count == 0 && f->alloc_bytes != 0);
    scale_figures(r, f, values);
    const pt_label label = number_label(r->bytes_key, average_of(r, f));
    pt_builder_sample(r->l.b, stack, pt_builder_labels(r->l.b, &label, 1), values);
}

static bool take_line(reading *r, pt_span line)
{
    figures f;
    if (!parse_figures(&line, true, &f)) return false;
    pt_span_skip_blanks(&line);
    if (!pt_span_skip(&line, "@") || !pt_legacy_addresses(&r->l, line)) return false;
    add_sample(r, &f, pt_legacy_stack(&r->l, true));
    return true;
}

static pt_status finish(reading *r, pt_reader *reader, bool at_maps, pt_error *reterr)
{
    const pt_status status = pt_legacy_finish(&r->l, reader, at_maps, reterr);
    pt_diag_add(r->l.hooks->diag, r->odd, "samples with bytes in no objects");
    pt_legacy_done(&r->l);
    return status;
}

static pt_status heap_read(pt_reader *reader, pt_builder *b, const pt_read_hooks *hooks,
                           pt_error *reterr)
{
    reading r = {0};
    pt_span line;
    pt_legacy_skip_commands(reader, hooks->diag);
    if (!pt_span_line(reader, &line) || !parse_header(line, &r.h))
        return pt_error_set(reterr, PT_ERR_FORMAT, "does not begin with \"heap profile:\"");
    pt_legacy_init(&r.l, b, hooks);
    describe(&r);
    bool at_maps = false;
    uint64_t offset = pt_reader_offset(reader);
    while (!at_maps && pt_span_line(reader, &line)) {
        if (pt_span_is_blank(line))
            pt_legacy_comment(&r.l, line);
        else if (pt_span_is_maps(line))
            at_maps = true;
        else if (!take_line(&r, pt_span_trim(line)))
            pt_legacy_malformed(&r.l, offset);
        offset = pt_reader_offset(reader);
    }
    return finish(&r, reader, at_maps, reterr);
}

/* ---- Writing ---- */

typedef struct {
    uint32_t count, bytes; /* events; PT_NONE = none */
} event_pair;

static event_pair find_pair(const pt_profile *p, const char *count, const char *bytes)
{
    const event_pair pair = {pt_profile_find_event(p, count), pt_profile_find_event(p, bytes)};
    return pair.count != PT_NONE && pair.bytes != PT_NONE ? pair : (event_pair){PT_NONE, PT_NONE};
}

static figures figures_of(const pt_profile *p, event_pair inuse, event_pair alloc, uint32_t i)
{
    const int64_t *const *v = p->sample->value;
    figures f = {.inuse_count = v[inuse.count][i], .inuse_bytes = v[inuse.bytes][i]};
    f.alloc_count = alloc.count != PT_NONE ? v[alloc.count][i] : f.inuse_count;
    f.alloc_bytes = alloc.bytes != PT_NONE ? v[alloc.bytes][i] : f.inuse_bytes;
    return f;
}

static void put_figures(pt_out *out, const figures *f)
{
    pt_outf(out, "%6" PRId64 ": %8" PRId64 " [%6" PRId64 ": %8" PRId64 "] @", f->inuse_count,
            f->inuse_bytes, f->alloc_count, f->alloc_bytes);
}

static void add_figures(figures *total, const figures *f)
{
    /* The first line is only read to see what there is. */
    __builtin_add_overflow(total->inuse_count, f->inuse_count, &total->inuse_count);
    __builtin_add_overflow(total->inuse_bytes, f->inuse_bytes, &total->inuse_bytes);
    __builtin_add_overflow(total->alloc_count, f->alloc_count, &total->alloc_count);
    __builtin_add_overflow(total->alloc_bytes, f->alloc_bytes, &total->alloc_bytes);
}

/* The frames as return addresses; how many have none. */
static uint64_t put_stack(pt_out *out, const pt_profile *p, uint32_t stack)
{
    uint64_t nameless = 0;
    const uint32_t *const frame = pt_stack_frames(p, stack);
    for (uint32_t i = 0; i < pt_stack_depth(p, stack); i++) {
        const uint64_t address = p->location->address[frame[i]];
        const bool is_return = p->location->flags[frame[i]] & PT_LOCATION_RETURN_ADDR;
        if (address == 0)
            nameless++;
        else
            pt_outf(out, " 0x%08" PRIx64, address + !is_return);
    }
    pt_out_char(out, '\n');
    return nameless;
}

static void put_mappings(pt_out *out, const pt_profile *p)
{
    pt_out_text(out, "\nMAPPED_LIBRARIES:\n");
    for (uint32_t i = 0; i < p->mapping->t.count; i++) {
        const pt_mapping *const m = &p->mapping->row[i];
        pt_outf(out, "%08" PRIx64 "-%08" PRIx64 " r-xp %08" PRIx64 " 00:00 0 %s\n", m->start,
                m->limit, m->file_offset, pt_text(p, m->file));
    }
}

static pt_status heap_write(const pt_profile *p, const pt_output *output,
                            const pt_write_options *options, pt_error *reterr)
{
    event_pair inuse = find_pair(p, "inuse_objects", "inuse_space");
    if (inuse.count == PT_NONE) inuse = find_pair(p, "objects", "space");
    if (inuse.count == PT_NONE)
        return pt_error_set(reterr, PT_ERR_UNSUPPORTED,
                            "holds objects and space, and the profile has no such events");
    const event_pair alloc = find_pair(p, "alloc_objects", "alloc_space");
    bool any_address = p->location->t.count == 0;
    for (uint32_t i = 0; i < p->location->t.count && !any_address; i++)
        any_address = p->location->address[i] != 0;
    if (!any_address)
        return pt_error_set(reterr, PT_ERR_UNSUPPORTED,
                            "holds addresses, and this profile has names only; "
                            "write pprof or folded instead");
    pt_out *const out = output->open(output->context, "", reterr);
    if (out == NULL) return reterr != NULL ? reterr->status : PT_ERR_SYSTEM;
    figures total = {0};
    for (uint32_t i = 0; i < p->sample->t.count; i++) {
        const figures f = figures_of(p, inuse, alloc, i);
        add_figures(&total, &f);
    }
    /* Only if the sums differ does a reader look for what was allocated. */
    if (alloc.count != PT_NONE && !tells_allocated(&total)) total.alloc_count = INT64_MAX;
    pt_out_text(out, "heap profile: ");
    put_figures(out, &total);
    pt_out_text(out, " heapprofile\n");
    uint64_t nameless = 0, negative = 0;
    for (uint32_t i = 0; i < p->sample->t.count; i++) {
        const figures f = figures_of(p, inuse, alloc, i);
        if (f.alloc_count < 0 || f.alloc_bytes < 0) {
            negative++;
            continue;
        }
        put_figures(out, &f);
        nameless += put_stack(out, p, p->sample->stack[i]);
    }
    put_mappings(out, p);
    pt_diag_add(options->diag, nameless, "frames without an address left out");
    pt_diag_add(options->diag, negative, "negative values left out");
    const uint32_t written = alloc.count != PT_NONE ? 4 : 2;
    if (p->event->t.count > written)
        pt_diag_add(options->diag, p->event->t.count - written,
                    "other values of each sample left out");
    const int64_t period = pt_profile_provenance(p)->period;
    if (period > 1)
        pt_diag_add(options->diag, 1,
                    "sampling period of %" PRId64 " bytes: the figures are written as scaled",
                    period);
    return pt_out_flush(out, reterr);
}

static const char *const aliases[] = {"heapprofile", "gperftools-heap", "growth", "fragmentation",
                                      NULL};
static const char *const extensions[] = {".heap", NULL};

const pt_format pt_format_heap = {
    .name = "heap",
    .aliases = aliases,
    .extensions = extensions,
    .summary = "heap, growth and fragmentation profiles of gperftools, tcmalloc and Go, as text",
    .kind = PT_PROBE_MAGIC,
    .capabilities =
        PT_CAN_STACKS | PT_CAN_ADDRESSES | PT_CAN_MAPPINGS | PT_CAN_UNITS | PT_CAN_EVENTS,
    .probe = probe,
    .read = heap_read,
    .write = heap_write,
};

/* ---- jemalloc ---- */

static bool parse_jemalloc_header(pt_span line, header *ret)
{
    line = pt_span_trim(line);
    ret->sampled = true;
    return pt_span_skip(&line, "heap_v2/") && pt_span_number(&line, false, &ret->period) &&
           line.size == 0;
}

static int jemalloc_probe(const pt_probe_input *input)
{
    header h;
    return parse_jemalloc_header(pt_legacy_first_line(input), &h) ? 95 : 0;
}

/* "t*: FIGURES" or "tN: FIGURES [NAME]"; thread -1 is all of them. */
static bool parse_thread_line(pt_span s, int64_t *ret_thread, figures *f, pt_span *ret_name)
{
    if (!pt_span_skip(&s, "t")) return false;
    if (pt_span_skip(&s, "*"))
        *ret_thread = -1;
    else if (!pt_span_number(&s, false, ret_thread))
        return false;
    if (!pt_span_skip(&s, ":") || !parse_figures(&s, false, f)) return false;
    *ret_name = pt_span_trim(s);
    return true;
}

typedef struct {
    int64_t thread;
    figures f;
} share;

/* A stack: what all threads have of it, and what each has. */
typedef struct {
    reading r;
    bool open; /* a stack has begun */
    bool has_total;
    figures total;
    struct {
        share *items;
        size_t count, cap;
    } share;
    struct {
        struct thread_name {
            int64_t thread;
            uint32_t name;
        } * items;
        size_t count, cap;
    } name;
} jemalloc;

static int by_thread(const void *a, const void *b)
{
    const struct thread_name *const x = a, *const y = b;
    return (x->thread > y->thread) - (x->thread < y->thread);
}

static uint32_t name_of_thread(const jemalloc *j, int64_t thread)
{
    const struct thread_name key = {.thread = thread};
    const struct thread_name *const found =
        j->name.count > 0 ? bsearch(&key, j->name.items, j->name.count, sizeof key, by_thread)
                          : NULL;
    return found != NULL ? found->name : 0;
}

static pt_labels_id thread_labels(jemalloc *j, const share *s, const figures *total)
{
    pt_label labels[3] = {number_label(j->r.bytes_key, average_of(&j->r, total)),
                          number_label(j->r.thread_key, s->thread)};
    size_t n = 2;
    const uint32_t name = name_of_thread(j, s->thread);
    if (name != 0) {
        labels[n++] = (pt_label){.key = pt_builder_text(j->r.l.b, "thread_name").v,
                                 .kind = PT_LABEL_STRING,
                                 .str = name};
    }
    return pt_builder_labels(j->r.l.b, labels, n);
}

/* Do the threads' figures add up to the stack's? Threads that have ended may be missing. */
static bool shares_add_up(const jemalloc *j)
{
    figures sum = {0};
    for (size_t i = 0; i < j->share.count; i++)
        add_figures(&sum, &j->share.items[i].f);
    return sum.inuse_count == j->total.inuse_count && sum.inuse_bytes == j->total.inuse_bytes &&
           sum.alloc_count == j->total.alloc_count && sum.alloc_bytes == j->total.alloc_bytes;
}

/* figure / whole of the scaled value. */
static int64_t part_of(int64_t scaled, int64_t figure, int64_t whole)
{
    return whole == 0 ? 0 : (int64_t)((__int128)scaled * figure / whole);
}

static void take_part(const jemalloc *j, const figures *f, const int64_t *scaled, int64_t *ret)
{
    const figures *const t = &j->total;
    const int64_t whole[4] = {t->alloc_count, t->alloc_bytes, t->inuse_count, t->inuse_bytes};
    const int64_t part[4] = {f->alloc_count, f->alloc_bytes, f->inuse_count, f->inuse_bytes};
    const size_t first = j->r.h.has_alloc ? 0 : 2;
    for (size_t i = first; i < 4; i++)
        ret[i - first] = part_of(scaled[i - first], part[i], whole[i]);
}

/* A sample a thread; the last one has what rounding left. */
static void add_shares(jemalloc *j, pt_stack_id stack)
{
    int64_t scaled[4] = {0}, left[4];
    const size_t n = j->r.h.has_alloc ? 4 : 2;
    scale_figures(&j->r, &j->total, scaled);
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
            add_figures(&j->total, &j->share.items[i].f);
        j->has_total = j->share.count > 0;
    }
    if (j->share.count > 0 && shares_add_up(j))
        add_shares(j, stack);
    else if (j->has_total)
        add_sample(&j->r, &j->total, stack);
    j->open = j->has_total = false;
    j->share.count = 0;
    j->total = (figures){0};
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
        PT_GROW(j->share, j->share.count + 1);
        j->share.items[j->share.count++] = s;
    } else if (s.thread >= 0 && name.size > 0) {
        PT_GROW(j->name, j->name.count + 1);
        j->name.items[j->name.count++] = (struct thread_name){
            .thread = s.thread, .name = pt_builder_string(j->r.l.b, name.at, name.size).v};
    }
    return true;
}

/* The lines before the first stack: whether there are figures of all that was allocated. */
static bool jemalloc_has_alloc(pt_reader ahead)
{
    pt_span line, name;
    figures f;
    int64_t thread;
    ahead.parent = NULL;
    ahead.error = NULL;
    while (pt_span_line(&ahead, &line)) {
        line = pt_span_trim(line);
        if (pt_span_begins(line, "@")) break;
        if (parse_thread_line(line, &thread, &f, &name)) return tells_allocated(&f);
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
    describe(&j.r);
    bool at_maps = false, sorted = false;
    uint64_t offset = pt_reader_offset(reader);
    while (!at_maps && pt_span_line(reader, &line)) {
        at_maps = pt_span_is_maps(line);
        const pt_span trimmed = pt_span_trim(line);
        if (!at_maps && !pt_span_is_blank(line) && !take_jemalloc_line(&j, trimmed))
            pt_legacy_malformed(&j.r.l, offset);
        if (j.open && !sorted && j.name.count > 0) /* names come before the stacks */
            qsort(j.name.items, j.name.count, sizeof *j.name.items, by_thread);
        sorted |= j.open;
        offset = pt_reader_offset(reader);
    }
    end_stack(&j);
    free(j.share.items);
    free(j.name.items);
    return finish(&j.r, reader, at_maps, reterr);
}

static const char *const jemalloc_aliases[] = {"jeprof", NULL};
static const char *const jemalloc_extensions[] = {NULL};

const pt_format pt_format_jemalloc = {
    .name = "jemalloc",
    .aliases = jemalloc_aliases,
    .extensions = jemalloc_extensions,
    .summary = "heap profiles of jemalloc, with threads",
    .kind = PT_PROBE_MAGIC,
    .capabilities = PT_CAN_STACKS | PT_CAN_ADDRESSES | PT_CAN_MAPPINGS | PT_CAN_UNITS |
                    PT_CAN_EVENTS | PT_CAN_LABELS,
    .probe = jemalloc_probe,
    .read = jemalloc_read,
};
