/* own_threads.c: the library's own threads, which do not count as the host's.
 *
 * libc ends the process by exit(0) in the last of its threads that ends (pthread_exit(3)). It
 * counts its threads in one word, which has a name for debuggers (glibc 2.34 and later; nptl_db).
 * Ours are taken out of it when they begin, and put back when they end, where libc takes every
 * thread out:
 *
 *   begin   pthread_create: libc adds 1, then we subtract 1
 *   end     we add 1, then libc subtracts 1
 *
 * So the process ends in the host's last thread and at its end, with its signal mask and its
 * descriptors. None of ours could do that for it: those that keep a file open have a table of
 * descriptors of their own, and the host's goes with its last thread.
 *
 * In the middle of a begin or an end one thread too many is counted. A thread of the host that
 * waits for one of ours counts twice meanwhile: it may be the last one, which is running exit
 * handlers and is not counted any more. Where one of ours begins or ends another, the host's last
 * thread may end in the middle and not know that it is the last: that is found out when the middle
 * is over (pt_own_exit_if_last).
 *
 * Threads that leave by exit(2) itself are never taken out of the word, with us or without: the
 * process ends when the last of them has gone, without a handler, with the status of the first
 * thread. Ours would be left: pt_own_leave_as_first_thread.
 */
#include "agent/agent.h"

#include <errno.h>
#include <fcntl.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

enum { OWN_MAX = 16 }; /* a thread of each kind, and some that have been told to end */

typedef struct {
    _Atomic(pid_t) tid; /* stays when the thread has ended, while the kernel may still list it */
    atomic_bool runs;
    void *(*main)(void *);
    void *arg;
} own_slot;

static own_slot slots[OWN_MAX];
static size_t next_slot;

/* ---- libc's count ---- */

/* In a static program. Hidden, so that a shared libc's, whose name is for debuggers, is not taken
 * for it when a library or a program is linked. */
extern unsigned second_count __asm__("__nptl_nthreads") __attribute__((weak));
__asm__(".hidden __nptl_nthreads");

static unsigned *count;     /* NULL: not known in this libc */
static sigset_t first_mask; /* the program's, when the library came */

static struct {
    pthread_mutex_t lock;
    unsigned holders;
    bool had_host; /* a thread of the host was counted when the first of them came */
    bool is_last;  /* and none is any more */
} middle = {.lock = PTHREAD_MUTEX_INITIALIZER};

/* The descriptor beside the word gives its size: bits, count, offset (nptl_db/db_info.c). */
void pt_own_init(void)
{
    const uint32_t *const shape = dlsym(RTLD_DEFAULT, "_thread_db___nptl_nthreads");
    unsigned *const shared =
        shape != NULL && shape[0] == 32 ? dlsym(RTLD_DEFAULT, "__nptl_nthreads") : NULL;
    unsigned *volatile const own = &second_count; /* the address may be NULL */
    count = own != NULL ? own : shared;
    pthread_sigmask(SIG_SETMASK, NULL, &first_mask);
}

static unsigned add_own(int n)
{
    return count != NULL ? __atomic_fetch_add(count, (unsigned)n, __ATOMIC_SEQ_CST) : 1;
}

static void lock_middle(sigset_t *ret_mask)
{
    sigset_t all;
    sigfillset(&all);
    pthread_sigmask(SIG_SETMASK, &all, ret_mask);
    pthread_mutex_lock(&middle.lock);
}

static void unlock_middle(const sigset_t *mask)
{
    pthread_mutex_unlock(&middle.lock);
    pthread_sigmask(SIG_SETMASK, mask, NULL);
}

static void enter_middle(void)
{
    sigset_t mask;
    lock_middle(&mask);
    if (middle.holders++ == 0) middle.had_host = add_own(1) > 0;
    unlock_middle(&mask);
}

static void leave_middle(void)
{
    sigset_t mask;
    lock_middle(&mask);
    if (--middle.holders == 0 && add_own(-1) == 1 && middle.had_host) middle.is_last = true;
    unlock_middle(&mask);
}

/* ---- begin and end ---- */

static own_slot *free_slot(void)
{
    for (size_t i = 0; i < OWN_MAX; i++) {
        own_slot *const slot = &slots[next_slot++ % OWN_MAX];
        if (!atomic_load(&slot->runs)) return slot;
    }
    return NULL;
}

static void *own_main(void *arg)
{
    own_slot *const slot = arg;
    void *const result = slot->main(slot->arg);
    add_own(1);
    return result;
}

/* The number is in the thread's clock (pt_timer_cpu_clock). A filter of system calls may have ended
 * the thread already: libc says so. */
static void note_thread(pt_own_thread *thread)
{
    thread->tid =
        pthread_getcpuclockid(thread->thread, &thread->clock) == 0 ? ~(thread->clock >> 3) : 0;
}

bool pt_own_begin(pt_own_thread *ret_thread, size_t stack_bytes, void *(*own)(void *), void *arg)
{
    pthread_attr_t attr;
    own_slot *const slot = free_slot();
    const bool is_middle = pt_own_is(gettid());
    if (slot == NULL || pthread_attr_init(&attr) != 0) return false;
    pthread_attr_setstacksize(&attr, stack_bytes);
    *slot = (own_slot){.main = own, .arg = arg};
    /* libc looks for the first thread to be made in the same word (_IO_enable_locks): a thread of
     * the host, which is counted anyway, must not be counted twice for that. */
    sigset_t all, mask;
    sigfillset(&all);
    pthread_sigmask(SIG_SETMASK, &all, &mask);
    if (is_middle) enter_middle();
    const bool begun = pt_real_pthread_create(&ret_thread->thread, &attr, own_main, slot) == 0;
    if (begun) {
        add_own(-1);
        ret_thread->slot = (int)(slot - slots);
        note_thread(ret_thread);
        atomic_store(&slot->tid, ret_thread->tid);
        atomic_store(&slot->runs, true);
    }
    if (is_middle) leave_middle();
    pthread_sigmask(SIG_SETMASK, &mask, NULL);
    pthread_attr_destroy(&attr);
    return begun;
}

void pt_own_end_begins(void)
{
    enter_middle();
}

void pt_own_end(const pt_own_thread *thread)
{
    pthread_join(thread->thread, NULL);
    atomic_store(&slots[thread->slot].runs, false);
    leave_middle();
}

bool pt_own_is(pid_t tid)
{
    for (size_t i = 0; i < OWN_MAX; i++)
        if (atomic_load(&slots[i].tid) == tid) return true;
    return false;
}

void pt_own_after_fork(void)
{
    for (size_t i = 0; i < OWN_MAX; i++)
        slots[i] = (own_slot){0};
    middle.lock = (pthread_mutex_t)PTHREAD_MUTEX_INITIALIZER;
    middle.holders = 0;
    middle.is_last = false;
}

/* ---- when the host has no thread any more ---- */

void pt_own_exit_if_last(void)
{
    sigset_t mask;
    lock_middle(&mask);
    const bool is_last = middle.is_last;
    middle.is_last = false;
    unlock_middle(&mask);
    if (!is_last) return;
    pthread_sigmask(SIG_SETMASK, &first_mask, NULL);
    exit(0); /* NOLINT(concurrency-mt-unsafe): as libc in the last of its threads */
}

/* What /proc/self/stat tells of the first thread, behind its name, which may hold anything
 * (proc(5)): "R 1 ...", from the third field on. NULL if it cannot be read. */
static const char *read_first_thread(char *text, size_t size)
{
    const int fd = open("/proc/self/stat", O_RDONLY | O_CLOEXEC);
    const ssize_t got = fd >= 0 ? read(fd, text, size - 1) : 0;
    if (fd >= 0) close(fd);
    text[got > 0 ? got : 0] = '\0';
    const char *const end = strrchr(text, ')');
    return end != NULL && end[1] == ' ' ? end + 2 : NULL;
}

bool pt_own_first_thread_is_dead(void)
{
    char text[1024];
    const char *const state = read_first_thread(text, sizeof text);
    return state != NULL && (*state == 'Z' || *state == 'X');
}

/* How it ended, as wait(2) tells it: the last field, the 52nd. */
static int first_thread_status(void)
{
    char text[1024];
    const char *const fields = read_first_thread(text, sizeof text);
    const char *const last = fields != NULL ? strrchr(fields, ' ') : NULL;
    return last != NULL ? (int)strtol(last, NULL, 10) : 0;
}

/* A filter of system calls may have ended it by a signal: so does the process end, then. */
static void raise_as_default(int signo)
{
    static const struct sigaction usual = {.sa_handler = SIG_DFL};
    sigset_t only;
    sigemptyset(&only);
    sigaddset(&only, signo);
    pt_real_sigaction(signo, &usual, NULL);
    syscall(SYS_tgkill, getpid(), gettid(), signo);
    pthread_sigmask(SIG_UNBLOCK, &only, NULL);
}

void pt_own_leave_as_first_thread(void)
{
    const int status = first_thread_status();
    pt_last_words();
    if (WIFSIGNALED(status)) raise_as_default(WTERMSIG(status));
    for (;;)
        syscall(SYS_exit_group, WIFSIGNALED(status) ? 128 + WTERMSIG(status) : WEXITSTATUS(status));
}
