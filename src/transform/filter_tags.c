/* filter_tags.c: selects samples by their labels, and labels by their keys. Each label set is
 * tested once, and each pattern once per distinct label. */
#include <ctype.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/hash.h"
#include "base/units.h"
#include "transform/filter_int.h"
#include "transform/tags.h"

#define PATTERNS_MAX 64 /* bits of a mask */

/* A range "32kb", ":64kb", "4mb:" or "1kb:2mb", in the unit of the first number. */
typedef struct {
    bool from, to; /* the range has this bound */
    double low, high;
    const char *unit;
    char *unit_text; /* memory of unit, or NULL */
} number_range;

typedef struct {
    const char *option, *value; /* value: text after the '=' */
    char *key;                  /* NULL: any key */
    bool is_range;
    number_range range;
    pt_regex *regex[PATTERNS_MAX];
    size_t regex_count;
    /* Distinct (key, text) labels, and a mask of the patterns that match each. */
    struct {
        struct tested_label {
            uint32_t key, text;
            uint64_t mask;
        } * items;
        size_t count, cap;
    } label;
    pt_index index;
    pt_error error; /* sticky */
} tag_pattern;

/* ---- Ranges ---- */

typedef struct {
    const char *begin, *end; /* [+-]digits[letters] */
    int64_t number;
    char *unit; /* the letters; owned */
} bound;

/* Finds the first number in text, like google/pprof's ([+-]?[[:digit:]]+)([[:alpha:]]+)?. */
static bool find_bound(const char *text, bound *ret, pt_error *reterr)
{
    const char *at = text;
    while (*at != '\0' && !isdigit((unsigned char)*at))
        at++;
    if (*at == '\0') return false;
    ret->begin = at > text && (at[-1] == '+' || at[-1] == '-') ? at - 1 : at;
    errno = 0;
    char *end;
    ret->number = strtoll(ret->begin, &end, 10);
    if (errno == ERANGE)
        pt_error_set(reterr, PT_ERR_USAGE, "%.*s does not fit 64 bits", (int)(end - ret->begin),
                     ret->begin);
    const char *const unit = end;
    while (isalpha((unsigned char)*end))
        end++;
    ret->end = end;
    ret->unit = pt_strf("%.*s", (int)(end - unit), unit);
    return true;
}

static double convert_unit(int64_t value, const char *from, const char *to, const char **ret_unit)
{
    return pt_unit_convert_any(value, from, to, ret_unit);
}

/* Parses a number with an optional colon before or after the number. */
static bool one_bound(const char *text, const bound *b, number_range *range)
{
    const bool colon_before = text[0] == ':' && b->begin == text + 1;
    const bool colon_behind = b->end[0] == ':' && b->end[1] == '\0';
    const bool begins = b->begin == text, ends = *b->end == '\0';
    if (!(begins && (ends || colon_behind)) && !(colon_before && ends)) return false;
    range->from = begins;
    range->to = ends;
    range->high = range->low;
    return true;
}

/* Parses a range; false: text is none. *range takes over the unit of the first number. */
static bool parse_range(const char *text, number_range *range, pt_error *reterr)
{
    bound first, second;
    *range = (number_range){0};
    if (!find_bound(text, &first, reterr)) return false;
    range->unit_text = first.unit;
    range->low = convert_unit(first.number, first.unit, first.unit, &range->unit);
    if (!find_bound(first.end, &second, reterr)) return one_bound(text, &first, range);
    const char *unit;
    range->high = convert_unit(second.number, second.unit, range->unit, &unit);
    const bool same_unit = strcmp(unit, range->unit) == 0;
    free(second.unit);
    range->from = range->to = true;
    return first.begin == text && first.end[0] == ':' && second.begin == first.end + 1 &&
           *second.end == '\0' && same_unit;
}

static bool in_range(const number_range *range, int64_t number, const char *unit)
{
    const char *shown;
    const double value = convert_unit(number, unit, range->unit, &shown);
    return strcmp(shown, range->unit) == 0 && (!range->from || value >= range->low) &&
           (!range->to || value <= range->high);
}

/* ---- Compiling ---- */

static void tag_pattern_done(tag_pattern *t)
{
    PT_FREE_ALL(t->key, t->range.unit_text);
    for (size_t i = 0; i < t->regex_count; i++)
        pt_regex_free(t->regex[i]);
    free(t->label.items);
    pt_index_done(&t->index);
}

static pt_status compile_regexes(tag_pattern *t, bool pprof, pt_error *reterr)
{
    const char *at = t->value;
    for (;;) {
        const size_t length = strcspn(at, ",");
        if (t->regex_count == PATTERNS_MAX)
            return pt_error_set(reterr, PT_ERR_USAGE, "--%s: more than %d patterns", t->option,
                                PATTERNS_MAX);
        PT_FREE char *text = pt_strf("%.*s", (int)length, at);
        pt_error why = PT_ERROR_INIT;
        const pt_status status =
            pt_regex_new(text, pprof ? PT_REGEX_RE2 : 0, &t->regex[t->regex_count], &why);
        if (status != PT_OK)
            return pt_error_set(reterr, status, "--%s=%s: %s", t->option, text, why.message);
        t->regex_count++;
        if (at[length] == '\0') return PT_OK;
        at += length + 1;
    }
}

static pt_status tag_pattern_init(tag_pattern *t, const pt_filter_step *step, pt_filter_kind kind,
                                  pt_error *reterr)
{
    *t = (tag_pattern){.option = pt_filter_name(kind),
                       .value = pt_filter_pattern(step->query, kind),
                       .error = PT_ERROR_INIT};
    pt_index_init(&t->index);
    const char *const equals = strchr(t->value, '=');
    if (equals != NULL) {
        t->key = pt_strf("%.*s", (int)(equals - t->value), t->value);
        t->value = equals + 1;
    }
    pt_error why = PT_ERROR_INIT;
    t->is_range = parse_range(t->value, &t->range, &why);
    if (why.status != PT_OK)
        return pt_error_set(reterr, why.status, "--%s=%s: %s", t->option, t->value, why.message);
    if (!t->is_range) return compile_regexes(t, step->query->pprof, reterr);
    step->result->range[kind] = t->value;
    return PT_OK;
}

/* ---- Matching ---- */

static uint64_t match_patterns(tag_pattern *t, const pt_profile *p, uint32_t key, uint32_t text)
{
    PT_FREE char *both =
        t->key != NULL ? NULL : pt_strf("%s:%s", pt_text(p, key), pt_text(p, text));
    const char *const compared = both != NULL ? both : pt_text(p, text);
    const size_t size = both != NULL ? strlen(both) : pt_text_bytes(p, text);
    uint64_t mask = 0;
    for (size_t i = 0; i < t->regex_count && t->error.status == PT_OK; i++) {
        bool yes = false;
        pt_regex_match(t->regex[i], compared, size, &yes, &t->error);
        mask |= (uint64_t)yes << i;
    }
    return mask;
}

/* The mask of patterns that match a text label. */
static uint64_t mask_of(tag_pattern *t, const pt_profile *p, uint32_t key, uint32_t text)
{
    const uint64_t hash = pt_hash_u32_pair(key, text);
    const uint32_t known = PT_INDEX_FIND(
        &t->index, hash, i, t->label.items[i].key == key && t->label.items[i].text == text);
    if (known != PT_NONE) return t->label.items[known].mask;
    const uint64_t mask = match_patterns(t, p, key, text);
    PT_INDEX_PUSH(&t->index, hash, t->label, (struct tested_label){key, text, mask});
    return mask;
}

static bool set_matches(tag_pattern *t, const pt_profile *p, const pt_tag_units *units,
                        uint32_t set, bool pprof)
{
    const pt_label *const end = p->labels->row + p->labels->offset[set + 1];
    const uint64_t all = t->regex_count == 64 ? UINT64_MAX : ((uint64_t)1 << t->regex_count) - 1;
    uint64_t mask = 0;
    for (const pt_label *l = p->labels->row + p->labels->offset[set]; l < end; l++) {
        if (t->key != NULL && strcmp(pt_text(p, l->key), t->key) != 0) continue;
        if (t->is_range != (l->kind == PT_LABEL_NUMBER) || !pt_label_counts(l, pprof)) continue;
        if (t->is_range) {
            const char *unit = pt_tag_unit_of(units, l->key);
            if (unit == NULL) unit = pt_text(p, l->unit); /* the label was made of a column */
            if (in_range(&t->range, l->num, unit)) return true;
        } else {
            mask |= mask_of(t, p, l->key, l->str);
        }
    }
    return !t->is_range && (t->key != NULL ? mask != 0 : mask == all);
}

/* Converts the samples' columns to labels. */
static void use_columns(pt_filter_step *step)
{
    pt_filter_replace(step, pt_columns_to_labels(step->result->profile, true));
}

static pt_status test_sets(pt_filter_step *step, tag_pattern t[2], bool *dropped, pt_error *reterr)
{
    const pt_profile *const p = step->result->profile;
    const bool pprof = step->query->pprof;
    const bool focuses = step->result->asked[PT_FILTER_TAG_FOCUS];
    const bool ignores = step->result->asked[PT_FILTER_TAG_IGNORE];
    PT_FREE uint32_t *of_set =
        pt_filter_count(p->sample->labels, p->sample->t.count, p->labels->t.count);
    pt_tag_units units = {0};
    if ((focuses && t[0].is_range) || (ignores && t[1].is_range))
        units = pt_tag_units_of(step->whole, pprof);
    for (uint32_t set = 0; set < p->labels->t.count; set++) {
        if (of_set[set] == 0) continue;
        const bool focused = !focuses || set_matches(&t[0], p, &units, set, pprof);
        const bool ignored = ignores && set_matches(&t[1], p, &units, set, pprof);
        step->result->matched[PT_FILTER_TAG_FOCUS] |= focuses && focused;
        step->result->matched[PT_FILTER_TAG_IGNORE] |= ignored;
        dropped[set] = !focused || ignored;
        if (dropped[set]) step->result->tag_dropped += of_set[set];
    }
    pt_tag_units_done(&units);
    for (int i = 0; i < 2; i++)
        if (t[i].error.status != PT_OK)
            return pt_error_set(reterr, t[i].error.status, "--%s: %s", t[i].option,
                                t[i].error.message);
    return PT_OK;
}

pt_status pt_filter_by_tags(pt_filter_step *step, pt_error *reterr)
{
    use_columns(step);
    tag_pattern t[2] = {{.error = PT_ERROR_INIT}, {.error = PT_ERROR_INIT}};
    pt_status status = PT_OK;
    for (int i = 0; i < 2 && status == PT_OK; i++) {
        const pt_filter_kind kind = i == 0 ? PT_FILTER_TAG_FOCUS : PT_FILTER_TAG_IGNORE;
        if (step->result->asked[kind]) status = tag_pattern_init(&t[i], step, kind, reterr);
    }
    PT_FREE bool *dropped = pt_alloc(step->result->profile->labels->t.count, sizeof *dropped);
    if (status == PT_OK) status = test_sets(step, t, dropped, reterr);
    if (status == PT_OK) {
        const pt_frames_edit edit = {.set_dropped = dropped};
        pt_filter_replace(step, pt_frames_apply(step->result->profile, &edit, step->diag));
        if (step->result->asked[PT_FILTER_TAG_FOCUS]) pt_filter_drop_arcs(step);
    }
    tag_pattern_done(&t[0]);
    tag_pattern_done(&t[1]);
    return status;
}

/* ---- tag_show, tag_hide ---- */

typedef struct {
    pt_pattern show, hide;
    pt_filtered *result;
} key_choice;

static bool key_stays(key_choice *c, uint32_t key)
{
    const bool shown = !pt_pattern_asked(&c->show) || pt_pattern_matches(&c->show, key);
    const bool hidden = pt_pattern_asked(&c->hide) && pt_pattern_matches(&c->hide, key);
    c->result->matched[PT_FILTER_TAG_SHOW] |= pt_pattern_asked(&c->show) && shown;
    c->result->matched[PT_FILTER_TAG_HIDE] |= hidden;
    return shown && !hidden;
}

/* Removes labels by their keys, in each set that samples use, and gives the samples their new sets.
 * The caller owns one reference. */
static const pt_profile *choose_keys(pt_filter_step *step, key_choice *choice)
{
    const pt_profile *const p = step->result->profile;
    if (p->labels->offset[p->labels->t.count] == 0) return pt_profile_ref(p); /* no labels */
    const uint32_t count = p->sample->t.count;
    PT_FREE uint32_t *rows = pt_alloc_numbers(count);
    pt_samples *const samples = pt_samples_pick(p->sample, rows, count);
    PT_FREE uint32_t *new_set = pt_alloc(p->labels->t.count, sizeof *new_set);
    memset(new_set, 0xff, p->labels->t.count * sizeof *new_set);
    pt_set_maker maker;
    pt_set_maker_init(&maker);
    for (uint32_t i = 0; i < count; i++) {
        const uint32_t set = p->sample->labels[i];
        if (new_set[set] == PT_NONE) {
            const uint64_t end = p->labels->offset[set + 1];
            for (uint64_t l = p->labels->offset[set]; l < end; l++) {
                const pt_label *const label = &p->labels->row[l];
                if (pt_label_counts(label, step->query->pprof) && key_stays(choice, label->key))
                    pt_set_maker_put(&maker, label);
            }
            new_set[set] = pt_set_maker_commit(&maker);
        }
        ((uint32_t *)samples->labels)[i] = new_set[set];
    }
    pt_profile_tables tables = {
        .sample = samples,
        .labels = pt_set_maker_finish(&maker),
        .unknown = pt_unknowns_without(p->unknown, 1u << PT_IN_LABEL, step->diag),
    };
    return pt_profile_derive(p, &tables);
}

pt_status pt_filter_tag_keys(pt_filter_step *step, pt_error *reterr)
{
    use_columns(step);
    key_choice choice = {.result = step->result};
    pt_status status = pt_filter_compile(step, PT_FILTER_TAG_SHOW, &choice.show, reterr);
    if (status == PT_OK) status = pt_filter_compile(step, PT_FILTER_TAG_HIDE, &choice.hide, reterr);
    if (status == PT_OK) {
        const pt_profile *const chosen = choose_keys(step, &choice);
        status = pt_pattern_status(&choice.show, reterr);
        if (status == PT_OK) status = pt_pattern_status(&choice.hide, reterr);
        pt_filter_replace(step, chosen);
    }
    pt_pattern_done(&choice.show);
    pt_pattern_done(&choice.hide);
    return status;
}
