/* pager.c: see pager.h. */
#include "terminal/pager.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <spawn.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/program.h"
#include "base/shell_words.h"
#include "terminal/message.h"

enum { HELD_MOST = 1 << 20 };

struct pt_pager {
    pt_out *out;
    pt_buf held;    /* the report so far, while it is not longer than HELD_MOST, or its beginning */
    bool is_shown;  /* shown receives the report */
    bool is_longer; /* the report is longer than `held` */
    char *name;     /* the pager's program */
    pt_out shown;   /* the pager's pipe, or standard output */
    pid_t pid;      /* of the pager; 0: none */
    pt_buf messages; /* that came while the pager had the terminal */
    struct sigaction interrupt, quit;
};

/* ---- Does it fit? ---- */

/* The number of the terminal's rows that the text takes. A row has `columns` characters. */
static size_t count_rows(const pt_buf *text, size_t columns)
{
    size_t rows = 0, column = 0;
    for (size_t i = 0; i < text->size; i++) {
        const uint8_t byte = text->data[i];
        if (byte == '\033') { /* a colour: ESC [ ... m */
            while (i < text->size && text->data[i] != 'm')
                i++;
        } else if (byte == '\n') {
            rows++;
            column = 0;
        } else if ((byte & 0xc0) != 0x80 && ++column > columns) {
            rows++;
            column = 1;
        }
    }
    return rows + (column > 0);
}

/* The last row of the screen is for the prompt of the shell. */
static bool fits_on_screen(const pt_buf *text)
{
    struct winsize size = {0};
    if (ioctl(STDOUT_FILENO, TIOCGWINSZ, &size) != 0 || size.ws_row == 0) return true;
    return count_rows(text, size.ws_col > 0 ? size.ws_col : 80) < size.ws_row;
}

bool pt_pager_is_due(void)
{
    const char *const term = getenv("TERM");
    struct winsize size = {0};
    return (term == NULL || strcmp(term, "dumb") != 0) &&
           ioctl(STDOUT_FILENO, TIOCGWINSZ, &size) == 0 && size.ws_row > 0 &&
           tcgetpgrp(STDOUT_FILENO) == getpgrp();
}

/* ---- The program ---- */

/* The command of the pager; NULL: none is wanted. *ret_variable: where it comes from; NULL: it is
 * the default. */
static const char *chosen_pager(const char **ret_variable)
{
    static const char *const variables[] = {PT_PAGER_VARIABLE, "PAGER"};
    const char *command = NULL;
    *ret_variable = NULL;
    for (size_t i = 0; i < 2 && command == NULL; i++) {
        command = getenv(variables[i]);
        if (command != NULL) *ret_variable = variables[i];
    }
    if (command == NULL) return "less";
    return command[0] == '\0' || strcmp(command, "cat") == 0 ? NULL : command;
}

/* Starts the program with a pipe as standard input, whose other end is *ret_fd. Returns 0, or an
 * errno. */
static int start_program(char *const *words, pid_t *ret_pid, int *ret_fd)
{
    int pipe[2];
    PT_FREE char *path = pt_program_find(words[0], getenv("PATH"));
    if (path == NULL) return ENOENT;
    if (pipe2(pipe, O_CLOEXEC) != 0) return errno;
    /* less ends at once if the report fits on the screen, passes colours, and leaves the report on
     * the screen; lv passes colours. */
    setenv("LESS", "FRX", 0);
    setenv("LV", "-c", 0);
    posix_spawn_file_actions_t actions;
    posix_spawn_file_actions_init(&actions);
    posix_spawn_file_actions_adddup2(&actions, pipe[0], STDIN_FILENO);
    const int error = posix_spawn(ret_pid, path, &actions, NULL, words, environ);
    posix_spawn_file_actions_destroy(&actions);
    close(pipe[0]);
    if (error != 0)
        close(pipe[1]);
    else
        *ret_fd = pipe[1];
    return error;
}

/* Starts the chosen pager. Returns the pipe to it, or -1. */
static int start_pager(pt_pager *pager)
{
    const char *variable, *const command = chosen_pager(&variable);
    PT_AUTO(pt_shell_words) words = {0};
    if (command == NULL) return -1;
    if (!pt_shell_split(command, true, &words) || words.count == 0) return -1;
    PT_FREE char **argv = pt_alloc(words.count + 1, sizeof *argv);
    memcpy(argv, words.items, words.count * sizeof *argv);
    int fd = -1;
    const int error = start_program(argv, &pager->pid, &fd);
    pager->name = pt_strdup(argv[0]);
    if (error != 0 && variable != NULL)
        pt_say("the pager of %s cannot be started: %s: %s", variable, words.items[0],
               strerror(error));
    return fd;
}

/* Gives the terminal to the pager. Until the pager ends, Ctrl-C is the pager's, and messages wait.
 */
static void give_terminal(pt_pager *pager)
{
    const struct sigaction ignore = {.sa_handler = SIG_IGN};
    sigaction(SIGINT, &ignore, &pager->interrupt);
    sigaction(SIGQUIT, &ignore, &pager->quit);
    pt_say_into(&pager->messages);
}

/* Waits for the pager's end. False: the pager failed, for example because it does not know its
 * options. */
static bool take_terminal(pt_pager *pager)
{
    int code = 0;
    while (waitpid(pager->pid, &code, 0) < 0 && errno == EINTR) {
    }
    sigaction(SIGINT, &pager->interrupt, NULL);
    sigaction(SIGQUIT, &pager->quit, NULL);
    pt_say_into(NULL);
    pt_say_lines(&pager->messages);
    if (!WIFEXITED(code) || WEXITSTATUS(code) == 0) return true;
    pt_say("the pager %s failed with status %d; this is the report:", pager->name,
           WEXITSTATUS(code));
    return false;
}

/* Shows the report, or its beginning, after the pager failed. */
static void show_again(pt_pager *pager)
{
    pt_out again;
    pt_out_to_fd(&again, STDOUT_FILENO);
    again.is_terminal = false;
    pt_out_put(&again, pager->held.data, pager->held.size);
    pt_out_done(&again, NULL);
    if (!pager->is_longer) return;
    pager->out->broken_pipe = false;
    pt_error_set(&pager->out->error, PT_ERR_SYSTEM,
                 "the report is longer than what stands here: --no-pager shows all of it");
}

/* ---- The report ---- */

/* Starts a pager if the report does not fit on the screen, and writes the held part to the pager or
 * to standard output. */
static void show_held(pt_pager *pager)
{
    pt_show_progress(NULL);
    const int fd = fits_on_screen(&pager->held) ? -1 : start_pager(pager);
    if (pager->pid != 0) give_terminal(pager);
    pt_out_to_fd(&pager->shown, fd >= 0 ? fd : STDOUT_FILENO);
    pager->shown.is_terminal = false; /* control characters are visible already */
    pager->is_shown = true;
    pt_out_put(&pager->shown, pager->held.data, pager->held.size);
}

static pt_status take_report(void *context, const void *data, size_t size, pt_error *reterr)
{
    pt_pager *const pager = context;
    const bool fits = !pager->is_longer && size <= HELD_MOST - pager->held.size;
    if (fits) pt_put(&pager->held, data, size);
    if (fits && !pager->is_shown) return PT_OK;
    pager->is_longer |= !fits;
    if (!pager->is_shown) show_held(pager);
    pt_out_put(&pager->shown, data, size);
    if (pt_out_ok(&pager->shown)) return PT_OK;
    pager->out->broken_pipe = pager->shown.broken_pipe;
    *reterr = pager->shown.error;
    return reterr->status;
}

pt_pager *pt_pager_begin(pt_out *out)
{
    pt_pager *const pager = pt_alloc(1, sizeof *pager);
    pager->out = out;
    pt_out_to_fn(out, take_report, pager);
    out->is_terminal = true;
    return pager;
}

void pt_pager_end(pt_pager *pager)
{
    pt_out_flush(pager->out, NULL);
    if (!pager->is_shown) show_held(pager);
    const int fd = pager->shown.fd;
    const pt_status status = pt_out_done(&pager->shown, NULL);
    if (status != PT_OK && pt_out_ok(pager->out)) {
        pager->out->broken_pipe = pager->shown.broken_pipe;
        pager->out->error = pager->shown.error;
    }
    if (pager->pid != 0) {
        close(fd);
        if (!take_terminal(pager)) show_again(pager);
    }
    pt_buf_done(&pager->messages);
    pt_buf_done(&pager->held);
    PT_FREE_ALL(pager->name, pager);
}
