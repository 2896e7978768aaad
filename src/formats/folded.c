/* folded.c: reads folded ("collapsed") stacks, the text that flame graph scripts exchange.
 *
 *   root;caller;leaf 12            names, outermost first; a count after the last space
 *   root;caller;leaf 12 7          two counts, as difffolded.pl prints them: before and after
 *   # anything                     a comment, if it does not end in a count
 *
 * There is no specification; Brendan Gregg's FlameGraph scripts are the reference. Rules:
 * - Lines end in LF or CRLF. The text is UTF-8 with or without BOM.
 * - A line has two counts only if every line has two; else the first number is part of the last
 * name.
 * - Counts may be negative (differences) or 0. A fraction is rounded to the nearest integer, halves
 *   away from zero, and counted. Exponents are accepted (awk prints 1e+06).
 * - Names are unchanged, with the marks _[k] (kernel), _[i] (inlined) and _[j] (JIT) that
 *   stackcollapse scripts append; _[k] also sets the location's flag. An empty name between two
 *   semicolons is [unknown].
 * - Other lines are skipped and counted.
 *
 * The writer emits a line for each distinct stack of names, in order of first appearance. ";" in a
 * name becomes ":", a line break a space; a frame without a name is [lib+0x12]. */
#include "formats/format.h"

#include "base/grow.h"
#include "base/text.h"
#include "base/units.h"
#include "formats/folded_text.h"
#include "formats/plain.h"

#include <errno.h>
#include <inttypes.h>
#include <math.h>
#include <stdlib.h>

/* ---- Lines ---- */

static bool is_space(char c)
{
    return c == ' ' || c == '\t' || c == '\r' || c == '\v' || c == '\f';
}

static size_t trimmed_size(const char *text, size_t size)
{
    while (size > 0 && is_space(text[size - 1]))
        size--;
    return size;
}

/* Parses a number in the form that stackcollapse and difffolded scripts print; returns false for
 * any other text. */
static bool parse_count(const char *text, size_t size, int64_t *ret_value, bool *ret_rounded)
{
    char copy[64];
    if (size == 0 || size >= sizeof copy) return false;
    size_t i = text[0] == '-' || text[0] == '+';
    if (i == size || text[i] < '0' || text[i] > '9') return false;
    bool whole = true;
    for (; i < size; i++) {
        const char c = text[i];
        if (c >= '0' && c <= '9') continue;
        const bool exponent_sign = (c == '+' || c == '-') && (text[i - 1] | 0x20) == 'e';
        if (c != '.' && (c | 0x20) != 'e' && !exponent_sign) return false;
        whole = false;
    }
    memcpy(copy, text, size);
    copy[size] = '\0';
    char *end;
    errno = 0;
    if (whole) {
        *ret_value = strtoll(copy, &end, 10);
        return errno == 0;
    }
    const double value = strtod(copy, &end);
    if (*end != '\0' || !(fabs(value) < 9.2e18)) return false;
    *ret_value = (int64_t)llround(value);
    if ((double)*ret_value != value) *ret_rounded = true;
    return true;
}

/* Removes the last word of text[0, *size) if it is a count. */
static bool cut_count(const char *text, size_t *size, int64_t *ret_value, bool *ret_rounded)
{
    const size_t end = trimmed_size(text, *size);
    size_t begin = end;
    while (begin > 0 && !is_space(text[begin - 1]))
        begin--;
    if (begin == 0 || !parse_count(text + begin, end - begin, ret_value, ret_rounded)) return false;
    *size = trimmed_size(text, begin);
    return *size > 0;
}

pt_folded_kind pt_folded_parse(const char *text, size_t size, pt_folded_line *ret_line)
{
    pt_folded_line line = {0};
    size = trimmed_size(text, size);
    if (size == 0) return PT_FOLDED_EMPTY;
    line.stack_bytes = size;
    if (!cut_count(text, &line.stack_bytes, &line.last, &line.last_rounded))
        return text[0] == '#' ? PT_FOLDED_COMMENT : PT_FOLDED_INVALID;
    line.first_stack_bytes = line.stack_bytes;
    line.has_two = cut_count(text, &line.first_stack_bytes, &line.first, &line.first_rounded);
    *ret_line = line;
    return PT_FOLDED_STACK;
}

/* A reader of the text without UTF-8's byte order mark. */
static pt_reader open_text(const uint8_t *data, size_t size)
{
    pt_reader text;
    const size_t mark = size >= 3 && memcmp(data, "\xef\xbb\xbf", 3) == 0 ? 3 : 0;
    pt_reader_init(&text, data + mark, size - mark, NULL);
    return text;
}

/* ---- Probing ---- */

static bool is_named(const char *name)
{
    return name != NULL && (pt_ends(name, ".folded") || pt_ends(name, ".collapsed"));
}

static int probe_folded(const pt_probe_input *input)
{
    pt_reader text = open_text(input->head, input->head_bytes);
    const bool whole = input->file_bytes <= input->head_bytes;
    unsigned stacks = 0, deep = 0, invalid = 0;
    bool is_text = pt_reader_left(&text) > 0 && *text.pos != '{' && *text.pos != '<';
    size_t size;
    const char *line;
    while (is_text && (line = pt_read_line(&text, &size)) != NULL) {
        if (!whole && pt_reader_at_end(&text)) break; /* the head may end inside the line */
        if (memchr(line, '\0', size) != NULL) is_text = false;
        pt_folded_line parsed;
        const pt_folded_kind kind = pt_folded_parse(line, size, &parsed);
        stacks += kind == PT_FOLDED_STACK;
        invalid += kind == PT_FOLDED_INVALID;
        deep += kind == PT_FOLDED_STACK && memchr(line, ';', parsed.stack_bytes) != NULL;
    }
    if (!is_text || stacks == 0 || invalid > stacks) return 0;
    if (deep > 0) return invalid == 0 ? 70 : 50;
    /* No line has a stack of several names. Most such texts, whose lines end in numbers, are not
     * stacks, so only the file's name can identify the format. */
    return invalid == 0 && is_named(input->name) ? 50 : 0;
}

/* ---- Reading ---- */

typedef struct {
    pt_builder *builder;
    const pt_read_hooks *hooks;
    bool two_counts;
    uint32_t *location_of; /* string id -> location + 1; 0 = none yet */
    size_t location_cap;
    uint64_t invalid, first_invalid, rounded, unnamed;
} folded_reader;

/* Does every stack line have two counts? */
static bool all_have_two(pt_reader text)
{
    size_t size, stacks = 0;
    const char *line;
    while ((line = pt_read_line(&text, &size)) != NULL) {
        pt_folded_line parsed;
        if (pt_folded_parse(line, size, &parsed) != PT_FOLDED_STACK) continue;
        if (!parsed.has_two) return false;
        stacks++;
    }
    return stacks > 0;
}

static uint32_t location_of(folded_reader *r, const char *name, size_t size)
{
    if (size == 0) {
        r->unnamed++;
        name = "[unknown]";
        size = strlen(name);
    }
    const uint32_t string = pt_builder_string(r->builder, name, size).v;
    if (string >= r->location_cap) {
        const size_t old = r->location_cap;
        r->location_of =
            pt_grow(r->location_of, &r->location_cap, (size_t)string + 1, sizeof *r->location_of);
        memset(r->location_of + old, 0, (r->location_cap - old) * sizeof *r->location_of);
    }
    if (r->location_of[string] != 0) return r->location_of[string] - 1;
    const pt_function function = {.name = string};
    const pt_line line = {.function = pt_builder_append_function(r->builder, &function).v};
    const pt_location location = {.mapping = PT_NONE,
                                  .flags = pt_ends_n(name, size, "_[k]") ? PT_LOCATION_KERNEL : 0};
    const uint32_t row = pt_builder_append_location(r->builder, &location, &line, 1).v;
    r->location_of[string] = row + 1;
    return row;
}

static void add_stack(folded_reader *r, const char *names, size_t size, const int64_t *values)
{
    size_t depth = 1;
    for (size_t i = 0; i < size; i++)
        depth += names[i] == ';';
    uint32_t *const frames = pt_builder_stack_space(r->builder, depth);
    const char *const end = names + size;
    for (size_t left = depth; left > 0; left--) {
        const char *const semicolon = memchr(names, ';', (size_t)(end - names));
        const char *const name_end = semicolon ? semicolon : end;
        frames[left - 1] = location_of(r, names, (size_t)(name_end - names));
        names = name_end + 1;
    }
    const pt_stack_id stack = pt_builder_stack_commit(r->builder, depth, PT_STACK_END_UNKNOWN);
    pt_builder_sample(r->builder, stack, PT_NO_LABELS, values);
}

static void read_lines(folded_reader *r, pt_reader *text)
{
    size_t size;
    const char *line;
    for (uint64_t number = 1; (line = pt_read_line(text, &size)) != NULL; number++) {
        if (number % 4096 == 0 && r->hooks->reach != NULL)
            r->hooks->reach(r->hooks->context, pt_reader_offset(text));
        pt_folded_line parsed;
        switch (pt_folded_parse(line, size, &parsed)) {
        case PT_FOLDED_EMPTY:
        case PT_FOLDED_COMMENT: break;
        case PT_FOLDED_INVALID:
            if (r->invalid++ == 0) r->first_invalid = number;
            break;
        case PT_FOLDED_STACK:
            r->rounded += parsed.last_rounded || (r->two_counts && parsed.first_rounded);
            if (r->two_counts)
                add_stack(r, line, parsed.first_stack_bytes,
                          (int64_t[]){parsed.first, parsed.last});
            else
                add_stack(r, line, parsed.stack_bytes, &parsed.last);
        }
    }
}

static pt_status conclude_profile(const folded_reader *r, pt_error *reterr)
{
    if (pt_builder_sample_count(r->builder) == 0)
        return pt_error_set(reterr, PT_ERR_FORMAT, "no line of the form \"name;name;name count\"");
    pt_diag_add(r->hooks->diag, r->invalid,
                "lines without a folded stack skipped (the first is line %" PRIu64 ")",
                r->first_invalid);
    pt_diag_add(r->hooks->diag, r->rounded, "counts with a fraction rounded");
    pt_diag_add(r->hooks->diag, r->unnamed, "frames with an empty name read as [unknown]");
    if (r->invalid > 0)
        return pt_error_set(reterr, PT_ERR_DAMAGED,
                            "line %" PRIu64 " is not a folded stack; kept %s", r->first_invalid,
                            pt_count_noun(pt_builder_sample_count(r->builder), "samples").text);
    return PT_OK;
}

static pt_status folded_read(pt_reader *reader, pt_builder *builder, const pt_read_hooks *hooks,
                             pt_error *reterr)
{
    pt_reader text = open_text(reader->pos, pt_reader_left(reader));
    folded_reader r = {.builder = builder, .hooks = hooks, .two_counts = all_have_two(text)};
    if (r.two_counts) {
        pt_plain_event(builder, "before", "count");
        pt_plain_event(builder, "after", "count");
    } else {
        pt_plain_event(builder, "samples", "count");
    }
    read_lines(&r, &text);
    const pt_status status = conclude_profile(&r, reterr);
    free(r.location_of);
    return status;
}

const pt_format pt_format_folded = {
    .name = "folded",
    .aliases = "collapsed stackcollapse",
    .extensions = ".folded .collapsed",
    .summary = "folded (collapsed) stacks: flame graph scripts, inferno, async-profiler",
    .kind = PT_PROBE_HEURISTIC,
    .capabilities = PT_CAN_STACKS | PT_CAN_NAMES,
    .held_events = "samples/count before/count after/count",
    .probe = probe_folded,
    .read = folded_read,
    .write = pt_folded_write,
};
