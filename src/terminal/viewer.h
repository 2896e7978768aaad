/* viewer.h: a report is shown by another program: a temporary file, the program, and the file is
 * gone again. */
#ifndef PT_TERMINAL_VIEWER_H
#define PT_TERMINAL_VIEWER_H

#include "base/buf.h"
#include "base/error.h"

/* programs: "gv --noantialias" and the like; "browser" is $BROWSER, and those that google/pprof
 * tries. extension: of the file, "svg". Waits for the program (a second at least: a browser may
 * hand the file to another process), and removes the file; with `background` it does not wait, and
 * the file goes when we end. Where there is no display, or no program, the file is kept:
 * PT_ERR_UNSUPPORTED names it. */
pt_status pt_view(const char *program, const pt_buf *report, const char *extension, bool background,
                  pt_error *reterr);

/* Starts a browser at an address that nobody else is to know, and does not wait for it. Arguments
 * of programs are seen by all users, so it gets a page that leads there: in a file of mode 0600, in
 * a folder of mode 0700. Returns the file, for pt_view_forget; NULL without a display or a browser,
 * or where no file can be made. */
char *pt_view_address(const char *url);
/* Removes the file and frees its name. Accepts NULL. */
void pt_view_forget(char *file);

/* Hands a report to a command of the user's shell and waits for it. Ctrl-C meanwhile is the
 * command's. */
void pt_shell_send(const pt_buf *report, const char *command);

#endif
