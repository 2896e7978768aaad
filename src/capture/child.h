/* child.h: a recorded command, which waits until its recording has begun. */
#pragma once

#include <stdbool.h>
#include <sys/resource.h>
#include <sys/types.h>

#include "base/error.h"

typedef struct pt_record_child {
    pid_t pid;
    int go_fd;     /* a byte lets the command begin; if this end is closed without a byte, the child
                    * exits */
    int report_fd; /* reports the error if the command cannot be run */
    int wait_status;
    uint64_t before_ns; /* CPU time of the child before it began the command */
    struct rusage usage;
} pt_record_child;

/* Forks the child, which waits before exec. It has the caller's present signals and environment. */
pt_status pt_record_child_start(const char *const *command, pt_record_child *ret_child,
                                pt_error *reterr);
/* Lets the command begin. Fails with PT_ERR_NOTFOUND or PT_ERR_SYSTEM if the command cannot be run;
 * then the child has ended. */
pt_status pt_record_child_go(pt_record_child *child, const char *name, pt_error *reterr);
/* Ends the child before it runs the command. */
void pt_record_child_refuse(pt_record_child *child);
/* Has the child ended? If so, wait_status and usage are set, and the caller must not wait for the
 * child. */
bool pt_record_child_has_ended(pt_record_child *child);
/* The CPU time of a child that has ended, and of the descendants that were waited for, without the
 * time before the command began. */
uint64_t pt_record_child_used_ns(const pt_record_child *child);
/* Waits for the child's end. */
void pt_record_child_wait(pt_record_child *child);
