/* diff.c: pitot diff, the changes between two profiles, and which of them noise explains. */
#include "cmd/diff.h"

#include <math.h>
#include <string.h>

#include "base/grow.h"
#include "cmd/cmd.h"
#include "cmd/input.h"
#include "cmd/query.h"
#include "cmd/shape.h"
#include "model/sums.h"
#include "render/diff.h"
#include "render/value.h"

static const pt_option diff_rows[] = {
    PT_ROW("before", LIST, pt_diff_settings, before, .metavar = "PROFILE",
           .help = "a profile from before; may be given several times",
           .details = "With --before, the profiles among the arguments are all from after. Without "
                      "it, -- stands between the two sides. With several runs a side, the "
                      "difference between runs counts as noise, too: a busy machine, another "
                      "layout of memory. One run cannot show it."),
    PT_ROW("normalize", FLAG, pt_diff_settings, normalize, .flags = PT_OPT_NEGATABLE,
           .help = "compare shares: scale after to the total of before",
           .details = "For servers under different load, or runs of different length. A function "
                      "that grows then reduces the shares of all others."),
    PT_ROW("fail-above", PERCENT, pt_diff_settings, fail_above, .flags = PT_OPT_MAY_LACK,
           .metavar = "PERCENT",
           .help = "exit with status 5 if a function, or the whole, grew by more than this share",
           .details = "For continuous integration. The limit is a share of the whole before. It "
                      "applies to the self and total of each function, and to the whole profile; "
                      "with --normalize to functions alone. Noise of sampling exceeds it at most "
                      "once in a thousand diffs, over all functions together. With several runs a "
                      "side the noise of the machine counts, too."),
    PT_ROW("confidence", PERCENT, pt_diff_settings, confidence, .initial = "95%",
           .help = "the confidence of the intervals, and of all marks together",
           .details = "An interval holds the true change in this share of cases. In this share of "
                      "diffs of a program with itself, every change has the mark ~."),
    PT_ROWS_ROW(pt_diff_settings, "20",
                "The last line shows how many more there are. JSON and CSV have the same rows."),
    PT_ROW("sort", CHOICE, pt_diff_settings, sort, .letter = 's', .initial = "self",
           .choices = "self total",
           .help = "the change to sort by; changes beyond noise come first",
           .details = "self is the value of the function itself, total adds its callees."),
    PT_FOLD_ROWS(pt_diff_settings, "row", "object"),
    PT_SHAPE_JSON_ROW(pt_diff_settings),
    PT_SHAPE_CSV_ROW(pt_diff_settings),
    PT_SHAPE_MARKDOWN_ROW(pt_diff_settings),
};
static const pt_option_table diff_options = PT_OPTION_TABLE(diff_rows);

/* ---- The runs ---- */

/* One side of the comparison: its runs, each of which is a profile that was loaded, symbolized and
 * filtered in a context of its own. items[i] is the context of runs[i]. */
typedef struct {
    pt_cmd_context *items;
    size_t count, cap;
    pt_diff_run *runs;
} side;

static void side_done(side *s)
{
    for (size_t i = 0; i < s->count; i++) {
        pt_cmd_context *c = &s->items[i];
        pt_filtered_done(&c->filtered);
        pt_profile_unref(c->profile);
        pt_loaded_done(&c->loaded);
        pt_diag_done(&c->diag);
        pt_pool_free(c->pool);
        PT_FREE_ALL(c->query_text, c->title_memory, (void *)c->args);
    }
    PT_FREE_ALL(s->items, s->runs);
    *s = (side){0};
}

/* Loads and symbolizes a run's profile, except if the profile is in memory already, and filters it.
 * If the run has no samples left, its profile is NULL, and all rows of the other side are new or
 * gone. */
static int prepare_run(pt_cmd_context *run, pt_diff_run *ret_run)
{
    int status = run->resident ? PT_EXIT_OK : pt_cmd_load(run);
    if (status == PT_EXIT_OK && !run->resident) status = pt_cmd_symbolize(run);
    if (status == PT_EXIT_OK) status = pt_cmd_ask(run);
    if (status == PT_EXIT_NO_MATCH && run->profile != NULL && run->profile->event->t.count > 0) {
        *ret_run = (pt_diff_run){.profile = NULL, .event = run->event};
        return PT_EXIT_OK;
    }
    *ret_run = (pt_diff_run){.profile = run->answer, .event = run->event};
    return status;
}

/* Adds a context for a run to the side. Its query has the side's range if two ranges of one profile
 * are compared (--base-time). The caller fills the context and calls prepare_run. */
static pt_cmd_context *append_run(pt_cmd_context *context, side sides[2], int which)
{
    side *const s = &sides[which];
    PT_GROW(*s, s->count + 1);
    s->runs = pt_realloc(s->runs, s->count + 1, sizeof *s->runs);
    pt_cmd_context *run = &s->items[s->count];
    *run = pt_cmd_context_like(context);
    run->query = context->query;
    run->query.base_time = NULL;
    if (pt_query_has_base(&context->query) && which == PT_BEFORE)
        run->query.time = context->query.base_time;
    return run;
}

static int two_bases(const pt_cmd_context *context)
{
    return pt_cmd_usage(context, "--base-time compares two ranges of one profile; leave out the "
                                 "profiles from before");
}

/* Adds the runs of both sides for a page or the shell: the two profiles of the shown difference, or
 * two ranges of the shown profile. */
static int add_resident_runs(pt_cmd_context *context, side sides[2])
{
    int status = PT_EXIT_OK;
    const bool is_of_ranges = pt_query_has_base(&context->query);
    const bool has_sides = context->side[PT_BEFORE] != NULL;
    if (!has_sides && !is_of_ranges)
        return pt_cmd_usage(context,
                            "there is nothing to compare %s with; open it with "
                            "--base=PROFILE, or take a time range of it as the base",
                            context->title);
    if (has_sides && is_of_ranges) return two_bases(context);
    for (int which = 0; which < 2 && status == PT_EXIT_OK; which++) {
        side *s = &sides[which];
        pt_cmd_context *run = append_run(context, sides, which);
        run->profile = pt_profile_ref(has_sides ? context->side[which] : context->profile);
        run->resident = true;
        run->title =
            which == PT_AFTER || !has_sides ? context->title : pt_cmd_before_title(context);
        status = prepare_run(run, &s->runs[s->count]);
        s->count++;
        pt_diag_merge(&context->diag, &run->diag);
    }
    return status;
}

static int add_run(pt_cmd_context *context, side sides[2], int which, const char *name,
                   const char *program)
{
    side *const s = &sides[which];
    pt_cmd_context *run = append_run(context, sides, which);
    const char **args = pt_alloc(2, sizeof *args);
    args[run->arg_count++] = name;
    if (program != NULL) args[run->arg_count++] = program;
    run->args = args;
    const int status = prepare_run(run, &s->runs[s->count]);
    s->count++;
    if (run->loaded.damaged_count > 0) context->loaded.damaged_count++;
    pt_diag_merge(&context->diag, &run->diag);
    return status;
}

/* The index of the "--" that divides the arguments; arg_count if there is no such "--". A "--"
 * before all arguments divides nothing: it only allows names that begin with a dash. */
static size_t find_divider(const pt_cmd_context *context)
{
    for (size_t i = 1; i < context->arg_count; i++)
        if (strcmp(context->args[i], "--") == 0) return i;
    return context->arg_count;
}

/* Sets sides[i] to the side of argument i, or to -1 for the divider and the program. *ret_program
 * is the argument that is a program instead of a profile, or NULL. */
static int divide_arguments(pt_cmd_context *context, const pt_diff_settings *settings, int *sides,
                            const char **ret_program)
{
    const size_t divider = find_divider(context), given = settings->before.count;
    const bool is_divided = divider < context->arg_count;
    const bool is_of_ranges = pt_query_has_base(&context->query);
    size_t count[2] = {given, 0};
    for (size_t i = 0; i < context->arg_count; i++) {
        const bool is_dashes = i == divider || (i == 0 && strcmp(context->args[i], "--") == 0);
        const bool is_program = !is_dashes && pt_path_look(context->args[i]) == PT_PATH_IMAGE;
        if (is_program) *ret_program = context->args[i];
        sides[i] = is_dashes || is_program ? -1 : is_divided ? i > divider : count[PT_BEFORE] > 0;
        if (sides[i] >= 0) count[sides[i]]++;
    }
    if (is_of_ranges && (given > 0 || is_divided)) return two_bases(context);
    if (is_of_ranges && count[PT_BEFORE] == 0)
        return pt_cmd_usage(context, "diff: name the profile of the two ranges");
    if (is_of_ranges) return PT_EXIT_OK;
    if (given > 0 && is_divided)
        return pt_cmd_usage(context, "diff: either --before, or -- between the two sides");
    if (!is_divided && given == 0 && count[PT_BEFORE] + count[PT_AFTER] != 2)
        return pt_cmd_usage(context,
                            "diff takes two profiles, before and after, not %zu; for several runs: "
                            "pitot diff A1 A2 A3 -- B1 B2 B3",
                            count[PT_BEFORE] + count[PT_AFTER]);
    if (settings->has_verdict && count[PT_AFTER] == 0)
        return pt_cmd_usage(context, "ci: name a profile to compare with the base");
    if (count[PT_BEFORE] == 0 || count[PT_AFTER] == 0)
        return pt_cmd_usage(context, "diff: name a profile from %s",
                            count[PT_BEFORE] == 0 ? "before" : "after");
    return PT_EXIT_OK;
}

/* Divides the arguments into a program, profiles from before and profiles from after. */
static int add_runs(pt_cmd_context *context, const pt_diff_settings *settings, side sides[2])
{
    const char *program = NULL;
    PT_FREE int *side_of = pt_alloc(context->arg_count + 1, sizeof *side_of);
    int status = divide_arguments(context, settings, side_of, &program);
    for (size_t i = 0; i < settings->before.count && status == PT_EXIT_OK; i++)
        status = add_run(context, sides, PT_BEFORE, settings->before.items[i], program);
    const bool is_of_ranges = pt_query_has_base(&context->query);
    for (size_t i = 0; i < context->arg_count && status == PT_EXIT_OK; i++) {
        if (side_of[i] < 0) continue;
        const int which = is_of_ranges ? PT_BEFORE : side_of[i];
        status = add_run(context, sides, which, context->args[i], program);
        if (is_of_ranges && status == PT_EXIT_OK)
            status = add_run(context, sides, PT_AFTER, context->args[i], program);
    }
    return status;
}

/* The event of a run; NULL if the run has no sample left. */
static const pt_event *event_of(const pt_diff_run *run)
{
    return run->profile != NULL ? &run->profile->event->row[run->event] : NULL;
}

/* All runs must have the same event and unit. */
static int check_events(const side sides[2])
{
    const pt_diff_run *first = NULL;
    const char *first_title = NULL;
    for (int s = 0; s < 2; s++)
        for (size_t i = 0; i < sides[s].count; i++) {
            const pt_diff_run *run = &sides[s].runs[i];
            if (event_of(run) == NULL) continue;
            if (first == NULL) {
                first = run;
                first_title = sides[s].items[i].title;
                continue;
            }
            const char *unit = pt_text(run->profile, event_of(run)->unit);
            const char *wanted = pt_text(first->profile, event_of(first)->unit);
            if (strcmp(unit, wanted) == 0) continue;
            pt_say("%s has %s in %s, but %s has %s in %s; --event=EVENT chooses an event of both",
                   first_title, pt_text(first->profile, event_of(first)->type), wanted,
                   sides[s].items[i].title, pt_text(run->profile, event_of(run)->type), unit);
            return PT_EXIT_USAGE;
        }
    if (first != NULL) return PT_EXIT_OK;
    pt_say("the options leave no samples of either side");
    return PT_EXIT_NO_MATCH;
}

/* Has this side a value other than 0, even one that the options filter out? */
static bool has_values(const side *s)
{
    return PT_ANY(i, s->count, pt_profile_magnitude(s->items[i].profile, s->items[i].event) != 0);
}

/* A limit needs values on both sides. Without values after (a recording that failed), no function
 * can exceed the limit; without values before, each does. */
static int check_values(const pt_diff_settings *settings, const side sides[2])
{
    for (int s = 0; s < 2; s++) {
        if (isnan(settings->fail_above) || has_values(&sides[s])) continue;
        pt_say("%s: no sample has a value, so there is nothing to compare with a limit",
               sides[s].items[0].title);
        return PT_EXIT_NO_MATCH;
    }
    return PT_EXIT_OK;
}

/* ---- The answer ---- */

/* Below this ratio of durations, diff suggests --normalize.
 */
#define ALIKE 0.9

static void say_durations(const pt_diff_settings *settings, const pt_diff_head *head)
{
    const double a = (double)head->summary[PT_BEFORE].duration_ns;
    const double b = (double)head->summary[PT_AFTER].duration_ns;
    if (settings->normalize || a <= 0 || b <= 0 || fmin(a, b) >= ALIKE * fmax(a, b)) return;
    pt_say("before was recorded for %s, after for %s; --normalize compares shares",
           pt_value_of("nanoseconds", head->summary[PT_BEFORE].duration_ns).text,
           pt_value_of("nanoseconds", head->summary[PT_AFTER].duration_ns).text);
}

/* Finds the function, or the whole, that grew most beyond the limit. If shares are compared, the
 * whole cannot grow, since it is 100 % on both sides. */
static void find_growth(pt_diff_verdict *v, const pt_diff *diff, bool has_whole, bool is_sure)
{
    const pt_change *const all = &diff->all;
    const double growth = is_sure ? all->at_least : all->is_real ? all->change : 0;
    v->is_sure = is_sure;
    v->row = pt_diff_worst(diff, v->limit_share, is_sure, &v->is_total);
    if (v->row != PT_NONE) {
        v->name = diff->row[v->row].name;
        v->grown = v->is_total ? &diff->row[v->row].total : &diff->row[v->row].self;
    } else if (has_whole && growth > v->limit) {
        v->grown = all;
    }
}

/* The verdict on growth beyond the limit: if a growth is beyond doubt, that growth; else a growth
 * that is larger than noise. `row` of the result is the function that grew, or PT_NONE if no
 * function grew. */
static pt_diff_verdict verdict_of(const pt_diff_settings *settings, const pt_diff *diff)
{
    const double whole = diff->all.value[PT_BEFORE];
    pt_diff_verdict v = {.limit_share = settings->fail_above,
                         .limit = settings->fail_above * whole,
                         .found_share = NAN,
                         .row = PT_NONE};
    if (isnan(v.limit_share) || !diff->has_errors) return v;
    if (!settings->normalize && whole > 0) v.found_share = v.limit_share + diff->all.doubt / whole;
    find_growth(&v, diff, !settings->normalize, true);
    if (v.grown == NULL) find_growth(&v, diff, !settings->normalize, false);
    return v;
}

static int say_verdict(const pt_diff_settings *settings, const pt_diff_head *head,
                       const pt_diff *diff, const pt_diff_verdict *verdict)
{
    const char *unit = head->summary[PT_AFTER].unit;
    const char *option = settings->has_verdict ? "limit" : "fail-above";
    if (!isnan(verdict->limit_share) && !diff->has_errors) {
        pt_say("the profiles do not hold the number of samples behind their values, so noise "
               "is unknown and --%s=%g%% cannot be checked",
               option, 100 * verdict->limit_share);
        return PT_EXIT_USAGE;
    }
    if (verdict->grown != NULL) {
        PT_FREE char *text = pt_verdict_text(verdict, unit, settings->confidence);
        pt_say("--%s=%g%%: %s%s %s: %s", option, 100 * verdict->limit_share,
               verdict->is_sure ? "" : "not sure: ",
               verdict->name == NULL ? "the whole" : verdict->name,
               verdict->is_total ? "and what it calls grew" : "grew", text);
        if (verdict->is_sure) return PT_EXIT_CHANGED;
    }
    PT_FREE char *blind = pt_verdict_blind_text(verdict, diff);
    if (blind != NULL) pt_say("--%s=%g%%: %s", option, 100 * verdict->limit_share, blind);
    return PT_EXIT_OK;
}

static char *title_of(const side *s, bool is_of_ranges)
{
    const char *const time = s->count > 0 ? s->items[0].query.time : NULL;
    if (s->count != 1) return pt_strf("%zu profiles", s->count);
    if (!is_of_ranges || time == NULL || time[0] == '\0') return pt_strdup(s->items[0].title);
    return pt_strf("%s --time=%s", s->items[0].title, time);
}

/* The summary of the first run that has samples left; damaged if any run is. */
static pt_summary summary_of(const side *s)
{
    pt_summary summary = {.type = "", .unit = ""};
    bool is_damaged = false;
    for (size_t i = s->count; i-- > 0;) {
        if (s->items[i].profile == NULL) continue;
        is_damaged |= pt_profile_provenance(s->items[i].profile)->damaged;
        if (s->runs[i].profile != NULL)
            summary = pt_summary_of(s->items[i].profile, s->runs[i].event);
    }
    summary.damaged = is_damaged;
    return summary;
}

static int answer_diff(pt_cmd_context *context, const pt_diff_settings *settings,
                       const side sides[2])
{
    const bool is_of_ranges = pt_query_has_base(&context->query);
    PT_FREE char *before = title_of(&sides[PT_BEFORE], is_of_ranges);
    PT_FREE char *after = title_of(&sides[PT_AFTER], is_of_ranges);
    pt_diff_head head = {.confidence = settings->confidence, .normalized = settings->normalize};
    pt_diff_request request = {
        .normalize = settings->normalize,
        .confidence = settings->confidence,
        .sort = settings->sort,
        .fold = settings->fold,
    };
    for (int s = 0; s < 2; s++) {
        request.run[s] = sides[s].runs;
        request.run_count[s] = sides[s].count;
        head.title[s] = s == PT_BEFORE ? before : after;
        head.summary[s] = summary_of(&sides[s]);
        if (is_of_ranges && sides[s].items[0].filtered.range_ns > 0)
            head.summary[s].duration_ns = sides[s].items[0].filtered.range_ns;
    }
    if (head.summary[PT_AFTER].unit[0] == '\0') head.summary[PT_AFTER] = head.summary[PT_BEFORE];
    PT_FREE char *query = pt_query_text(&context->query);
    head.query = query;
    PT_AUTO(pt_diff) diff = {0};
    pt_error error = PT_ERROR_INIT;
    if (pt_diff_init(&diff, &request, &error) != PT_OK) return pt_fail(&error);
    const pt_diff_verdict verdict = verdict_of(settings, &diff);
    const int status = say_verdict(settings, &head, &diff, &verdict);
    say_durations(settings, &head);
    /* The verdict is written before rows are cut, because it has the index of a row. */
    if (settings->has_verdict) pt_diff_verdict_markdown(context->out, &head, &diff, &verdict);
    pt_diff_cut(&diff, (size_t)settings->rows, verdict.row);
    switch (settings->shape) {
    case PT_SHAPE_JSON: pt_diff_json(context->out, &head, &diff); break;
    case PT_SHAPE_CSV: pt_diff_csv(context->out, &head, &diff); break;
    case PT_SHAPE_MARKDOWN:
        pt_diff_markdown(context->out, &head, &diff, settings->has_verdict);
        break;
    case PT_SHAPE_TEXT: pt_diff_text(context->out, &context->look, &head, &diff); break;
    }
    return status;
}

int pt_cmd_diff(pt_cmd_context *context, const pt_diff_settings *settings)
{
    side sides[2] = {0};
    int status = PT_EXIT_OK;
    if (settings->confidence <= 0 || settings->confidence >= 1)
        return pt_cmd_usage(context, "%s: --confidence is more than 0%% and less than 100%%",
                            context->command->name);
    status = context->resident && context->base != NULL ? add_resident_runs(context, sides)
                                                        : add_runs(context, settings, sides);
    if (status == PT_EXIT_OK) status = check_events(sides);
    if (status == PT_EXIT_OK) status = check_values(settings, sides);
    if (status == PT_EXIT_OK) status = answer_diff(context, settings, sides);
    side_done(&sides[PT_BEFORE]);
    side_done(&sides[PT_AFTER]);
    return status;
}

static int diff_run(pt_cmd_context *context, void *own)
{
    return pt_cmd_diff(context, own);
}

const pt_command pt_command_diff = {
    .name = "diff",
    .group = PT_GROUP_ANSWER,
    .summary = "what changed between two profiles, and what of it is noise",
    .arguments = "[PROGRAM] BEFORE AFTER | BEFORE... -- AFTER... | --base-time=RANGE PROFILE",
    .description =
        "One row for each function: self before, self after, the change of self, and the change of "
        "total. Behind each change stands +-95%: the true change lies within this distance with 95 "
        "% certainty; then the change in percent of the value before. Samples are drawn by chance, "
        "so no two runs agree. The mark ~ means noise: chance can explain the change. Of the "
        "changes without the mark at most 5 % are expected to be noise. In 19 of 20 diffs of a "
        "program with itself, every change has the mark. Changes beyond noise come first, the "
        "largest at the top.\n\n"
        "diff compares values, such as seconds of the same work; --normalize compares shares, as "
        "of servers under different load. One run a side shows the noise of sampling only. With "
        "several runs a side (record --repeat), each value is the mean of the runs, and the noise "
        "of the machine counts, too. --base-time and --time compare two ranges of one PROFILE. "
        "PROGRAM is the file of the profiled program; most profiles name it themselves.",
    .examples =
        (const char *const[]){"pitot diff old.pb.gz new.pb.gz", "what changed",
                              "pitot diff --fail-above=2% main.pb.gz change.pb.gz",
                              "exit status 5 if a function, or the whole, grew by more than 2 %",
                              "pitot diff a.1.pb.gz a.2.pb.gz -- b.1.pb.gz b.2.pb.gz",
                              "two runs before, two after", NULL},
    .needs = PT_NEEDS_PROFILE | PT_NEEDS_SYMBOLS | PT_NEEDS_QUERY | PT_LOADS_ITSELF,
    .max_args = SIZE_MAX,
    .keeps_dashes = true,
    .options = &diff_options,
    .settings_bytes = sizeof(pt_diff_settings),
    .run = diff_run,
};
