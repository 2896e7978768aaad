/* csv.c: RFC 4180, with line feeds alone at the ends of lines, as every reader takes them.
 *
 * A spreadsheet computes a cell that begins with = + - @, a tab or a line's end, quoted or not: a
 * text that would is given an apostrophe, which makes it text. So that readers can undo that
 * without a doubt, a text of apostrophes and then such a character is given one more: whoever finds
 * apostrophes and then such a character takes one off. Numbers are not put here and keep their
 * sign.
 */
#include <string.h>

#include "render/report.h"

#define FORMULA "=+-@\t\r\n"
/* What ends a cell somewhere: where the comma is the decimal point semicolons do. */
#define NEEDS_QUOTES ",;\"\t\r\n"

void pt_csv_put(pt_out *out, const char *text)
{
    const char first = text[strspn(text, "'")];
    const bool is_formula = first != '\0' && strchr(FORMULA, first) != NULL;
    const bool quotes = strpbrk(text, NEEDS_QUOTES) != NULL;
    if (quotes) pt_out_char(out, '"');
    if (is_formula) pt_out_char(out, '\'');
    while (text[0] != '\0') {
        const size_t plain = strcspn(text, "\"");
        pt_out_put(out, text, plain);
        text += plain;
        if (text[0] == '\0') break;
        pt_out_text(out, "\"\"");
        text++;
    }
    if (quotes) pt_out_char(out, '"');
}
