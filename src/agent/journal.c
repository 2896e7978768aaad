/* journal.c: creating and growing the crash journal.
 *
 * The file is sparse, and mapped at once as large as it may get; its length follows what is used,
 * in steps. Only a thread of ours keeps it open, in a table of its own: a host that closes all
 * descriptors, or counts them, meets none of ours. Blocks are asked for (MADV_POPULATE_WRITE,
 * Linux 5.14) before a byte of them is stored, so a full disk is an error here and not a SIGBUS in
 * the host. Older kernels get a fixed part of the file allocated at the start instead.
 *
 * The file is made under a temporary name and renamed: a file of an earlier run is replaced, never
 * cut under another process that still maps it.
 */
#include "agent/agent.h"

#include <errno.h>
#include <fcntl.h>
#include <linux/close_range.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#ifndef MADV_POPULATE_WRITE
#define MADV_POPULATE_WRITE 23
#endif

enum {
    FILE_MAX_BYTES = 256 << 20, /* as large as a journal gets; sparse until used */
    FILE_FIRST_BYTES = 1 << 20, /* of its length, and what is left of it is never less */
    FILE_MIN_BYTES = 1 << 20,   /* not worth starting with less */
    FIXED_BYTES = 8 << 20,      /* where blocks cannot be asked for later */
};

static size_t round_up(size_t bytes)
{
    return (bytes + PT_JOURNAL_ALIGN_BYTES - 1) / PT_JOURNAL_ALIGN_BYTES * PT_JOURNAL_ALIGN_BYTES;
}

/* Blocks and pages for [from, from + bytes). */
static bool populate(pt_agent_journal *journal, size_t from, size_t bytes)
{
    if (from + bytes <= journal->safe_bytes) return true;
    const size_t page = (size_t)sysconf(_SC_PAGESIZE);
    const size_t start = from / page * page;
    return madvise(journal->base + start, from + bytes - start, MADV_POPULATE_WRITE) == 0;
}

/* A new file at path, replacing what is there in one step. */
static int open_file(const char *path)
{
    char name[PATH_MAX];
    struct stat there;
    if (lstat(path, &there) == 0 && !S_ISREG(there.st_mode)) {
        errno = S_ISLNK(there.st_mode) ? ELOOP : EEXIST;
        return -1;
    }
    if (snprintf(name, sizeof name, "%s.%d.tmp", path, (int)getpid()) >= (int)sizeof name) {
        errno = ENAMETOOLONG;
        return -1;
    }
    unlink(name); /* of a killed process with our pid */
    const int fd = open(name, O_RDWR | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, 0600);
    if (fd >= 0 && rename(name, path) != 0) {
        const int saved_errno = errno;
        unlink(name);
        close(fd);
        errno = saved_errno;
        return -1;
    }
    return fd;
}

void pt_journal_keep_earlier(const char *path)
{
    enum { WORTH_KEEPING_NS = 100000000 }; /* wrappers take a few milliseconds */
    char name[PATH_MAX];
    pt_journal_header header;
    const int fd = open(path, O_RDONLY | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC);
    if (fd < 0) return;
    const bool ours = pread(fd, &header, sizeof header, 0) == (ssize_t)sizeof header &&
                      memcmp(header.magic, PT_JOURNAL_MAGIC, sizeof header.magic) == 0 &&
                      header.version == PT_JOURNAL_VERSION && header.pid == (uint32_t)getpid() &&
                      header.end == PT_JOURNAL_BECAME;
    close(fd);
    if (!ours || header.cpu_used_ns < WORTH_KEEPING_NS ||
        !pt_agent_join(name, sizeof name, path, ""))
        return;
    pt_name_add_pid(name);
    const size_t length = strlen(name);
    for (int n = 2; n < 100 && access(name, F_OK) == 0; n++)
        snprintf(name + length, sizeof name - length, ".%d", n);
    if (name[0] != '\0' && access(name, F_OK) != 0) rename(path, name);
}

/* The file's size: never beyond RLIMIT_FSIZE, which would raise SIGXFSZ in the host. */
static size_t file_bytes(void)
{
    struct rlimit limit;
    size_t size = FILE_MAX_BYTES;
    if (getrlimit(RLIMIT_FSIZE, &limit) == 0 && limit.rlim_cur < size)
        size = (size_t)limit.rlim_cur / PT_JOURNAL_ALIGN_BYTES * PT_JOURNAL_ALIGN_BYTES;
    return size;
}

static bool map_file(pt_agent_journal *journal, int fd)
{
    struct stat made;
    if (fstat(fd, &made) != 0) return false;
    journal->device = made.st_dev;
    journal->inode = made.st_ino;
    journal->safe_bytes = 0;
    for (size_t size = file_bytes(); size >= FILE_MIN_BYTES; size /= 4) {
        if (ftruncate(fd, FILE_FIRST_BYTES) != 0) return false;
        void *const at = mmap(NULL, size, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
        if (at == MAP_FAILED) continue; /* an address-space limit */
        journal->base = at;
        journal->size_bytes = size;
        journal->file_bytes = FILE_FIRST_BYTES;
        if (populate(journal, 0, PT_JOURNAL_HEADER_BYTES)) return true;
        const size_t fixed = size < FIXED_BYTES ? size : FIXED_BYTES;
        if (errno == EINVAL && posix_fallocate(fd, 0, (off_t)fixed) == 0) {
            journal->size_bytes = journal->file_bytes = journal->safe_bytes = fixed;
            return true;
        }
        munmap(at, size);
        errno = ENOSPC;
        return false;
    }
    errno = EFBIG;
    return false;
}

bool pt_journal_create(pt_agent_journal *journal, const char *path)
{
    if (!pt_agent_join(journal->path, sizeof journal->path, path, "")) return false;
    const int fd = open_file(path);
    if (fd < 0) return false;
    const bool mapped = map_file(journal, fd);
    const int saved_errno = errno;
    journal->fd = fd;
    journal->keeper_tid = 0;
    if (!mapped) {
        close(fd);
        unlink(path);
        errno = saved_errno;
        return false;
    }
    madvise(journal->base, journal->size_bytes, MADV_DONTFORK);
    journal->header = (pt_journal_header *)journal->base;
    journal->used_bytes = PT_JOURNAL_HEADER_BYTES;
    return true;
}

/* ---- its length ---- */

/* The file, wherever its name leads by now; -1 if not to it. */
static int open_again(const pt_agent_journal *journal)
{
    struct stat there;
    const int fd = open(journal->path, O_RDWR | O_NOFOLLOW | O_CLOEXEC);
    if (fd < 0 || (fstat(fd, &there) == 0 && there.st_dev == journal->device &&
                   there.st_ino == journal->inode))
        return fd;
    close(fd);
    return -1;
}

static bool set_length(pt_agent_journal *journal, size_t bytes)
{
    if (bytes <= journal->file_bytes) return true;
    if (bytes > file_bytes()) return false; /* the host has another limit now */
    const bool is_keeper = journal->keeper_tid != 0 && journal->keeper_tid == gettid();
    const int fd = is_keeper          ? journal->keeper_fd
                   : journal->fd >= 0 ? journal->fd
                                      : open_again(journal);
    const bool done = fd >= 0 && ftruncate(fd, (off_t)bytes) == 0;
    if (fd >= 0 && !is_keeper && fd != journal->fd) close(fd);
    if (done) journal->file_bytes = bytes;
    return done;
}

/* Twice as long as what is used, and some more: it does not grow often. */
static bool reach(pt_agent_journal *journal, size_t used_bytes)
{
    const size_t ahead = 2 * used_bytes + FILE_FIRST_BYTES;
    const size_t bytes = ahead < journal->size_bytes ? ahead : journal->size_bytes;
    return used_bytes <= journal->file_bytes || set_length(journal, bytes) ||
           set_length(journal, used_bytes);
}

void pt_journal_grow(pt_agent_journal *journal, bool fully)
{
    if (journal->header == NULL) return;
    if (fully)
        set_length(journal, journal->size_bytes);
    else if (journal->file_bytes - journal->used_bytes < FILE_FIRST_BYTES / 2)
        reach(journal, journal->file_bytes < journal->size_bytes ? journal->file_bytes + 1
                                                                 : journal->size_bytes);
}

void pt_journal_keep(pt_agent_journal *journal)
{
    const unsigned fd = (unsigned)journal->fd; /* closed: all others are */
    if (syscall(SYS_close_range, fd + 1, ~0U, CLOSE_RANGE_UNSHARE) != 0 || journal->fd < 0) return;
    if (fd > 0) syscall(SYS_close_range, 0, fd - 1, 0);
    journal->keeper_fd = journal->fd;
    journal->keeper_tid = gettid();
}

void pt_journal_handed_over(pt_agent_journal *journal)
{
    if (journal->fd < 0) return;
    if (journal->keeper_tid == 0) pt_journal_grow(journal, true);
    close(journal->fd);
    journal->fd = -1;
}

pt_journal_area *pt_journal_area_new(pt_agent_journal *journal, uint32_t kind, size_t size_bytes)
{
    const size_t size = round_up(size_bytes);
    if (journal->header == NULL || size > journal->size_bytes - journal->used_bytes ||
        !reach(journal, journal->used_bytes + size) ||
        !populate(journal, journal->used_bytes, size))
        return NULL;
    pt_journal_area *const area = (pt_journal_area *)(journal->base + journal->used_bytes);
    journal->used_bytes += size;
    area->kind = kind;
    area->size_bytes = size;
    return area;
}

void pt_journal_area_commit(pt_journal_area *area)
{
    __atomic_store_n(&area->magic, PT_JOURNAL_AREA_MAGIC, __ATOMIC_RELEASE);
}

void pt_journal_close(pt_agent_journal *journal)
{
    if (journal->header != NULL) {
        munmap(journal->base, journal->size_bytes);
        if (journal->fd >= 0) close(journal->fd);
    }
    journal->keeper_tid = 0;
    journal->header = NULL;
    journal->base = NULL;
}
