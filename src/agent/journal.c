/* journal.c: creating and growing the crash journal.
 *
 * The file is sparse and mapped whole at once, then its descriptor is closed: a host that closes
 * all descriptors, or counts them, meets none of ours. Blocks are asked for (MADV_POPULATE_WRITE,
 * Linux 5.14) before a byte of them is stored, so a full disk is an error here and not a SIGBUS in
 * the host. Older kernels get a fixed part of the file allocated at the start instead.
 *
 * The file is made under a temporary name and renamed: a file of an earlier run is replaced, never
 * cut under another process that still maps it.
 */
#include "agent/agent.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <unistd.h>

#ifndef MADV_POPULATE_WRITE
#define MADV_POPULATE_WRITE 23
#endif

enum {
    FILE_MAX_BYTES = 256 << 20, /* as large as a journal gets; sparse until used */
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
    journal->safe_bytes = 0;
    for (size_t size = file_bytes(); size >= FILE_MIN_BYTES; size /= 4) {
        if (ftruncate(fd, (off_t)size) != 0) return false;
        void *const at = mmap(NULL, size, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
        if (at == MAP_FAILED) continue; /* an address-space limit */
        journal->base = at;
        journal->size_bytes = size;
        if (populate(journal, 0, PT_JOURNAL_HEADER_BYTES)) return true;
        const size_t fixed = size < FIXED_BYTES ? size : FIXED_BYTES;
        if (errno == EINVAL && posix_fallocate(fd, 0, (off_t)fixed) == 0) {
            journal->size_bytes = journal->safe_bytes = fixed;
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
    close(fd);
    if (!mapped) {
        unlink(path);
        errno = saved_errno;
        return false;
    }
    madvise(journal->base, journal->size_bytes, MADV_DONTFORK);
    journal->header = (pt_journal_header *)journal->base;
    journal->used_bytes = PT_JOURNAL_HEADER_BYTES;
    return true;
}

pt_journal_area *pt_journal_area_new(pt_agent_journal *journal, uint32_t kind, size_t size_bytes)
{
    const size_t size = round_up(size_bytes);
    if (journal->header == NULL || size > journal->size_bytes - journal->used_bytes ||
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
    if (journal->header != NULL) munmap(journal->base, journal->size_bytes);
    journal->header = NULL;
    journal->base = NULL;
}
