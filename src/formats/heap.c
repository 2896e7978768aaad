/* heap.c: reads and writes heap profiles as text: tcmalloc, the gperftools heap profiler, Go.
 *
 *   heap profile:    144:  8498176 [   150:  8600000] @ heap_v2/524288
 *        1:     9216 [     1:     9216] @ 0xc635c8 0x42ecc3     objects: bytes in use [allocated]
 *
 * The word after the @ of the first line is the kind (profile/legacy_profile.go of google/pprof):
 *
 *   heap_v2/R heapz_v2/R   sampled by a Poisson process, on average every R bytes: each number is
 *                          divided by 1 - exp(-size/R), the probability that an object of the
 *                          stack's average size is sampled
 *   heap/R                 the same with R/2
 *   heapprofile            everything was counted
 *   growth growthz fragmentation fragmentationz    everything was counted
 *
 * All addresses are return addresses. Every sample has the label "bytes", the average size.
 *
 * The writer uses "heapprofile", so that scaled numbers are not scaled again. */
#include "formats/heap.h"

#include <inttypes.h>
#include <math.h>
#include <string.h>

/* Parses "N: N [N: N]", with blanks at the places where writers put them. */
bool pt_heap_parse_figures(pt_span *s, bool may_sign, pt_heap_figures *ret)
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

bool pt_heap_has_allocated(const pt_heap_figures *f)
{
    return (f->alloc_count != f->inuse_count && f->alloc_count != 0) ||
           (f->alloc_bytes != f->inuse_bytes && f->alloc_bytes != 0);
}

/* Parses the word after the @. */
static bool parse_kind(pt_span s, pt_heap_kind *h)
{
    static const struct {
        const char *name;
        bool sampled, halved;
    } kinds[] = {
        {"heapz_v2", true, false},       {"heap_v2", true, false}, {"heapprofile", false, false},
        {"growthz", false, false},       {"growth", false, false}, {"fragmentationz", false, false},
        {"fragmentation", false, false}, {"heap", true, true},
    };
    for (size_t i = 0; i < PT_COUNT(kinds); i++) {
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

static bool parse_header(pt_span line, pt_heap_kind *ret)
{
    pt_heap_figures f;
    static const char word[] = "heap profile:";
    const char *const at = memmem(line.at, line.size, word, sizeof word - 1);
    if (at == NULL) return false;
    line.size -= (size_t)(at - line.at);
    line.at = at;
    pt_span_skip(&line, word);
    if (!pt_heap_parse_figures(&line, false, &f)) return false;
    pt_span_skip_blanks(&line);
    if (!pt_span_skip(&line, "@")) return false;
    pt_span_skip_blanks(&line);
    /* In profiles of growth and fragmentation only the first pair is used, as in google/pprof. */
    ret->has_alloc = pt_heap_has_allocated(&f) && pt_span_begins(line, "heap");
    return parse_kind(line, ret);
}

static int probe_heap(const pt_probe_input *input)
{
    pt_heap_kind h;
    return parse_header(pt_legacy_first_line(input), &h) ? 95 : 0;
}

/* ---- Samples ---- */

void pt_heap_describe(pt_heap_reading *r)
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

/* The factor for sampled numbers (see the head of this file); 1 if everything was counted. */
static double factor_of(const pt_heap_kind *h, int64_t count, int64_t bytes)
{
    if (!h->sampled || count == 0 || bytes == 0 || h->period <= 1) return 1;
    const double average = (double)bytes / (double)count;
    return 1 / (1 - exp(-average / (double)h->period));
}

/* Scales the count and the bytes of a pair into ret[2]. A sampled pair without bytes becomes 0. */
static void scale_pair(const pt_heap_reading *r, int64_t count, int64_t bytes, int64_t *ret)
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

pt_label pt_heap_number_label(uint32_t key, int64_t value)
{
    return (pt_label){.key = key, .kind = PT_LABEL_NUMBER, .num = value};
}

void pt_heap_scale(const pt_heap_reading *r, const pt_heap_figures *f, int64_t *values)
{
    if (r->h.has_alloc) {
        scale_pair(r, f->alloc_count, f->alloc_bytes, values);
        scale_pair(r, f->inuse_count, f->inuse_bytes, values + 2);
    } else {
        scale_pair(r, f->inuse_count, f->inuse_bytes, values);
    }
}

int64_t pt_heap_average(const pt_heap_reading *r, const pt_heap_figures *f)
{
    if (f->inuse_count != 0) return f->inuse_bytes / f->inuse_count;
    return r->h.has_alloc && f->alloc_count != 0 ? f->alloc_bytes / f->alloc_count : 0;
}

void pt_heap_add_sample(pt_heap_reading *r, const pt_heap_figures *f, pt_stack_id stack)
{
    int64_t values[4];
    r->odd += (f->inuse_count == 0 && f->inuse_bytes != 0) ||
              (r->h.has_alloc && f->alloc_count == 0 && f->alloc_bytes != 0);
    pt_heap_scale(r, f, values);
    const pt_label label = pt_heap_number_label(r->bytes_key, pt_heap_average(r, f));
    pt_builder_sample(r->l.b, stack, pt_builder_labels(r->l.b, &label, 1), values);
}

static bool take_line(pt_heap_reading *r, pt_span line)
{
    pt_heap_figures f;
    if (!pt_heap_parse_figures(&line, true, &f)) return false;
    pt_span_skip_blanks(&line);
    if (!pt_span_skip(&line, "@") || !pt_legacy_addresses(&r->l, line)) return false;
    pt_heap_add_sample(r, &f, pt_legacy_stack(&r->l, true));
    return true;
}

pt_status pt_heap_finish(pt_heap_reading *r, pt_reader *reader, bool at_maps, pt_error *reterr)
{
    const pt_status status = pt_legacy_finish(&r->l, reader, at_maps, reterr);
    pt_diag_add(r->l.hooks->diag, r->odd,
                "samples with bytes but without objects, shown as they are in the file: not scaled "
                "by the sampling rate");
    pt_legacy_done(&r->l);
    return status;
}

static pt_status heap_read(pt_reader *reader, pt_builder *b, const pt_read_hooks *hooks,
                           pt_error *reterr)
{
    pt_heap_reading r = {0};
    pt_span line;
    pt_legacy_skip_commands(reader, hooks->diag);
    if (!pt_span_line(reader, &line) || !parse_header(line, &r.h))
        return pt_error_set(reterr, PT_ERR_FORMAT, "does not begin with \"heap profile:\"");
    pt_legacy_init(&r.l, b, hooks);
    pt_heap_describe(&r);
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
    return pt_heap_finish(&r, reader, at_maps, reterr);
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

static pt_heap_figures figures_of(const pt_profile *p, event_pair inuse, event_pair alloc,
                                  uint32_t i)
{
    const int64_t *const *v = p->sample->value;
    pt_heap_figures f = {.inuse_count = v[inuse.count][i], .inuse_bytes = v[inuse.bytes][i]};
    f.alloc_count = alloc.count != PT_NONE ? v[alloc.count][i] : f.inuse_count;
    f.alloc_bytes = alloc.bytes != PT_NONE ? v[alloc.bytes][i] : f.inuse_bytes;
    return f;
}

static void put_figures(pt_out *out, const pt_heap_figures *f)
{
    pt_outf(out, "%6" PRId64 ": %8" PRId64 " [%6" PRId64 ": %8" PRId64 "] @", f->inuse_count,
            f->inuse_bytes, f->alloc_count, f->alloc_bytes);
}

void pt_heap_add_figures(pt_heap_figures *total, const pt_heap_figures *f)
{
    /* Overflow is ignored: readers use the totals only to find out which of the four numbers
     * exist. */
    __builtin_add_overflow(total->inuse_count, f->inuse_count, &total->inuse_count);
    __builtin_add_overflow(total->inuse_bytes, f->inuse_bytes, &total->inuse_bytes);
    __builtin_add_overflow(total->alloc_count, f->alloc_count, &total->alloc_count);
    __builtin_add_overflow(total->alloc_bytes, f->alloc_bytes, &total->alloc_bytes);
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
                            "holds only the events objects and space, which the profile lacks");
    const event_pair alloc = find_pair(p, "alloc_objects", "alloc_space");
    if (!pt_has_addresses(p, reterr)) return PT_ERR_UNSUPPORTED;
    pt_out *const out = output->open(output->context, "", reterr);
    if (out == NULL) return reterr != NULL ? reterr->status : PT_ERR_SYSTEM;
    pt_heap_figures total = {0};
    for (uint32_t i = 0; i < p->sample->t.count; i++) {
        const pt_heap_figures f = figures_of(p, inuse, alloc, i);
        pt_heap_add_figures(&total, &f);
    }
    /* Readers take the profile to have allocations only if these totals differ from the totals in
     * use. */
    if (alloc.count != PT_NONE && !pt_heap_has_allocated(&total)) total.alloc_count = INT64_MAX;
    pt_out_text(out, "heap profile: ");
    put_figures(out, &total);
    pt_out_text(out, " heapprofile\n");
    uint64_t nameless = 0, negative = 0;
    for (uint32_t i = 0; i < p->sample->t.count; i++) {
        const pt_heap_figures f = figures_of(p, inuse, alloc, i);
        if (f.alloc_count < 0 || f.alloc_bytes < 0) {
            negative++;
            continue;
        }
        put_figures(out, &f);
        nameless += pt_legacy_put_stack(out, p, p->sample->stack[i], 8);
    }
    put_mappings(out, p);
    pt_diag_add(options->diag, nameless, "frames without an address left out");
    pt_diag_add(options->diag, negative, "negative values left out");
    const uint32_t written = alloc.count != PT_NONE ? 4 : 2;
    if (alloc.count == PT_NONE && find_pair(p, "objects", "space").count == PT_NONE)
        pt_diag_add(options->diag, 2,
                    "values inuse_objects and inuse_space renamed to objects and space");
    if (p->event->t.count > written)
        pt_diag_add(options->diag, p->event->t.count - written,
                    "other values of each sample left out");
    const int64_t period = pt_profile_provenance(p)->period;
    if (period > 1)
        pt_diag_add(options->diag, 1,
                    "sampling period of %" PRId64 " bytes left out: the figures are scaled",
                    period);
    return pt_out_flush(out, reterr);
}

const pt_format pt_format_heap = {
    .name = "heap",
    .aliases = "heapprofile gperftools-heap growth fragmentation",
    .extensions = ".heap",
    .summary = "heap, growth and fragmentation profiles of gperftools, tcmalloc and Go, as text",
    .kind = PT_PROBE_MAGIC,
    .capabilities =
        PT_CAN_STACKS | PT_CAN_ADDRESSES | PT_CAN_MAPPINGS | PT_CAN_UNITS | PT_CAN_EVENTS,
    .held_events = "objects/count space/bytes inuse_objects/count inuse_space/bytes "
                   "alloc_objects/count alloc_space/bytes",
    .probe = probe_heap,
    .read = heap_read,
    .write = heap_write,
};
