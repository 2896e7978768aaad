/* viewer.h: shows a report in another program, by a temporary file that is removed afterwards. */
#pragma once

#include "base/buf.h"
#include "base/error.h"

/* Writes the report to a file and opens it in the program. program: "gv --noantialias"; "browser"
 * stands for the first that exists of $BROWSER and the browsers that google/pprof tries. extension:
 * of the file, "svg". Waits for the program (at least a second, since a browser may hand the file
 * to another process) and removes the file; with `background` it does not wait, and the file is
 * removed when pitot ends. PT_ERR_UNSUPPORTED: there is no display or no such program; the file is
 * kept, and the message names it. */
pt_status pt_view(const char *program, const pt_buf *report, const char *extension, bool background,
                  pt_error *reterr);

/* Opens a secret address in a browser, and does not wait for it. All users can see the arguments of
 * programs, so the browser gets a page that leads to the address: a file of mode 0600 in a folder
 * of mode 0700. Returns the file's name, for pt_view_forget. NULL: there is no display or no
 * browser, or the file cannot be made. */
char *pt_view_address(const char *url);
/* Removes the file and frees its name. Accepts NULL. */
void pt_view_forget(char *file);

/* Runs a command in the user's shell with the report as standard input, and waits for its end.
 * Ctrl-C goes to the command meanwhile. */
void pt_shell_send(const pt_buf *report, const char *command);
