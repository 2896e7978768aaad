/* list.c: source and disassembly of the procedures that match a pattern, with samples.
 *
 * Procedures are those of nm.c; a procedure is shown when an address in it has samples. The line of
 * an address is the line in its outermost function. Samples of an address with a line of another
 * file count for the next address with a line of the procedure's file.
 */
#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/file.h"
#include "base/grow.h"
#include "base/plain/ascending.h"
#include "base/program.h"
#include "base/regex.h"
#include "base/text.h"
#include "personality/perl/perl.h"
#include "source/objdump.h"

#define SOURCE_BYTES_MAX    ((uint64_t)64 << 20)
#define PROCEDURE_BYTES_MAX ((uint64_t)16 << 20) /* a longer procedure is no function */

/* ---- Samples by address ---- */

typedef struct {
    uint64_t address;
    double flat, cum;
} cost;

typedef struct {
    pt_perl_session *session;
    cost *items; /* ascending */
    size_t count;
    double total;
} costs;

PT_ORDER(by_address, cost, PT_UP(address));

static costs gather_costs(pt_perl_session *s, const pt_perl_profile *profile)
{
    PT_AUTO(pt_perl_reduced) reduced = {0};
    pt_perl_reduce(s, profile, &reduced); /* nodes are addresses here */
    costs c = {.session = s,
               .items = pt_alloc(reduced.count + 1, sizeof *c.items),
               .count = reduced.count,
               .total = reduced.total};
    for (size_t i = 0; i < reduced.count; i++)
        c.items[i] = (cost){.address = strtoull(pt_perl_text_of(s, reduced.node[i]), NULL, 16),
                            .flat = reduced.flat[i],
                            .cum = reduced.cum[i]};
    PT_SORT(c, by_address);
    return c;
}

/* The index of the first cost at or after an address. */
static size_t cost_from(const costs *c, uint64_t address)
{
    return PT_FIRST_FROM(c->items, c->count, address, address);
}

/* Sums over [from, to). */
static void cost_between(const costs *c, uint64_t from, uint64_t to, double *ret_flat,
                         double *ret_cum)
{
    *ret_flat = *ret_cum = 0;
    for (size_t i = cost_from(c, from); i < c->count && c->items[i].address < to; i++) {
        *ret_flat += c->items[i].flat;
        *ret_cum += c->items[i].cum;
    }
}

/* ---- The choice of procedures ---- */

typedef struct {
    const pt_perl_session *session;
    const pt_perl_procedure *procedure;
    char *brief;
} chosen;

PT_ORDER(by_brief, chosen, PT_TEXT_UP(brief) ?: PT_UP(procedure->start));

typedef void show_fn(const costs *c, const pt_perl_lib *lib, const pt_perl_procedure *procedure,
                     const char *brief);

static void show_library_procedures(const costs *c, const pt_perl_lib *lib, const pt_regex *pattern,
                                    show_fn *show)
{
    pt_perl_image *image = pt_perl_image_find(&c->session->images, lib->path);
    if (image == NULL) return;
    const pt_perl_nm *nm = pt_perl_image_matching(c->session, image, pattern);
    PT_FREE chosen *list = pt_alloc(nm->count + 1, sizeof *list);
    size_t count = 0;
    const uint64_t offset = lib->start - lib->offset;
    for (size_t i = 0; i < nm->count; i++) {
        const pt_perl_procedure *p = &nm->items[i];
        const size_t at = cost_from(c, p->start + offset);
        const bool sampled = at < c->count && p->end > p->start &&
                             c->items[at].address - (p->start + offset) < p->end - p->start;
        if (!sampled || p->end - p->start > PROCEDURE_BYTES_MAX) continue;
        list[count].procedure = p;
        list[count++].brief = pt_perl_short_name(p->name, c->session->settings->no_strip_templates);
    }
    qsort(list, count, sizeof *list, by_brief);
    for (size_t i = 0; i < count; i++) {
        show(c, lib, list[i].procedure, list[i].brief);
        free(list[i].brief);
    }
}

static bool show_procedures(pt_perl_session *s, const pt_perl_profile *profile, const char *pattern,
                            show_fn *show)
{
    pt_regex *regex = NULL;
    pt_error error = PT_ERROR_INIT;
    if (pt_regex_new(pattern, 0, &regex, &error) != PT_OK) {
        pt_fail(&error);
        return false;
    }
    costs c = gather_costs(s, profile);
    pt_perl_images_forget_matching(&s->images);
    for (size_t i = 0; i < s->lib_count; i++)
        show_library_procedures(&c, &s->libs[i], regex, show);
    free(c.items);
    pt_regex_free(regex);
    return true;
}

/* ---- Source ---- */

/* The line of each byte of a procedure, and its file. */
typedef struct {
    pt_perl_session *session;
    uint32_t *file; /* words */
    int64_t *line;
} byte_lines;

static void take_line(void *context, size_t index, const pt_perl_name *names, size_t count)
{
    byte_lines *b = context;
    if (count == 0) return;
    const char *text = pt_perl_text_of(b->session, names[0].file_line);
    const char *colon = strrchr(text, ':');
    if (colon == NULL) return;
    b->line[index] = strtoll(colon + 1, NULL, 10);
    PT_FREE char *file = pt_strndup(text, (size_t)(colon - text));
    b->file[index] = pt_perl_wordz(b->session, file);
}

/* The name without "/proc/self/cwd/" and "./" in front. */
static const char *clean_file(const char *file)
{
    if (pt_begins(file, "/proc/self/cwd/")) file += 15;
    if (pt_begins(file, "./")) file += 2;
    return file;
}

typedef struct {
    pt_blob blob;
    const char *path;
    const char **line; /* not terminated */
    size_t *length;    /* with the line's end */
    size_t count;
} source;

static bool open_source(const char *path, source *ret)
{
    pt_error error = PT_ERROR_INIT;
    *ret = (source){.blob = PT_BLOB_INIT, .path = path};
    if (pt_file_read(path, PT_FILE_EMPTY_OK | PT_FILE_REGULAR, SOURCE_BYTES_MAX, &ret->blob,
                     &error) != PT_OK) {
        pt_perl_say("%s: %s\n", path,
                    error.status == PT_ERR_NOTFOUND ? "No such file or directory" : error.message);
        return false;
    }
    const char *p = (const char *)ret->blob.data, *end = p + ret->blob.size;
    size_t line_cap = 0, length_cap = 0;
    while (p < end) {
        const char *newline = memchr(p, '\n', (size_t)(end - p));
        const size_t length = newline != NULL ? (size_t)(newline + 1 - p) : (size_t)(end - p);
        ret->line = pt_grow(ret->line, &line_cap, ret->count + 1, sizeof *ret->line);
        ret->length = pt_grow(ret->length, &length_cap, ret->count + 1, sizeof *ret->length);
        ret->line[ret->count] = p;
        ret->length[ret->count++] = length;
        p += length;
    }
    return true;
}

static void close_source(source *s)
{
    if (!pt_blob_intact(&s->blob)) pt_perl_say("%s: " PT_FILE_SHRANK "\n", s->path);
    PT_FREE_ALL(s->line, s->length);
    pt_blob_done(&s->blob);
}

/* Columns before the first character; -1 for an empty line. */
static int64_t indentation_of(const source *s, int64_t line)
{
    const char *text = s->line[line - 1];
    for (size_t i = 0; i < s->length[line - 1]; i++)
        if (strchr(" \t\r\n\v\f", text[i]) == NULL) return (int64_t)i;
    return -1;
}

/* The last line to show. The procedure ends before the first line after `last` that is indented
 * less than the procedure's first line. */
static int64_t extend_last(const source *s, int64_t first, int64_t last)
{
    int64_t wanted = -1;
    for (int64_t l = 1; l <= (int64_t)s->count; l++) {
        const int64_t indent = indentation_of(s, l);
        if (l >= first && wanted < 0 && indent >= 0) {
            wanted = indent;
            if (wanted == 0) return last;
        }
        if (l < last || indent < 0) continue;
        if (indent < wanted) return last;
        last = l + 1;
    }
    return last;
}

static void put_source_line(pt_perl_session *s, const source *text, int64_t line, double flat,
                            double cum)
{
    pt_outf(s->out, "%6s %6s %4lld: ", pt_perl_unparse_alt(s, flat).text,
            pt_perl_unparse_alt(s, cum).text, (long long)line);
    const char *at = text->line[line - 1];
    size_t length = text->length[line - 1];
    for (size_t i = 0; i + 1 < length; i++)
        if (at[i] != '\r') pt_out_char(s->out, at[i]);
    pt_out_char(s->out, '\n');
}

/* The samples of lines [first, last] of the file. */
typedef struct {
    uint32_t file;
    int64_t first, last;
    double *flat, *cum; /* [last - first + 1] */
    double flat_total, cum_total;
} line_costs;

static void share_samples(const costs *c, const byte_lines *b, uint64_t start, uint64_t bytes,
                          line_costs *ret)
{
    double flat_left = 0, cum_left = 0;
    for (uint64_t i = 0; i < bytes; i++) {
        double flat, cum;
        cost_between(c, start + i, start + i + 1, &flat, &cum);
        flat_left += flat;
        cum_left += cum;
        ret->flat_total += flat;
        ret->cum_total += cum;
        if (b->file[i] != ret->file || b->line[i] < ret->first || b->line[i] > ret->last) continue;
        ret->flat[b->line[i] - ret->first] += flat_left;
        ret->cum[b->line[i] - ret->first] += cum_left;
        flat_left = cum_left = 0;
    }
    ret->flat[ret->last - ret->first] += flat_left;
    ret->cum[ret->last - ret->first] += cum_left;
}

static void print_source(const costs *c, const char *brief, const source *text,
                         const line_costs *shown, int64_t own_last)
{
    pt_perl_session *s = c->session;
    const uint32_t name = pt_perl_wordz(s, brief);
    pt_outf(s->out,
            "ROUTINE ====================== %s in %s\n%6s %6s Total %s (flat / cumulative)\n",
            pt_perl_text_of(s, name), clean_file(pt_perl_text_of(s, shown->file)),
            pt_perl_unparse(s, shown->flat_total).text, pt_perl_unparse(s, shown->cum_total).text,
            pt_perl_units(s));
    const int64_t end = own_last + 5 > shown->last ? own_last + 5 : shown->last;
    for (int64_t l = shown->first > 6 ? shown->first - 5 : 1; l <= end && l <= (int64_t)text->count;
         l++) {
        const bool inside = l >= shown->first && l <= shown->last;
        if (l == shown->first) pt_out_text(s->out, "---\n");
        put_source_line(s, text, l, inside ? shown->flat[l - shown->first] : 0,
                        inside ? shown->cum[l - shown->first] : 0);
        if (l == shown->last) pt_out_text(s->out, "---\n");
    }
}

static void list_procedure(const costs *c, const pt_perl_lib *lib,
                           const pt_perl_procedure *procedure, const char *brief)
{
    pt_perl_session *s = c->session;
    const uint64_t bytes = procedure->end - procedure->start;
    const uint64_t offset = lib->start - lib->offset, start = procedure->start + offset;
    PT_FREE uint64_t *addrs = pt_alloc(bytes, sizeof *addrs);
    byte_lines b = {.session = s};
    PT_FREE uint32_t *files = b.file = pt_alloc(bytes, sizeof *b.file);
    PT_FREE int64_t *lines = b.line = pt_alloc(bytes, sizeof *b.line);
    const uint32_t none = pt_perl_wordz(s, "??");
    for (uint64_t i = 0; i < bytes; i++) {
        addrs[i] = start + i;
        files[i] = none;
    }
    pt_perl_map_to_symbols(s, lib->path, offset, addrs, bytes, take_line, &b);
    line_costs shown = {.file = files[0], .first = lines[0]};
    for (uint64_t i = 0; i < bytes; i++)
        if (files[i] == shown.file && lines[i] > shown.last) shown.last = lines[i];
    source text;
    if (!open_source(pt_perl_text_of(s, shown.file), &text)) return;
    const int64_t own_last = shown.last;
    shown.last = extend_last(&text, shown.first, shown.last);
    if (shown.last >= shown.first) {
        PT_FREE double *flat = shown.flat =
            pt_alloc((size_t)(shown.last - shown.first) + 1, sizeof *shown.flat);
        PT_FREE double *cum = shown.cum =
            pt_alloc((size_t)(shown.last - shown.first) + 1, sizeof *shown.cum);
        share_samples(c, &b, start, bytes, &shown);
        print_source(c, brief, &text, &shown, own_last);
    }
    close_source(&text);
}

bool pt_perl_print_listing(pt_perl_session *session, const pt_perl_profile *profile,
                           const char *pattern)
{
    return show_procedures(session, profile, pattern, list_procedure);
}

/* ---- Disassembly ---- */

/* Prints an instruction; names in it lose their parameters and template arguments. */
static void put_instruction(pt_out *out, const char *text)
{
    PT_FREE char *clean = pt_strdup(text);
    for (char *open = clean; (open = strchr(open, '(')) != NULL;) {
        const size_t inside = strcspn(open + 1, "()%");
        if (open[1 + inside] != ')') {
            open++;
            continue;
        }
        char *after = open + 2 + inside;
        char *word = after + strspn(after, " \t");
        if (pt_begins(word, "const")) after = word + 5;
        memmove(open, after, strlen(after) + 1);
        open = clean;
    }
    for (char *open = clean; (open = strchr(open, '<')) != NULL;) {
        const size_t inside = strcspn(open + 1, "<>");
        const bool named =
            open > clean && (open[-1] == '_' || (open[-1] >= '0' && open[-1] <= '9') ||
                             ((open[-1] | 32) >= 'a' && (open[-1] | 32) <= 'z'));
        if (!named || open[1 + inside] != '>') {
            open++;
            continue;
        }
        memmove(open, open + 2 + inside, strlen(open + 2 + inside) + 1);
        open = clean;
    }
    pt_outf(out, "%6s\n", clean);
}

static void put_file_name(pt_out *out, const char *file)
{
    if (pt_begins(file, "./")) file += 2;
    const size_t length = strlen(file);
    if (length >= 58)
        pt_outf(out, "-------------------- ...%s\n", file + length - 55);
    else
        pt_outf(out, "-------------------- %s\n", file);
}

/* Prints lines [first, end) of the listing, which come from one line of source. */
static void put_run(const costs *c, const pt_objdump_listing *listing, size_t first, size_t end,
                    const double *flat, const double *cum, source *text, bool has_text)
{
    pt_perl_session *s = c->session;
    double flat_sum = 0, cum_sum = 0;
    for (size_t i = first; i < end; i++) {
        flat_sum += flat[i];
        cum_sum += cum[i];
    }
    const uint32_t line = listing->line[first].line;
    if (has_text && line > 0 && line <= text->count) {
        const char *at = text->line[line - 1];
        size_t length = text->length[line - 1];
        while (length > 0 && strchr(" \t\r\n\v\f", *at) != NULL) {
            at++;
            length--;
        }
        pt_outf(s->out, "%6s %6s %5u: %.*s", pt_perl_unparse_alt(s, flat_sum).text,
                pt_perl_unparse_alt(s, cum_sum).text, line, (int)length, at);
    }
    for (size_t i = first; i < end; i++) {
        pt_outf(s->out, "%6s %6s    %8llx: ", pt_perl_unparse_alt(s, flat[i]).text,
                pt_perl_unparse_alt(s, cum[i]).text, (unsigned long long)listing->line[i].addr);
        put_instruction(s->out, listing->line[i].text);
    }
}

static void put_disassembly(const costs *c, const pt_objdump_listing *listing, const double *flat,
                            const double *cum)
{
    const char *file = "";
    source text = {.blob = PT_BLOB_INIT};
    bool has_text = false;
    for (size_t i = 0; i < listing->count;) {
        if (strcmp(listing->line[i].file, file) != 0) {
            file = listing->line[i].file;
            put_file_name(c->session->out, file);
            if (has_text) close_source(&text);
            has_text = file[0] != '\0' && open_source(file, &text);
        }
        size_t end = i + 1;
        while (end < listing->count && listing->line[end].line == listing->line[i].line)
            end++;
        put_run(c, listing, i, end, flat, cum, &text, has_text);
        i = end;
    }
    if (has_text) close_source(&text);
}

/* The path of GNU's objdump. --tools or else PPROF_TOOLS lists the program ("objdump:FILE") or
 * prefixes of its name ("/opt/gnu/bin/,/usr/bin/x86_64-linux-gnu-"); without either it is searched
 * in PATH. The caller frees. */
static char *find_objdump(const pt_perl_session *s)
{
    const char *tools = s->settings->tools != NULL ? s->settings->tools : getenv("PPROF_TOOLS");
    if (tools == NULL || tools[0] == '\0') return pt_program_find("objdump", getenv("PATH"));
    for (const char *p = tools; *p != '\0';) {
        const size_t length = strcspn(p, ",");
        const bool mapped = memchr(p, ':', length) != NULL;
        PT_FREE char *path = pt_begins(p, "objdump:") ? pt_strndup(p + 8, length - 8)
                                                      : pt_strf("%.*sobjdump", (int)length, p);
        if ((!mapped || pt_begins(p, "objdump:")) && access(path, X_OK) == 0)
            return pt_strdup(path);
        p += length + (p[length] == ',');
    }
    return NULL;
}

static void disassemble_procedure(const costs *c, const pt_perl_lib *lib,
                                  const pt_perl_procedure *procedure, const char *brief)
{
    pt_perl_session *s = c->session;
    pt_error error = PT_ERROR_INIT;
    pt_objdump_tool tool = {.path = find_objdump(s)};
    if (tool.path == NULL) {
        pt_say("there is no objdump to disassemble with; install binutils or say where it is: "
               "--tools=objdump:FILE");
        return;
    }
    pt_objdump_listing listing;
    const bool ok = pt_objdump_run(&tool, lib->path, procedure->start, procedure->end, false,
                                   &listing, &error) == PT_OK;
    free(tool.path);
    if (!ok) {
        pt_fail(&error);
        return;
    }
    const uint64_t offset = lib->start - lib->offset;
    PT_FREE double *flat = pt_alloc(listing.count + 1, sizeof *flat);
    PT_FREE double *cum = pt_alloc(listing.count + 1, sizeof *cum);
    double flat_total = 0, cum_total = 0;
    for (size_t i = 0; i < listing.count; i++) {
        const uint64_t next = i + 1 < listing.count ? listing.line[i + 1].addr : procedure->end;
        cost_between(c, listing.line[i].addr + offset, next + offset, &flat[i], &cum[i]);
        flat_total += flat[i];
        cum_total += cum[i];
    }
    pt_outf(s->out,
            "ROUTINE ====================== %s\n%6s %6s %s (flat, cumulative) %.1f%% of "
            "total\n",
            pt_perl_text_of(s, pt_perl_wordz(s, brief)), pt_perl_unparse(s, flat_total).text,
            pt_perl_unparse(s, cum_total).text, pt_perl_units(s),
            c->total != 0 ? cum_total * 100.0 / c->total : 0);
    put_disassembly(c, &listing, flat, cum);
    pt_objdump_listing_done(&listing);
}

bool pt_perl_print_disasm(pt_perl_session *session, const pt_perl_profile *profile,
                          const char *pattern)
{
    return show_procedures(session, profile, pattern, disassemble_procedure);
}
