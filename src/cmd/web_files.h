/* web_files.h: files that are dropped on a served page. */
#pragma once

#include "cmd/cmd.h"
#include "serve/serve.h"

/* The largest file that the page takes, in bytes. */
#define PT_WEB_FILE_BYTES (UINT64_C(1) << 30)

/* Reads the file in the body of a request, in any format. The request's parameter `as` says how it
 * is shown: "" means by itself; "before" or "after" means as that side of a difference to the shown
 * profile; the parameter `name` is the file's name. Call it in a process that makes one answer: it
 * reads the file as standard input. The result lives as long as the process. Returns NULL if the
 * file cannot be shown; pt_say has then printed the reason. */
const pt_cmd_context *pt_web_open_file(const pt_cmd_context *shown,
                                       const pt_serve_request *request);
