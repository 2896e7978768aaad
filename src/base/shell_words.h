/* shell_words.h: parses a line of an interactive shell: words, trimming, `| program`. */
#pragma once

#include "base/buf.h"

/* Words of a line. The words lie in `text`, which the struct owns together with the array. */
typedef struct pt_shell_words {
    char **items;
    size_t count, cap;
    char *text;
} pt_shell_words;

/* Splits a line at white space. With `quotes`, '...' and "..." protect white space, and a backslash
 * protects the next character. Returns false, and no words, if a quote is not closed. */
bool pt_shell_split(const char *line, bool quotes, pt_shell_words *ret_words);
void pt_shell_words_done(pt_shell_words *words);

/* A copy of text[0, length) without leading and trailing white space; the caller frees it. */
char *pt_shell_trimmed(const char *text, size_t length);

/* A regular expression that matches a name of the profile and is a single word of a line. "."
 * replaces white space, quotes, backslashes, control characters, and the first character if it has
 * a meaning in the shell. So a completed name cannot add a pipe, file or option to the line. The
 * caller frees it. */
char *pt_shell_pattern(const char *name);

/* Cuts the line at the first | that has white space on both sides. Returns the text after the |;
 * NULL if the line has no such |. */
const char *pt_shell_cut_pipe(char *line);
