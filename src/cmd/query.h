/* query.h: the analysis options, applied: which event, which samples and frames. */
#ifndef PT_CMD_QUERY_H
#define PT_CMD_QUERY_H

#include "cmd/cmd.h"
#include "render/report.h"
#include "transform/aggregate.h"
#include "transform/filter.h"

/* Applies context->query to context->profile: fills ->filtered, ->answer, ->event, ->whole, ->head.
 * Returns PT_EXIT_OK, or the exit status of what was said: PT_EXIT_USAGE for a bad pattern or
 * event, PT_EXIT_NO_MATCH when nothing is left. */
int pt_cmd_ask(pt_cmd_context *context);

/* The patterns of a query as they would be typed: "--focus=parse --hide='^std::'"; "" for none. The
 * caller frees. */
char *pt_query_text(const pt_query *query);

/* A row for a settings struct with a field `by` (pt_by_name), which pt_cmd_rename applies. */
#define PT_BY_ROW(settings, what)                                                                  \
    {                                                                                              \
        .name = "by", .type = PT_OPT_CHOICE, .offset = offsetof(settings, by),                     \
        .initial = "function", .choices = "function function-and-file file line address",          \
        .help = "what a " what " is",                                                              \
        .details = "file: all functions of a source file; line: a line of a function; address: "   \
                   "an address, and what was inlined there."                                       \
    }

/* Names the functions of ->answer so that what is folded by names is folded by that. */
void pt_cmd_rename(pt_cmd_context *context, pt_by_name by);

#endif
