/* pids.h: finds the processes that the words of a command line name. */
#pragma once

#include <stddef.h>
#include <sys/types.h>

#include "base/error.h"

typedef struct pt_pid_list {
    pid_t *items;
    size_t count, cap;
} pt_pid_list;

typedef void pt_pids_say(const char *line);

/* Each word is a number, or the name (as /proc/PID/comm or the program's file has it) of one or
 * more processes, or several numbers and names with commas. PT_ERR_NOTFOUND: no such process.
 * The caller frees the list, which has no duplicates. root: "/proc". say (may be NULL) gets a line
 * if a number belongs to a thread. */
pt_status pt_record_pids(const char *root, const char *const *words, size_t count, pt_pids_say *say,
                         pt_pid_list *ret_pids, pt_error *reterr);

/* The running processes that the processes of the list have started, those that these have started,
 * and so on, without those of the list. Does not find a process whose parent has ended. Reads /proc
 * again until no more processes are found. The caller frees *ret_pids. */
void pt_record_descendants(const char *root, const pt_pid_list *of, pt_pid_list *ret_pids);
