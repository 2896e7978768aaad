/* name.c: the short form of a function's name. The Perl pprof cuts it with regular expressions;
 * here each of them is one pass over the text. */
#include <ctype.h>
#include <string.h>

#include "base/text.h"
#include "personality/perl/perl.h"

/* Removes balanced brackets with their content. and_const: also removes a "const" after the
 * brackets. The Perl program removes innermost pairs again and again; a stack of the open brackets
 * gives the same result in one pass. */
static void drop_brackets(char *text, char open, char close, bool and_const)
{
    PT_FREE size_t *opened = pt_alloc(strlen(text) + 1, sizeof *opened);
    size_t depth = 0;
    char *to = text;
    for (const char *from = text; *from != '\0';) {
        if (*from == close && depth > 0) {
            to = text + opened[--depth];
            from++;
            const char *word = from;
            while (pt_is_space(*word))
                word++;
            if (and_const && pt_begins(word, "const")) from = word + 5;
            continue;
        }
        if (*from == open) opened[depth++] = (size_t)(to - text);
        *to++ = *from++;
    }
    *to = '\0';
}

/* Removes the "<0000000000401136>" that nm.c put at the end. */
static void drop_address(char *text)
{
    const size_t length = strlen(text);
    if (length < 2 || text[length - 1] != '>') return;
    size_t at = length - 1;
    while (at > 0 && strchr("0123456789abcdef", text[at - 1]) != NULL)
        at--;
    if (at > 0 && text[at - 1] == '<') text[at - 1] = '\0';
}

/* Removes the return type: all before the last space that a word and "::" follow. */
static void drop_leading_type(char *text)
{
    for (size_t i = strlen(text); i-- > 0;) {
        if (!pt_is_space(text[i])) continue;
        size_t end = i + 1;
        while (isalnum((unsigned char)text[end]) || text[end] == '_')
            end++;
        if (end == i + 1 || !pt_begins(text + end, "::")) continue;
        memmove(text, text + i + 1, strlen(text + i + 1) + 1);
        return;
    }
}

char *pt_perl_short_name(const char *name, bool keeps_templates)
{
    char *text = pt_strdup(name);
    if (strchr(text, '(') != NULL) drop_brackets(text, '(', ')', true);
    drop_address(text);
    if (!keeps_templates && strchr(text, '<') != NULL) drop_brackets(text, '<', '>', false);
    drop_leading_type(text);
    return text;
}
