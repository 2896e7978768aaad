/* message.h: all that the program writes apart from its reports (pt_out of standard output).
 *
 *   pt_say...             a line "pitot: ..." on standard error: errors, warnings, facts
 *   pt_print...           the texts of personalities and shells, as they are
 *   pt_show_progress      the line that says how far long work is
 *
 * Each call writes at once. Control characters become visible on a terminal (base/visible.h); in
 * messages always, because they quote names from files.
 */
#pragma once

#include <stdarg.h>
#include <stdbool.h>
#include <stdint.h>

#include "base/buf.h"
#include "base/error.h"
#include "terminal/exit.h"

/* Writes a line "pitot: ..." to standard error. */
void pt_say(const char *format, ...) __attribute__((format(printf, 1, 2)));
void pt_vsay(const char *format, va_list args) __attribute__((format(printf, 1, 0)));
/* From now on, appends the messages of this thread to the buffer, without "pitot: ", instead of
 * writing them. NULL: they go to standard error again. */
void pt_say_into(pt_buf *buffer);
/* False between pt_say_into(buffer) and pt_say_into(NULL) on this thread. */
bool pt_says_to_stderr(void);
/* Says each line of a buffer that pt_say_into has filled. Changes the buffer. */
void pt_say_lines(pt_buf *lines);
/* Says the error. Returns its exit status: PT_EXIT_USAGE for PT_ERR_USAGE, else PT_EXIT_FAILED. */
int pt_fail(const pt_error *error);

/* Prints to standard output. Flush a report that is being written there first. */
void pt_print(const char *format, ...) __attribute__((format(printf, 1, 2)));
/* Prints to standard error, without "pitot: " before the text or a newline after it. */
void pt_print_error(const char *format, ...) __attribute__((format(printf, 1, 2)));
void pt_vprint_error(const char *format, va_list args) __attribute__((format(printf, 1, 0)));

/* Shows a line on the terminal of standard error, cut to its width. The next call replaces the
 * line; NULL, or any other output of this header, removes it. Safe on any thread. */
void pt_show_progress(const char *line);
/* The same, but a line of pt_show_progress stays. */
void pt_show_progress_of_work(const char *line);
/* Milliseconds since the last output of a function of this header, progress excluded; INT64_MAX
 * before the first. */
int64_t pt_silence_ms(void);
