/* query.h: the analysis options, applied: which event, which samples and frames. */
#pragma once

#include "cmd/cmd.h"
#include "render/report.h"
#include "transform/filter.h"
#include "view/fold.h"

/* Applies context->query to context->profile: fills ->filtered, ->answer, ->event, ->whole, ->head.
 * Returns PT_EXIT_OK. On failure prints a message and returns PT_EXIT_USAGE for a bad pattern or
 * event, PT_EXIT_NO_MATCH if no samples are left. */
int pt_cmd_ask(pt_cmd_context *context);

/* Does the query subtract a range of the profile itself? */
bool pt_query_has_base(const pt_query *query);

/* The filters of a query as a user would type them: "--focus=parse --hide='^std::'"; "" for none.
 * The caller frees the text. */
char *pt_query_text(const pt_query *query);

/* Removes private data (transform/private.h) from ->profile, ->answer, ->side and the titles.
 * Returns the exit status. */
int pt_cmd_remove_private(pt_cmd_context *context);

/* Rows for a settings struct with a field `fold` (pt_fold_rule). what: the report's word for an
 * item ("row", "node", "box"); usual: the default of --unnamed. */
#define PT_FOLD_ROWS(settings, what, usual)                                                        \
    PT_ROW("by", CHOICE, settings, fold.by, .initial = "function",                                 \
           .choices = "function function-and-file file line address mapping",                      \
           .help = "what a " what " is",                                                           \
           .details =                                                                              \
               "file: all functions of a source file; line: a line of a function; address: an "    \
               "address, and the functions inlined there; mapping: a program or library."),        \
        PT_UNNAMED_ROW(settings, usual)

#define PT_UNNAMED_ROW(settings, usual)                                                            \
    PT_ROW("unnamed", CHOICE, settings, fold.unnamed, .initial = usual,                            \
           .choices = "function address object", .help = "how to group frames without a name",     \
           .details =                                                                              \
               "function: the code of each function whose bounds the unwind tables have, "         \
               "[libfoo.so+0x1200..]; other code as with address. address: each address by "       \
               "itself, [libfoo.so+0x1234]. object: all addresses of a mapped file together, "     \
               "[libfoo.so], as in pprof. Addresses differ between builds; files do not.")
