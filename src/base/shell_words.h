/* shell_words.h: what the shells do with a line: words, trimming, finding `| program`. */
#ifndef PT_BASE_SHELL_WORDS_H
#define PT_BASE_SHELL_WORDS_H

#include "base/buf.h"

/* Words of a line. All but the array belong to `text`. */
typedef struct pt_shell_words {
    char **items;
    size_t count, cap;
    char *text;
} pt_shell_words;

/* Cuts at white space. quotes: '...' and "..." keep it, and a backslash keeps the next character;
 * false if a quote does not end, and then there are no words. */
bool pt_shell_split(const char *line, bool quotes, pt_shell_words *ret_words);
void pt_shell_words_done(pt_shell_words *words);

/* A copy without white space at both ends; the caller frees. */
char *pt_shell_trimmed(const char *text, size_t length);

/* A pattern that finds a name of the profile and is one word of a line: "." stands for white space,
 * quotes, backslashes, controls, and a first character that the shells obey. So a name that is
 * completed brings no pipe, file or option into the line. The caller frees. */
char *pt_shell_pattern(const char *name);

/* Cuts the line before a | that stands alone between white space; what follows it, or NULL. */
const char *pt_shell_cut_pipe(char *line);

#endif
