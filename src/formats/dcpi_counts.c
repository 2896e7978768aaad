/* dcpi_counts.c: the parts of a profile that DCPI's formats hold: samples by leaf address.
 */
#include <stdlib.h>
#include <string.h>

#include "base/hash.h"
#include "base/index.h"
#include "base/saturate.h"
#include "base/text.h"
#include "formats/dcpi.h"

/* Chooses the events. Returns the value of one sample in the events' unit. */
static int64_t choose_events(pt_dcpi_counts *c, const pt_profile *p)
{
    c->event = pt_alloc((size_t)p->event->t.count + 1, sizeof *c->event);
    for (uint32_t e = 0; e < p->event->t.count; e++) {
        if (p->event->row[e].kind == PT_EVENT_COUNT) c->event[c->event_count++] = e;
    }
    const int64_t period = pt_profile_provenance(p)->period;
    if (c->event_count > 0 || period <= 0) return 1;
    for (uint32_t e = 0; e < p->event->t.count; e++) {
        if (strcmp(pt_text(p, p->event->row[e].unit), "nanoseconds") == 0)
            c->event[c->event_count++] = e;
    }
    return period;
}

static pt_status set_no_events(const pt_profile *p, pt_error *reterr)
{
    if (p->event->t.count != 1)
        return pt_error_set(reterr, PT_ERR_UNSUPPORTED,
                            "holds counts of samples, and the profile has none");
    const pt_event *const e = &p->event->row[0];
    return pt_error_set(reterr, PT_ERR_UNSUPPORTED,
                        "holds counts of samples, not %s/%s; choose another with --event",
                        pt_text(p, e->type), pt_text(p, e->unit));
}

/* ---- Adding up ---- */

typedef struct {
    uint32_t mapping, location;
    uint64_t address;
} place;

PT_ORDER(by_place, place, PT_UP(mapping) ?: PT_UP(address));

/* Sums for each location, [locations * event_count]. */
static int64_t *leaf_sums(const pt_dcpi_counts *c, const pt_profile *p, int64_t per_sample,
                          pt_diag *diag)
{
    const uint32_t n = c->event_count;
    int64_t *const sum = pt_alloc((size_t)p->location->t.count * n + 1, sizeof *sum);
    uint64_t outside = 0, negative = 0, rounded = 0;
    for (uint32_t i = 0; i < p->sample->t.count; i++) {
        const uint32_t stack = p->sample->stack[i];
        const uint32_t leaf = pt_stack_depth(p, stack) > 0 ? pt_stack_frames(p, stack)[0] : PT_NONE;
        if (leaf == PT_NONE || p->location->mapping[leaf] == PT_NONE) {
            outside++;
            continue;
        }
        for (uint32_t e = 0; e < n; e++) {
            const int64_t value = p->sample->value[c->event[e]][i];
            negative += value < 0;
            rounded += value % per_sample != 0;
            if (value > 0) pt_saturating_into(&sum[(size_t)leaf * n + e], value);
        }
    }
    for (size_t i = 0; i < (size_t)p->location->t.count * n; i++)
        sum[i] /= per_sample;
    pt_diag_add(diag, outside, "samples outside any image left out");
    pt_diag_add(diag, negative, "negative values left out");
    pt_diag_add(diag, rounded, "values rounded down to whole samples");
    return sum;
}

static bool any_value(const int64_t *sum, uint32_t n)
{
    return PT_ANY(e, n, sum[e] != 0);
}

static size_t sampled_places(const pt_profile *p, const int64_t *sum, uint32_t n, place *ret_places)
{
    size_t count = 0;
    for (uint32_t l = 0; l < p->location->t.count; l++) {
        if (p->location->mapping[l] == PT_NONE || !any_value(sum + (size_t)l * n, n)) continue;
        ret_places[count++] = (place){p->location->mapping[l], l, p->location->address[l]};
    }
    if (count > 0) qsort(ret_places, count, sizeof *ret_places, by_place);
    return count;
}

static void fold_places(pt_dcpi_counts *c, const place *places, size_t count, const int64_t *sum,
                        uint32_t mappings)
{
    const uint32_t n = c->event_count;
    c->first = pt_alloc((size_t)mappings + 1, sizeof *c->first);
    c->address = pt_alloc(count + 1, sizeof *c->address);
    c->value = pt_alloc(count * n + 1, sizeof *c->value);
    uint32_t mapping = 0;
    for (size_t i = 0; i < count; i++) {
        for (; mapping < places[i].mapping; mapping++)
            c->first[mapping + 1] = c->count;
        if (c->count == c->first[mapping] || c->address[c->count - 1] != places[i].address)
            c->address[c->count++] = places[i].address;
        for (uint32_t e = 0; e < n; e++)
            pt_saturating_into(&c->value[(c->count - 1) * n + e],
                               sum[(size_t)places[i].location * n + e]);
    }
    for (; mapping < mappings; mapping++)
        c->first[mapping + 1] = c->count;
}

pt_status pt_dcpi_counts_init(pt_dcpi_counts *ret_counts, const pt_profile *p, pt_diag *diag,
                              pt_error *reterr)
{
    pt_dcpi_counts c = {0};
    const int64_t per_sample = choose_events(&c, p);
    pt_status status = PT_OK;
    if (c.event_count == 0)
        status = set_no_events(p, reterr);
    else if (p->mapping->t.count == 0)
        status = pt_error_set(reterr, PT_ERR_UNSUPPORTED,
                              "holds addresses of one image, and the profile has no mappings");
    if (status != PT_OK) {
        pt_dcpi_counts_done(&c);
        return status;
    }
    PT_FREE int64_t *sum = leaf_sums(&c, p, per_sample, diag);
    PT_FREE place *places = pt_alloc((size_t)p->location->t.count + 1, sizeof *places);
    const size_t count = sampled_places(p, sum, c.event_count, places);
    fold_places(&c, places, count, sum, p->mapping->t.count);
    *ret_counts = c;
    return PT_OK;
}

void pt_dcpi_counts_done(pt_dcpi_counts *c)
{
    PT_FREE_ALL(c->event, c->first, c->address, c->value);
    *c = (pt_dcpi_counts){0};
}

/* ---- Names ---- */

const char *pt_dcpi_event_name(const pt_profile *p, uint32_t event)
{
    const char *const type = pt_text(p, p->event->row[event].type);
    const uint32_t between = pt_profile_provenance(p)->period_type;
    return strcmp(type, "samples") == 0 && between != 0 ? pt_text(p, between) : type;
}

const char *pt_dcpi_image_text(const pt_profile *p, const pt_mapping *m)
{
    const char *foreign = pt_text(p, m->foreign_id);
    if (pt_begins(foreign, "dcpi:")) return foreign + 5;
    const char *build_id = pt_text(p, m->build_id);
    if (build_id[0] != '\0' && build_id[strspn(build_id, "0123456789abcdefABCDEF")] == '\0')
        return build_id;
    return PT_DCPI_NO_IMAGE;
}

pt_string_id pt_dcpi_line_key(pt_builder *b, const char *kind, const char *image)
{
    PT_FREE char *key = pt_strf("%s %s", kind, image[0] != '\0' ? image : PT_DCPI_NO_IMAGE);
    return pt_builder_text(b, key);
}

/* The image's digits in the key of a line of that kind; NULL if the key is of another kind. */
static const char *image_of_key(const char *key, const char *kind)
{
    const size_t n = strlen(kind);
    if (strncmp(key, kind, n) != 0) return NULL;
    return key[n] == '\0' ? "" : key[n] == ' ' ? key + n + 1 : NULL;
}

static const char *image_of_line(const pt_profile *p, uint32_t extra, bool *ret_text)
{
    const char *const key = pt_text(p, p->extra->key[extra]);
    const char *const of_text = image_of_key(key, PT_DCPI_TEXT_LINE);
    *ret_text = of_text != NULL;
    return of_text != NULL ? of_text : image_of_key(key, PT_DCPI_LINE);
}

bool pt_dcpi_is_of_text(const pt_profile *p, uint32_t extra)
{
    bool text;
    image_of_line(p, extra, &text);
    return text;
}

#define SEVERAL (PT_NONE - 1) /* several mappings have these digits */

/* The entry of of_digits for an image with these digits; NULL if there is none. */
static uint32_t *find_image(const pt_profile *p, const pt_index *index, uint32_t *of_digits,
                            const char *image)
{
    const uint32_t found =
        PT_INDEX_FIND(index, pt_hash_bytes(image, strlen(image)), m,
                      strcmp(pt_dcpi_image_text(p, &p->mapping->row[m]), image) == 0);
    return found != PT_NONE ? &of_digits[found] : NULL;
}

/* The mapping of each line; PT_NONE = unknown. The caller frees it. */
static uint32_t *mappings_of_lines(const pt_profile *p)
{
    const uint32_t mappings = p->mapping->t.count;
    uint32_t *of = pt_alloc((size_t)p->extra->t.count + 1, sizeof *of);
    PT_FREE uint32_t *of_digits = pt_alloc((size_t)mappings + 1, sizeof *of_digits);
    PT_AUTO(pt_index) index;
    pt_index_init(&index);
    for (uint32_t m = 0; m < mappings; m++) {
        const char *const image = pt_dcpi_image_text(p, &p->mapping->row[m]);
        uint32_t *const found = find_image(p, &index, of_digits, image);
        if (found != NULL) {
            *found = SEVERAL;
            continue;
        }
        of_digits[m] = m;
        pt_index_add(&index, pt_hash_bytes(image, strlen(image)), m);
    }
    for (uint32_t i = 0; i < p->extra->t.count; i++) {
        bool text;
        const char *const image = image_of_line(p, i, &text);
        const uint32_t *const found =
            image == NULL || mappings == 1 ? NULL : find_image(p, &index, of_digits, image);
        of[i] = image == NULL                        ? SEVERAL /* not a header line */
                : mappings == 1                      ? 0
                : found == NULL || *found == SEVERAL ? PT_NONE
                                                     : *found;
    }
    return of;
}

void pt_dcpi_lines_init(pt_dcpi_lines *ret_lines, const pt_profile *p)
{
    PT_FREE uint32_t *of = mappings_of_lines(p);
    const uint32_t mappings = p->mapping->t.count, extras = p->extra->t.count;
    *ret_lines = (pt_dcpi_lines){.p = p};
    ret_lines->first = pt_alloc((size_t)mappings + 2, sizeof *ret_lines->first);
    ret_lines->extra = pt_alloc((size_t)extras + 1, sizeof *ret_lines->extra);
    uint32_t *const first = ret_lines->first;
    for (uint32_t i = 0; i < extras; i++) {
        ret_lines->lost += of[i] == PT_NONE;
        if (of[i] < SEVERAL) first[of[i] + 2]++;
    }
    for (uint32_t m = 0; m < mappings; m++)
        first[m + 1] += first[m];
    for (uint32_t i = 0; i < extras; i++)
        if (of[i] < SEVERAL) ret_lines->extra[first[of[i] + 1]++] = i;
}

void pt_dcpi_lines_done(pt_dcpi_lines *lines)
{
    PT_FREE_ALL(lines->first, lines->extra);
}

static bool is_later_version(const char *line)
{
    return pt_begins(line, "version pdb-") && strtoul(line + 12, NULL, 10) >= 1;
}

/* The number of lines of the mapping's binary header. *ret_is_later: the header has a version that
 * is not written. */
static uint32_t count_lines(const pt_dcpi_lines *lines, uint32_t mapping, bool *ret_is_later)
{
    const pt_profile *const p = lines->p;
    uint32_t n = 0;
    *ret_is_later = false;
    for (uint32_t i = lines->first[mapping]; i < lines->first[mapping + 1]; i++) {
        if (pt_dcpi_is_of_text(p, lines->extra[i])) continue;
        *ret_is_later |= is_later_version(pt_text(p, p->extra->value[lines->extra[i]]));
        n++;
    }
    return n;
}

uint32_t pt_dcpi_kept_lines(const pt_dcpi_lines *lines, uint32_t mapping)
{
    bool is_later;
    const uint32_t n = count_lines(lines, mapping, &is_later);
    return is_later ? 0 : n;
}

uint32_t pt_dcpi_later_lines(const pt_dcpi_lines *lines, uint32_t mapping)
{
    bool is_later;
    const uint32_t n = count_lines(lines, mapping, &is_later);
    return is_later ? n : 0;
}

const char *pt_dcpi_kept_line(const pt_dcpi_lines *lines, uint32_t mapping, const char *keyword)
{
    const pt_profile *const p = lines->p;
    for (uint32_t i = lines->first[mapping]; i < lines->first[mapping + 1]; i++) {
        pt_span word, rest;
        const char *line = pt_text(p, p->extra->value[lines->extra[i]]);
        if (is_later_version(line)) return NULL;
        if (pt_dcpi_split(pt_span_of(line), &word, &rest) && pt_span_is(word, keyword)) return line;
    }
    return NULL;
}
