/* file.c: blobs, and reading whole files. */
#include "base/file.h"

#include "base/memory.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdio.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/temp.h"

enum {
    MAP_FROM_BYTES = 64 * 1024, /* for smaller files read() is as cheap as a mapping */
    HUGE_FROM_BYTES = 8 * 1024 * 1024,
    FIRST_READ_BYTES = 64 * 1024,
    POPULATE_TO_BYTES = 1024 * 1024 * 1024, /* larger files may exceed the page cache */
};

static size_t whole_pages(size_t size)
{
    const size_t page = (size_t)sysconf(_SC_PAGESIZE);
    return (size + page - 1) / page * page;
}

/* --- the guard --- */

/* Mapped files, for the handler of SIGBUS. The table is fixed, because a handler can neither lock
 * nor allocate. A slot is free when limit is 0. When the table is full, a file is read instead of
 * mapped. */
static struct guarded {
    _Atomic uintptr_t start, limit;
    atomic_bool cut;
} guarded[256];
static atomic_bool guard_installed;

static void on_sigbus(int signal_number, siginfo_t *info, void *context)
{
    const int saved_errno = errno;
    const uintptr_t at = (uintptr_t)info->si_addr;
    for (size_t i = 0; i < sizeof guarded / sizeof guarded[0]; i++) {
        const uintptr_t limit = atomic_load(&guarded[i].limit);
        const uintptr_t start = atomic_load(&guarded[i].start);
        if (at < start || at >= limit) continue;
        const uintptr_t from = at & ~((uintptr_t)sysconf(_SC_PAGESIZE) - 1);
        if (mmap((void *)from, limit - from, PROT_READ, MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED, -1,
                 0) == MAP_FAILED)
            break;
        atomic_store(&guarded[i].cut, true);
        errno = saved_errno;
        return;
    }
    signal(signal_number,
           SIG_DFL); /* returning repeats the access, which now gets the default action */
    errno = saved_errno;
}

void pt_file_guard(void)
{
    pt_temp_guard();
    struct sigaction action = {.sa_sigaction = on_sigbus, .sa_flags = SA_SIGINFO | SA_RESTART};
    sigemptyset(&action.sa_mask);
    if (sigaction(SIGBUS, &action, NULL) == 0) atomic_store(&guard_installed, true);
}

static int guard_take(const void *start, size_t size)
{
    for (size_t i = 0; i < sizeof guarded / sizeof guarded[0]; i++) {
        uintptr_t free_mark = 0;
        /* start is 0 only while the slot is free; limit, set last, makes it visible. */
        if (atomic_compare_exchange_strong(&guarded[i].start, &free_mark, (uintptr_t)start)) {
            atomic_store(&guarded[i].cut, false);
            atomic_store(&guarded[i].limit, (uintptr_t)start + size);
            return (int)i;
        }
    }
    return -1;
}

static void guard_release(int slot)
{
    if (slot < 0) return;
    atomic_store(&guarded[slot].limit, 0);
    atomic_store(&guarded[slot].start, 0);
}

bool pt_blob_intact(const pt_blob *blob)
{
    /* A reader that stopped at the zeros of the file's new last page has not touched the missing
     * pages after it; so this line reads the last byte. */
    if (blob->guard_slot >= 0) (void)*(const volatile uint8_t *)(blob->data + blob->size - 1);
    return blob->guard_slot < 0 || !atomic_load(&guarded[blob->guard_slot].cut);
}

/* --- blobs --- */

void pt_blob_done(pt_blob *blob)
{
    if (blob->kind != PT_BLOB_BORROWED && blob->map_bytes > 0)
        munmap((void *)(uintptr_t)blob->data, blob->map_bytes);
    if (blob->uncounted > 0) pt_memory_uncount(-(int64_t)blob->uncounted);
    guard_release(blob->guard_slot);
    *blob = PT_BLOB_INIT;
}

pt_blob pt_blob_borrow(const void *data, size_t size)
{
    return (pt_blob){.data = data, .size = size, .kind = PT_BLOB_BORROWED, .guard_slot = -1};
}

static pt_status map_memory(size_t size, pt_blob *ret_blob, pt_error *reterr)
{
    const size_t bytes = whole_pages(size > 0 ? size : 1);
    if (bytes < size)
        return pt_error_set(reterr, PT_ERR_NOMEM, "%zu bytes do not fit memory", size);
    void *const at = mmap(NULL, bytes, PROT_READ | PROT_WRITE,
                          MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
    if (at == MAP_FAILED) return pt_error_errno(reterr, errno, "%zu bytes of memory", size);
    if (bytes >= HUGE_FROM_BYTES) madvise(at, bytes, MADV_HUGEPAGE);
    *ret_blob = (pt_blob){
        .data = at, .size = size, .kind = PT_BLOB_ANONYMOUS, .map_bytes = bytes, .guard_slot = -1};
    return PT_OK;
}

static pt_status count_memory(size_t bytes, pt_error *reterr)
{
    if (pt_memory_take(bytes)) return PT_OK;
    return pt_error_set(reterr, PT_ERR_LIMIT,
                        "needs %zu bytes more than the limit of %llu bytes of memory has left%s",
                        bytes, (unsigned long long)pt_memory_limit(), pt_memory_hint());
}

pt_status pt_blob_new(size_t size, pt_blob *ret_blob, pt_error *reterr)
{
    const pt_status status = count_memory(size, reterr);
    return status == PT_OK ? map_memory(size, ret_blob, reterr) : status;
}

pt_status pt_blob_reserve(size_t size, pt_blob *ret_blob, pt_error *reterr)
{
    const pt_status status = map_memory(size, ret_blob, reterr);
    if (status != PT_OK) return status;
    ret_blob->uncounted = ret_blob->map_bytes;
    pt_memory_uncount((int64_t)ret_blob->uncounted);
    return PT_OK;
}

pt_status pt_blob_resize(pt_blob *blob, size_t size, pt_error *reterr)
{
    PT_BUG_IF(blob->kind != PT_BLOB_ANONYMOUS);
    const size_t bytes = whole_pages(size > 0 ? size : 1);
    if (bytes < size)
        return pt_error_set(reterr, PT_ERR_NOMEM, "%zu bytes do not fit memory", size);
    if (bytes > blob->map_bytes) {
        const pt_status status = count_memory(bytes - blob->map_bytes, reterr);
        if (status != PT_OK) return status;
    }
    if (bytes != blob->map_bytes) {
        void *const at =
            mremap((void *)(uintptr_t)blob->data, blob->map_bytes, bytes, MREMAP_MAYMOVE);
        if (at == MAP_FAILED) return pt_error_errno(reterr, errno, "%zu bytes of memory", size);
        blob->data = at;
        blob->map_bytes = bytes;
    }
    if (blob->uncounted > 0) pt_memory_uncount(-(int64_t)blob->uncounted);
    blob->uncounted = 0;
    blob->size = size;
    return PT_OK;
}

void pt_blob_discard(pt_blob *blob, size_t upto)
{
    if (blob->kind == PT_BLOB_BORROWED) return;
    const size_t page = (size_t)sysconf(_SC_PAGESIZE);
    const size_t end = (upto < blob->size ? upto : blob->size) / page * page;
    if (end <= blob->discarded) return;
    madvise((void *)(uintptr_t)(blob->data + blob->discarded), end - blob->discarded,
            MADV_DONTNEED);
    blob->discarded = end;
}

/* --- reading --- */

static pt_status read_stream(int fd, size_t expected, uint64_t max_bytes, pt_blob *ret_blob,
                             pt_error *reterr)
{
    pt_blob blob = PT_BLOB_INIT;
    size_t size = 0;
    pt_status status = pt_blob_new(expected + FIRST_READ_BYTES, &blob, reterr);
    while (status == PT_OK) {
        if (size == blob.size) {
            status = pt_blob_resize(&blob, size * 2, reterr);
            if (status != PT_OK) break;
        }
        const uint64_t allowed = max_bytes - size < UINT64_MAX ? max_bytes - size + 1 : UINT64_MAX;
        const size_t room = blob.size - size < allowed ? blob.size - size : (size_t)allowed;
        const ssize_t n = read(fd, pt_blob_bytes(&blob) + size, room);
        if (n < 0 && errno == EINTR) continue;
        if (n < 0) status = pt_error_errno(reterr, errno, "cannot read");
        if (n <= 0) break;
        size += (size_t)n;
        if (size > max_bytes)
            status = pt_error_set(reterr, PT_ERR_LIMIT,
                                  "is longer than the limit of %llu bytes of memory%s",
                                  (unsigned long long)max_bytes, pt_memory_hint());
    }
    if (status == PT_OK) status = pt_blob_resize(&blob, size, reterr);
    if (status != PT_OK) {
        pt_blob_done(&blob);
        return status;
    }
    *ret_blob = blob;
    return PT_OK;
}

/* Has the file holes? Populating a hole allocates a page of memory for it. */
static bool is_sparse(int fd)
{
    struct stat st;
    return fstat(fd, &st) != 0 || (uint64_t)st.st_blocks * 512 < (uint64_t)st.st_size;
}

static bool map_file(int fd, size_t size, bool in_order, pt_blob *ret_blob)
{
    if (!atomic_load(&guard_installed)) return false;
    void *const at = mmap(NULL, size, PROT_READ, MAP_PRIVATE, fd, 0);
    if (at == MAP_FAILED) return false;
    const size_t bytes = whole_pages(size);
    const int slot = guard_take(at, bytes);
    if (slot < 0) {
        munmap(at, bytes);
        return false;
    }
    if (in_order) madvise(at, bytes, MADV_SEQUENTIAL);
#ifdef MADV_POPULATE_READ /* Linux 5.14: all page tables at once, instead of a fault each 64 KiB   \
                           */
    if (in_order && size <= POPULATE_TO_BYTES && !is_sparse(fd))
        madvise(at, bytes, MADV_POPULATE_READ);
#endif
    *ret_blob = (pt_blob){
        .data = at, .size = size, .kind = PT_BLOB_MAPPED, .map_bytes = bytes, .guard_slot = slot};
    return true;
}

static pt_status read_fd(int fd, pt_file_flags flags, uint64_t max_bytes, pt_blob *ret_blob,
                         pt_error *reterr)
{
    struct stat st;
    if (fstat(fd, &st) != 0) return pt_error_errno(reterr, errno, "cannot read");
    if (S_ISDIR(st.st_mode))
        return pt_error_set(reterr, PT_ERR_SYSTEM, "is a directory; name a file in it");
    size_t expected = 0;
    if (S_ISREG(st.st_mode)) {
        const off_t position = lseek(fd, 0, SEEK_CUR);
        const uint64_t size = (uint64_t)st.st_size;
        const bool in_parts = (flags & PT_FILE_MAP) != 0;
        const bool fits = size <= max_bytes || (flags & PT_FILE_OF_ANY_SIZE) != 0;
        if (fits && position == 0 && size >= (in_parts ? 1 : MAP_FROM_BYTES) &&
            size < SIZE_MAX / 2 && map_file(fd, (size_t)size, !in_parts, ret_blob))
            return PT_OK;
        if (size > max_bytes)
            return pt_error_set(reterr, PT_ERR_LIMIT,
                                "has %llu bytes, more than the limit of %llu bytes of memory%s",
                                (unsigned long long)size, (unsigned long long)max_bytes,
                                pt_memory_hint());
        expected = (size_t)size;
    }
    pt_blob blob = PT_BLOB_INIT;
    const pt_status status = read_stream(fd, expected, max_bytes, &blob, reterr);
    if (status != PT_OK) return status;
    if (blob.size == 0 && !(flags & PT_FILE_EMPTY_OK)) {
        pt_blob_done(&blob);
        return pt_error_set(reterr, PT_ERR_FORMAT, "is empty");
    }
    *ret_blob = blob;
    return PT_OK;
}

pt_status pt_file_read_fd(int fd, const char *name, pt_file_flags flags, uint64_t max_bytes,
                          pt_blob *ret_blob, pt_error *reterr)
{
    const pt_status status = read_fd(fd, flags, max_bytes, ret_blob, reterr);
    if (status != PT_OK) pt_error_where(reterr, name, NULL, -1);
    return status;
}

pt_status pt_file_read(const char *path, pt_file_flags flags, uint64_t max_bytes, pt_blob *ret_blob,
                       pt_error *reterr)
{
    const bool any_kind = (flags & PT_FILE_REGULAR) == 0;
    PT_CLOSE int fd =
        any_kind ? open(path, O_RDONLY | O_CLOEXEC | O_NOCTTY) : pt_open_regular(path, NULL);
    if (fd < 0) {
        const pt_status status = errno == ENOENT
                                     ? pt_error_set(reterr, PT_ERR_NOTFOUND, "no such file")
                                 : errno == EINVAL && !any_kind
                                     ? pt_error_set(reterr, PT_ERR_SYSTEM, "is not a regular file")
                                     : pt_error_errno(reterr, errno, "cannot open");
        pt_error_where(reterr, path, NULL, -1);
        return status;
    }
    return pt_file_read_fd(fd, path, flags, max_bytes, ret_blob, reterr);
}

const char *pt_base_name(const char *path)
{
    const char *const slash = strrchr(path, '/');
    return slash != NULL && slash[1] != '\0' ? slash + 1 : path;
}
