/* set.c: pprof's options by name, for a shell that sets, shows and completes them. */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

#include "base/text.h"
#include "personality/pprof/shell.h"

/* Groups of options of which at most one is set. Each choice is a flag of pt_pprof_config. */
static const struct {
    const char *name;
    const char *choices[6]; /* sorted; if none is set, `initial` holds */
    const char *initial;
} groups[] = {
    {"granularity", {"addresses", "filefunctions", "files", "functions", "lines"}, "functions"},
    {"sort", {"cum", "flat"}, "flat"},
};
#define GROUP_COUNT PT_COUNT(groups)

static const pt_option *row_named(const char *name)
{
    for (size_t i = 0; i < pt_pprof_config_options.count; i++)
        if (strcmp(pt_pprof_config_options.rows[i].name, name) == 0)
            return &pt_pprof_config_options.rows[i];
    return NULL;
}

static void *field_of(pt_pprof_config *config, const pt_option *row)
{
    return (char *)config + row->offset;
}

/* The group of the word, which is its name or one of its choices; -1 if the word is neither. */
static int group_of(const char *word, bool *ret_is_choice)
{
    for (size_t g = 0; g < GROUP_COUNT; g++) {
        *ret_is_choice = strcmp(groups[g].name, word) != 0;
        if (!*ret_is_choice) return (int)g;
        for (const char *const *c = groups[g].choices; *c != NULL; c++)
            if (strcmp(*c, word) == 0) return (int)g;
    }
    return -1;
}

bool pt_pprof_is_option(const char *name)
{
    bool is_choice;
    return row_named(name) != NULL || group_of(name, &is_choice) >= 0;
}

bool pt_pprof_is_switch(const char *name)
{
    bool is_choice = false;
    if (group_of(name, &is_choice) >= 0) return is_choice;
    const pt_option *row = row_named(name);
    return row != NULL && row->type == PT_OPT_FLAG;
}

/* ---- Setting ---- */

static bool read_switch(const char *text, bool *ret_value)
{
    static const char *const yes[] = {"true", "t", "yes", "y", "1", ""};
    static const char *const no[] = {"false", "f", "no", "n", "0"};
    for (size_t i = 0; i < PT_COUNT(yes); i++)
        if (strcasecmp(text, yes[i]) == 0) return *ret_value = true, true;
    for (size_t i = 0; i < PT_COUNT(no); i++)
        if (strcasecmp(text, no[i]) == 0) return *ret_value = false, true;
    return false;
}

/* Does Go's strconv.ParseBool read the word as true? */
static bool is_true(const char *text)
{
    static const char *const words[] = {"1", "t", "T", "TRUE", "true", "True"};
    return PT_ANY(i, PT_COUNT(words), strcmp(text, words[i]) == 0);
}

static pt_status set_choice(pt_pprof_config *config, int group, const char *choice,
                            pt_error *reterr)
{
    bool found = false;
    for (const char *const *c = groups[group].choices; *c != NULL; c++)
        found |= strcmp(*c, choice) == 0;
    if (!found)
        return pt_error_set(reterr, PT_ERR_USAGE, "invalid \"%s\" value \"%s\"", groups[group].name,
                            choice);
    for (const char *const *c = groups[group].choices; *c != NULL; c++)
        *(bool *)field_of(config, row_named(*c)) = strcmp(*c, choice) == 0;
    return PT_OK;
}

static pt_status bad_number(pt_error *reterr, const char *function, const char *text)
{
    return pt_error_set(reterr, PT_ERR_USAGE, "strconv.%s: parsing \"%s\": %s", function, text,
                        errno == ERANGE ? "value out of range" : "invalid syntax");
}

pt_status pt_pprof_set(pt_pprof_config *config, const char *name, const char *value,
                       pt_error *reterr)
{
    bool is_choice = false;
    const int group = group_of(name, &is_choice);
    if (group >= 0 && is_choice && !is_true(value))
        return pt_error_set(reterr, PT_ERR_USAGE, "unknown config field \"%s\"", name);
    if (group >= 0) return set_choice(config, group, is_choice ? name : value, reterr);
    const pt_option *row = row_named(name);
    if (row == NULL) return pt_error_set(reterr, PT_ERR_USAGE, "unknown config field \"%s\"", name);
    void *field = field_of(config, row);
    char *end = NULL;
    errno = 0;
    if (row->type == PT_OPT_FLAG) {
        if (!read_switch(value, field))
            return pt_error_set(reterr, PT_ERR_USAGE, "illegal value \"%s\" for bool variable",
                                value);
    } else if (row->type == PT_OPT_INT) {
        const long long number = strtoll(value, &end, 10);
        if (end == value || *end != '\0' || errno != 0 || value[0] == ' ')
            return bad_number(reterr, "Atoi", value);
        *(int64_t *)field = number;
    } else if (row->type == PT_OPT_DOUBLE) {
        const double number = strtod(value, &end);
        if (end == value || *end != '\0' || value[0] == ' ')
            return bad_number(reterr, "ParseFloat", value);
        *(double *)field = number;
    } else {
        *(const char **)field = value;
    }
    return PT_OK;
}

/* ---- Showing ---- */

/* The number with as few digits as identify it, as Go prints it. */
static char *number_text(double value)
{
    char text[40];
    for (int digits = 1; digits <= 17; digits++) {
        snprintf(text, sizeof text, "%.*g", digits, value);
        if (strtod(text, NULL) == value) break;
    }
    return pt_strdup(text);
}

static char *value_text(const pt_pprof_config *config, const pt_option *row)
{
    const void *field = (const char *)config + row->offset;
    switch (row->type) {
    case PT_OPT_FLAG: return pt_strdup(*(const bool *)field ? "true" : "false");
    case PT_OPT_INT: return pt_strf("%lld", (long long)*(const int64_t *)field);
    case PT_OPT_DOUBLE: return number_text(*(const double *)field);
    default: break;
    }
    const char *text = *(const char *const *)field;
    return pt_strdup(text != NULL ? text : "");
}

static const char *choice_of(const pt_pprof_config *config, size_t group)
{
    for (const char *const *c = groups[group].choices; *c != NULL; c++)
        if (*(const bool *)((const char *)config + row_named(*c)->offset)) return *c;
    return groups[group].initial;
}

static void put_option(pt_buf *buf, const char *name, const char *value, const char *comment)
{
    pt_putf(buf, "  %-25s = %-20s %s%s\n", name, value, comment[0] != '\0' ? "//: " : "", comment);
}

static char *join_words(const char *const *words, size_t count)
{
    pt_buf buf = PT_BUF_INIT;
    pt_put_text(&buf, "[");
    for (size_t i = 0; i < count && words[i] != NULL; i++)
        pt_putf(&buf, "%s%s", i > 0 ? " | " : "", words[i]);
    pt_put_text(&buf, "]");
    return pt_buf_take(&buf, NULL);
}

static void put_event(pt_buf *buf, const pt_profile *p, const char *value)
{
    const uint32_t count = p->event->t.count;
    PT_FREE const char **types = pt_alloc(count + 1, sizeof *types);
    for (uint32_t e = 0; e < count; e++)
        types[e] = pt_text(p, p->event->row[e].type);
    PT_FREE char *comment = join_words(types, count);
    put_option(buf, "sample_index", value[0] == '\0' && count > 0 ? types[count - 1] : value,
               comment);
}

static void put_row(pt_buf *buf, const pt_profile *p, const pt_pprof_config *config,
                    const pt_option *row)
{
    bool is_choice;
    PT_FREE char *value = value_text(config, row);
    if (group_of(row->name, &is_choice) >= 0 || strcmp(row->name, "source_path") == 0) return;
    if (strcmp(row->name, "sample_index") == 0) return put_event(buf, p, value);
    const bool usual = strcmp(row->name, "nodecount") == 0 && strcmp(value, "-1") == 0;
    put_option(buf, row->name, value[0] == '\0' ? "\"\"" : value, usual ? "default" : "");
}

char *pt_pprof_options_text(const pt_pprof_config *config, const pt_profile *profile)
{
    const size_t most = pt_pprof_config_options.count + GROUP_COUNT;
    PT_FREE char **lines = pt_alloc(most, sizeof *lines);
    size_t count = 0;
    for (size_t i = 0; i < most; i++) {
        pt_buf buf = PT_BUF_INIT;
        if (i < GROUP_COUNT) {
            PT_FREE char *comment = join_words(groups[i].choices, 6);
            put_option(&buf, groups[i].name, choice_of(config, i), comment);
        } else {
            put_row(&buf, profile, config, &pt_pprof_config_options.rows[i - GROUP_COUNT]);
        }
        lines[count++] = pt_buf_take(&buf, NULL);
    }
    qsort(lines, count, sizeof *lines, pt_compare_texts);
    pt_buf all = PT_BUF_INIT;
    for (size_t i = 0; i < count; i++) {
        pt_put_text(&all, lines[i]);
        free(lines[i]);
    }
    return pt_buf_take(&all, NULL);
}

/* ---- Completing ---- */

void pt_pprof_each_option(void (*each)(void *context, const char *name), void *context)
{
    for (size_t g = 0; g < GROUP_COUNT; g++)
        each(context, groups[g].name);
    for (size_t i = 0; i < pt_pprof_config_options.count; i++)
        each(context, pt_pprof_config_options.rows[i].name);
}

const char *pt_pprof_option_help(const char *name)
{
    const pt_option *row = row_named(name);
    if (row != NULL) return row->help;
    bool is_choice;
    const int group = group_of(name, &is_choice);
    return group < 0    ? NULL
           : group == 0 ? "what a row or node stands for"
                        : "what rows are sorted by";
}
