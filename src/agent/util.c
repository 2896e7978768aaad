/* util.c: the lock, messages, clocks, random numbers, memory, writing, file names. */
#include "agent/agent.h"

#include <errno.h>
#include <fcntl.h>
#include <linux/futex.h>
#include <stdatomic.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

#include "base/plain/tick.h"

static pt_agent_mutex lock;

#define NOWHERE ((off_t)-1) /* no offset: write at the descriptor's position */

/* ---- the lock ---- */

enum { FREE, TAKEN, AWAITED };

PT_NEAR bool pt_agent_mutex_take(pt_agent_mutex *mutex, uint64_t within_ns)
{
    int seen = FREE;
    if (atomic_compare_exchange_strong(&mutex->state, &seen, TAKEN)) return true;
    const bool is_timed = within_ns != PT_AGENT_FOR_EVER;
    const uint64_t end_ns = is_timed ? pt_agent_clock_ns(CLOCK_MONOTONIC) + within_ns : 0;
    while (atomic_exchange(&mutex->state, AWAITED) != FREE) {
        const uint64_t now_ns = is_timed ? pt_agent_clock_ns(CLOCK_MONOTONIC) : 0;
        if (is_timed && now_ns >= end_ns) return false;
        const struct timespec left = {.tv_sec = (time_t)((end_ns - now_ns) / 1000000000),
                                      .tv_nsec = (long)((end_ns - now_ns) % 1000000000)};
        syscall(SYS_futex, &mutex->state, FUTEX_WAIT_PRIVATE, AWAITED, is_timed ? &left : NULL,
                NULL, 0);
    }
    return true;
}

PT_NEAR void pt_agent_mutex_give(pt_agent_mutex *mutex)
{
    if (atomic_exchange(&mutex->state, FREE) == AWAITED)
        syscall(SYS_futex, &mutex->state, FUTEX_WAKE_PRIVATE, 1, NULL, NULL, 0);
}

/* Blocks the signals, and notes the caller's state. */
static void block_signals(pt_caller *ret_caller, int *error_at)
{
    const sigset_t most = pt_kernel_most_signals();
    ret_caller->cancel = PT_CANCEL_KEPT;
    ret_caller->error_at = error_at;
    ret_caller->error = error_at != NULL ? *error_at : 0;
    pt_kernel_set_mask(&most, &ret_caller->mask);
}

void pt_agent_be_undisturbed(pt_caller *ret_caller)
{
    int cancel;
    pthread_setcancelstate(PTHREAD_CANCEL_DISABLE, &cancel);
    block_signals(ret_caller, &errno);
    ret_caller->cancel = cancel;
}

/* Restores the caller's state but for the signal mask. */
static void be_as_before_undisturbed(const pt_caller *caller)
{
    if (caller->error_at != NULL) PT_SET(*caller->error_at, caller->error);
    if (caller->cancel != PT_CANCEL_KEPT) pthread_setcancelstate(caller->cancel, NULL);
}

PT_NEAR void pt_agent_be_as_before(const pt_caller *caller)
{
    pt_kernel_set_mask(&caller->mask, NULL);
    be_as_before_undisturbed(caller); /* a pending cancellation may end the thread in this call */
}

void pt_agent_lock(pt_caller *ret_caller)
{
    pt_agent_be_undisturbed(ret_caller);
    pt_agent_mutex_take(&lock, PT_AGENT_FOR_EVER);
}

PT_NEAR void pt_agent_lock_quietly(pt_caller *ret_caller, int *error_at)
{
    block_signals(ret_caller, error_at);
    pt_agent_mutex_take(&lock, PT_AGENT_FOR_EVER);
}

bool pt_agent_lock_within(pt_caller *ret_caller, uint64_t ns)
{
    pt_agent_be_undisturbed(ret_caller);
    if (pt_agent_mutex_take(&lock, ns)) return true;
    pt_agent_be_as_before(ret_caller);
    return false;
}

PT_NEAR void pt_agent_unlock(const pt_caller *caller)
{
    pt_agent_mutex_give(&lock);
    pt_agent_be_as_before(caller);
}

void pt_agent_unlock_undisturbed(const pt_caller *caller)
{
    pt_agent_mutex_give(&lock);
    be_as_before_undisturbed(caller);
}

/* Opens a recording's file of messages, which `pitot record` prints: the stderr of the recorded
 * program belongs to that program. Returns -1 if the file cannot be opened. */
static int open_messages(void)
{
    char path[PATH_MAX];
    return pt_agent_join(path, sizeof path, pt_agent.base_path, "/messages")
               ? open(path, O_WRONLY | O_CREAT | O_APPEND | O_NOFOLLOW | O_CLOEXEC, 0600)
               : -1;
}

void pt_agent_say(const char *format, ...)
{
    pt_caller caller;
    pt_agent_be_undisturbed(&caller);
    char line[1024];
    const int prefix = pt_agent.recording
                           ? snprintf(line, sizeof line, "process %d: ", (int)pt_tick_getpid())
                           : snprintf(line, sizeof line, "pitot: libprofiler: ");
    va_list args;
    va_start(args, format);
    vsnprintf(line + prefix, sizeof line - (size_t)prefix - 1, format, args);
    va_end(args);
    const size_t length = strlen(line);
    line[length] = '\n';
    const int fd = pt_agent.recording ? open_messages() : STDERR_FILENO;
    if (fd >= 0) pt_agent_write(fd, line, length + 1);
    if (pt_agent.recording && fd >= 0) close(fd);
    pt_agent_be_as_before(&caller);
}

PT_NEAR uint64_t pt_agent_clock_ns(clockid_t clock)
{
    struct timespec now;
    const bool is_long = sizeof now.tv_sec == sizeof(long); /* as in the system call */
    if ((is_long ? PT_KERNEL(SYS_clock_gettime, clock, &now) : clock_gettime(clock, &now)) != 0)
        return 0;
    return (uint64_t)now.tv_sec * 1000000000 + (uint64_t)now.tv_nsec;
}

PT_NEAR uint64_t pt_agent_random(uint64_t below)
{
    /* Seeded at each call by a counter, the clock in nanoseconds and the address of the
     * thread's stack. The counter separates calls of one nanosecond; the address, which the kernel
     * randomizes, separates processes. */
    static _Atomic(uint64_t) counter;
    const uint64_t step = UINT64_C(0x9e3779b97f4a7c15);
    uint64_t state = atomic_fetch_add(&counter, step) ^ pt_agent_clock_ns(CLOCK_MONOTONIC) ^
                     (uintptr_t)&state << 20;
    return pt_random_below(&state, below);
}

void pt_agent_wake_drain(void)
{
    atomic_fetch_add(&pt_agent.drain_bell, 1);
    syscall(SYS_futex, &pt_agent.drain_bell, FUTEX_WAKE_PRIVATE, INT_MAX, NULL, NULL, 0);
}

void *pt_agent_map(size_t bytes)
{
    void *const at = mmap(NULL, bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    return at == MAP_FAILED ? NULL : at;
}

static void discard_signal(int signo)
{
    static const struct timespec at_once = {0};
    sigset_t raised;
    sigemptyset(&raised);
    sigaddset(&raised, signo);
    while (sigtimedwait(&raised, NULL, &at_once) < 0 && errno == EINTR)
        ;
}

static ssize_t write_there(int fd, const void *bytes, size_t size, off_t at)
{
    if (at != NOWHERE) return pwrite(fd, bytes, size, at);
    const long done = PT_KERNEL(SYS_write, fd, bytes, size);
    if (done >= 0) return done;
    errno = (int)-done;
    return -1;
}

/* Writes without a signal. A write to a pipe without a reader, or beyond a limit on file sizes,
 * raises a signal in this thread that would end the host. The caller has blocked all signals, so
 * that signal stays pending; this function discards it, unless it was pending before the write. */
static ssize_t write_unsignalled(int fd, const void *bytes, size_t size, off_t at)
{
    uint64_t before = 0; /* bit 0 is signal 1 */
    PT_KERNEL(SYS_rt_sigpending, &before, PT_KERNEL_MASK_BYTES);
    const ssize_t done = write_there(fd, bytes, size, at);
    if (done >= 0) return done;
    const int saved_errno = errno;
    const int signo = errno == EPIPE ? SIGPIPE : errno == EFBIG ? SIGXFSZ : 0;
    if (signo != 0 && (before >> (signo - 1) & 1) == 0) discard_signal(signo);
    errno = saved_errno;
    return done;
}

PT_NEAR bool pt_agent_write_at(int fd, const void *bytes, size_t size, off_t at)
{
    const char *from = bytes;
    while (size > 0) {
        const ssize_t done = write_unsignalled(fd, from, size, at);
        if (done < 0 && errno == EINTR) continue;
        if (done <= 0) return false;
        from += done;
        size -= (size_t)done;
        if (at != NOWHERE) at += done;
    }
    return true;
}

PT_NEAR bool pt_agent_write(int fd, const void *bytes, size_t size)
{
    return pt_agent_write_at(fd, bytes, size, NOWHERE);
}

uint64_t pt_agent_number(const char *text, uint64_t fallback)
{
    uint64_t value = 0;
    if (text == NULL || *text == '\0') return fallback;
    for (; *text != '\0'; text++) {
        if (*text < '0' || *text > '9' || value > UINT32_MAX) return fallback;
        value = value * 10 + (uint64_t)(*text - '0');
    }
    return value;
}

PT_NEAR bool pt_agent_join(char *to, size_t size, const char *first, const char *second)
{
    const char *const parts[] = {first, second};
    size_t length = 0;
    for (size_t i = 0; i < 2; i++)
        for (const char *from = parts[i]; *from != '\0'; from++) {
            if (length == size - 1) {
                errno = ENAMETOOLONG;
                to[0] = '\0';
                return false;
            }
            to[length++] = *from;
        }
    to[length] = '\0';
    return true;
}

bool pt_agent_absolute(const char *path, char *ret_path)
{
    if (path[0] == '/') return pt_agent_join(ret_path, PATH_MAX, path, "");
    return getcwd(ret_path, PATH_MAX) != NULL && pt_agent_join(ret_path, PATH_MAX, ret_path, "/") &&
           pt_agent_join(ret_path, PATH_MAX, ret_path, path);
}

void pt_name_add_pid(char *name)
{
    char suffix[24];
    snprintf(suffix, sizeof suffix, "_%d", (int)pt_tick_getpid());
    pt_agent_join(name, PATH_MAX, name, suffix);
}
