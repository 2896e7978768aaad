/* line.c: libedit on a terminal, getline elsewhere. */
#include "terminal/line.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/eventfd.h>
#include <sys/stat.h>
#include <unistd.h>
#include <wchar.h>

#include "base/file.h"
#include "base/grow.h"
#include "terminal/message.h"

#ifdef PT_WITH_LIBEDIT
#include "terminal/lazy_edit.h"
#endif

struct pt_line {
    pt_line_options options;
    char *plain; /* buffer of getline */
    size_t plain_cap;
#ifdef PT_WITH_LIBEDIT
    EditLine *edit; /* NULL: no terminal */
    History *history;
    bool listed; /* the last Tab showed the choices */
#endif
};

void pt_line_choice(pt_line_choices *choices, const char *text)
{
    PT_PUSH(*choices, pt_strdup(text));
}

/* ---- On a terminal ---- */

#ifdef PT_WITH_LIBEDIT

#define MOST_SHOWN    60
#define HISTORY_LINES 1000

static const pt_libedit *libedit; /* NULL: not loaded */

/* An eventfd that becomes readable at SIGINT, in any thread. */
static int interrupted = -1;

static void on_interrupt(int signal_number)
{
    (void)signal_number;
    const int before = errno;
    const uint64_t one = 1;
    if (write(interrupted, &one, sizeof one) < 0) {
    } /* the eventfd is readable already */
    errno = before;
}

static char *prompt_of(EditLine *edit)
{
    pt_line *line;
    libedit->el_get(edit, EL_CLIENTDATA, &line);
    return (char *)(uintptr_t)line->options.prompt;
}

/* The length in bytes of the beginning that all choices share. */
static size_t common_bytes(const pt_line_choices *c)
{
    size_t common = strlen(c->items[0]);
    for (size_t i = 1; i < c->count; i++)
        for (size_t at = 0; at < common; at++)
            if (c->items[i][at] != c->items[0][at]) common = at;
    return common;
}

/* The number of characters, the unit of libedit. */
static int count_characters(const char *text)
{
    int count = 0;
    for (; *text != '\0'; text++)
        count += ((unsigned char)*text & 0xc0) != 0x80;
    return count;
}

static void put_in(EditLine *edit, const char *word, const char *text, bool final)
{
    libedit->el_deletestr(edit, count_characters(word));
    libedit->el_insertstr(edit, text);
    if (final) libedit->el_insertstr(edit, " ");
}

/* Inserts a single choice, or the beginning that several choices share if it is longer than the
 * typed word; otherwise shows the choices. */
static unsigned char choose_word(pt_line *line, const char *word, const pt_line_choices *c)
{
    if (c->count == 0) return CC_ERROR;
    const size_t typed = strlen(word);
    if (c->count == 1) {
        put_in(line->edit, word, c->items[0], c->final);
        return CC_REFRESH;
    }
    PT_FREE char *common = pt_strndup(c->items[0], common_bytes(c));
    if (strlen(common) > typed && strncmp(common, word, typed) == 0) {
        put_in(line->edit, word, common, false);
        return CC_REFRESH;
    }
    pt_print("\n");
    for (size_t i = 0; i < c->count && i < MOST_SHOWN; i++)
        pt_print("%s\n", c->items[i]);
    if (c->count > MOST_SHOWN) pt_print("... and %zu more\n", c->count - MOST_SHOWN);
    return CC_REDISPLAY;
}

static unsigned char on_tab(EditLine *edit, int key)
{
    (void)key;
    pt_line *line;
    libedit->el_get(edit, EL_CLIENTDATA, &line);
    if (line->options.complete == NULL) return CC_ERROR;
    const LineInfo *info = libedit->el_line(edit);
    PT_FREE char *typed = pt_strndup(info->buffer, (size_t)(info->cursor - info->buffer));
    pt_line_choices choices = {0};
    line->options.complete(line->options.context, typed, &choices);
    const size_t length = strlen(typed);
    const char *word = typed + (choices.start < length ? choices.start : length);
    const unsigned char answer = choose_word(line, word, &choices);
    for (size_t i = 0; i < choices.count; i++)
        free(choices.items[i]);
    free(choices.items);
    return answer;
}

/* Reads one character from the terminal. Returns 1; 0 at the end; -1 on an interrupt or error. */
static int read_character(EditLine *edit, wchar_t *into)
{
    (void)edit;
    mbstate_t state = {0};
    for (;;) {
        struct pollfd ready[] = {{.fd = interrupted, .events = POLLIN},
                                 {.fd = STDIN_FILENO, .events = POLLIN}};
        if (poll(ready, 2, -1) < 0 && errno != EINTR) return -1;
        if (ready[0].revents & POLLIN) return -1;
        if (ready[1].revents == 0) continue;
        char byte;
        const ssize_t got = read(STDIN_FILENO, &byte, 1);
        if (got < 0 && errno == EINTR) continue;
        if (got <= 0) return (int)got;
        const size_t used = mbrtowc(into, &byte, 1, &state);
        if (used <= 1) return 1;
        if (used == (size_t)-1) state = (mbstate_t){0}; /* the character has more bytes */
    }
}

static void edit_open(pt_line *line)
{
    const char *term = getenv("TERM");
    if (!isatty(STDIN_FILENO) || !isatty(STDOUT_FILENO)) return;
    if (term == NULL || term[0] == '\0' || strcmp(term, "dumb") == 0) return;
    if (interrupted < 0) interrupted = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
    if (interrupted < 0) return;
    if (libedit == NULL) libedit = pt_libedit_load();
    if (libedit == NULL) return;
    line->edit = libedit->el_init("pitot", stdin, stdout, stderr);
    if (line->edit == NULL) return;
    libedit->el_set(line->edit, EL_CLIENTDATA, line);
    libedit->el_set(line->edit, EL_PROMPT, prompt_of);
    libedit->el_set(line->edit, EL_GETCFN, read_character);
    libedit->el_set(line->edit, EL_EDITOR, "emacs");
    libedit->el_set(line->edit, EL_ADDFN, "pt-complete", "complete a word", on_tab);
    libedit->el_set(line->edit, EL_BIND, "^I", "pt-complete", NULL);
    libedit->el_set(line->edit, EL_BIND, "^R", "em-inc-search-prev", NULL);
    line->history = libedit->history_init();
    HistEvent event;
    if (line->history == NULL) return;
    libedit->history(line->history, &event, H_SETSIZE, HISTORY_LINES);
    libedit->history(line->history, &event, H_SETUNIQUE, 1);
    if (line->options.history_path != NULL)
        libedit->history(line->history, &event, H_LOAD, line->options.history_path);
    libedit->el_set(line->edit, EL_HIST, libedit->history, line->history);
    libedit->el_source(line->edit, NULL); /* the user's own keys: ~/.editrc */
}

static const char *edit_read(pt_line *line)
{
    struct sigaction action = {.sa_handler = on_interrupt, .sa_flags = SA_RESTART}, before;
    sigaction(SIGINT, &action, &before);
    int count = 0;
    const char *got = libedit->el_gets(line->edit, &count);
    sigaction(SIGINT, &before, NULL);
    uint64_t interrupts;
    if (read(interrupted, &interrupts, sizeof interrupts) > 0) {
        libedit->el_reset(line->edit);
        pt_print("^C\n");
        return "";
    }
    if (got == NULL || count <= 0) {
        pt_print("\n");
        return NULL;
    }
    free(line->plain);
    line->plain = pt_strndup(got, strcspn(got, "\r\n"));
    HistEvent event;
    if (line->history != NULL && line->plain[strspn(line->plain, " \t")] != '\0')
        libedit->history(line->history, &event, H_ENTER, line->plain);
    return line->plain;
}

/* The file has mode 0600. An error is ignored: the session goes on without a saved history. */
static void save_history(const pt_line *line)
{
    HistEvent event;
    pt_file_writer writer;
    if (line->history == NULL || line->options.history_path == NULL) return;
    if (pt_file_create(line->options.history_path, PT_MODE_PRIVATE, &writer, NULL) != PT_OK) return;
    const int fd = fcntl(writer.fd, F_DUPFD_CLOEXEC, 0);
    FILE *const file = fd >= 0 ? fdopen(fd, "w") : NULL;
    const bool is_saved =
        file != NULL && libedit->history(line->history, &event, H_SAVE_FP, file) >= 0;
    if (file == NULL && fd >= 0) close(fd);
    if ((file != NULL && fclose(file) != 0) || !is_saved)
        pt_file_abandon(&writer);
    else
        pt_file_commit(&writer, true, NULL);
}

#endif

/* ---- Anywhere ---- */

pt_line *pt_line_open(const pt_line_options *options)
{
    pt_line *line = pt_alloc(1, sizeof *line);
    line->options = *options;
#ifdef PT_WITH_LIBEDIT
    edit_open(line);
#endif
    return line;
}

const char *pt_line_read(pt_line *line)
{
#ifdef PT_WITH_LIBEDIT
    if (line->edit != NULL) return edit_read(line);
#endif
    pt_print("%s", line->options.prompt);
    const ssize_t bytes = getline(&line->plain, &line->plain_cap, stdin);
    if (bytes < 0) return NULL;
    line->plain[strcspn(line->plain, "\r\n")] = '\0';
    return line->plain;
}

void pt_line_close(pt_line *line)
{
    if (line == NULL) return;
#ifdef PT_WITH_LIBEDIT
    save_history(line);
    if (line->edit != NULL) libedit->el_end(line->edit);
    if (line->history != NULL) libedit->history_end(line->history);
#endif
    PT_FREE_ALL(line->plain, line);
}
