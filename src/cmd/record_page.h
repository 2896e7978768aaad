/* record_page.h: the page of a recording that goes on (record --serve): `pitot serve --live` in a
 * process of its own, so that it takes no time of the recorder.
 *
 * The process ends with the recorder, whatever ends that. It has no terminal signals: Ctrl-C ends
 * the command first, then the page.
 */
#pragma once

#include <sys/types.h>

#include "base/error.h"

typedef struct pt_record_page {
    pid_t pid;       /* 0: there is none */
    int folder_fd;   /* takes the folder of the recording, once */
    uint64_t before; /* of the output file, to see whether it is another one at the end */
} pt_record_page;

/* Starts the process, before the recorder has threads. It waits until the recording begins.
 * address: HOST:PORT, or NULL; output: the recording's file. */
pt_status pt_record_page_start(const char *address, const char *output, pt_record_page *ret_page,
                               pt_error *reterr);
/* pt_recording.begins: the recording has this folder. */
void pt_record_page_begins(void *page, const char *folder);
/* After the recording: if its file was written, waits for Ctrl-C; then ends the page. SIGTERM and
 * SIGHUP, which ended the recording, end the page, too. */
void pt_record_page_end(pt_record_page *page, const char *output);
