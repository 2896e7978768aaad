/* query.c: chooses the event, applies the options of the query (focus, ignore, hide, show ...), and
 * prints a message if no samples are left. */
#include "cmd/query.h"

#include <stdlib.h>

#include "base/file.h"
#include "base/near.h"
#include "base/text.h"
#include "base/units.h"
#include "cmd/input.h"
#include "cmd/options.h"
#include "model/sums.h"
#include "transform/aggregate.h"
#include "transform/foreign.h"
#include "transform/interpreter.h"
#include "transform/private.h"
#include "transform/prune.h"
#include "transform/recursion.h"
#include "transform/scale.h"
#include "transform/sum.h"
#include "transform/tags.h"
#include "transform/waits.h"
#include "view/own_code.h"
#include "view/runtimes.h"

#define KEYS_SHOWN 12

/* ---- Back to a command line ---- */

char *pt_query_text(const pt_query *query)
{
    pt_query filters = *query;
    filters.event = NULL;
    filters.relative = filters.all_frames = filters.native = false;
    const pt_option_part part = {.table = &pt_query_options, .into = &filters};
    const pt_options options = {.parts = &part, .part_count = 1};
    pt_buf buf = PT_BUF_INIT;
    pt_options_print(&options, &buf);
    return pt_buf_take(&buf, NULL);
}

/* ---- Event ---- */

/* Names the events with values if the default event has none. */
static void say_other_events(const pt_cmd_context *context)
{
    const pt_profile *const p = context->profile;
    if (pt_profile_magnitude(p, context->event) != 0) return;
    PT_AUTO(pt_buf) list = PT_BUF_INIT;
    for (uint32_t e = 0; e < p->event->t.count; e++)
        if (pt_profile_magnitude(p, e) != 0)
            pt_putf(&list, "%s%s", list.size > 0 ? ", " : "", pt_text(p, p->event->row[e].type));
    if (list.size > 0)
        pt_say("%s: all values of %s are 0; --event=EVENT shows another event: %s", context->title,
               pt_text(p, p->event->row[context->event].type), pt_buf_text(&list));
}

/* Adds the sum of several events to the profile: "cpu+off-cpu". */
static pt_status add_sum(pt_cmd_context *context, const char *names, pt_error *reterr)
{
    const pt_profile *summed;
    const pt_status status = pt_sum_events(context->profile, names, &summed, reterr);
    if (status != PT_OK) return status;
    pt_profile_unref(context->profile);
    context->profile = summed;
    context->event = summed->event->t.count - 1;
    return PT_OK;
}

static int choose_event(pt_cmd_context *context)
{
    const pt_profile *p = context->profile;
    const char *name = context->query.event;
    const bool asked = name != NULL && name[0] != '\0';
    if (p->event->t.count == 0) {
        pt_say("%s: the profile has no events", context->title);
        return PT_EXIT_NO_MATCH;
    }
    pt_error error = PT_ERROR_INIT;
    pt_status status = PT_OK;
    if (asked && pt_is_sum(p, name)) {
        status = add_sum(context, name, &error);
    } else {
        context->event = asked ? pt_profile_find_event(p, name) : pt_profile_default_event(p);
        if (context->event == PT_NONE)
            status = pt_error_set(&error, PT_ERR_NOTFOUND, "the profile has no such event");
    }
    if (status == PT_OK) {
        if (!asked) say_other_events(context);
        return PT_EXIT_OK;
    }
    PT_AUTO(pt_buf) list = PT_BUF_INIT;
    for (uint32_t e = 0; e < p->event->t.count && status == PT_ERR_NOTFOUND; e++)
        pt_putf(&list, "%s%s", e > 0 ? ", " : "; its events: ", pt_text(p, p->event->row[e].type));
    pt_say("--event=%s: %s%s", name, error.message, pt_buf_text(&list));
    return PT_EXIT_USAGE;
}

/* ---- Nothing matched ---- */

static bool has_base(const pt_cmd_context *context)
{
    const pt_base_settings *const base = context->base;
    return base != NULL && base->base.count + base->diff_base.count > 0;
}

/* The names nearest to a pattern that matched nothing. */
static char *near_names(const pt_profile *p, const char *pattern)
{
    pt_near near;
    pt_near_init(&near, pattern);
    for (uint32_t f = 0; f < p->function->t.count; f++)
        pt_near_offer(&near, pt_text(p, p->function->name[f]));
    pt_buf list = PT_BUF_INIT;
    for (size_t i = 0; i < near.count; i++)
        pt_putf(&list, "%s%s", i > 0 ? ", " : "", near.best[i].word);
    return pt_buf_take(&list, NULL);
}

/* The keys of the samples' labels, each once, for a message; "" if there are none. */
static char *label_keys(const pt_profile *p)
{
    PT_FREE bool *seen = pt_alloc(p->string->t.count, sizeof *seen);
    pt_buf list = PT_BUF_INIT;
    size_t shown = 0;
    for (uint64_t l = 0; l < p->labels->offset[p->labels->t.count] && shown <= KEYS_SHOWN; l++) {
        const uint32_t key = p->labels->row[l].key;
        if (seen[key]) continue;
        seen[key] = true;
        const char *const text = shown == KEYS_SHOWN ? "..." : pt_text(p, key);
        pt_putf(&list, "%s%s", shown++ > 0 ? ", " : "", text);
    }
    return pt_buf_take(&list, NULL);
}

static void say_no_label(const pt_cmd_context *context, const char *option, const char *pattern)
{
    PT_UNREF_PROFILE const pt_profile *labelled = pt_columns_to_labels(context->profile, true);
    PT_FREE char *keys = label_keys(labelled);
    pt_say("--%s=%s matches no label%s%s", option, pattern,
           keys[0] != '\0' ? "; the samples have: " : "; the samples have no labels", keys);
}

static void say_no_time(const char *option, const char *time, const pt_filtered *f)
{
    PT_AUTO(pt_buf) span = PT_BUF_INIT;
    if (f->has_times) {
        pt_put_seconds(&span, f->first_ns);
        pt_put_u8(&span, ',');
        pt_put_seconds(&span, f->last_ns);
    }
    pt_say(f->has_times ? "--%s=%s: there are no samples in this range; the profile has %s"
                        : "--%s=%s: the samples of this profile have no times%s",
           option, time, pt_buf_text(&span));
}

static void say_unmatched(const pt_cmd_context *context, const pt_filtered *f, pt_filter_kind kind)
{
    const char *pattern = pt_filter_pattern(&context->query, kind);
    if (kind == PT_FILTER_TIME) {
        say_no_time("time", pattern, f);
        return;
    }
    if (kind >= PT_FILTER_TAG_FOCUS && kind <= PT_FILTER_TAG_HIDE) {
        say_no_label(context, pt_filter_name(kind), pattern);
        return;
    }
    if (kind == PT_FILTER_IGNORE && !context->resident && pt_path_look(pattern) == PT_PATH_OTHER) {
        pt_say(PT_IGNORED_FILE, pattern, context->command->name, pattern);
        return;
    }
    PT_FREE char *near = near_names(context->profile, pattern);
    pt_say("--%s=%s matches no function, source file or mapped file%s%s", pt_filter_name(kind),
           pattern, near[0] != '\0' ? "; near: " : "", near);
}

/* Reports a profile without samples, unless the command can report its calls or blocks. */
static int judge_empty(const pt_cmd_context *context)
{
    const uint32_t arcs = context->profile->arc->t.count;
    const uint32_t blocks = context->profile->block->t.count;
    const bool is_difference = has_base(context) || pt_query_has_base(&context->query);
    if (arcs == 0 && blocks == 0) {
        pt_say(is_difference ? "%s: no sample differs from the base" : "%s has no samples",
               context->title);
        return PT_EXIT_NO_MATCH;
    }
    if (context->command->needs & PT_NEEDS_ALL_FRAMES) return PT_EXIT_OK;
    if ((context->command->needs & PT_READS_CALLS) && arcs > 0) return PT_EXIT_OK;
    pt_say("%s has no samples, but call arcs (%u) and basic blocks (%u): %spitot dump --raw "
           "shows them",
           context->title, arcs, blocks, arcs > 0 ? "pitot tree shows the calls, " : "");
    return PT_EXIT_NO_MATCH;
}

static void say_nothing_left(const pt_cmd_context *context, const pt_filtered *f)
{
    const struct {
        uint32_t count;
        const char *why;
    } drops[] = {
        {f->unfocused, "outside the focus"}, {f->ignored, "ignored"},
        {f->emptied, "without frames"},      {f->unshown, "without a frame of --show-from"},
        {f->tag_dropped, "by their labels"}, {f->untimely, "outside the time range"},
    };
    PT_AUTO(pt_buf) list = PT_BUF_INIT;
    for (size_t i = 0; i < PT_COUNT(drops); i++)
        if (i < 3 || drops[i].count > 0)
            pt_putf(&list, "%s%u %s", i > 0 ? ", " : "", drops[i].count, drops[i].why);
    PT_FREE char *query = pt_query_text(&context->query);
    pt_say("%s drops all %u samples: %s", query, context->profile->sample->t.count,
           pt_buf_text(&list));
}

/* Does a profile without stacks have calls left for a command that reads calls? */
static bool leaves_calls(const pt_cmd_context *context, const pt_filtered *f)
{
    if (!(context->command->needs & PT_READS_CALLS) || f->profile->arc->t.count == 0) return false;
    const pt_summary summary = pt_summary_of(context->profile, context->event);
    return pt_summary_from_calls(&summary);
}

/* Reports the patterns that matched nothing. If such a pattern chooses samples, none are left. */
static int judge_filtered(const pt_cmd_context *context, const pt_filtered *f)
{
    if (context->profile->sample->t.count == 0) return judge_empty(context);
    for (int k = 0; k < PT_FILTER_COUNT; k++)
        if (f->asked[k] && !f->matched[k]) say_unmatched(context, f, (pt_filter_kind)k);
    if (f->kept > 0 || leaves_calls(context, f)) return PT_EXIT_OK;
    static const pt_filter_kind choosing[] = {PT_FILTER_FOCUS, PT_FILTER_SHOW, PT_FILTER_SHOW_FROM,
                                              PT_FILTER_TAG_FOCUS, PT_FILTER_TIME};
    bool silent = false; /* the reason was printed already */
    for (size_t i = 0; i < PT_COUNT(choosing); i++)
        silent |= f->asked[choosing[i]] && !f->matched[choosing[i]];
    if (!silent) say_nothing_left(context, f);
    return PT_EXIT_NO_MATCH;
}

/* ---- Labels as frames ---- */

static int make_tag_frames(pt_cmd_context *context)
{
    const pt_query *const query = &context->query;
    pt_tagged tagged;
    pt_error error = PT_ERROR_INIT;
    if (pt_tag_frames(context->profile, query, &tagged, &context->diag, &error) != PT_OK)
        return pt_fail(&error);
    if (query->tag_root != NULL && !tagged.root_matched)
        say_no_label(context, "tag-root", query->tag_root);
    if (query->tag_leaf != NULL && !tagged.leaf_matched)
        say_no_label(context, "tag-leaf", query->tag_leaf);
    pt_profile_unref(context->profile);
    context->profile = tagged.profile;
    return PT_EXIT_OK;
}

/* The text of the query and of the subtracted profiles. */
static char *whole_query_text(pt_cmd_context *context)
{
    char *const query = pt_query_text(&context->query);
    if (context->base == NULL) return query;
    const pt_option_part part = {.table = &pt_base_options, .into = context->base};
    const pt_options options = {.parts = &part, .part_count = 1};
    pt_buf buf = PT_BUF_INIT;
    pt_put_text(&buf, query);
    PT_AUTO(pt_buf) base = PT_BUF_INIT;
    pt_options_print(&options, &base);
    if (base.size > 0) pt_putf(&buf, "%s%s", buf.size > 0 ? " " : "", pt_buf_text(&base));
    free(query);
    return pt_buf_take(&buf, NULL);
}

/* Replaces the answer by profile. Takes over the caller's reference to profile. */
static void replace_answer(pt_cmd_context *context, const pt_profile *profile)
{
    pt_profile_unref(context->filtered.profile);
    context->filtered.profile = context->answer = profile;
}

static int keep_own_code(pt_cmd_context *context)
{
    PT_FREE bool *line = pt_own_lines(context->answer, true);
    PT_FREE bool *nameless = pt_own_nameless(context->answer);
    const pt_profile *own;
    pt_error error = PT_ERROR_INIT;
    if (pt_fold_foreign(context->answer, line, nameless, &own, &context->diag, &error) != PT_OK)
        return pt_fail(&error);
    replace_answer(context, own);
    return PT_EXIT_OK;
}

/* Reports the languages whose code has no names. A shell reports these languages only once. */
static void say_nameless_languages(const pt_cmd_context *context)
{
    if (context->resident) return;
    pt_nameless_language list[PT_NAMELESS_LANGUAGES_MAX];
    const size_t count = pt_nameless_languages(context->answer, context->event, list);
    for (size_t i = 0; i < count; i++)
        pt_say("%s: %.0f %% is in %s code, which has no names: %s", context->title,
               100 * list[i].share, list[i].language, list[i].advice);
}

/* The facts of the profile for the report's head. All commands show the same share of code without
 * names: the share in the profile without an interpreter's own frames, even if the command keeps
 * these frames (PT_NEEDS_NATIVE_FRAMES). */
static pt_summary summary_as_shown(pt_cmd_context *context)
{
    pt_summary summary = pt_summary_of(context->profile, context->event);
    if (context->query.native || !(context->command->needs & PT_NEEDS_NATIVE_FRAMES))
        return summary;
    PT_AUTO(pt_diag) diag;
    pt_diag_init(&diag);
    PT_UNREF_PROFILE const pt_profile *folded = pt_fold_interpreter(context->profile, &diag);
    summary.unnamed_share = pt_summary_of(folded, context->event).unnamed_share;
    return summary;
}

/* ---- A range as the base ---- */

/* Keeps the samples of `range`, the value of the option; all samples if range is NULL. */
static int keep_range(pt_cmd_context *context, const char *option, const char *range,
                      pt_filtered *ret_kept)
{
    static const char named[] = "--time=";
    const pt_query only = {.time = range};
    pt_error error = PT_ERROR_INIT;
    if (pt_filter(context->profile, &only, ret_kept, &context->diag, &error) != PT_OK) {
        const char *const text = error.message;
        const size_t skip = pt_begins(text, named) ? sizeof named - 1 : 0;
        pt_say("--%s%s%s", option, skip > 0 ? "=" : ": ", text + skip);
        return PT_EXIT_USAGE;
    }
    if (!ret_kept->asked[PT_FILTER_TIME] || ret_kept->matched[PT_FILTER_TIME]) return PT_EXIT_OK;
    say_no_time(option, range, ret_kept);
    return PT_EXIT_NO_MATCH;
}

bool pt_query_has_base(const pt_query *query)
{
    return query->base_time != NULL && query->base_time[0] != '\0';
}

/* ->profile becomes the range of --time minus that of --base-time. */
static int subtract_range(pt_cmd_context *context)
{
    const pt_query *const query = &context->query;
    if (!pt_query_has_base(query) || context->command->needs & PT_ANSWERS_LINES) return PT_EXIT_OK;
    if (has_base(context) || context->side[0] != NULL)
        return pt_cmd_usage(context, "--base-time is a range of the profile itself, and excludes "
                                     "--base and --diff-base");
    const pt_subtract_options how = {.marks_base = (context->command->needs & PT_MARKS_BASE) != 0,
                                     .normalizes =
                                         context->base != NULL && context->base->normalize};
    PT_AUTO(pt_filtered) before = {0}, after = {0};
    pt_diag lost; /* not reported: a difference has no times, and nobody expects times in it */
    pt_error error = PT_ERROR_INIT;
    pt_diag_init(&lost);
    int status = keep_range(context, "base-time", query->base_time, &before);
    if (status == PT_EXIT_OK) status = keep_range(context, "time", query->time, &after);
    if (status == PT_EXIT_OK) {
        const pt_profile *less = NULL;
        if (pt_subtract(after.profile, before.profile, &how, &less, &lost, &error) != PT_OK) {
            status = pt_fail(&error);
        } else {
            pt_profile_unref(context->profile);
            context->profile = less;
            if (context->command->needs & PT_KEEPS_SIDES) {
                context->side[0] = pt_profile_ref(before.profile);
                context->side[1] = pt_profile_ref(after.profile);
            }
        }
    }
    pt_diag_done(&lost);
    return status;
}

/* ---- Private data ---- */

static pt_status clean_profile(const pt_cmd_context *context, const pt_profile **profile,
                               pt_error *reterr)
{
    const pt_profile *clean = NULL;
    const pt_status status =
        pt_without_private(*profile, context->query.keep_labels, &clean, reterr);
    if (status != PT_OK) return status;
    pt_profile_unref(*profile);
    *profile = clean;
    return PT_OK;
}

int pt_cmd_remove_private(pt_cmd_context *context)
{
    pt_error error = PT_ERROR_INIT;
    const bool answers_all = context->filtered.profile == context->profile;
    pt_status status = clean_profile(context, &context->profile, &error);
    if (status == PT_OK && context->answer != NULL) {
        if (answers_all)
            replace_answer(context, pt_profile_ref(context->profile));
        else
            status = clean_profile(context, &context->filtered.profile, &error);
        context->answer = context->filtered.profile;
    }
    for (int side = 0; side < 2 && status == PT_OK; side++)
        if (context->side[side] != NULL)
            status = clean_profile(context, &context->side[side], &error);
    context->title = pt_base_name(context->title);
    return status == PT_OK ? PT_EXIT_OK : pt_fail(&error);
}

int pt_cmd_ask(pt_cmd_context *context)
{
    int status = subtract_range(context);
    if (status == PT_EXIT_OK) status = choose_event(context);
    if (status != PT_EXIT_OK) return status;
    if (!context->query.all_frames && !(context->command->needs & PT_NEEDS_ALL_FRAMES)) {
        const pt_profile *pruned = pt_prune(context->profile, &context->diag);
        pt_profile_unref(context->profile);
        context->profile = pruned;
    }
    const unsigned keeps_native = PT_NEEDS_ALL_FRAMES | PT_NEEDS_NATIVE_FRAMES;
    if (!context->query.native && !(context->command->needs & keeps_native)) {
        const pt_profile *folded = pt_fold_interpreter(context->profile, &context->diag);
        pt_profile_unref(context->profile);
        bool is_shortened;
        context->profile = pt_fold_waits(folded, context->event, &is_shortened, &context->diag);
        pt_profile_unref(folded);
        if (is_shortened && !context->resident)
            pt_say("%s: of the kernel's functions, a wait shows only the function that waits; "
                   "--native shows all",
                   context->title);
    }
    status = make_tag_frames(context);
    if (status != PT_EXIT_OK) return status;
    pt_error error = PT_ERROR_INIT;
    pt_query filters = context->query;
    if (pt_query_has_base(&filters)) filters.time = NULL; /* subtract_range did this */
    if (pt_filter(context->profile, &filters, &context->filtered, &context->diag, &error) != PT_OK)
        return pt_fail(&error);
    status = judge_filtered(context, &context->filtered);
    if (status != PT_EXIT_OK) return status;
    context->answer = context->filtered.profile;
    say_nameless_languages(context);
    if (context->query.mine) status = keep_own_code(context);
    if (status != PT_EXIT_OK) return status;
    if (context->query.no_inlines)
        replace_answer(context, pt_aggregate(context->answer, (pt_keep){.functions = true,
                                                                        .files = true,
                                                                        .lines = true,
                                                                        .columns = true,
                                                                        .addresses = true}));
    if (context->query.recursion != PT_RECURSION_KEPT)
        replace_answer(context, pt_collapse_recursion(context->answer,
                                                      (pt_recursion)context->query.recursion,
                                                      &context->diag));
    if (context->query.no_private) status = pt_cmd_remove_private(context);
    if (status != PT_EXIT_OK) return status;
    context->query_text =
        context->query.no_private ? pt_strdup("--private") : whole_query_text(context);
    context->head = (pt_report_head){
        .title = context->title,
        .summary = summary_as_shown(context),
        .query = context->query_text,
        .relative = context->query.relative,
        .kept = pt_summary_samples(context->answer),
        .kept_total = pt_profile_magnitude(context->answer, context->event),
    };
    context->head.kept_share = pt_share(context->head.kept_total, context->head.summary.total);
    context->whole =
        context->query.relative ? context->head.kept_total : context->head.summary.total;
    if (context->base != NULL && context->base->diff_base.count > 0)
        context->whole =
            pt_whole(context->query.relative ? context->answer : context->profile, context->event);
    return PT_EXIT_OK;
}
