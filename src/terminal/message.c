/* message.c: see message.h. */
#include "terminal/message.h"

#include <pthread.h>
#include <stdatomic.h>
#include <string.h>
#include <sys/ioctl.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/temp.h"
#include "render/text.h"

static _Thread_local pt_buf *buffer; /* for this thread's messages; NULL: standard error */

/* ---- The line of progress ---- */

static pthread_mutex_t line_lock = PTHREAD_MUTEX_INITIALIZER;
static atomic_bool has_line;    /* changed with line_lock held */
static bool is_of_work;         /* the line is pt_show_progress_of_work's; changed with line_lock
                                 * held */
static _Atomic int64_t said_ms; /* time of the last message; 0: none yet */

/* Called in the handler of a signal that ends the program. */
static void erase_at_ending(void)
{
    if (atomic_load(&has_line)) pt_terminal_erase_line(STDERR_FILENO);
}

/* Shows a line of progress; NULL: removes it. The caller holds line_lock. */
static void put_line(const char *line)
{
    /* One column less than the terminal has: a full line would wrap. */
    enum { USUAL = 80, LEAST = 10 };
    struct winsize size = {0};
    if (ioctl(STDERR_FILENO, TIOCGWINSZ, &size) != 0 || size.ws_col == 0) size.ws_col = USUAL;
    const size_t columns = size.ws_col < LEAST ? 0 : size.ws_col - 1U;
    if (columns == 0) line = NULL;
    if (line != NULL) pt_temp_at_ending(erase_at_ending);
    if (line != NULL || has_line) {
        has_line = true; /* a signal may come during the write */
        pt_out err;
        pt_out_to_fd(&err, STDERR_FILENO);
        pt_out_sequence(&err, "\r\033[K");
        if (line != NULL) pt_text_put(&err, line, columns);
        pt_out_done(&err, NULL);
    }
    has_line = line != NULL;
}

void pt_show_progress(const char *line)
{
    pthread_mutex_lock(&line_lock);
    put_line(line);
    is_of_work = false;
    pthread_mutex_unlock(&line_lock);
}

void pt_show_progress_of_work(const char *line)
{
    pthread_mutex_lock(&line_lock);
    if (is_of_work || !has_line) {
        put_line(line);
        is_of_work = line != NULL;
    }
    pthread_mutex_unlock(&line_lock);
}

int64_t pt_silence_ms(void)
{
    const int64_t last_ms = atomic_load(&said_ms);
    return last_ms == 0 ? INT64_MAX : pt_now_ms() - last_ms;
}

/* Called before anything else is written. */
static void end_silence(void)
{
    pt_show_progress(NULL);
    atomic_store(&said_ms, pt_now_ms());
}

void pt_say_into(pt_buf *into)
{
    buffer = into;
}

bool pt_says_to_stderr(void)
{
    return buffer == NULL;
}

/* ---- The program's own messages ---- */

/* Messages quote names from files and arguments: control characters must not reach a terminal. */
void pt_vsay(const char *format, va_list args)
{
    if (buffer != NULL) {
        pt_vputf(buffer, format, args);
        pt_put_u8(buffer, '\n');
        return;
    }
    end_silence();
    PT_AUTO(pt_buf) line = PT_BUF_INIT;
    pt_put_text(&line, "pitot: ");
    pt_vputf(&line, format, args);
    pt_out err;
    pt_out_to_fd(&err, STDERR_FILENO);
    pt_text_put(&err, pt_buf_text(&line), 0);
    pt_out_char(&err, '\n');
    pt_out_done(&err, NULL);
}

void pt_say(const char *format, ...)
{
    va_list args;
    va_start(args, format);
    pt_vsay(format, args);
    va_end(args);
}

void pt_say_lines(pt_buf *lines)
{
    char *rest = (char *)(uintptr_t)pt_buf_text(lines);
    for (char *line; (line = strsep(&rest, "\n")) != NULL;)
        if (line[0] != '\0') pt_say("%s", line);
}

int pt_fail(const pt_error *error)
{
    char text[1200];
    pt_error_text(error, text, sizeof text);
    pt_say("%s", text);
    return error->status == PT_ERR_USAGE ? PT_EXIT_USAGE : PT_EXIT_FAILED;
}

/* ---- Words of personalities and shells ---- */

static void print_to(int fd, const char *format, va_list args)
{
    PT_AUTO(pt_buf) text = PT_BUF_INIT;
    pt_out out;
    end_silence();
    pt_vputf(&text, format, args);
    pt_out_to_fd(&out, fd);
    pt_out_put(&out, text.data, text.size);
    pt_out_done(&out, NULL);
}

void pt_print(const char *format, ...)
{
    va_list args;
    va_start(args, format);
    print_to(STDOUT_FILENO, format, args);
    va_end(args);
}

void pt_vprint_error(const char *format, va_list args)
{
    print_to(STDERR_FILENO, format, args);
}

void pt_print_error(const char *format, ...)
{
    va_list args;
    va_start(args, format);
    print_to(STDERR_FILENO, format, args);
    va_end(args);
}
