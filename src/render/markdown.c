/* markdown.c: see markdown.h. */
#include "render/markdown.h"

#include <string.h>

#include "base/error.h"
#include "render/brief.h"
#include "render/text.h"

#define TITLE_COLUMNS 100

void pt_markdown_title(pt_out *out, const char *name)
{
    PT_AUTO(pt_buf) brief = PT_BUF_INIT;
    pt_brief_name(name, &brief);
    for (size_t i = 0; i < brief.size; i++)
        if (brief.data[i] == '`') brief.data[i] = '\'';
    pt_out_char(out, '`');
    pt_text_put(out, brief.size > 0 ? pt_buf_text(&brief) : " ", TITLE_COLUMNS);
    pt_out_char(out, '`');
}

/* Puts the text as code in a cell. A backtick of the text becomes '. */
static void put_code(pt_out *out, const char *text)
{
    PT_AUTO(pt_buf) part = PT_BUF_INIT;
    pt_out_char(out, '`');
    if (*text == '\0') pt_out_char(out, ' ');
    while (*text != '\0') {
        const size_t length = strcspn(text, "`|");
        pt_buf_clear(&part);
        pt_put(&part, text, length);
        pt_text_put(out, pt_buf_text(&part), 0);
        text += length;
        if (*text == '\0') break;
        pt_out_text(out, *text == '`' ? "'" : "\\|");
        text++;
    }
    pt_out_char(out, '`');
}

void pt_markdown_lines(pt_out *out)
{
    pt_out_text(out, "```\n");
}

static void put_name(pt_out *out, const char *name, const char *place)
{
    PT_AUTO(pt_buf) brief = PT_BUF_INIT;
    pt_brief_name(name, &brief);
    put_code(out, pt_buf_text(&brief));
    if (place[0] == '\0') return;
    pt_out_char(out, ' ');
    put_code(out, place);
}

void pt_markdown_table(pt_out *out, const pt_columns *columns, const void *rows, size_t count,
                       size_t stride, pt_markdown_place *place, const void *context)
{
    pt_columns_markdown_head(out, columns);
    for (size_t i = 0; i < count && pt_out_ok(out); i++) {
        const void *const row = (const char *)rows + i * stride;
        PT_FREE char *at = place(context, row);
        pt_out_char(out, '|');
        const char *const name = pt_columns_markdown(out, columns, row);
        pt_out_char(out, ' ');
        put_name(out, name, at);
        pt_out_text(out, " |\n");
    }
}
