/* threadz.c: reads the stacks of all threads, as text (gperftools' /pprof/thread and similar).
 *
 *   --- threadz 1 ---
 *
 *   --- Thread 7f794ab90940 (name: main/14748) stack: ---
 *     PC:  0x00bc8f1c: helper(arg *)
 *     0x0040be31: main
 *       creator: 0xa45b96 0xa460b4
 *   --- Thread 7f7948978700 (name: thread3/14759) stack: ---
 *     [same as previous thread]
 *   --- Memory map: ---
 *
 * Rule: parseThread of google/pprof (profile/legacy_profile.go): a sample for each thread, from all
 * 0x numbers of its lines; a thread that is the same as the previous thread increases the count of
 * the previous sample. The first address is the thread's pc, the others are return addresses.
 *
 * With hooks->annotate, the names after the addresses are read, and each thread is a sample of its
 * own with the labels "thread" (its number) and "thread_name". */
#include "formats/legacy.h"

#include <string.h>

typedef struct {
    pt_legacy l;
    pt_stack_id last; /* stack of the previous thread */
    bool has_last;
    int64_t same; /* number of further threads with that stack */
    pt_labels_id labels;
    uint64_t without; /* number of threads "same as previous thread" without a previous thread */
} reading;

/* Parses "--- Thread HEX (name: NAME/NUMBER) stack: ---". */
static bool parse_thread(pt_span line, pt_span *ret_name, int64_t *ret_number)
{
    static const char end[] = ") stack: ---";
    if (!pt_span_skip(&line, "--- Thread ")) return false;
    size_t digits = 0;
    while (digits < line.size && memchr("0123456789abcdefABCDEF", line.at[digits], 22) != NULL)
        digits++;
    line.at += digits;
    line.size -= digits;
    if (digits == 0 || !pt_span_skip(&line, " (name: ")) return false;
    const char *const close = memmem(line.at, line.size, end, sizeof end - 1);
    if (close == NULL) return false;
    const size_t size = (size_t)(close - line.at);
    size_t slash = size;
    while (slash > 0 && line.at[slash - 1] != '/')
        slash--;
    pt_span number = {line.at + slash, size - slash};
    if (slash == 0 || !pt_span_number(&number, false, ret_number) || number.size != 0) return false;
    *ret_name = (pt_span){line.at, slash - 1};
    return true;
}

/* Is the line "--- threadz N ---"? */
static bool is_threadz(pt_span line)
{
    int64_t number;
    return pt_span_skip(&line, "--- threadz ") && pt_span_number(&line, false, &number) &&
           pt_span_begins(line, " ---");
}

static bool is_header(pt_span line)
{
    pt_span name;
    int64_t number;
    return is_threadz(line) || parse_thread(line, &name, &number);
}

/* Reads the first line that is neither empty, nor a comment, nor a command such as %warn. */
static bool first_line(pt_reader *r, pt_span *ret_line)
{
    while (pt_span_line(r, ret_line)) {
        if (!pt_span_is_blank(*ret_line) && *ret_line->at != '%') return true;
    }
    return false;
}

static int probe_threadz(const pt_probe_input *input)
{
    pt_reader r;
    pt_span line;
    pt_reader_init(&r, input->head, input->head_bytes, NULL);
    return first_line(&r, &line) && is_header(line) ? 95 : 0;
}

/* ---- Threads ---- */

static void commit_last(reading *r)
{
    if (!r->has_last) return;
    const int64_t value = 1 + r->same;
    pt_builder_sample(r->l.b, r->last, r->labels, &value);
    r->has_last = false;
    r->same = 0;
}

static pt_labels_id labels_of(reading *r, pt_span name, int64_t number)
{
    pt_builder *const b = r->l.b;
    const pt_label labels[2] = {
        {.key = pt_builder_text(b, "thread").v, .kind = PT_LABEL_NUMBER, .num = number},
        {.key = pt_builder_text(b, "thread_name").v,
         .kind = PT_LABEL_STRING,
         .str = pt_builder_string(b, name.at, name.size).v},
    };
    return pt_builder_labels(b, labels, 2);
}

/* Parses the name in "[PC:] 0xADDRESS: NAME", which belongs to the last address read. */
static void take_name(reading *r, pt_span line)
{
    const char *const at = memmem(line.at, line.size, ": ", 2);
    pt_span s = pt_span_trim(line);
    if (pt_span_skip(&s, "PC:")) pt_span_skip_blanks(&s);
    if (!r->l.hooks->annotate || at == NULL || !pt_span_begins(s, "0x")) return;
    const char *const colon = memchr(s.at, ':', s.size);
    if (colon == NULL) return;
    const size_t skip = (size_t)(colon + 1 - s.at);
    const pt_span name = pt_span_trim((pt_span){colon + 1, s.size - skip});
    const size_t last = r->l.pcs.count - 1;
    pt_legacy_name(&r->l, r->l.pcs.items[last], last > 0, name, (pt_span){"", 0}, 0);
}

/* Reads the lines of a thread. *line is then the line after them. Returns false at the end of the
 * text. */
static bool take_thread(reading *r, pt_reader *reader, pt_span *line, uint64_t *offset)
{
    bool same = false, more;
    pt_span name;
    int64_t number;
    const bool known = parse_thread(*line, &name, &number);
    pt_legacy_addresses(&r->l, (pt_span){"", 0});
    while (*offset = pt_reader_offset(reader), (more = pt_span_line(reader, line))) {
        const pt_span s = pt_span_trim(*line);
        if (pt_span_begins(s, "---")) break;
        if (memmem(s.at, s.size, "same as previous thread", 23) != NULL) {
            same = true;
            continue;
        }
        const size_t had = r->l.pcs.count;
        if (!pt_legacy_more_addresses(&r->l, s)) pt_legacy_malformed(&r->l, *offset);
        if (r->l.pcs.count == had + 1) take_name(r, s);
    }
    if (same || r->l.pcs.count == 0) {
        r->without += same && !r->has_last;
        if (r->has_last && r->l.hooks->annotate && known) {
            const pt_stack_id stack = r->last;
            commit_last(r);
            r->last = stack;
            r->has_last = true;
            r->labels = labels_of(r, name, number);
        } else {
            r->same += r->has_last;
        }
        return more;
    }
    commit_last(r);
    r->last = pt_legacy_stack(&r->l, false);
    r->has_last = true;
    r->labels = r->l.hooks->annotate && known ? labels_of(r, name, number) : PT_NO_LABELS;
    return more;
}

static pt_status threadz_read(pt_reader *reader, pt_builder *b, const pt_read_hooks *hooks,
                              pt_error *reterr)
{
    reading r = {0};
    pt_span line, name;
    int64_t number;
    if (!first_line(reader, &line) || !is_header(line))
        return pt_error_set(reterr, PT_ERR_FORMAT, "does not begin with \"--- threadz\"");
    pt_legacy_init(&r.l, b, hooks);
    pt_legacy_event(&r.l, "thread", NULL);
    pt_legacy_period(&r.l, "thread", "count", 1);
    pt_legacy_drop_frames(b, PT_LEGACY_CPU);
    bool more = true;
    uint64_t offset = pt_reader_offset(reader);
    if (is_threadz(line)) {
        while ((more = pt_span_line(reader, &line)) && !pt_span_begins(line, "-"))
            offset = pt_reader_offset(reader);
    }
    while (more && !pt_span_is_maps(line) && !pt_span_begins(line, "---- no stack trace for")) {
        if (parse_thread(line, &name, &number)) {
            more = take_thread(&r, reader, &line, &offset);
        } else {
            pt_legacy_malformed(&r.l, offset);
            more = pt_span_line(reader, &line);
        }
    }
    commit_last(&r);
    pt_diag_add(hooks->diag, r.without, "threads the same as a missing previous one left out");
    const pt_status status = pt_legacy_finish(&r.l, reader, more && pt_span_is_maps(line), reterr);
    pt_legacy_done(&r.l);
    return status;
}

const pt_format pt_format_threadz = {
    .name = "threadz",
    .aliases = "gperftools-thread",
    .summary = "the stacks of all threads, as text (gperftools)",
    .kind = PT_PROBE_MAGIC,
    .capabilities = PT_CAN_STACKS | PT_CAN_ADDRESSES | PT_CAN_MAPPINGS | PT_CAN_UNITS,
    .probe = probe_threadz,
    .read = threadz_read,
};
