/* print.h: the words of personalities and shells on standard output and standard error, at once.
 * Nothing else in the program writes there but reports (pt_out of standard output) and pt_cmd_say.
 * A terminal gets what pt_out lets through (base/buf.h), a pipe or file the bytes as they are.
 */
#ifndef PT_CMD_PRINT_H
#define PT_CMD_PRINT_H

#include <stdarg.h>
#include <stdint.h>

/* On standard output. Reports that are under way there have been flushed. */
void pt_cmd_print(const char *format, ...) __attribute__((format(printf, 1, 2)));
/* On standard error, without "pitot: " before it or a newline behind it. */
void pt_cmd_err(const char *format, ...) __attribute__((format(printf, 1, 2)));
void pt_cmd_verr(const char *format, va_list args) __attribute__((format(printf, 1, 0)));
/* A line on the terminal of standard error, cut to its width, which the next one replaces; NULL, or
 * whatever else is written, takes it away. On any thread. */
void pt_cmd_progress(const char *line);
/* Milliseconds since the last message; INT64_MAX before the first. */
int64_t pt_cmd_silence_ms(void);

#endif
