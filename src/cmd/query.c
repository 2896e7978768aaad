/* query.c: event, focus, ignore, hide and show; what they leave, and what to say if that is
 * nothing. */
#include "cmd/query.h"

#include <stdlib.h>
#include <string.h>

#include "cmd/near.h"
#include "cmd/options.h"
#include "transform/prune.h"

/* ---- Back to a command line ---- */

char *pt_query_text(const pt_query *query)
{
    pt_query filters = *query;
    filters.event = NULL;
    filters.relative = filters.all_frames = false;
    const pt_option_part part = {.table = &pt_query_options, .into = &filters};
    const pt_options options = {.parts = &part, .part_count = 1};
    pt_buf buf = PT_BUF_INIT;
    pt_options_print(&options, &buf);
    return pt_buf_take(&buf, NULL);
}

/* ---- Event ---- */

static int choose_event(pt_cmd_context *context)
{
    const pt_profile *p = context->profile;
    const char *name = context->query.event;
    const bool asked = name != NULL && name[0] != '\0';
    context->event = asked ? pt_profile_find_event(p, name) : pt_profile_default_event(p);
    if (context->event != PT_NONE) return PT_EXIT_OK;
    if (p->event->t.count == 0) {
        pt_cmd_say("%s: no events in it, so there is nothing to add up", context->title);
        return PT_EXIT_NO_MATCH;
    }
    pt_buf list = PT_BUF_INIT;
    for (uint32_t e = 0; e < p->event->t.count; e++)
        pt_putf(&list, "%s%s", e > 0 ? ", " : "", pt_text(p, p->event->row[e].type));
    pt_cmd_say("--event=%s: the profile has no such event, but: %s", name, pt_buf_text(&list));
    pt_buf_done(&list);
    return PT_EXIT_USAGE;
}

/* ---- Nothing matched ---- */

/* The names that come nearest to a pattern that matched nothing. */
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

static void say_unmatched(const pt_cmd_context *context, pt_filter_kind kind)
{
    const char *pattern = pt_filter_pattern(&context->query, kind);
    PT_FREE char *near = near_names(context->profile, pattern);
    pt_cmd_say("--%s=%s matches no function, source file or mapped file%s%s", pt_filter_name(kind),
               pattern, near[0] != '\0' ? "; near: " : "", near);
}

/* A profile without samples may hold calls or blocks, which only a command that shows all there is
 * can answer from. */
static int judge_empty(const pt_cmd_context *context)
{
    const uint32_t arcs = context->profile->arc->t.count;
    const uint32_t blocks = context->profile->block->t.count;
    if (arcs == 0 && blocks == 0) {
        pt_cmd_say("%s: no samples in it", context->title);
        return PT_EXIT_NO_MATCH;
    }
    if (context->command->needs & PT_NEEDS_ALL_FRAMES) return PT_EXIT_OK;
    pt_cmd_say("%s: no samples in it, but call arcs (%u) and basic blocks (%u): pitot dump --raw "
               "shows them",
               context->title, arcs, blocks);
    return PT_EXIT_NO_MATCH;
}

/* Patterns that matched nothing are said. One that chooses what to keep leaves nothing. */
static int judge(const pt_cmd_context *context, const pt_filtered *f)
{
    if (context->profile->sample->t.count == 0) return judge_empty(context);
    for (int k = 0; k < PT_FILTER_COUNT; k++)
        if (f->asked[k] && !f->matched[k]) say_unmatched(context, (pt_filter_kind)k);
    if (f->kept > 0) return PT_EXIT_OK;
    const bool silent = (f->asked[PT_FILTER_FOCUS] && !f->matched[PT_FILTER_FOCUS]) ||
                        (f->asked[PT_FILTER_SHOW] && !f->matched[PT_FILTER_SHOW]);
    if (!silent) {
        PT_FREE char *query = pt_query_text(&context->query);
        pt_cmd_say("%s leaves none of the %u samples: %u without the focus, %u ignored, %u "
                   "without any frame left",
                   query, context->profile->sample->t.count, f->unfocused, f->ignored, f->emptied);
    }
    return PT_EXIT_NO_MATCH;
}

int pt_cmd_ask(pt_cmd_context *context)
{
    int status = choose_event(context);
    if (status != PT_EXIT_OK) return status;
    if (!context->query.all_frames && !(context->command->needs & PT_NEEDS_ALL_FRAMES)) {
        const pt_profile *pruned = pt_prune(context->profile, &context->diag);
        pt_profile_unref(context->profile);
        context->profile = pruned;
    }
    pt_error error = PT_ERROR_INIT;
    if (pt_filter(context->profile, &context->query, &context->filtered, &context->diag, &error) !=
        PT_OK)
        return pt_cmd_fail(&error);
    status = judge(context, &context->filtered);
    if (status != PT_EXIT_OK) return status;
    context->answer = context->filtered.profile;
    context->query_text = pt_query_text(&context->query);
    context->head = (pt_report_head){
        .title = context->title,
        .summary = pt_summary_of(context->profile, context->event),
        .query = context->query_text,
        .relative = context->query.relative,
        .kept = pt_summary_samples(context->answer),
        .kept_total = pt_view_magnitude(context->answer, context->event),
    };
    context->head.kept_share = pt_share(context->head.kept_total, context->head.summary.total);
    context->whole =
        context->query.relative ? context->head.kept_total : context->head.summary.total;
    return PT_EXIT_OK;
}
