/* counts.c: reads Go's text profiles that count stacks: goroutine, threadcreate and others.
 *
 *   goroutine profile: total 7
 *   3 @ 0x44cb3 0x45045 0x45323
 *   # labels: {"handler":"/api", "user":"9"}                      debug=1
 *   #<tab>0x44cb2<tab>runtime.gopark+0x12<tab>/usr/lib/go/src/runtime/proc.go:381
 *
 * Rule: parseGoCount of google/pprof (profile/legacy_profile.go). All addresses are return
 * addresses. The comments hold names and labels, which google/pprof ignores; they are read with
 * hooks->annotate. */
#include "formats/legacy.h"

#include <ctype.h>
#include <stdlib.h>
#include <string.h>

#include "base/grow.h"
#include "base/text.h"

/* Parses the line "NAME profile: total N"; the name has no blanks. */
static bool parse_header(pt_span line, pt_span *ret_name)
{
    static const char word[] = " profile: total ";
    const char *const at = memmem(line.at, line.size, word, sizeof word - 1);
    if (at == NULL || at == line.at) return false;
    pt_span total = {at + sizeof word - 1, line.size - (size_t)(at - line.at) - (sizeof word - 1)};
    *ret_name = (pt_span){line.at, (size_t)(at - line.at)};
    for (size_t i = 0; i < ret_name->size; i++) {
        if ((unsigned char)ret_name->at[i] <= ' ') return false;
    }
    if (total.size == 0) return false;
    return !PT_ANY(i, total.size, !isdigit((unsigned char)total.at[i]));
}

/* Reads the first line that is neither empty nor a comment. */
static bool first_line(pt_reader *r, pt_span *ret_line)
{
    while (pt_span_line(r, ret_line)) {
        if (!pt_span_is_blank(*ret_line)) return true;
    }
    return false;
}

static int probe_counts(const pt_probe_input *input)
{
    pt_reader r;
    pt_span line, name;
    pt_reader_init(&r, input->head, input->head_bytes, NULL);
    return first_line(&r, &line) && parse_header(line, &name) ? 90 : 0;
}

/* ---- Labels ---- */

/* State of the reader, with a sample whose comments may follow. */
typedef struct {
    pt_legacy l;
    bool open;
    pt_stack_id stack;
    int64_t count;
    PT_VECTOR(pt_label) labels;
} reading;

static void put_utf8(pt_buf *buf, uint32_t c)
{
    if (c < 0x80) {
        pt_put_u8(buf, (uint8_t)c);
        return;
    }
    const unsigned more = c < 0x800 ? 1 : c < 0x10000 ? 2 : 3;
    static const uint8_t lead[] = {0, 0xc0, 0xe0, 0xf0};
    pt_put_u8(buf, (uint8_t)(lead[more] | c >> 6 * more));
    for (unsigned i = more; i-- > 0;)
        pt_put_u8(buf, (uint8_t)(0x80 | (c >> 6 * i & 0x3f)));
}

/* Decodes an escape of Go's %q after the backslash; false if it is invalid. */
static bool take_escape(pt_span *s, pt_buf *buf)
{
    static const char letters[] = "abfnrtv\\\"'", values[] = "\a\b\f\n\r\t\v\\\"'";
    if (s->size == 0) return false;
    const char c = *s->at;
    const char *const letter = strchr(letters, c);
    const unsigned digits = c == 'x' ? 2 : c == 'u' ? 4 : c == 'U' ? 8 : 0;
    if (c == '\0' || s->size < 1 + digits || (letter == NULL && digits == 0)) return false;
    if (letter != NULL) {
        pt_put_u8(buf, (uint8_t)values[letter - letters]);
    } else {
        uint32_t value = 0;
        for (unsigned i = 1; i <= digits; i++) {
            if (pt_hex_digit(s->at[i]) < 0) return false;
            value = value << 4 | (uint32_t)pt_hex_digit(s->at[i]);
        }
        if (c == 'x')
            pt_put_u8(buf, (uint8_t)value);
        else if (value < 0x110000)
            put_utf8(buf, value);
    }
    s->at += 1 + digits;
    s->size -= 1 + digits;
    return true;
}

static bool take_quoted(reading *r, pt_span *s, uint32_t *ret_string)
{
    PT_AUTO(pt_buf) buf = PT_BUF_INIT;
    bool ok = pt_span_skip(s, "\"");
    while (ok && s->size > 0 && *s->at != '"') {
        if (*s->at == '\\') {
            s->at++;
            s->size--;
            ok = take_escape(s, &buf);
        } else {
            pt_put_u8(&buf, (uint8_t)*s->at++);
            s->size--;
        }
    }
    ok = ok && pt_span_skip(s, "\"");
    if (ok)
        *ret_string =
            pt_builder_string(r->l.b, buf.size > 0 ? (const char *)buf.data : "", buf.size).v;
    return ok;
}

/* Parses {"KEY":"VALUE", ...}. */
static void take_labels(reading *r, pt_span s)
{
    if (!pt_span_skip(&s, "{")) return;
    do {
        pt_label label = {.kind = PT_LABEL_STRING};
        pt_span_skip_blanks(&s);
        if (!take_quoted(r, &s, &label.key) || !pt_span_skip(&s, ":") ||
            !take_quoted(r, &s, &label.str))
            return;
        PT_PUSH(r->labels, label);
    } while (pt_span_skip(&s, ","));
}

/* ---- Samples ---- */

static void commit_sample(reading *r)
{
    if (!r->open) return;
    const pt_labels_id labels = r->labels.count > 0
                                    ? pt_builder_labels(r->l.b, r->labels.items, r->labels.count)
                                    : PT_NO_LABELS;
    pt_builder_sample(r->l.b, r->stack, labels, &r->count);
    r->open = false;
    r->labels.count = 0;
}

/* Parses "3 @ 0x44cb3 0x45045". Go writes "3 @" for threads with an unknown stack; the count is
 * kept with an empty stack. */
static bool take_sample(reading *r, pt_span line)
{
    int64_t count;
    if (!pt_span_number(&line, false, &count) || !pt_span_skip(&line, " @")) return false;
    if (!pt_legacy_addresses(&r->l, line)) return false;
    r->stack = pt_legacy_stack(&r->l, true);
    r->count = count;
    r->open = true;
    return true;
}

static void take_comment(reading *r, pt_span line)
{
    if (!r->open || !r->l.hooks->annotate) return;
    if (pt_span_skip(&line, "# labels: "))
        take_labels(r, line);
    else
        pt_legacy_comment(&r->l, line);
}

static pt_status counts_read(pt_reader *reader, pt_builder *b, const pt_read_hooks *hooks,
                             pt_error *reterr)
{
    reading r = {0};
    pt_span line, name;
    if (!first_line(reader, &line) || !parse_header(line, &name))
        return pt_error_set(reterr, PT_ERR_FORMAT, "does not begin with \"NAME profile: total\"");
    pt_legacy_init(&r.l, b, hooks);
    PT_FREE char *type = pt_strndup(name.at, name.size);
    pt_legacy_event(&r.l, type, NULL);
    pt_legacy_period(&r.l, type, "count", 1);
    pt_legacy_drop_frames(b, PT_LEGACY_CPU);
    bool at_maps = false, more = true;
    uint64_t offset = pt_reader_offset(reader);
    while (more && pt_span_line(reader, &line)) {
        at_maps = pt_span_is_maps(line);
        if (at_maps || pt_span_begins(line, "---")) {
            more = false;
        } else if (pt_span_is_blank(line)) {
            take_comment(&r, line);
        } else {
            commit_sample(&r);
            if (!take_sample(&r, line)) pt_legacy_malformed(&r.l, offset);
        }
        offset = pt_reader_offset(reader);
    }
    commit_sample(&r);
    const pt_status status = pt_legacy_finish(&r.l, reader, at_maps, reterr);
    free(r.labels.items);
    pt_legacy_done(&r.l);
    return status;
}

const pt_format pt_format_counts = {
    .name = "counts",
    .aliases = "goroutine threadcreate",
    .summary = "Go's goroutine, threadcreate and other counts of stacks, as text",
    .kind = PT_PROBE_MAGIC,
    .capabilities =
        PT_CAN_STACKS | PT_CAN_ADDRESSES | PT_CAN_MAPPINGS | PT_CAN_UNITS | PT_CAN_LABELS,
    .probe = probe_counts,
    .read = counts_read,
};
