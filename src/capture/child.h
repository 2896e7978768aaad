/* child.h: a recorded command, which waits until its recording has begun. */
#pragma once

#include <stdbool.h>
#include <sys/resource.h>
#include <sys/types.h>

#include "base/error.h"

typedef struct pt_record_child {
    pid_t pid;
    int go_fd;     /* close it, and the command begins */
    int report_fd; /* tells why it could not */
    int wait_status;
    struct rusage usage;
} pt_record_child;

/* Forks. The child waits, with the caller's signals and environment as they are now. */
pt_status pt_record_child_start(const char *const *command, pt_record_child *ret_child,
                                pt_error *reterr);
/* Lets it begin. PT_ERR_NOTFOUND, PT_ERR_SYSTEM: it could not be run, and has ended. */
pt_status pt_record_child_go(pt_record_child *child, const char *name, pt_error *reterr);
/* Ends it without letting it begin. */
void pt_record_child_refuse(pt_record_child *child);
/* Whether it has ended; then its status and usage are known, and it must not be waited for. */
bool pt_record_child_has_ended(pt_record_child *child);
/* Waits for its end. */
void pt_record_child_wait(pt_record_child *child);
