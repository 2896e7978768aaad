/* shell_words.c: splits lines of the interactive shells. */
#include "base/shell_words.h"

#include <ctype.h>
#include <string.h>

#include "base/grow.h"
#include "base/utf8.h"
#include "base/visible.h"

/* Copies a word without its quotes to `to` and moves *at to the character after the word. Returns
 * NULL if a quote is not closed. */
static char *take_word(const char **at, bool quotes, char *to)
{
    char quote = '\0';
    const char *from = *at;
    for (; *from != '\0' && (quote != '\0' || !isspace((unsigned char)*from)); from++) {
        if (quotes && *from == '\\' && quote != '\'' && from[1] != '\0')
            *to++ = *++from;
        else if (quotes && quote == '\0' && (*from == '\'' || *from == '"'))
            quote = *from;
        else if (quote != '\0' && *from == quote)
            quote = '\0';
        else
            *to++ = *from;
    }
    *to++ = '\0';
    *at = from;
    return quote == '\0' ? to : NULL;
}

bool pt_shell_split(const char *line, bool quotes, pt_shell_words *ret_words)
{
    pt_shell_words w = {.text = pt_alloc(strlen(line) + 2, 1)};
    char *to = w.text;
    for (const char *at = line; to != NULL;) {
        while (isspace((unsigned char)*at))
            at++;
        if (*at == '\0') break;
        char *word = to;
        to = take_word(&at, quotes, to);
        PT_PUSH(w, word);
    }
    *ret_words = w;
    if (to != NULL) return true;
    ret_words->count = 0;
    return false;
}

void pt_shell_words_done(pt_shell_words *words)
{
    PT_FREE_ALL(words->items, words->text);
}

char *pt_shell_trimmed(const char *text, size_t length)
{
    while (length > 0 && isspace((unsigned char)text[0]))
        text++, length--;
    while (length > 0 && isspace((unsigned char)text[length - 1]))
        length--;
    return pt_strndup(text, length);
}

char *pt_shell_pattern(const char *name)
{
    pt_buf pattern = PT_BUF_INIT;
    const uint8_t *at = (const uint8_t *)name;
    size_t left = strlen(name);
    if (left > 0 && strchr("<>|-:", name[0]) != NULL) {
        pt_put_u8(&pattern, '.');
        at++;
        left--;
    }
    while (left > 0) {
        uint32_t c;
        int valid;
        const size_t bytes = pt_utf8_decode(at, left, &c, &valid);
        if (valid && pt_is_visible(c) && (c >= 0x80 || strchr(" '\"\\", (int)c) == NULL))
            pt_put(&pattern, at, bytes);
        else
            pt_put_u8(&pattern, '.');
        at += bytes;
        left -= bytes;
    }
    return pt_buf_take(&pattern, NULL);
}

const char *pt_shell_cut_pipe(char *line)
{
    for (char *bar = line; (bar = strchr(bar, '|')) != NULL; bar++) {
        const bool begins = bar > line && isspace((unsigned char)bar[-1]);
        const bool ends = bar[1] == '\0' || isspace((unsigned char)bar[1]);
        if (!begins || !ends || bar[1 + strspn(bar + 1, " \t")] == '\0') continue;
        *bar = '\0';
        return bar + 1;
    }
    return NULL;
}
