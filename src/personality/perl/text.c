/* text.c: writes numbers, the table, and the stacks of --stacks as the Perl pprof does. */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "personality/perl/perl.h"

/* ---- Figures ---- */

static bool is_memory(const pt_perl_session *s)
{
    return s->kind == PT_PERL_HEAP || s->kind == PT_PERL_GROWTH;
}

static bool counts_objects(const pt_perl_session *s)
{
    return s->settings->inuse_objects || s->settings->alloc_objects;
}

pt_perl_shown pt_perl_unparse(const pt_perl_session *session, double value)
{
    pt_perl_shown shown;
    if (is_memory(session) && !counts_objects(session) && !session->settings->show_bytes)
        snprintf(shown.text, sizeof shown.text, "%.1f", value / 1048576.0);
    else if (session->kind == PT_PERL_CONTENTION && !session->settings->contentions)
        snprintf(shown.text, sizeof shown.text, "%.3f", value / 1e9);
    else
        snprintf(shown.text, sizeof shown.text, "%.0f", trunc(value) + 0.0);
    return shown;
}

pt_perl_shown pt_perl_unparse_alt(const pt_perl_session *session, double value)
{
    return value == 0 ? (pt_perl_shown){"."} : pt_perl_unparse(session, value);
}

pt_perl_shown pt_perl_percent(double value, double total)
{
    pt_perl_shown shown;
    if (total != 0)
        snprintf(shown.text, sizeof shown.text, "%.1f%%", value * 100.0 / total);
    else
        snprintf(shown.text, sizeof shown.text, "%s",
                 value == 0  ? "nan"
                 : value > 0 ? "+inf"
                             : "-inf");
    return shown;
}

const char *pt_perl_units(const pt_perl_session *session)
{
    if (is_memory(session))
        return counts_objects(session) ? "objects" : session->settings->show_bytes ? "B" : "MB";
    return session->kind == PT_PERL_CONTENTION && !session->settings->contentions ? "seconds"
                                                                                  : "samples";
}

/* ---- The table ---- */

typedef struct {
    const pt_perl_session *session;
    const pt_perl_reduced *reduced;
    const double *by;
} sorting;

static int by_value_then_name(const void *a, const void *b, void *context)
{
    const sorting *s = context;
    const uint32_t x = *(const uint32_t *)a, y = *(const uint32_t *)b;
    if (s->by[x] != s->by[y]) return s->by[x] > s->by[y] ? -1 : 1;
    return strcmp(pt_perl_text_of(s->session, s->reduced->node[x]),
                  pt_perl_text_of(s->session, s->reduced->node[y]));
}

/* The text of a row: the node; if the node is only an address, the names of that address. The
 * caller frees the text. */
static char *row_name(pt_perl_session *s, const char *node)
{
    if (strlen(node) != s->address_digits || strspn(node, "0123456789abcdef") != s->address_digits)
        return pt_strdup(node);
    const uint32_t id = pt_perl_address(s, strtoull(node, NULL, 16));
    size_t count;
    const pt_perl_name *names = pt_perl_names_of(s, id, &count);
    if (count == 0) return pt_strdup(node);
    const char *function = pt_perl_text_of(s, names[0].short_name);
    const char *line = pt_perl_text_of(s, names[0].file_line);
    return s->grain == PT_BY_ADDRESS ? pt_strf("%s %s %s", node, function, line)
                                     : pt_strf("%s %s", function, line);
}

static void print_leaks(pt_perl_session *s);

void pt_perl_print_text(pt_perl_session *session, const pt_perl_reduced *reduced,
                        int64_t line_limit)
{
    if (session->settings->stacks && session->leak_count > 0) print_leaks(session);
    const size_t count = reduced->count;
    PT_FREE uint32_t *order = pt_alloc_numbers(count);
    sorting by = {.session = session,
                  .reduced = reduced,
                  .by = session->settings->cum ? reduced->cum : reduced->flat};
    qsort_r(order, count, sizeof *order, by_value_then_name, &by);
    double sum = 0;
    for (size_t i = 0; i < count && (line_limit < 0 || i < (size_t)line_limit); i++) {
        const double flat = reduced->flat[order[i]], cum = reduced->cum[order[i]];
        sum += flat;
        if (flat == 0 && cum == 0) continue;
        PT_FREE char *name = row_name(session, pt_perl_text_of(session, reduced->node[order[i]]));
        pt_outf(session->out, "%8s %6s %6s %8s %6s %s\n", pt_perl_unparse(session, flat).text,
                pt_perl_percent(flat, reduced->total).text,
                pt_perl_percent(sum, reduced->total).text, pt_perl_unparse(session, cum).text,
                pt_perl_percent(cum, reduced->total).text, name);
    }
}

/* ---- Stacks in words ---- */

/* "file:12:function" of the outermost function at an address; the caller frees. */
static char *location_text(const pt_perl_session *s, uint32_t address)
{
    size_t count;
    const pt_perl_name *names = pt_perl_names_of(s, address, &count);
    if (count == 0) return pt_strdup("??:0:unknown");
    const char *line = pt_perl_text_of(s, names[0].file_line);
    const bool unknown = strcmp(line, "?") == 0 || strcmp(line, ":0") == 0;
    return pt_strf("%s:%s", unknown ? "??:0" : line, pt_perl_text_of(s, names[0].short_name));
}

void pt_perl_print_stacks(pt_perl_session *session, const pt_perl_profile *profile)
{
    for (size_t i = 0; i < profile->count; i++) {
        size_t depth;
        const uint32_t *frames = pt_perl_frames(session, profile->stack[i], &depth);
        pt_outf(session->out, "%-8.0f ", trunc(profile->value[i]));
        for (size_t k = 0; k < depth; k++) {
            char hex[17];
            PT_FREE char *text = location_text(session, frames[k]);
            pt_outf(session->out, "%s(%s) %s", k > 0 ? "\n         " : "",
                    pt_perl_hex(session, pt_perl_pc(session, frames[k]), hex), text);
        }
        pt_out_text(session->out, "\n\n");
    }
}

PT_ORDER(by_bytes, __typeof__(const pt_perl_leak *),
         PT_COMPARE((*b)->bytes, (*a)->bytes) ?: PT_COMPARE(*a, *b));

/* Prints the names of an address, which is spelled as in the file. An address that is not spelled
 * with all digits, leading zeros included, has no names, as in the Perl pprof. */
static void print_leak_frame(pt_perl_session *s, const char *address, size_t length)
{
    if (length > 2 && address[0] == '0' && address[1] == 'x') {
        address += 2;
        length -= 2;
    }
    const pt_perl_name *names = NULL;
    size_t count = 0;
    if (length == s->address_digits) {
        PT_FREE char *text = pt_strndup(address, length);
        names = pt_perl_names_of(s, pt_perl_address(s, strtoull(text, NULL, 16)), &count);
    }
    pt_outf(s->out, "\t@ %.*s ", (int)length, address);
    if (count > 0)
        pt_outf(s->out, "%s %s\n", pt_perl_text_of(s, names[0].short_name),
                pt_perl_text_of(s, names[0].file_line));
    else
        pt_out_text(s->out, "unknown\n");
}

static void print_leaks(pt_perl_session *s)
{
    PT_FREE const pt_perl_leak **order = pt_alloc(s->leak_count, sizeof *order);
    for (size_t i = 0; i < s->leak_count; i++)
        order[i] = &s->leaks[i];
    qsort(order, s->leak_count, sizeof *order, by_bytes);
    for (size_t i = 0; i < s->leak_count; i++) {
        pt_outf(s->out, "Leak of %.15g bytes in %.15g objects allocated from:\n", order[i]->bytes,
                order[i]->objects);
        for (const char *p = order[i]->addresses; *p != '\0';) {
            const size_t length = strcspn(p, " ");
            print_leak_frame(s, p, length);
            p += length + (p[length] == ' ');
        }
    }
    pt_out_char(s->out, '\n');
}
