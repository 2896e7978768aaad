/* in_journal.h: for programs that are killed: waits until what was sampled is in the journal. */
#pragma once

#include <fcntl.h>
#include <stdint.h>
#include <time.h>
#include <unistd.h>

/* The journal is written ten times a second; its header says when it was written last, by the clock
 * that never stops (last_monotonic_ns in src/wire/journal.h). Returns at once if there is none. */
static inline void wait_until_in_journal(const char *path)
{
    enum { LAST_MONOTONIC_NS = 80 };
    struct timespec now;
    uint64_t last_ns = 0;
    clock_gettime(CLOCK_MONOTONIC, &now);
    const uint64_t now_ns = (uint64_t)now.tv_sec * 1000000000 + (uint64_t)now.tv_nsec;
    const int fd = open(path, O_RDONLY | O_CLOEXEC);
    while (fd >= 0 && last_ns <= now_ns &&
           pread(fd, &last_ns, sizeof last_ns, LAST_MONOTONIC_NS) == (ssize_t)sizeof last_ns)
        usleep(1000);
    close(fd);
}
