/* parts.c: see parts.h. */
#include "render/parts.h"

#include <ctype.h>
#include <stdlib.h>
#include <string.h>

enum { TITLE_BYTES = 12, FIRST_WIDTH = PT_COLUMN_WIDTHS - PT_EVENT_PARTS_MAX };

/* A column's title: the beginning of the event's type, with "?" for characters other than letters,
 * digits and "-_.:/". The caller frees the title. */
static char *title_of(const char *type)
{
    char *const title = pt_strndup(type, TITLE_BYTES);
    for (char *at = title; *at != '\0'; at++)
        if (!isalnum((unsigned char)*at) && strchr("-_.:/", *at) == NULL) *at = '?';
    return title;
}

static void add_part(pt_part_columns *to, size_t *count, pt_columns *columns, size_t part,
                     const char *type, size_t self_at, size_t total_at, uint8_t place)
{
    char **const text = &to->text[3 * part];
    text[0] = pt_strf("self:%s", type);
    text[1] = pt_strf("total:%s", type);
    text[2] = title_of(type);
    const size_t at = part * sizeof(int64_t), width = strlen(text[2]);
    to->column[(*count)++] =
        (pt_column){.key = text[0], .kind = PT_CELL_VALUE, .offset = self_at + at, .place = place};
    to->column[(*count)++] = (pt_column){.key = text[1],
                                         .title = text[2],
                                         .kind = PT_CELL_VALUE,
                                         .offset = total_at + at,
                                         .width = (uint8_t)(FIRST_WIDTH + part),
                                         .place = place,
                                         .is_known = pt_totals_known};
    columns->width[FIRST_WIDTH + part] = width < 6 ? 6 : (int)width;
}

void pt_part_columns_init(pt_part_columns *ret_parts, pt_columns *columns,
                          const pt_summary *summary, size_t self_at, size_t total_at, uint8_t place)
{
    *ret_parts = (pt_part_columns){0};
    if (summary->part_count == 0) return;
    PT_BUG_IF(columns->count + 2 * summary->part_count > PT_PART_COLUMNS_MAX);
    size_t count = 0;
    for (size_t i = 0; i < columns->count; i++) {
        for (size_t k = 0; columns->column[i].kind == PT_CELL_NAME && k < summary->part_count; k++)
            add_part(ret_parts, &count, columns, k, summary->part_type[k], self_at, total_at,
                     place);
        ret_parts->column[count++] = columns->column[i];
    }
    columns->column = ret_parts->column;
    columns->count = count;
}

void pt_part_columns_done(pt_part_columns *parts)
{
    for (size_t i = 0; i < PT_PART_TEXTS; i++)
        free(parts->text[i]);
    *parts = (pt_part_columns){0};
}
