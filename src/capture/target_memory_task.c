/* target_memory_task.c: see target_memory_task.h.
 *
 * The task has the memory of the recorder, and the thread-local data of the thread that made it. So
 * it calls no function that may change these, and this file is compiled without sanitizers.
 * PT_KERNEL may be libc's wrapper, which sets errno of that thread; it does so only while the
 * recorder waits for the task. */
#include "capture/target_memory_task.h"

#include <limits.h>
#include <linux/futex.h>
#include <signal.h>
#include <stddef.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/uio.h>

#include "base/plain/kernel_call.h"

enum { UNSHARE = 1 << 1 }; /* CLOSE_RANGE_UNSHARE of linux/close_range.h */

#ifndef SYS_close_range
#define SYS_close_range 436 /* Linux 5.9; the same on all machines */
#endif

/* The number of times that the task has slept. */
static long count_sleeps(void)
{
    struct rusage usage;
    usage.ru_nvcsw = 0;
    PT_KERNEL(SYS_getrusage, RUSAGE_THREAD, &usage);
    return usage.ru_nvcsw;
}

static void answer_request(pt_memory_task *task)
{
    const struct iovec local = {.iov_base = task->bytes, .iov_len = task->size};
    const struct iovec remote = {.iov_base = (void *)(uintptr_t)task->addr, .iov_len = task->size};
    const long before = count_sleeps();
    task->result = PT_KERNEL(SYS_process_vm_readv, task->pid, &local, 1, &remote, 1, 0);
    task->has_slept = count_sleeps() != before;
}

int pt_memory_task_main(void *arg)
{
    pt_memory_task *const task = arg;
    PT_KERNEL(SYS_prctl, PR_SET_PDEATHSIG, SIGKILL, 0, 0, 0);
    if (PT_KERNEL(SYS_getppid) != task->recorder) return 0;
    /* Its own table of descriptors, empty: a task that cannot be ended holds no file open. */
    PT_KERNEL(SYS_close_range, 0, UINT_MAX, UNSHARE);
    for (;;) {
        while (atomic_load(&task->turn) != PT_MEMORY_ASKED)
            PT_KERNEL(SYS_futex, &task->turn, FUTEX_WAIT_PRIVATE, PT_MEMORY_ANSWERED, NULL, NULL,
                      0);
        answer_request(task);
        atomic_store(&task->turn, PT_MEMORY_ANSWERED);
        PT_KERNEL(SYS_futex, &task->turn, FUTEX_WAKE_PRIVATE, 1, NULL, NULL, 0);
    }
}
