/* leftovers.c: removes files PATH.PID.tmp. Each was left by a process that was killed while it
 * wrote the file, and holds a part of the samples of the process's journal, which lies at PATH. */
#include "agent/agent.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

enum {
    LISTS_MAX = 4,    /* a folder with more names than these lists hold is searched in part */
    OLD_ENOUGH_S = 60 /* a younger file may be in use by a process of another pid namespace; the pid
                       * in its name then says nothing here */
};

/* The process id in an entry NAME.PID.tmp; 0 if the entry has another form. */
static pid_t owner_of(const char *entry, const char *name)
{
    const size_t length = strlen(name);
    char *end;
    if (strncmp(entry, name, length) != 0 || entry[length] != '.' || entry[length + 1] < '1' ||
        entry[length + 1] > '9')
        return 0;
    const unsigned long pid = strtoul(entry + length + 1, &end, 10);
    return strcmp(end, ".tmp") == 0 && pid <= INT32_MAX ? (pid_t)pid : 0;
}

static bool is_left(int folder, const char *entry, pid_t pid)
{
    struct stat st;
    return kill(pid, 0) != 0 && errno == ESRCH && pt_libc_lstat_at(folder, entry, &st) == 0 &&
           S_ISREG(st.st_mode) && st.st_uid == geteuid() && time(NULL) - st.st_mtime > OLD_ENOUGH_S;
}

void pt_leftovers_remove(const char *path, void *room, size_t room_bytes)
{
    char folder_name[PATH_MAX];
    const char *const slash = strrchr(path, '/');
    if (slash == NULL || slash[1] == '\0' ||
        !pt_agent_join(folder_name, sizeof folder_name, path, ""))
        return;
    folder_name[slash - path + (slash == path)] = '\0';
    const int folder = open(folder_name, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    long bytes = 0;
    for (int list = 0; folder >= 0 && list < LISTS_MAX; list++) {
        bytes = syscall(SYS_getdents64, folder, room, room_bytes);
        if (bytes <= 0) break;
        for (long at = 0; at < bytes;) {
            const struct dirent64 *const entry = (const void *)((const char *)room + at);
            const pid_t pid = owner_of(entry->d_name, slash + 1);
            if (pid != 0 && is_left(folder, entry->d_name, pid)) unlinkat(folder, entry->d_name, 0);
            at += entry->d_reclen;
        }
    }
    if (folder >= 0) close(folder);
}
