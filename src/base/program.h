/* program.h: runs another program on a given input and collects its output.
 */
#pragma once

#include "base/buf.h"
#include "base/error.h"

typedef struct pt_program_result {
    pt_buf output, said; /* standard output; standard error */
    bool in_time;        /* false: the program was killed at the time limit */
    bool has_succeeded;  /* the program ended in time with status 0 */
} pt_program_result;

/* Runs the program at path with argv (name first, NULL last), feeds it the input and waits for its
 * end. limit_s: time limit in seconds; 0 = none. The kernel kills the program if the calling thread
 * dies. PT_ERR_SYSTEM if the program could not be started; else the caller frees *ret_result with
 * pt_program_result_done. */
pt_status pt_program_run(const char *path, char *const argv[], const pt_buf *input, int limit_s,
                         pt_program_result *ret_result, pt_error *reterr);
void pt_program_result_done(pt_program_result *result);

/* The path of the first executable of that name in the folders of `search`, which are separated by
 * colons as in PATH (if it is NULL: /usr/local/bin, /usr/bin and /bin). The caller frees the path.
 * Returns NULL if there is no such executable. A name with a slash is a path itself. */
char *pt_program_find(const char *name, const char *search);
