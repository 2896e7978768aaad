/* fail_alloc.c: for LD_PRELOAD: every allocation of a program fails once, in one run.
 *
 * At each allocation the program forks. In the child it fails, and the child goes on alone to its
 * end; the parent waits for that, notes what is wrong with it, and has its memory. So n failures
 * cost n forks and the ends of n runs, not n runs. For programs of one thread: fork copies no
 * other.
 *
 *   FAIL_ALLOC_LOG=FILE    gets a line a wrong end, and "N allocations" at the end
 *   FAIL_ALLOC_FROM=NAME   only allocations fail that a library with that in its path asks for
 *
 * A right end is status 1 and one line on standard error, or status 0: the program could do
 * without.
 */
#define _GNU_SOURCE
#include <dlfcn.h>
#include <errno.h>
#include <execinfo.h>
#include <fcntl.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

extern void *__libc_malloc(size_t), *__libc_calloc(size_t, size_t), *__libc_realloc(void *, size_t);
extern void *__libc_memalign(size_t, size_t);

static int log_fd = -1;
static const char *from;
static bool busy;
static unsigned long count;

/* Standard output goes nowhere, standard error to a file of its own. */
static int redirect(void)
{
    const int errors = memfd_create("stderr", 0);
    const int nowhere = open("/dev/null", O_RDWR);
    dup2(nowhere, 0);
    dup2(nowhere, 1);
    return errors;
}

static void note(int status, int errors)
{
    char said[2000] = "", line[2600];
    const ssize_t bytes = pread(errors, said, sizeof said - 1, 0);
    size_t lines = 0;
    for (ssize_t i = 0; i < bytes; i++)
        lines += said[i] == '\n';
    const int code = WIFEXITED(status) ? WEXITSTATUS(status) : -WTERMSIG(status);
    if (code == 0 || (code == 1 && lines == 1)) return;
    void *frames[24];
    char where[700] = "";
    const int depth = backtrace(frames, 24);
    for (int i = 2; i < depth; i++) {
        Dl_info info;
        const bool known = dladdr(frames[i], &info) != 0;
        const size_t at = strlen(where);
        snprintf(where + at, sizeof where - at, " %lx",
                 (unsigned long)frames[i] - (known ? (unsigned long)info.dli_fbase : 0));
    }
    const int length = snprintf(line, sizeof line, "allocation %lu:%s: ended with %d: %s\n", count,
                                where, code, said);
    if (write(log_fd, line, (size_t)length) < 0) abort();
}

/* Is the library among the callers? */
static bool is_wanted(void)
{
    void *frames[8];
    Dl_info info;
    const int depth = from != NULL ? backtrace(frames, 8) : 0;
    for (int i = 0; i < depth; i++)
        if (dladdr(frames[i], &info) != 0 && strstr(info.dli_fname, from) != NULL) return true;
    return from == NULL;
}

/* True in a child: this one fails. */
static bool fails(void)
{
    if (log_fd < 0 || busy) return false;
    busy = true;
    if (!is_wanted()) {
        busy = false;
        return false;
    }
    count++;
    const int errors = memfd_create("stderr", 0);
    const pid_t pid = fork();
    if (pid == 0) {
        close(redirect());
        dup2(errors, 2);
        alarm(600);
        errno = ENOMEM;
        return true; /* busy stays: only this one */
    }
    int status = 0;
    while (waitpid(pid, &status, 0) < 0 && errno == EINTR) {
    }
    note(status, errors);
    close(errors);
    busy = false;
    return false;
}

void *malloc(size_t size)
{
    return fails() ? NULL : __libc_malloc(size);
}

void *calloc(size_t n, size_t size)
{
    return fails() ? NULL : __libc_calloc(n, size);
}

void *realloc(void *at, size_t size)
{
    return size > 0 && fails() ? NULL : __libc_realloc(at, size);
}

void *reallocarray(void *at, size_t n, size_t size)
{
    return fails() ? NULL : __libc_realloc(at, n * size);
}

void *aligned_alloc(size_t alignment, size_t size)
{
    return fails() ? NULL : __libc_memalign(alignment, size);
}

int posix_memalign(void **ret, size_t alignment, size_t size)
{
    *ret = fails() ? NULL : __libc_memalign(alignment, size);
    return *ret != NULL ? 0 : ENOMEM;
}

void *mmap(void *at, size_t size, int protection, int flags, int fd, off_t offset)
{
    if (fails()) return MAP_FAILED;
    return (void *)syscall(SYS_mmap, at, size, protection, flags, fd, offset);
}

__attribute__((constructor)) static void begin(void)
{
    void *frame;
    backtrace(&frame, 1); /* loads what it needs */
    const char *path = getenv("FAIL_ALLOC_LOG");
    from = getenv("FAIL_ALLOC_FROM");
    if (path == NULL) return;
    unsetenv("LD_PRELOAD");
    const int fd = open(path, O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC, 0600);
    log_fd = fd;
}

__attribute__((destructor)) static void end(void)
{
    if (log_fd < 0 || busy) return;
    dprintf(log_fd, "%lu allocations\n", count);
}
