/* web_files.h: files that are dropped on the page, and profiles that grow while it shows them. */
#ifndef PT_CMD_WEB_FILES_H
#define PT_CMD_WEB_FILES_H

#include "cmd/cmd.h"
#include "serve/serve.h"

/* The largest file that the page takes, in bytes. */
#define PT_WEB_FILE_BYTES (UINT64_C(1) << 30)

/* Reads the file that a request brought: any format, by itself or as one side of a difference to
 * the profile that is shown (parameter as: "", "before", "after"). The parameter name is the
 * file's. Runs in a process of the server, whose standard input it uses up. Returns what is to be
 * shown, which lives as long as the process; NULL: why not is said (pt_say). */
const pt_cmd_context *pt_web_open_file(const pt_cmd_context *shown,
                                       const pt_serve_request *request);

/* A number that changes when one of the files does; 0: there is none any more. A journal changes at
 * any time. */
uint64_t pt_web_stamp(const char *const *names, size_t count);

/* Reads the profiles of the command line again, and frees what was shown; NULL: they cannot be read
 * now, and what is shown stays. */
const pt_cmd_context *pt_web_read_again(const pt_cmd_context *shown);

#endif
