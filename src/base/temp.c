/* temp.c: see temp.h. */
#include "base/temp.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <limits.h>
#include <pthread.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include "base/error.h"
#include "base/hash.h"

enum {
    SLOTS = 256,
    NAME_KEPT_BYTES = 160,  /* bytes kept of the file's own name; a name has at most 255 bytes */
    ENTRIES_MAX = 1 << 16,  /* limit of entries examined in a folder */
    ELSEWHERE_AGE_S = 3600, /* minimum age of a removed file of another boot or container */
};

/* ---- the writer's identity ---- */

/* Start time of a process in clock ticks since boot; 0 if unknown. */
static uint64_t start_of(const char *pid)
{
    PT_FREE char *path = pt_strf("/proc/%s/stat", pid);
    PT_CLOSE int fd = open(path, O_RDONLY | O_CLOEXEC);
    char text[1024];
    const ssize_t length = fd >= 0 ? read(fd, text, sizeof text - 1) : -1;
    if (length <= 0) return 0;
    text[length] = '\0';
    const char *at =
        strrchr(text, ')'); /* the name of the command ends at the last ')'; it may itself contain
                             * any character */
    for (int field = 2; field < 22 && at != NULL; field++)
        at = strchr(at + 1, ' ');
    return at != NULL ? strtoull(at, NULL, 10) : 0;
}

/* A hash that identifies the boot and the pid namespace. */
static uint32_t this_world(void)
{
    char boot[64] = "";
    struct stat ns = {0};
    PT_CLOSE int fd = open("/proc/sys/kernel/random/boot_id", O_RDONLY | O_CLOEXEC);
    const ssize_t length = fd >= 0 ? read(fd, boot, sizeof boot) : 0;
    if (stat("/proc/self/ns/pid", &ns) != 0) ns.st_ino = 0;
    return (uint32_t)pt_hash_mix(pt_hash_bytes(boot, length > 0 ? (size_t)length : 0), ns.st_ino);
}

static struct {
    pthread_mutex_t lock;
    pid_t pid; /* the process of the other fields; 0: not filled yet */
    uint64_t start;
    uint32_t world;
    dev_t cleaned_device; /* the folder cleaned last */
    ino_t cleaned_inode;
} self = {.lock = PTHREAD_MUTEX_INITIALIZER};

static void identify_self(void)
{
    if (self.pid == getpid()) return;
    self.pid = getpid();
    self.start = start_of("self");
    self.world = this_world();
    self.cleaned_inode = 0;
}

/* ---- files of killed writers ---- */

/* Parses the end of a temporary file's name, "-HEX-PID-START-N.tmp". */
static bool parse_writer(const char *name, uint32_t *ret_world, long *ret_pid, uint64_t *ret_start)
{
    static const char mark[] = ".pitot-";
    const char *at = NULL, *next = name[0] == '.' ? strstr(name, mark) : NULL;
    for (; next != NULL; next = strstr(next + 1, mark))
        at = next;
    int length = 0;
    unsigned serial;
    return at != NULL &&
           sscanf(at + sizeof mark - 1, "%8" SCNx32 "-%ld-%" SCNu64 "-%u.tmp%n", ret_world, ret_pid,
                  ret_start, &serial, &length) == 4 &&
           length > 0 && at[sizeof mark - 1 + (size_t)length] == '\0' && *ret_pid > 0;
}

static bool is_alive(long pid, uint64_t start)
{
    char text[32];
    if (kill((pid_t)pid, 0) != 0 && errno == ESRCH) return false;
    snprintf(text, sizeof text, "%ld", pid);
    const uint64_t now = start_of(text);
    return now == 0 || start == 0 || now == start;
}

/* May the file, whose writer ran in another boot or container, be removed? It must be old, and no
 * writer may hold its lock. */
static bool is_abandoned_elsewhere(int folder_fd, const char *name, const struct stat *status)
{
    if (status->st_mtim.tv_sec + ELSEWHERE_AGE_S > time(NULL)) return false;
    PT_CLOSE int fd = openat(folder_fd, name, O_RDONLY | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC);
    return fd >= 0 && flock(fd, LOCK_EX | LOCK_NB) == 0;
}

static void remove_if_left(int folder_fd, const char *name)
{
    uint32_t world;
    long pid;
    uint64_t start;
    struct stat status;
    if (!parse_writer(name, &world, &pid, &start) ||
        fstatat(folder_fd, name, &status, AT_SYMLINK_NOFOLLOW) != 0 || !S_ISREG(status.st_mode) ||
        status.st_uid != geteuid())
        return;
    if (world == self.world ? !is_alive(pid, start)
                            : is_abandoned_elsewhere(folder_fd, name, &status))
        unlinkat(folder_fd, name, 0);
}

/* Removes the temporary files that killed writers left in the folder, except if the process cleaned
 * this folder last. */
static void clean_folder(int folder_fd)
{
    struct stat folder;
    if (fstat(folder_fd, &folder) != 0) return;
    if (folder.st_dev == self.cleaned_device && folder.st_ino == self.cleaned_inode) return;
    self.cleaned_device = folder.st_dev;
    self.cleaned_inode = folder.st_ino;
    const int fd = openat(folder_fd, ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    DIR *const dir = fd >= 0 ? fdopendir(fd) : NULL;
    if (dir == NULL) {
        if (fd >= 0) close(fd);
        return;
    }
    const struct dirent *entry;
    for (int i = 0; i < ENTRIES_MAX && (entry = readdir(dir)) != NULL; i++)
        remove_if_left(dirfd(dir), entry->d_name);
    closedir(dir);
}

/* ---- removal on a signal ---- */

/* Table of temporary files for the signal handler. Its size is fixed, because a handler can neither
 * lock nor allocate. A slot is free when owner is 0. If the table has no room for a file, the
 * handler does not remove this file; a later writer does. */
static struct slot {
    _Atomic pid_t owner; /* the process, which is set last; -1 while the slot is filled. A child of
                          * fork removes no file of its parent */
    int folder_fd;
    char name[NAME_MAX + 1];
} slots[SLOTS];

static int take_slot(int folder_fd, const char *name)
{
    if (strlen(name) > NAME_MAX) return -1;
    for (int i = 0; i < SLOTS; i++) {
        pid_t free_mark = 0;
        if (!atomic_compare_exchange_strong(&slots[i].owner, &free_mark, -1)) continue;
        slots[i].folder_fd = folder_fd;
        snprintf(slots[i].name, sizeof slots[i].name, "%s", name);
        atomic_store(&slots[i].owner, getpid());
        return i;
    }
    return -1;
}

void pt_temp_remove_all(void)
{
    const pid_t own = getpid();
    for (int i = 0; i < SLOTS; i++)
        if (atomic_load(&slots[i].owner) == own) unlinkat(slots[i].folder_fd, slots[i].name, 0);
}

static void (*_Atomic also_at_ending)(void);

void pt_temp_at_ending(void (*also)(void))
{
    atomic_store(&also_at_ending, also);
}

static void on_ending(int signal_number)
{
    void (*const also)(void) = atomic_load(&also_at_ending);
    pt_temp_remove_all();
    if (also != NULL) also();
    raise(signal_number); /* the action is the default by now, and the signal is not blocked */
}

static void on_full(int signal_number)
{
    (void)signal_number;
}

void pt_temp_guard(void)
{
    static const int ending[] = {SIGHUP, SIGINT, SIGQUIT, SIGTERM, SIGALRM, SIGXCPU};
    struct sigaction action = {.sa_handler = on_ending, .sa_flags = SA_RESETHAND | SA_NODEFER},
                     before;
    sigemptyset(&action.sa_mask);
    for (size_t i = 0; i < sizeof ending / sizeof ending[0]; i++)
        if (sigaction(ending[i], NULL, &before) == 0 && before.sa_handler == SIG_DFL)
            sigaction(ending[i], &action, NULL);
    action = (struct sigaction){.sa_handler = on_full, .sa_flags = SA_RESTART};
    if (sigaction(SIGXFSZ, NULL, &before) == 0 && before.sa_handler == SIG_DFL)
        sigaction(SIGXFSZ, &action, NULL);
}

/* ---- the file ---- */

int pt_temp_open(int folder_fd, const char *name, mode_t mode, pt_temp *ret_temp)
{
    static unsigned serial;
    int fd = -1, why = EEXIST;
    pthread_mutex_lock(&self.lock);
    identify_self();
    clean_folder(folder_fd);
    for (int tries = 0; tries < 100 && fd < 0 && why == EEXIST; tries++) {
        char *const temp =
            pt_strf(".%.*s.pitot-%08" PRIx32 "-%d-%" PRIu64 "-%u.tmp", NAME_KEPT_BYTES, name,
                    self.world, (int)self.pid, self.start, serial++);
        const int slot = take_slot(folder_fd, temp);
        fd = openat(folder_fd, temp, O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, mode);
        why = errno;
        if (fd >= 0) {
            *ret_temp = (pt_temp){.folder_fd = folder_fd, .name = temp, .slot = slot};
            flock(fd,
                  LOCK_EX | LOCK_NB); /* marks the file as in use for writers in other containers */
            continue;
        }
        if (slot >= 0) atomic_store(&slots[slot].owner, 0);
        free(temp);
    }
    pthread_mutex_unlock(&self.lock);
    errno = why;
    return fd;
}

static void release_slot(pt_temp *temp)
{
    if (temp->slot >= 0) atomic_store(&slots[temp->slot].owner, 0);
    free(temp->name);
    *temp = (pt_temp){.folder_fd = -1, .slot = -1};
}

/* Renames without replacement. Some file systems support only renameat2 or only linkat. */
static int rename_to_free_name(int folder_fd, const char *from, const char *to)
{
    if (renameat2(folder_fd, from, folder_fd, to, RENAME_NOREPLACE) == 0) return 0;
    if (errno != EINVAL && errno != ENOSYS) return -1;
    if (linkat(folder_fd, from, folder_fd, to, 0) != 0) return -1;
    unlinkat(folder_fd, from, 0);
    return 0;
}

int pt_temp_rename(pt_temp *temp, const char *name, bool replaces)
{
    const int result = replaces ? renameat(temp->folder_fd, temp->name, temp->folder_fd, name)
                                : rename_to_free_name(temp->folder_fd, temp->name, name);
    const int why = errno;
    if (result != 0) unlinkat(temp->folder_fd, temp->name, 0);
    release_slot(temp);
    errno = why;
    return result;
}

void pt_temp_remove(pt_temp *temp)
{
    unlinkat(temp->folder_fd, temp->name, 0);
    release_slot(temp);
}
