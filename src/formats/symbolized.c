/* symbolized.c: reads and writes the "raw" files of the Perl pprof: a gperftools profile preceded
 * by its names.
 *
 *   --- symbol
 *   binary=/usr/bin/prog
 *   0x40156a main--helper                names of an address: the caller first, then the
 *   ---                                  functions inlined into it
 *   --- profile
 *   (a gperftools CPU profile; or, without that line, a text profile of heap or contention)
 *
 * The Perl pprof names adjusted addresses: a caller's is one byte before the return address. In
 * profiles that the Perl pprof wrote itself, the stacks also have adjusted addresses; in profiles
 * that the Perl pprof fetched and copied, the stacks have return addresses. The reader decides by
 * the names: either the callers' addresses have names, or the addresses one byte before them.
 * Profiles that the Perl pprof wrote itself have no true period: it writes 1 us.
 *
 * Rule: PrintSymbolizedProfile, PrintProfileData, ReadSymbols and FixCallerAddresses of gperftools'
 * pprof 2.0. */
#include <ctype.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "base/grow.h"
#include "base/hash.h"
#include "formats/legacy.h"
#include "formats/procmaps.h"

static const char symbol_marker[] = "symbol";

/* Does the line consist of "---", blanks and the word? */
static bool is_marker(pt_span line, const char *word)
{
    if (!pt_span_skip(&line, "---")) return false;
    pt_span_skip_blanks(&line);
    return pt_span_begins(line, word);
}

static int probe_symbolized(const pt_probe_input *input)
{
    return is_marker(pt_legacy_first_line(input), symbol_marker) ? 95 : 0;
}

/* ---- Names ---- */

typedef struct {
    uint64_t address;
    pt_span names;
} symbol;

typedef struct {
    PT_VECTOR(symbol) of;
    pt_index index;
    pt_span binary;
    bool closed; /* the line "---" was read */
} symbols;

static const symbol *find_symbol(const symbols *s, uint64_t address)
{
    const uint32_t found =
        PT_INDEX_FIND(&s->index, pt_hash_mix(address, 7), id, s->of.items[id].address == address);
    return found != PT_NONE ? &s->of.items[found] : NULL;
}

/* Parses "0xADDRESS NAMES". */
static bool take_symbol(symbols *s, pt_span line)
{
    uint64_t address = 0;
    if (!pt_span_skip(&line, "0x") || !pt_span_hex(&line, &address)) return false;
    if (line.size == 0 || !isspace((unsigned char)*line.at)) return false;
    const pt_span names = pt_span_trim(line);
    if (names.size == 0 || find_symbol(s, address) != NULL) return true;
    PT_INDEX_PUSH(&s->index, pt_hash_mix(address, 7), s->of, (symbol){address, names});
    return true;
}

static symbols read_symbols(pt_reader *r, pt_diag *diag)
{
    symbols s = {0};
    pt_span line;
    pt_index_init(&s.index);
    while (!s.closed && pt_span_line(r, &line)) {
        if (pt_span_begins(line, "---"))
            s.closed = true;
        else if (pt_span_begins(line, "binary="))
            s.binary = pt_span_trim((pt_span){line.at + 7, line.size - 7});
        else if (!take_symbol(&s, line) && pt_span_trim(line).size > 0)
            pt_diag_add(diag, 1, "unknown lines among the names left out");
    }
    return s;
}

enum { INLINED_MAX = 256, START_DIGITS = 16 };

/* The name without "<000000000040112a>" at its end. This is the function's start address, by which
 * the Perl pprof distinguishes equal names in its tables. */
static pt_span without_start(pt_span name)
{
    const size_t tail = START_DIGITS + 2;
    if (name.size <= tail || name.at[name.size - 1] != '>' || name.at[name.size - tail] != '<')
        return name;
    for (size_t i = 0; i < START_DIGITS; i++)
        if (!isxdigit((unsigned char)name.at[name.size - tail + 1 + i])) return name;
    return (pt_span){name.at, name.size - tail};
}

/* Makes the lines of an address, innermost first; the file lists the outermost first. Returns their
 * number. */
static size_t lines_of(pt_builder *b, pt_span names, pt_line *lines)
{
    size_t n = 0;
    while (names.size > 0 && n < INLINED_MAX) {
        size_t end = names.size;
        const char *at = names.at + names.size;
        for (size_t i = names.size; i-- > 1;) {
            if (names.at[i] != '-' || names.at[i - 1] != '-') continue;
            at = names.at + i + 1;
            end = i - 1;
            break;
        }
        const bool last = at == names.at + names.size && end == names.size;
        const pt_span name =
            without_start(last ? names : (pt_span){at, names.size - (size_t)(at - names.at)});
        if (name.size > 0) {
            const uint32_t text = pt_builder_string(b, name.at, name.size).v;
            const pt_function f = {.name = text, .system_name = text};
            lines[n++] = (pt_line){.function = pt_builder_function(b, &f).v};
        }
        names.size = last ? 0 : end;
    }
    return n;
}

/* ---- The profile inside ---- */

/* A copy of a binary CPU profile, whose words can be changed in place. */
typedef struct {
    uint8_t *bytes;
    size_t size;
    size_t at; /* offset of the next record */
    unsigned word_bytes;
    bool big_endian;
} cpu_copy;

static uint64_t word_at(const cpu_copy *w, size_t at)
{
    pt_reader r;
    pt_reader_init(&r, w->bytes + at, w->size - at, NULL);
    pt_reader_set_word(&r, w->word_bytes);
    pt_reader_set_order(&r, w->big_endian);
    return pt_read_word(&r);
}

static void add_to_word(cpu_copy *w, size_t at, int64_t delta)
{
    const uint64_t value = word_at(w, at) + (uint64_t)delta;
    for (unsigned i = 0; i < w->word_bytes; i++) {
        const unsigned shift = 8 * (w->big_endian ? w->word_bytes - 1 - i : i);
        w->bytes[at + i] = (uint8_t)(value >> shift);
    }
}

/* Finds word size and byte order by the header, as formats/gperftools.c does; returns false if the
 * header is invalid. */
static bool find_word_format(cpu_copy *w)
{
    for (unsigned variant = 0; variant < 4; variant++) {
        w->word_bytes = variant < 2 ? 4 : 8;
        w->big_endian = variant % 2 == 1;
        if (w->size < 5 * (size_t)w->word_bytes) continue;
        const uint64_t slots = word_at(w, w->word_bytes);
        if (word_at(w, 0) != 0 || slots < 3 || slots >= 1 << 16 ||
            word_at(w, 2 * (size_t)w->word_bytes) != 0 ||
            word_at(w, 3 * (size_t)w->word_bytes) == 0)
            continue;
        w->at = (2 + (size_t)slots) * w->word_bytes;
        return w->at <= w->size;
    }
    return false;
}

/* Finds the callers of the next record; false at the end, at the trailer, or at damage. */
static bool next_callers(cpu_copy *w, size_t *ret_first, uint64_t *ret_count)
{
    const size_t word = w->word_bytes;
    if (w->size - w->at < 3 * word) return false;
    const uint64_t count = word_at(w, w->at), depth = word_at(w, w->at + word);
    if (depth == 0 || depth > (w->size - w->at) / word - 2) return false;
    if (count == 0 && depth == 1 && word_at(w, w->at + 2 * word) == 0) return false;
    *ret_first = w->at + 3 * word;
    *ret_count = depth - 1;
    w->at += (2 + (size_t)depth) * word;
    return true;
}

static void move_callers(cpu_copy w, int64_t delta)
{
    size_t first;
    uint64_t count;
    while (next_callers(&w, &first, &count)) {
        for (uint64_t i = 0; i < count; i++)
            add_to_word(&w, first + i * w.word_bytes, delta);
    }
}

/* Are the addresses of callers in the stacks adjusted? They are if these addresses have names. */
static bool callers_are_moved(cpu_copy w, const symbols *s)
{
    size_t first;
    uint64_t count, moved = 0, as_they_are = 0;
    while (next_callers(&w, &first, &count)) {
        for (uint64_t i = 0; i < count; i++) {
            const uint64_t pc = word_at(&w, first + i * w.word_bytes);
            moved += find_symbol(s, pc) != NULL;
            as_they_are += find_symbol(s, pc - 1) != NULL;
        }
    }
    return moved > as_they_are;
}

/* Does the profile end with its last record? The Perl pprof writes no trailer after it. */
static bool lacks_trailer(cpu_copy w)
{
    size_t first;
    uint64_t count;
    while (next_callers(&w, &first, &count)) {
    }
    return w.at == w.size;
}

static void put_trailer(pt_buf *buf, const cpu_copy *w)
{
    for (uint64_t i = 0; i < 3; i++) {
        if (w->big_endian)
            pt_put_be(buf, i == 1, w->word_bytes);
        else
            pt_put_le(buf, i == 1, w->word_bytes);
    }
}

static pt_status read_inside(const pt_format *format, const void *data, size_t size, pt_builder *b,
                             const pt_read_hooks *hooks, pt_error *reterr)
{
    pt_reader r;
    pt_error error = PT_ERROR_INIT;
    pt_read_hooks inner = *hooks;
    inner.discard = NULL;
    pt_reader_init(&r, data, size, NULL);
    const pt_status status = format->read(&r, b, &inner, &error);
    if (status != PT_OK && reterr != NULL) *reterr = error;
    return status;
}

static pt_status read_cpu(pt_reader *r, const symbols *s, pt_builder *b, const pt_read_hooks *hooks,
                          pt_error *reterr)
{
    static const char ours[] = "\n" PT_PROCMAPS_OURS "raw: no frames of a signal handler\n";
    PT_AUTO(pt_buf) copy = PT_BUF_INIT;
    pt_put(&copy, r->pos, pt_reader_left(r));
    cpu_copy w = {.bytes = copy.data, .size = copy.size};
    const bool found = find_word_format(&w);
    const bool written_by_perl = found && callers_are_moved(w, s);
    if (written_by_perl) {
        move_callers(w, 1);
        if (lacks_trailer(w)) put_trailer(&copy, &w);
        pt_put(&copy, ours, sizeof ours - 1); /* the Perl pprof has removed the handler's frames */
    }
    const pt_status status =
        read_inside(pt_format_find("gperftools"), copy.data, copy.size, b, hooks, reterr);
    if (written_by_perl && pt_builder_provenance(b)->period == 1000)
        pt_diag_add(hooks->diag, 1, "sampling period unknown: pprof --raw wrote this as 1 us");
    return status;
}

static const pt_format *text_inside(const pt_reader *r)
{
    static const char *const names[] = {"heap", "contention"};
    const size_t left = pt_reader_left(r);
    const pt_probe_input input = {
        .head = r->pos, .head_bytes = left < 65536 ? left : 65536, .file_bytes = left, .name = ""};
    for (size_t i = 0; i < PT_COUNT(names); i++) {
        const pt_format *const format = pt_format_find(names[i]);
        if (format->probe(&input) > 0) return format;
    }
    return NULL;
}

static void name_locations(pt_builder *b, const symbols *s)
{
    pt_line lines[INLINED_MAX];
    const uint32_t count = pt_builder_location_count(b);
    for (uint32_t i = 0; i < count; i++) {
        uint32_t flags;
        const uint64_t address = pt_builder_location_address(b, (pt_location_id){i}, &flags);
        const bool is_return = flags & PT_LOCATION_RETURN_ADDR;
        const symbol *found = find_symbol(s, address - is_return);
        if (found == NULL && is_return) found = find_symbol(s, address);
        if (found == NULL) continue;
        const size_t n = lines_of(b, found->names, lines);
        if (n > 0) pt_builder_set_lines(b, (pt_location_id){i}, lines, n);
    }
}

static const char binary_key[] = "symbolized.binary";

static pt_status symbolized_read(pt_reader *r, pt_builder *b, const pt_read_hooks *hooks,
                                 pt_error *reterr)
{
    pt_span line;
    pt_legacy_skip_commands(r, hooks->diag);
    if (!pt_span_line(r, &line) || !is_marker(line, symbol_marker))
        return pt_error_set(reterr, PT_ERR_FORMAT, "does not begin with \"--- symbol\"");
    symbols s = read_symbols(r, hooks->diag);
    pt_legacy_skip_commands(r, hooks->diag);
    pt_reader ahead = *r;
    ahead.parent = NULL;
    if (pt_reader_left(&ahead) > 0 && *ahead.pos == '-' && pt_span_line(&ahead, &line) &&
        is_marker(line, "profile"))
        *r = ahead;
    const pt_format *const text = text_inside(r);
    pt_status status = text != NULL ? read_inside(text, r->pos, pt_reader_left(r), b, hooks, reterr)
                                    : read_cpu(r, &s, b, hooks, reterr);
    if (status == PT_ERR_FORMAT)
        status = pt_error_set(reterr, PT_ERR_FORMAT, "has no profile behind its names");
    if (status == PT_OK || status == PT_ERR_DAMAGED) {
        name_locations(b, &s);
        if (s.binary.size > 0)
            pt_builder_extra(b, pt_builder_text(b, binary_key),
                             pt_builder_string(b, s.binary.at, s.binary.size));
    }
    free(s.of.items);
    pt_index_done(&s.index);
    return status;
}

/* ---- Writing ---- */

/* Writes a name without two dashes or line ends. Returns the number of changes. */
static uint64_t put_name(pt_out *out, const char *name)
{
    uint64_t changed = 0;
    for (const char *c = name; *c != '\0'; c++) {
        const bool dashes = c[0] == '-' && c[1] == '-';
        const bool line_end = *c == '\n' || *c == '\r';
        pt_out_char(out, line_end ? ' ' : *c);
        if (dashes) pt_out_char(out, ' ');
        changed += dashes || line_end;
    }
    return changed > 0;
}

typedef struct {
    uint64_t changed, files, system_names;
} unsaid;

static void put_symbol(pt_out *out, const pt_profile *p, uint32_t location, unsaid *u)
{
    const uint32_t first = p->location->line_first[location],
                   limit = p->location->line_first[location + 1];
    const bool is_return = p->location->flags[location] & PT_LOCATION_RETURN_ADDR;
    pt_outf(out, "0x%016" PRIx64, p->location->address[location] - is_return);
    const char *between = " ";
    for (uint32_t i = limit; i-- > first;) {
        const uint32_t f = p->line->function[i];
        if (f == PT_NONE) continue;
        pt_out_text(out, between);
        u->changed += put_name(out, pt_text(p, p->function->name[f]));
        u->files += p->function->file[f] != 0;
        u->system_names += p->function->system_name[f] != p->function->name[f];
        between = "--";
    }
    pt_out_char(out, '\n');
}

static bool has_name(const pt_profile *p, uint32_t location)
{
    for (uint32_t i = p->location->line_first[location]; i < p->location->line_first[location + 1];
         i++) {
        if (p->line->function[i] != PT_NONE &&
            pt_text(p, p->function->name[p->line->function[i]])[0] != '\0')
            return p->location->address[location] != 0;
    }
    return false;
}

static void put_symbols(pt_out *out, const pt_profile *p, unsaid *u)
{
    const char *binary = p->mapping->t.count > 0 ? pt_text(p, p->mapping->row[0].file) : "";
    for (uint32_t i = 0; i < p->extra->t.count; i++) {
        if (strcmp(pt_text(p, p->extra->key[i]), binary_key) == 0)
            binary = pt_text(p, p->extra->value[i]);
    }
    pt_outf(out, "--- %s\n", symbol_marker);
    if (binary[0] != '\0') {
        pt_out_text(out, "binary=");
        u->changed += put_name(out, binary);
        pt_out_char(out, '\n');
    }
    for (uint32_t i = 0; i < p->location->t.count; i++) {
        if (has_name(p, i)) put_symbol(out, p, i, u);
    }
    pt_out_text(out, "---\n--- profile\n");
}

static pt_out *open_memory(void *context, const char *suffix, pt_error *reterr)
{
    (void)suffix;
    (void)reterr;
    return context;
}

static pt_status symbolized_write(const pt_profile *p, const pt_output *output,
                                  const pt_write_options *options, pt_error *reterr)
{
    PT_AUTO(pt_buf) profile = PT_BUF_INIT;
    pt_out memory;
    pt_out_to_buf(&memory, &profile);
    const pt_output inside = {.context = &memory, .open = open_memory};
    pt_status status = pt_format_find("gperftools")->write(p, &inside, options, reterr);
    pt_out_done(&memory, NULL);
    cpu_copy w = {.bytes = profile.data, .size = profile.size};
    if (status == PT_OK && find_word_format(&w)) move_callers(w, -1);
    pt_out *const out = status == PT_OK ? output->open(output->context, "", reterr) : NULL;
    if (status == PT_OK && out == NULL) status = reterr != NULL ? reterr->status : PT_ERR_SYSTEM;
    if (status == PT_OK) {
        unsaid u = {0};
        put_symbols(out, p, &u);
        pt_out_put(out, profile.data, profile.size);
        pt_diag_add(options->diag, u.changed,
                    "names changed: a name cannot contain two dashes or a line end");
        pt_diag_add(options->diag, u.files, "source files of functions left out");
        pt_diag_add(options->diag, u.system_names,
                    "mangled names of functions left out; the readable ones are written");
        status = pt_out_flush(out, reterr);
    }
    return status;
}

const pt_format pt_format_symbolized = {
    .name = "symbolized",
    .aliases = "raw perl-raw",
    .extensions = ".raw",
    .summary = "gperftools CPU profile with its names (google-pprof --raw)",
    .kind = PT_PROBE_MAGIC,
    .capabilities = PT_CAN_STACKS | PT_CAN_ADDRESSES | PT_CAN_MAPPINGS | PT_CAN_UNITS |
                    PT_CAN_EXTRA | PT_CAN_HEADER | PT_CAN_NAMES | PT_CAN_INLINES,
    .held_events = "samples/count cpu/nanoseconds",
    .probe = probe_symbolized,
    .read = symbolized_read,
    .write = symbolized_write,
};
