/* program.h: another program is run on an input that is at hand: what it writes, and how it ends.
 */
#ifndef PT_BASE_PROGRAM_H
#define PT_BASE_PROGRAM_H

#include "base/buf.h"
#include "base/error.h"

typedef struct pt_program_result {
    pt_buf output, said; /* of its standard output; of its standard error */
    bool in_time;        /* false: it was killed at the limit */
    bool has_succeeded;  /* it ended in time, with status 0 */
} pt_program_result;

/* Runs the file at path with these words (argv[0] first, NULL last) and waits for its end. limit_s:
 * how many seconds it may take; 0 = any time. The program ends with the thread that calls this.
 * PT_ERR_SYSTEM: it could not be started. Else the caller frees *ret_result with
 * pt_program_result_done. */
pt_status pt_program_run(const char *path, char *const argv[], const pt_buf *input, int limit_s,
                         pt_program_result *ret_result, pt_error *reterr);
void pt_program_result_done(pt_program_result *result);

#endif
