/* dump.h: a profile written out as it is, streaming.
 *
 * Samples as text, one paragraph for each sample, frames leaf first:
 *
 *     sample 0  samples=1 count  cpu=10000000 nanoseconds
 *       label thread="worker"
 *       move         util.h:12  inlined
 *       grow         vec.c:40
 *       main         main.c:7
 *       end root
 *
 * Tables as text (`--raw`): for each table of model/profile.h a line "TABLE COUNT", a line of
 * column names, and a line for each row: the row's number, then the columns, tab-separated. Texts
 * stand in double quotes with JSON's escapes, "-" is none, lists are separated by blanks, addresses
 * are hexadecimal. Strings are printed where they are used, so that two dumps can be compared with
 * diff; the string table itself comes last.
 *
 * JSON holds the same: {"schema": 1, "events": [...], "samples": [{...}]}, and for tables
 * {"schema": 1, "tables": {"TABLE": {"columns": [...], "rows": [[...], ...]}}}.
 */
#pragma once

#include "base/buf.h"
#include "model/profile.h"
#include "render/look.h"

#define PT_DUMP_SCHEMA 1

/* Write the samples, at most `limit` (0 = all). */
void pt_dump_samples_text(pt_out *out, const pt_look *look, const pt_profile *profile,
                          uint32_t limit);
void pt_dump_samples_json(pt_out *out, const pt_profile *profile, uint32_t limit);
void pt_dump_tables_text(pt_out *out, const pt_profile *profile);
void pt_dump_tables_json(pt_out *out, const pt_profile *profile);
