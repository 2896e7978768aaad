/* line.h: lines from whoever types: with editing, history and completion (libedit) on a terminal,
 * plainly from a pipe.
 */
#ifndef PT_CMD_LINE_H
#define PT_CMD_LINE_H

#include <stdbool.h>
#include <stddef.h>

/* What could stand at the end of a line that was typed up to the cursor. */
typedef struct pt_line_choices {
    size_t start; /* where the word begins that they replace, in bytes */
    char **items; /* owned */
    size_t count, cap;
    bool final; /* what is put in by completion ends the word: a space follows */
} pt_line_choices;

/* Adds a copy. */
void pt_line_choice(pt_line_choices *choices, const char *text);

typedef void pt_line_complete(void *context, const char *line, pt_line_choices *ret_choices);

typedef struct pt_line_options {
    const char *prompt;
    const char *history_path; /* kept there between sessions; NULL = nowhere */
    pt_line_complete *complete;
    void *context; /* of complete */
} pt_line_options;

typedef struct pt_line pt_line;
/* Never fails: without a terminal, or without libedit, lines are read plainly and the prompt goes
 * to standard output. The options' strings are borrowed. */
pt_line *pt_line_open(const pt_line_options *options);
/* The next line without its end, valid until the next call; NULL at the end of the input. Ctrl-C
 * gives an empty line. */
const char *pt_line_read(pt_line *line);
/* Saves the history. Accepts NULL. */
void pt_line_close(pt_line *line);

/* Where the history of that name is kept: below XDG_STATE_HOME, or ~/.local/state; the folders are
 * made. NULL if there is no such place. The caller frees. */
char *pt_line_history_path(const char *name);

#endif
