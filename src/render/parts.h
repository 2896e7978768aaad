/* parts.h: the columns of a report whose event adds up others (transform/sum.h):
 *
 *       self   self%  total  total%    cpu off-cpu  function
 *      700ms   58.1%  700ms   58.1%      0   700ms  do_nanosleep
 *      500ms   41.5%  504ms   41.9%  504ms       0  burn
 *
 * JSON and CSV have both self and total of each event: "self:off-cpu", "total:off-cpu".
 */
#pragma once

#include "render/column.h"
#include "view/summary.h"

enum { PT_PART_COLUMNS_MAX = 24, PT_PART_TEXTS = 3 * PT_EVENT_PARTS_MAX };

typedef struct pt_part_columns {
    pt_column column[PT_PART_COLUMNS_MAX];
    char *text[PT_PART_TEXTS]; /* keys and titles */
} pt_part_columns;

/* Puts the columns of the summary's parts before the name's column. self_at, total_at: offsets in a
 * row's struct of the arrays with the values of the parts. place: as in pt_column. *columns borrows
 * *ret_parts. The caller calls pt_part_columns_done. */
void pt_part_columns_init(pt_part_columns *ret_parts, pt_columns *columns,
                          const pt_summary *summary, size_t self_at, size_t total_at,
                          uint8_t place);
void pt_part_columns_done(pt_part_columns *parts);
