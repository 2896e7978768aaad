/* line.h: reads lines: with editing, history and completion (libedit) on a terminal, and plainly
 * from a pipe.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>

/* The completions of the last word before the cursor. */
typedef struct pt_line_choices {
    size_t start; /* the start of the word to replace, in bytes */
    char **items; /* owned */
    size_t count, cap;
    bool final; /* a completed word is followed by a space */
} pt_line_choices;

/* Adds a copy of a text to the choices. */
void pt_line_choice(pt_line_choices *choices, const char *text);

typedef void pt_line_complete(void *context, const char *line, pt_line_choices *ret_choices);

typedef struct pt_line_options {
    const char *prompt;
    const char *history_path; /* the file of the history; NULL = none */
    pt_line_complete *complete;
    void *context; /* of complete */
} pt_line_options;

typedef struct pt_line pt_line;
/* Never fails. Without a terminal or without libedit it reads plain lines and prints the prompt on
 * standard output. The strings in options are borrowed. */
pt_line *pt_line_open(const pt_line_options *options);
/* The next line without its end, valid until the next call; NULL at the end of the input. Ctrl-C
 * gives an empty line. */
const char *pt_line_read(pt_line *line);
/* Saves the history. Accepts NULL. */
void pt_line_close(pt_line *line);
