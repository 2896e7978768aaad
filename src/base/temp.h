/* temp.h: temporary files in the folder of the file that they will replace.
 *
 *   .NAME.pitot-WORLD-PID-START-N.tmp
 *
 * WORLD identifies the boot and the pid namespace; PID and START (field 22 of /proc/PID/stat,
 * proc(5)) identify the writer. So a later writer can remove the files of a killed writer without
 * removing a file of a live writer. After pt_temp_guard(), a signal that ends the process removes
 * the process's files first.
 */
#pragma once

#include <stdbool.h>
#include <sys/types.h>

typedef struct pt_temp {
    int folder_fd; /* the caller's; stays open until the file is renamed or removed */
    char *name;    /* name in that folder */
    int slot;      /* index in the table of the signal handler, or -1 */
} pt_temp;

/* Creates the temporary file of the future file `name` in the folder, and removes the temporary
 * files of any name that killed writers of this user left there. Returns a write-only descriptor;
 * on failure -1 with errno. */
int pt_temp_open(int folder_fd, const char *name, mode_t mode, pt_temp *ret_temp);
/* Renames the file to `name`. Returns 0; or -1 with errno, after removing the file. replaces: an
 * existing file is replaced; if false, an existing file is the error EEXIST. */
int pt_temp_rename(pt_temp *temp, const char *name, bool replaces);
/* Removes the file. */
void pt_temp_remove(pt_temp *temp);
/* Removes all temporary files of the process, which is about to end. Async-signal-safe. */
void pt_temp_remove_all(void);

/* Installs handlers for those signals that end a process and have their default action: the handler
 * removes the temporary files and raises the signal again. A write beyond RLIMIT_FSIZE becomes an
 * error of write() from then on. Called once, by main() of a command. */
void pt_temp_guard(void);
/* Sets a function that the handlers call after they have removed the files; it must be
 * async-signal-safe. */
void pt_temp_at_ending(void (*also)(void));
