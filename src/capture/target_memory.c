/* target_memory.c: see target_memory.h. */
#include "capture/target_memory.h"

#include <errno.h>
#include <inttypes.h>
#include <linux/futex.h>
#include <pthread.h>
#include <sched.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/uio.h>
#include <sys/wait.h>

#include "base/buf.h"
#include "base/clock.h"
#include "base/grow.h"
#include "base/plain/kernel_call.h"
#include "capture/procs.h"
#include "capture/target_memory_task.h"

enum {
    NS_OF_SECOND = 1000000000,
    NS_OF_MS = 1000000,
    LIMIT_NS = NS_OF_SECOND,   /* the patience with the first process that does not answer */
    LIMIT_LEAST_NS = 20000000, /* with those after many others: see limit_of */
    REGAINED = 4,              /* a process regains one part in this many of the time */
    DECIDED_NS = 100000000,    /* for so long the user of a process is not looked up again */
    LOOK_NS = 100000000,       /* between checks of the state of a task that does not answer */
    LOOKS_MAX = 300,           /* after so many checks the task is given up, whatever its state
                                * is */
    LEFT_MAX = 64,             /* tasks that were killed and have not ended */
    END_MS = 100,              /* for the end of killed tasks, at the end of the recording */
    SAID_MAX_BYTES = 512,
};

struct pt_target_memory {
    pt_memory_task *task;             /* NULL: none */
    PT_VECTOR(pt_memory_task *) left; /* killed, and not ended when last looked at */
    uint32_t silent;                  /* number of processes that did not answer */
    uint64_t used_ns;                 /* CPU time of the tasks that ended */
    pt_buf said;                      /* lines */
};

pt_target_memory *pt_target_memory_new(void)
{
    pt_target_memory *const memory = pt_alloc(1, sizeof *memory);
    memory->said = (pt_buf)PT_BUF_INIT;
    return memory;
}

/* ---- tasks ---- */

/* Has the task ended? Then adds its CPU time to used_ns and frees its memory. */
static bool has_ended(pt_target_memory *m, pt_memory_task *task)
{
    struct rusage usage = {0};
    if (wait4(task->task, NULL, WNOHANG | (int)__WCLONE, &usage) == 0) return false;
    m->used_ns += pt_usage_ns(&usage);
    munmap(task, sizeof *task);
    return true;
}

/* Frees the killed tasks that have ended. */
static void sweep_left(pt_target_memory *m)
{
    size_t kept = 0;
    for (size_t i = 0; i < m->left.count; i++)
        if (!has_ended(m, m->left.items[i])) m->left.items[kept++] = m->left.items[i];
    m->left.count = kept;
}

/* Gives the task up. It may not end before its read does: a server of FUSE may hold it. */
static void kill_task(pt_target_memory *m)
{
    kill(m->task->task, SIGKILL);
    PT_PUSH(m->left, m->task);
    m->task = NULL;
}

/* clone(2) by libc's other name: ThreadSanitizer replaces the usual one and takes each task for the
 * child of a fork. */
int __clone(int (*main)(void *), void *stack, int flags, void *arg, ...);

/* Starts a task. NULL, with errno: the system has no room for it. */
static pt_memory_task *start_task(void)
{
    enum { FLAGS = CLONE_VM | CLONE_FILES | CLONE_UNTRACED }; /* its end sends no signal */
    pt_memory_task *const task = mmap(NULL, sizeof *task, PROT_READ | PROT_WRITE,
                                      MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
    sigset_t all, before;
    if (task == MAP_FAILED) return NULL;
    task->recorder = getpid();
    sigfillset(&all);
    pthread_sigmask(SIG_SETMASK, &all, &before); /* Ctrl-C is the recorder's */
    task->task = __clone(pt_memory_task_main, task->stack + sizeof task->stack, FLAGS, task);
    const int error = errno;
    pthread_sigmask(SIG_SETMASK, &before, NULL);
    if (task->task > 0) return task;
    munmap(task, sizeof *task);
    errno = error;
    return NULL;
}

void pt_target_memory_free(pt_target_memory *m)
{
    if (m == NULL) return;
    if (m->task != NULL) kill_task(m);
    sweep_left(m);
    for (int ms = 0; m->left.count > 0 && ms < END_MS; ms++) {
        nanosleep(&(struct timespec){.tv_nsec = NS_OF_MS}, NULL);
        sweep_left(m);
    }
    free(m->left.items);
    pt_buf_done(&m->said);
    free(m);
}

bool pt_target_memory_is_task(const pt_target_memory *m, uint32_t pid)
{
    if (m == NULL) return false;
    bool is_task = m->task != NULL && m->task->task == (pid_t)pid;
    for (size_t i = 0; i < m->left.count; i++)
        is_task |= m->left.items[i]->task == (pid_t)pid;
    return is_task;
}

static uint64_t used_by(const pt_memory_task *task)
{
    clockid_t clock;
    return clock_getcpuclockid(task->task, &clock) == 0 ? (uint64_t)pt_clock_ns(clock) : 0;
}

uint64_t pt_target_memory_used_ns(const pt_target_memory *m)
{
    if (m == NULL) return 0;
    uint64_t sum = m->used_ns + (m->task != NULL ? used_by(m->task) : 0);
    for (size_t i = 0; i < m->left.count; i++)
        sum += used_by(m->left.items[i]);
    return sum;
}

/* ---- messages ---- */

const char *pt_target_memory_said(pt_target_memory *m)
{
    return pt_buf_text(&m->said);
}

static void add_line(pt_target_memory *m, const char *line)
{
    if (m->said.size < SAID_MAX_BYTES && strstr(pt_buf_text(&m->said), line) == NULL)
        pt_put_text(&m->said, line);
}

/* ---- reading ---- */

/* How long a process's reads may sleep. Many processes that do not answer shall not cost a second
 * each. */
static int64_t limit_of(const pt_target_memory *m)
{
    const int64_t limit = LIMIT_NS / (1 + (int64_t)m->silent);
    return limit > LIMIT_LEAST_NS ? limit : LIMIT_LEAST_NS;
}

/* The task's state as in ps(1); 0: its process is gone. */
static char state_of(const pt_memory_task *task)
{
    char state[32];
    PT_FREE char *pid = pt_strf("%d", (int)task->task);
    pt_proc_status("/proc", pid, "State", state, sizeof state);
    return state[0];
}

/* Waits for the answer up to a time. */
static bool wait_for_answer(pt_memory_task *task, int64_t until_ns)
{
    while (atomic_load(&task->turn) == PT_MEMORY_ASKED) {
        const int64_t left_ns = until_ns - pt_clock_ns(CLOCK_MONOTONIC);
        if (left_ns <= 0) return false;
        const struct timespec timeout = {.tv_sec = left_ns / NS_OF_SECOND,
                                         .tv_nsec = left_ns % NS_OF_SECOND};
        PT_KERNEL(SYS_futex, &task->turn, FUTEX_WAIT_PRIVATE, PT_MEMORY_ASKED, &timeout, NULL, 0);
    }
    return true;
}

typedef enum { ANSWERED, SILENT, LOST } outcome; /* LOST: the task, not the memory, is at fault */

/* Hands the request to the task and waits for the answer. A task that does not answer is only
 * called silent if it sleeps: otherwise it lacks a CPU, or was stopped. */
static outcome await_answer(pt_memory_task *task, int64_t patience_ns)
{
    int64_t until_ns = pt_clock_ns(CLOCK_MONOTONIC) + patience_ns;
    atomic_store(&task->turn, PT_MEMORY_ASKED);
    PT_KERNEL(SYS_futex, &task->turn, FUTEX_WAKE_PRIVATE, 1, NULL, NULL, 0);
    for (int looks = 0; !wait_for_answer(task, until_ns); looks++) {
        const char state = state_of(task);
        if (atomic_load(&task->turn) == PT_MEMORY_ANSWERED) continue;
        if (state == 'S' || state == 'D') return SILENT;
        if (looks == LOOKS_MAX || (state != 'R' && state != 'T' && state != 't')) return LOST;
        until_ns += LOOK_NS;
    }
    return ANSWERED;
}

/* Makes sure that there is a task. */
static bool has_task(pt_target_memory *m)
{
    if (m->task != NULL) return true;
    sweep_left(m);
    if (m->left.count < LEFT_MAX) m->task = start_task();
    if (m->task == NULL)
        add_line(m, "pitot could not start a task to read the memory of processes: functions of "
                    "their interpreters may have no names\n");
    return m->task != NULL;
}

static void give_up(pt_target_memory *m, pt_proc *proc)
{
    PT_FREE char *line = pt_strf("the memory of %s (pid %" PRIu32
                                 ") does not answer: functions of its interpreter may "
                                 "have no names\n",
                                 proc->comm, proc->pid);
    proc->patience.is_over = true;
    m->silent++;
    add_line(m, line);
}

/* Reads on the caller's thread. */
static int64_t read_directly(const pt_proc *proc, uint64_t addr, void *to, size_t size)
{
    const struct iovec local = {.iov_base = to, .iov_len = size};
    const struct iovec remote = {.iov_base = (void *)(uintptr_t)addr, .iov_len = size};
    const ssize_t got = process_vm_readv((pid_t)proc->pid, &local, 1, &remote, 1, 0);
    return got >= 0 ? got : -errno;
}

/* Does the process belong to the recorder's user alone? (Real, effective, saved, and file system
 * uid.) */
static bool has_own_user(const pt_proc *proc)
{
    char pid[16], users[64], own[64];
    snprintf(pid, sizeof pid, "%" PRIu32, proc->pid);
    pt_proc_status("/proc", pid, "Uid", users, sizeof users);
    pt_proc_status("/proc", "self", "Uid", own, sizeof own);
    return users[0] != '\0' && strcmp(users, own) == 0;
}

/* Reads at most what the task has room for. -errno: an error. */
static int64_t read_part(pt_target_memory *m, pt_proc *proc, uint64_t addr, void *to, size_t size)
{
    pt_memory_patience *const p = &proc->patience;
    if (p->is_over) return -ETIMEDOUT;
    const int64_t begun_ns = pt_clock_ns(CLOCK_MONOTONIC);
    if (p->decided_ns == 0 || begun_ns - p->decided_ns > DECIDED_NS) {
        p->is_own = has_own_user(proc); /* a server may change its user after its start */
        p->decided_ns = begun_ns;
    }
    if (p->is_own) return read_directly(proc, addr, to, size);
    if (!has_task(m)) return -EAGAIN;
    pt_memory_task *const task = m->task;
    const int64_t waited_ns = p->waited_ns - (begun_ns - p->counted_ns) / REGAINED;
    p->waited_ns = waited_ns > 0 ? waited_ns : 0;
    p->counted_ns = begun_ns;
    task->pid = (pid_t)proc->pid;
    task->addr = addr;
    task->size = size;
    const int64_t patience_ns = limit_of(m) - p->waited_ns;
    const outcome found = await_answer(task, patience_ns > NS_OF_MS ? patience_ns : NS_OF_MS);
    if (found != ANSWERED) kill_task(m);
    if (found == ANSWERED && task->has_slept)
        p->waited_ns += pt_clock_ns(CLOCK_MONOTONIC) - begun_ns;
    if (found == SILENT || p->waited_ns >= limit_of(m)) give_up(m, proc);
    if (found != ANSWERED) return found == SILENT ? -ETIMEDOUT : -EAGAIN;
    if (task->result > 0) memcpy(to, task->bytes, (size_t)task->result);
    return task->result;
}

ssize_t pt_target_memory_read(pt_target_memory *m, pt_proc *proc, uint64_t addr, void *to,
                              size_t size)
{
    int64_t got = m != NULL ? 0 : -ESRCH;
    size_t done = 0;
    while (got >= 0 && done < size) {
        const size_t left = size - done;
        const size_t part = left < sizeof m->task->bytes ? left : sizeof m->task->bytes;
        got = read_part(m, proc, addr + done, (uint8_t *)to + done, part);
        if (got > 0) done += (size_t)got;
        if (got != (int64_t)part) break;
    }
    if (got >= 0 || done > 0) return (ssize_t)done;
    errno = (int)-got;
    return -1;
}
