/* record_page.h: the page of a recording that goes on (record --serve): `pitot serve --live` in a
 * process of its own, so that it takes no time of the recorder.
 *
 * The process ends when the recorder ends, for whatever reason. The process gets no signals of the
 * terminal: Ctrl-C ends the recorded command first, then the page.
 */
#pragma once

#include <sys/types.h>

#include "base/error.h"

typedef struct pt_record_page {
    pid_t pid;       /* 0 if there is none */
    int folder_fd;   /* a pipe to the process, for the path of the recording's folder; -1 after the
                      * path is sent */
    uint64_t before; /* identifies the output file's content before the recording */
} pt_record_page;

/* Starts the process, which waits until the recording begins. Call it before the recorder has
 * threads. address: HOST:PORT, or NULL; output: the recording's file. */
pt_status pt_record_page_start(const char *address, const char *output, pt_record_page *ret_page,
                               pt_error *reterr);
/* For pt_recording.begins: gives the process the folder of the recording. */
void pt_record_page_begins(void *page, const char *folder);
/* After the recording: if its file was written, waits for Ctrl-C; then ends the page. SIGTERM and
 * SIGHUP, if they ended the recording, also end the page. */
void pt_record_page_end(pt_record_page *page, const char *output);
