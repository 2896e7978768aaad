/* csv.c: RFC 4180, with line feeds alone at the ends of lines, as every reader takes them.
 *
 * A spreadsheet computes a cell that begins with = + - @, a tab or a line's end, quoted or not: a
 * text that begins like that gets an apostrophe in front, so that it stays a text. A text that
 * begins with apostrophes and then such a character gets one more apostrophe. So the reverse is
 * exact: a reader removes one apostrophe from a text that begins with apostrophes and then such a
 * character. This file puts no numbers, so numbers keep their sign. On a terminal a text stays on
 * its line.
 */
#include <stdbool.h>
#include <string.h>

#include "base/visible.h"
#include "render/report.h"

#define FORMULA "=+-@\t\r\n"

/* Does a part of the text after a semicolon or tab begin like a formula? In countries with a
 * decimal comma a spreadsheet ends cells at semicolons or tabs. */
static bool hides_formula(const char *text)
{
    while ((text = strpbrk(text, ";\t")) != NULL)
        if (*++text != '\0' && strchr(FORMULA, *text) != NULL) return true;
    return false;
}

void pt_csv_put(pt_out *out, const char *text)
{
    PT_FREE char *line = out->is_terminal ? pt_on_one_line(text, strlen(text), NULL) : NULL;
    if (line != NULL) text = line;
    const char first = text[strspn(text, "'")];
    const bool is_formula = first != '\0' && strchr(FORMULA, first) != NULL;
    const bool quotes = strpbrk(text, ",\"\r\n") != NULL || hides_formula(text);
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
