/* contention.c: reads and writes contention profiles of gperftools and Go, as text.
 *
 *   --- contentionz 1 ---                or --- contention: or --- mutex:
 *   cycles/second = 3201000000           unit of a sample's first number
 *   sampling period = 100                one of 100 contentions is listed
 *   ms since reset = 16502830            duration
 *   discarded samples = 0
 *          100     10 @ 0xbccc97 0xc61202          cycles, contentions
 *   --- Memory map: ---
 *
 *   --- Stacks:                          begins the older form, whose samples are CYCLES @ 0x...
 *
 * Rule: parseContention of google/pprof (profile/legacy_profile.go): contentions times the period;
 * cycles times the period, divided by the rate in cycles per nanosecond. Without a rate, cycles
 * count as nanoseconds. All addresses are return addresses. A Java profile begins with the same
 * line and then states its format (formats/java.c). */
#include "formats/legacy.h"

#include <inttypes.h>

typedef struct {
    pt_legacy l;
    int64_t hz, period, discarded;
} reading;

static bool is_old_form(pt_span line)
{
    return pt_span_skip(&line, "---") &&
           (pt_span_skip_blanks(&line), pt_span_begins(line, "Stacks:"));
}

static bool is_header(pt_span line)
{
    return pt_span_begins(line, "--- contentionz ") || pt_span_begins(line, "--- mutex:") ||
           pt_span_begins(line, "--- contention:") || is_old_form(line);
}

/* Is the input a Java profile, which states its format before the samples? */
static bool names_a_format(const pt_probe_input *input)
{
    pt_reader r;
    pt_span line, key, value;
    pt_reader_init(&r, input->head, input->head_bytes, NULL);
    while (pt_span_line(&r, &line)) {
        if (!pt_span_pair(line, &key, &value)) continue;
        if (pt_span_is(key, "format") || pt_span_is(key, "resolution")) return true;
    }
    return false;
}

static int probe_contention(const pt_probe_input *input)
{
    return is_header(pt_legacy_first_line(input)) && !names_a_format(input) ? 95 : 0;
}

static bool take_attribute(reading *r, pt_span line)
{
    pt_span key, value;
    int64_t number;
    if (!pt_span_pair(line, &key, &value)) return false;
    const bool is_number = pt_span_number(&value, true, &number) && value.size == 0;
    if (!is_number) return false;
    if (pt_span_is(key, "cycles/second")) {
        r->hz = number;
    } else if (pt_span_is(key, "sampling period")) {
        r->period = number;
        pt_builder_provenance(r->l.b)->period = number;
    } else if (pt_span_is(key, "ms since reset")) {
        int64_t ns;
        if (__builtin_mul_overflow(number, 1000000, &ns)) ns = INT64_MAX;
        pt_builder_provenance(r->l.b)->duration_ns = ns;
    } else if (pt_span_is(key, "discarded samples")) {
        if (number > 0) pt_builder_provenance(r->l.b)->lost = (uint64_t)number;
    } else {
        return false;
    }
    return true;
}

static void add_sample(reading *r, int64_t cycles, int64_t count)
{
    if (r->period > 0) {
        if (r->hz > 0) {
            /* The product is computed first, as in google/pprof. */
            const double product = (double)cycles * (double)r->period;
            const double ghz = (double)r->hz / 1e9;
            cycles = product / ghz < 9.2233720368547748e18 ? (int64_t)(product / ghz) : INT64_MAX;
        }
        if (__builtin_mul_overflow(count, r->period, &count)) count = INT64_MAX;
    }
    const int64_t values[2] = {count, cycles};
    pt_builder_sample(r->l.b, pt_legacy_stack(&r->l, true), PT_NO_LABELS, values);
}

/* Parses "CYCLES COUNT @ 0x..." or, in the older form, "CYCLES @ 0x...". */
static bool take_sample(reading *r, pt_span line)
{
    int64_t cycles, count = 1;
    line = pt_span_trim(line);
    if (!pt_span_number(&line, false, &cycles)) return false;
    pt_span_skip_blanks(&line);
    if (line.size > 0 && *line.at != '@' && !pt_span_number(&line, false, &count)) return false;
    pt_span_skip_blanks(&line);
    if (!pt_span_skip(&line, "@") || !pt_legacy_addresses(&r->l, line)) return false;
    add_sample(r, cycles, count);
    return true;
}

static pt_status contention_read(pt_reader *reader, pt_builder *b, const pt_read_hooks *hooks,
                                 pt_error *reterr)
{
    reading r = {0};
    pt_span line;
    pt_legacy_skip_commands(reader, hooks->diag);
    if (!pt_span_line(reader, &line) || !is_header(line))
        return pt_error_set(reterr, PT_ERR_FORMAT, "does not begin with \"--- contention\"");
    if (is_old_form(line))
        pt_diag_add(hooks->diag, 1,
                    "old contention profile: waits on condition variables count as contention");
    pt_legacy_init(&r.l, b, hooks);
    pt_legacy_event(&r.l, "contentions", NULL);
    pt_legacy_event(&r.l, "delay", "nanoseconds");
    pt_legacy_period(&r.l, "contentions", "count", 1);
    pt_legacy_drop_frames(r.l.b, PT_LEGACY_CONTENTION);
    r.period = 1;
    bool at_maps = false, more = true;
    uint64_t offset = pt_reader_offset(reader);
    while (more && pt_span_line(reader, &line)) {
        at_maps = pt_span_is_maps(line);
        if (at_maps || pt_span_begins(line, "---"))
            more = false;
        else if (pt_span_is_blank(line))
            pt_legacy_comment(&r.l, line);
        else if (!take_sample(&r, line) && !take_attribute(&r, line))
            pt_legacy_malformed(&r.l, offset);
        offset = pt_reader_offset(reader);
    }
    const pt_status status = pt_legacy_finish(&r.l, reader, at_maps, reterr);
    pt_legacy_done(&r.l);
    return status;
}

/* ---- Writing ---- */

static pt_status contention_write(const pt_profile *p, const pt_output *output,
                                  const pt_write_options *options, pt_error *reterr)
{
    const uint32_t count = pt_profile_find_event(p, "contentions");
    const uint32_t delay = pt_profile_find_event(p, "delay/nanoseconds");
    if (count == PT_NONE || delay == PT_NONE)
        return pt_error_set(
            reterr, PT_ERR_UNSUPPORTED,
            "holds only the events contentions and delay/nanoseconds, which the profile lacks");
    if (!pt_has_addresses(p, reterr)) return PT_ERR_UNSUPPORTED;
    pt_out *const out = output->open(output->context, "", reterr);
    if (out == NULL) return reterr != NULL ? reterr->status : PT_ERR_SYSTEM;
    const pt_provenance *const from = pt_profile_provenance(p);
    /* One cycle per nanosecond and a period of 1, so that the values stay unscaled. */
    pt_outf(out,
            "--- contentionz 1 ---\ncycles/second = 1000000000\nsampling period = 1\n"
            "ms since reset = %" PRId64 "\ndiscarded samples = %" PRIu64 "\n",
            from->duration_ns / 1000000, from->lost);
    uint64_t nameless = 0, negative = 0;
    for (uint32_t i = 0; i < p->sample->t.count; i++) {
        const int64_t contentions = p->sample->value[count][i], ns = p->sample->value[delay][i];
        if (contentions < 0 || ns < 0) {
            negative++;
            continue;
        }
        pt_outf(out, "%10" PRId64 " %6" PRId64 " @", ns, contentions);
        nameless += pt_legacy_put_stack(out, p, p->sample->stack[i], 1);
    }
    pt_out_text(out, "--- Memory map: ---\n");
    for (uint32_t i = 0; i < p->mapping->t.count; i++) {
        const pt_mapping *const m = &p->mapping->row[i];
        pt_outf(out, "%08" PRIx64 "-%08" PRIx64 " r-xp %08" PRIx64 " 00:00 0 %s\n", m->start,
                m->limit, m->file_offset, pt_text(p, m->file));
    }
    pt_diag_add(options->diag, nameless, "frames without an address left out");
    pt_diag_add(options->diag, negative, "negative values left out");
    if (p->event->t.count > 2)
        pt_diag_add(options->diag, p->event->t.count - 2, "other values of each sample left out");
    pt_diag_add(options->diag, from->period > 1,
                "sampling period left out: the figures are scaled");
    return pt_out_flush(out, reterr);
}

const pt_format pt_format_contention = {
    .name = "contention",
    .aliases = "gperftools-contention mutex",
    .extensions = ".contention",
    .summary = "contention and mutex profiles of gperftools and Go, as text",
    .kind = PT_PROBE_MAGIC,
    .capabilities = PT_CAN_STACKS | PT_CAN_ADDRESSES | PT_CAN_MAPPINGS | PT_CAN_UNITS |
                    PT_CAN_EVENTS | PT_CAN_HEADER,
    .held_events = "contentions/count delay/nanoseconds",
    .probe = probe_contention,
    .read = contention_read,
    .write = contention_write,
};
