/* temp.h: temporary files beside the files that they become.
 *
 *   .NAME.pitot-WORLD-PID-START-N.tmp
 *
 * WORLD tells boots and pid namespaces apart, PID and START (field 22 of proc(5)'s stat) are the
 * writer's. So a later writer removes what a killed one left, and never the file of one that lives.
 * What ends the process by a signal removes the files first, once pt_temp_guard() was called.
 */
#ifndef PT_BASE_TEMP_H
#define PT_BASE_TEMP_H

#include <stdbool.h>
#include <sys/types.h>

typedef struct pt_temp {
    int folder_fd; /* the caller's, open until the file is renamed or removed */
    char *name;    /* in that folder */
    int slot;      /* where signals find it, or -1 */
} pt_temp;

/* Creates a file beside the one that `name` will name in the folder; removes files that killed
 * writers of this user left there. The descriptor (write only), or -1 with errno. */
int pt_temp_open(int folder_fd, const char *name, mode_t mode, pt_temp *ret_temp);
/* Gives the file its name; 0, or -1 with errno and the file removed. replaces: in place of what has
 * the name; else that is EEXIST. */
int pt_temp_rename(pt_temp *temp, const char *name, bool replaces);
void pt_temp_remove(pt_temp *temp);
/* For a process that ends now, in a signal handler or anywhere: removes its temporary files. */
void pt_temp_remove_all(void);

/* Handles the signals that end a process and are at their default action: temporary files are
 * removed, then the signal does what it does. A file that outgrows RLIMIT_FSIZE is an error of
 * write from then on. For main() of a command, once. */
void pt_temp_guard(void);

#endif
