/* csv.c: RFC 4180, with line feeds alone at the ends of lines, as every reader takes them. */
#include <string.h>

#include "render/report.h"

void pt_csv_put(pt_out *out, const char *text)
{
    if (strpbrk(text, ",\"\r\n") == NULL) {
        pt_out_text(out, text);
        return;
    }
    pt_out_char(out, '"');
    for (const char *at = text; *at != '\0'; at++) {
        if (*at == '"') pt_out_char(out, '"');
        pt_out_char(out, *at);
    }
    pt_out_char(out, '"');
}
