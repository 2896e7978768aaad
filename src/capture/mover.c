/* mover.c: see mover.h. */
#include "capture/mover.h"

#include <errno.h>
#include <fcntl.h>
#include <linux/perf_event.h>
#include <pthread.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <sys/ioctl.h>
#include <unistd.h>

#include "base/grow.h"

enum { WAITING_MAX = 16 };

struct pt_mover {
    int pipe[2]; /* carries jobs */
    pthread_t thread;
    _Atomic unsigned waiting;
    atomic_bool is_ending;
};

typedef struct {
    int fd, to_fd; /* the mover owns and closes fd */
} job;

static void *run_mover(void *arg)
{
    pt_mover *const mover = arg;
    job next;
    for (;;) {
        const ssize_t got = read(mover->pipe[0], &next, sizeof next);
        if (got < 0 && errno == EINTR) continue;
        if (got != (ssize_t)sizeof next) return NULL;
        if (!atomic_load(&mover->is_ending)) ioctl(next.fd, PERF_EVENT_IOC_SET_OUTPUT, next.to_fd);
        close(next.fd);
        atomic_fetch_sub(&mover->waiting, 1);
    }
}

pt_mover *pt_mover_new(void)
{
    pt_mover *const mover = pt_alloc(1, sizeof *mover);
    if (pipe2(mover->pipe, O_CLOEXEC) != 0) {
        free(mover);
        return NULL;
    }
    sigset_t all, before; /* the caller's thread handles signals */
    sigfillset(&all);
    pthread_sigmask(SIG_SETMASK, &all, &before);
    const bool has_thread = pthread_create(&mover->thread, NULL, run_mover, mover) == 0;
    pthread_sigmask(SIG_SETMASK, &before, NULL);
    if (has_thread) return mover;
    close(mover->pipe[0]);
    close(mover->pipe[1]);
    free(mover);
    return NULL;
}

void pt_mover_free(pt_mover *mover)
{
    if (mover == NULL) return;
    atomic_store(&mover->is_ending, true);
    close(mover->pipe[1]);
    pthread_join(mover->thread, NULL);
    close(mover->pipe[0]);
    free(mover);
}

bool pt_mover_add(pt_mover *mover, int fd, int to_fd)
{
    if (mover == NULL || atomic_load(&mover->waiting) >= WAITING_MAX) return false;
    const job next = {.fd = fcntl(fd, F_DUPFD_CLOEXEC, 0), .to_fd = to_fd};
    if (next.fd < 0) return false;
    atomic_fetch_add(&mover->waiting, 1);
    if (write(mover->pipe[1], &next, sizeof next) == (ssize_t)sizeof next) return true;
    atomic_fetch_sub(&mover->waiting, 1);
    close(next.fd);
    return false;
}
