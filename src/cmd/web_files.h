/* web_files.h: profiles that a served page shows beside those of the command line: files that are
 * dropped on it, and files that have changed since they were read. */
#ifndef PT_CMD_WEB_FILES_H
#define PT_CMD_WEB_FILES_H

#include "cmd/cmd.h"
#include "serve/serve.h"

/* The largest file that the page takes, in bytes. */
#define PT_WEB_FILE_BYTES (UINT64_C(1) << 30)

/* Reads the file in the body of a request, in any format. The request's parameter `as` says how it
 * is shown: "" by itself, "before" or "after" as that side of a difference to the shown profile;
 * the parameter `name` is the file's name. Call it in a process that makes one answer: it reads the
 * file as standard input. The result lives as long as the process. NULL: the file cannot be shown;
 * the reason has been said (pt_say). */
const pt_cmd_context *pt_web_open_file(const pt_cmd_context *shown,
                                       const pt_serve_request *request);

/* A number that differs when one of the files has changed, and at each call if one is a journal,
 * whose changes leave no time in its status. 0: none of the files exists any more. */
uint64_t pt_web_stamp(const char *const *names, size_t count);

/* Reads the profiles of the command line again, and frees `shown`. NULL: they cannot be read now;
 * `shown` stays valid. */
const pt_cmd_context *pt_web_read_again(const pt_cmd_context *shown);

#endif
