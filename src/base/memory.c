/* memory.c: see memory.h. */
#include "base/memory.h"

#include "base/error.h"
#include "base/temp.h"

#include <fcntl.h>
#include <inttypes.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#if defined(__has_feature)
#if __has_feature(address_sanitizer) || __has_feature(thread_sanitizer)
#define HAS_SANITIZER 1
#endif
#endif
#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
#define HAS_SANITIZER 1
#endif
#ifdef HAS_SANITIZER
#include <sanitizer/allocator_interface.h>
#endif

enum {
    THREAD_BYTES = 64 << 10, /* bytes that a thread counts in `summed` before it updates `left` */
    CLOSE_BYTES = 2 << 20,   /* `left` gets half of the room; all of it if the room is smaller */
};

static struct {
    pthread_mutex_t lock; /* held while statm is read and `left` is set */
    _Atomic uint64_t limit;
    _Atomic int64_t left;      /* bytes until statm must be read again */
    _Atomic int64_t uncounted; /* exempt bytes, including the bytes that were held when the limit
                                * was set */
    const char *_Atomic hint;
    atomic_bool is_chosen;
    atomic_flag is_exhausted;
} memory = {
    .lock = PTHREAD_MUTEX_INITIALIZER,
    .limit = UINT64_MAX,
    .left = INT64_MAX,
    .hint = "",
    .is_exhausted = ATOMIC_FLAG_INIT,
};

static _Thread_local size_t summed; /* bytes of this thread that `left` does not count yet */

/* The private writable bytes of the process; 0 if unknown. */
static int64_t promised_bytes(void)
{
#ifdef HAS_SANITIZER /* a sanitizer maps more than any machine has */
    return (int64_t)__sanitizer_get_current_allocated_bytes();
#else
    enum { DATA_FIELD = 5 }; /* size resident shared text lib data dt, in pages: proc(5) */
    char text[256];
    PT_CLOSE int fd = open("/proc/self/statm", O_RDONLY | O_CLOEXEC);
    const ssize_t bytes = fd >= 0 ? read(fd, text, sizeof text - 1) : -1;
    if (bytes <= 0) return 0;
    text[bytes] = '\0';
    char *at = text;
    for (int i = 0; i < DATA_FIELD; i++)
        strtoull(at, &at, 10);
    return (int64_t)strtoull(at, NULL, 10) * sysconf(_SC_PAGESIZE);
#endif
}

uint64_t pt_memory_held(void)
{
    return (uint64_t)promised_bytes();
}

/* Reads statm and returns the bytes that may still be allocated; negative if the process holds more
 * than the limit; INT64_MAX without a limit. */
static int64_t measure_room(void)
{
    const uint64_t limit = atomic_load(&memory.limit);
    if (limit >= INT64_MAX / 2) return INT64_MAX;
    return (int64_t)limit + atomic_load(&memory.uncounted) - promised_bytes();
}

void pt_memory_limit_set(uint64_t bytes, bool is_chosen, const char *hint)
{
    atomic_store(&memory.hint, hint);
    atomic_store(&memory.is_chosen, is_chosen);
    if (atomic_load(&memory.limit) == UINT64_MAX && bytes != UINT64_MAX)
        pt_memory_uncount(promised_bytes() + PT_MEMORY_PROGRAM_BYTES);
    atomic_store(&memory.limit, bytes);
    atomic_store(&memory.left, bytes == UINT64_MAX ? INT64_MAX : 0);
}

uint64_t pt_memory_limit(void)
{
    return atomic_load(&memory.limit);
}

bool pt_memory_is_chosen(void)
{
    return atomic_load(&memory.is_chosen);
}

const char *pt_memory_hint(void)
{
    return atomic_load(&memory.hint);
}

uint64_t pt_memory_left(void)
{
    const int64_t left = measure_room();
    return left == INT64_MAX ? UINT64_MAX : left > 0 ? (uint64_t)left : 0;
}

void pt_memory_uncount(int64_t bytes)
{
    atomic_fetch_add(&memory.uncounted, bytes);
}

/* Grants bytes after `left` is used up: measures the room and sets `left` anew. False if the bytes
 * exceed the limit. */
static bool take_after_measuring(size_t bytes)
{
    pthread_mutex_lock(&memory.lock);
    bool is_fine = true;
    if (atomic_load(&memory.left) < 0) { /* else another thread has measured meanwhile */
        const int64_t left = measure_room();
        is_fine = left >= 0 && (uint64_t)left >= bytes;
        if (is_fine && left != INT64_MAX) {
            const int64_t rest = left - (int64_t)bytes;
            atomic_store(&memory.left, rest > CLOSE_BYTES ? rest / 2 : rest);
        } else if (is_fine) {
            atomic_store(&memory.left, INT64_MAX);
        }
    }
    pthread_mutex_unlock(&memory.lock);
    return is_fine;
}

bool pt_memory_take(size_t bytes)
{
    /* Without a limit nothing is counted. When a limit is set later, statm has the bytes in use. */
    if (atomic_load_explicit(&memory.limit, memory_order_relaxed) == UINT64_MAX) return true;
    if (__builtin_add_overflow(summed, bytes, &summed)) summed = SIZE_MAX;
    if (summed < THREAD_BYTES) return true;
    const size_t all = summed;
    summed = 0;
    if (all > INT64_MAX / 2) return false;
    if (atomic_fetch_sub(&memory.left, (int64_t)all) >= (int64_t)all) return true;
    return take_after_measuring(all);
}

static void print_exhausted(size_t bytes, bool is_limit)
{
    char line[512];
    if (is_limit)
        snprintf(line, sizeof line,
                 "pitot: more than the limit of %" PRIu64
                 " bytes of memory is needed (%zu more)%s\n",
                 pt_memory_limit(), bytes, pt_memory_hint());
    else
        snprintf(line, sizeof line, "pitot: out of memory (%zu bytes more were needed)\n", bytes);
    const ssize_t written = write(STDERR_FILENO, line, strlen(line));
    (void)written;
}

_Noreturn void pt_memory_exhausted(size_t bytes, bool is_limit)
{
    while (atomic_flag_test_and_set(
        &memory.is_exhausted)) /* another thread prints the message and exits */
        pause();
    pt_temp_remove_all();
    print_exhausted(bytes, is_limit);
    _exit(1);
}
