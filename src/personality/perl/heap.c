/* heap.c: heap, growth and contention profiles by the Perl pprof's rules. formats/heap.h parses the
 * counts and bytes. The Perl pprof scales sampled values in floating point, by rules of its own. */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/grow.h"
#include "base/reader.h"
#include "base/text.h"
#include "formats/heap.h"
#include "personality/perl/perl.h"

static const char *skip_spaces(const char *p)
{
    while (*p == ' ' || (*p >= '\t' && *p <= '\r'))
        p++;
    return p;
}

/* Takes "5: 640 [ 7: 900]" off the front of the text; false when the text begins otherwise. */
static bool take_figures(pt_span *text, double figures[4])
{
    pt_heap_figures f;
    if (!pt_heap_parse_figures(text, false, &f)) return false;
    figures[0] = (double)f.inuse_count;
    figures[1] = (double)f.inuse_bytes;
    figures[2] = (double)f.alloc_count;
    figures[3] = (double)f.alloc_bytes;
    return true;
}

/* ---- Stacks ---- */

/* Adds the stack "0x1 0x2 ..." to the profile. Return addresses are moved into their calls, unless
 * the file contains its symbols. *ret_text: the addresses as --stacks shows them; which the caller
 * frees. */
static void add_stack(pt_perl_session *s, pt_perl_profile *profile, const char *text, double value,
                      char **ret_text)
{
    uint32_t *frames = NULL;
    size_t count = 0, cap = 0;
    pt_buf shown = PT_BUF_INIT;
    for (const char *p = skip_spaces(text); *p != '\0'; p = skip_spaces(p)) {
        const char *word = p;
        char *end;
        uint64_t address = strtoull(p, &end, 16);
        while (*p != '\0' && skip_spaces(p) == p)
            p++;
        char hex[17];
        if (count > 0) pt_put_u8(&shown, ' ');
        if (count > 0 && !s->symbolized) {
            address--;
            if (s->address_digits == 8) address &= UINT32_MAX;
            pt_put_text(&shown, pt_perl_hex(s, address, hex));
        } else {
            pt_put(&shown, word, (size_t)(p - word));
        }
        frames = pt_grow(frames, &cap, count + 1, sizeof *frames);
        frames[count++] = pt_perl_address(s, address);
    }
    pt_perl_profile_add(profile, pt_perl_stack(s, frames, count), value);
    free(frames);
    if (ret_text != NULL)
        *ret_text = pt_buf_take(&shown, NULL);
    else
        pt_buf_done(&shown);
}

/* ---- Heap ---- */

typedef struct {
    int algorithm; /* 0: exact; 1: every rate/2 bytes; 2: Poisson */
    double rate;
} sampling;

/* Reads the kind of sampling from the text after "]" of the first line: "@ heap_v2/524288". */
static sampling find_sampling(const char *p, const double counts[4])
{
    sampling found = {0};
    const char *at = skip_spaces(p);
    PT_FREE char *type = NULL;
    const char *slash = NULL;
    if (*at == '@') {
        at = skip_spaces(at + 1);
        const size_t length = strcspn(at, "/");
        type = pt_strndup(at, length);
        slash = at[length] == '/' ? at + length + 1 : NULL;
    }
    if (type == NULL || type[0] == '\0') {
        /* In profiles of old servers, which sample, both pairs of numbers are equal. */
        found.algorithm = counts[0] == counts[2] && counts[1] == counts[3] ? 1 : 0;
        return found;
    }
    type[strcspn(type, "\r\n")] = '\0';
    if (strcmp(type, "heapprofile") == 0 || strstr(type, "heap") == NULL) return found;
    const double rate = slash != NULL && *slash >= '0' && *slash <= '9' ? strtod(slash, NULL) : 0;
    const bool poisson = strstr(type, "_v2") != NULL;
    return (sampling){.algorithm = poisson ? 2 : 1, .rate = poisson ? rate : rate / 2};
}

static sampling say_sampling(sampling found)
{
    if (found.algorithm == 0) return found;
    if (found.rate == 0) {
        found.rate = 128 * 1024;
        pt_perl_say("Adjusting heap profiles for 1-in-128KB sampling rate\n");
    } else {
        pt_perl_say("Adjusting heap profiles for 1-in-%.0f sampling rate\n", trunc(found.rate));
    }
    if (found.algorithm > 1) pt_perl_say("Heap version %d\n", found.algorithm);
    return found;
}

/* Scales the objects and bytes that were sampled to all that were allocated. */
static void scale_sampled(const sampling *how, double *objects, double *bytes)
{
    if (how->rate == 0 || *objects == 0) return;
    const double ratio = *bytes / *objects / how->rate;
    double factor = 1;
    if (how->algorithm == 2)
        factor = 1 / (1 - exp(-ratio));
    else if (ratio < 1 && ratio > 0)
        factor = 1 / ratio;
    *objects *= factor;
    *bytes *= factor;
}

/* The index of the value (counts or bytes, in use or allocated) that is shown. */
static int heap_column(const pt_perl_settings *settings)
{
    return settings->inuse_space     ? 1
           : settings->inuse_objects ? 0
           : settings->alloc_space   ? 3
           : settings->alloc_objects ? 2
                                     : 1;
}

bool pt_perl_read_heap(pt_perl_session *session, const char *header, pt_reader *text, bool first,
                       pt_perl_profile *profile)
{
    double counts[4];
    pt_span rest = {header, strlen(header)};
    sampling how = {0};
    pt_span_skip(&rest, "heap profile:");
    if (take_figures(&rest, counts)) how = say_sampling(find_sampling(rest.at, counts));
    const int column = heap_column(session->settings);
    size_t length;
    for (const char *raw; (raw = pt_read_line(text, &length)) != NULL;) {
        PT_FREE char *line = pt_strndup(raw, length);
        if (pt_begins(line, "MAPPED_LIBRARIES:") || pt_begins(line, "--- Memory map:")) break;
        rest = (pt_span){line, strlen(line)};
        if (!take_figures(&rest, counts)) continue;
        pt_span_skip_blanks(&rest);
        if (!pt_span_skip(&rest, "@")) continue;
        scale_sampled(&how, &counts[0], &counts[1]);
        scale_sampled(&how, &counts[2], &counts[3]);
        char *addresses;
        add_stack(session, profile, rest.at, counts[column], &addresses);
        session->leaks = pt_grow(session->leaks, &session->leak_cap, session->leak_count + 1,
                                 sizeof *session->leaks);
        session->leaks[session->leak_count++] =
            (pt_perl_leak){.objects = counts[0], .bytes = counts[1], .addresses = addresses};
    }
    if (first && !session->symbolized)
        pt_perl_libs_parse(session, (const char *)text->pos, pt_reader_left(text));
    return true;
}

/* ---- Contention ---- */

typedef struct {
    double cycles_per_ns, period;
    bool has_rate;
    pt_buf maps;
} contention;

/* Reads a line like "cycles/second = 3000000000"; false when the line has another form. */
static bool read_variable(contention *c, const char *line)
{
    const char *equals = strchr(line, '=');
    if (equals == NULL || line[0] < 'a' || line[0] > 'z') return false;
    size_t length = (size_t)(equals - line);
    while (length > 0 && skip_spaces(line + length - 1) != line + length - 1)
        length--;
    const char *value = skip_spaces(equals + 1);
    PT_FREE char *name = pt_strndup(line, length);
    if (strcmp(name, "cycles/second") == 0) {
        const double per_second = strtod(value, NULL);
        if (per_second > 0) c->cycles_per_ns = per_second / 1e9;
        c->has_rate = true;
    } else if (strcmp(name, "sampling period") == 0) {
        c->period = strtod(value, NULL);
    } else if (strcmp(name, "ms since reset") != 0 && strcmp(name, "discarded samples") != 0) {
        pt_perl_say("ignoring an unknown variable of the profile: '%s' = '%s'\n", name, value);
    }
    return true;
}

/* Reads a line "CYCLES COUNT @ STACK", or "CYCLES @ STACK"; false when it has another form. */
static bool read_wait(pt_perl_session *s, pt_perl_profile *profile, const contention *c,
                      const char *line)
{
    int64_t cycles, count = 0;
    pt_span rest = {line, strlen(line)};
    pt_span_skip_blanks(&rest);
    if (!pt_span_number(&rest, false, &cycles) || skip_spaces(rest.at) == rest.at) return false;
    pt_span_skip_blanks(&rest);
    const bool is_counted = pt_span_number(&rest, false, &count);
    if (is_counted && !pt_span_skip(&rest, " ")) return false;
    if (!pt_span_skip(&rest, "@")) return false;
    double value = (double)cycles / c->cycles_per_ns * c->period;
    const double contentions = (double)count * c->period;
    if (is_counted && !s->settings->total_delay) {
        if (s->settings->contentions)
            value = contentions;
        else if (s->settings->mean_delay)
            value = contentions != 0 ? value / contentions : 0;
    }
    add_stack(s, profile, rest.at, value, NULL);
    return true;
}

bool pt_perl_read_contention(pt_perl_session *session, pt_reader *text, bool first,
                             pt_perl_profile *profile)
{
    contention c = {.cycles_per_ns = 2.8, .period = 1, .maps = PT_BUF_INIT};
    size_t length;
    for (const char *raw; (raw = pt_read_line(text, &length)) != NULL;) {
        PT_FREE char *line = pt_strndup(raw, length);
        if (read_wait(session, profile, &c, line)) continue;
        if (pt_begins(line, "slow release")) continue;
        if (read_variable(&c, line)) continue;
        pt_put_text(&c.maps, line);
        pt_put_u8(&c.maps, '\n');
    }
    if (!c.has_rate)
        pt_perl_say("No cycles/second entry in profile; Guessing %.1f GHz\n", c.cycles_per_ns);
    if (first && !session->symbolized)
        pt_perl_libs_parse(session, pt_buf_text(&c.maps), c.maps.size);
    pt_buf_done(&c.maps);
    return true;
}
