/* own_threads.c: the library's own threads, which do not count as the host's.
 *
 * A recorded process begins the drain thread only after a few samples, in the signal handler. The
 * handler cannot call pthread_create, since the interrupted code may be in the middle of malloc, so
 * it makes the thread by clone(2) alone. libc does not know that thread. The thread has the data
 * that libc's functions read of a thread (the error number, the locale, the stack guard), and calls
 * no function that allocates or loads. With glibc before 2.34 the drain thread is always made in
 * this way: libc's count of threads has no name there, and a program may lack libpthread.
 *
 * libc ends the process by exit(0) when the last of its threads ends (pthread_exit(3)). It counts
 * its threads in one word, which has a name for debuggers (glibc 2.34 and later; nptl_db). The
 * library takes its threads out of that count when they begin, and puts them back when they end,
 * because libc then subtracts every thread:
 *
 *   begin   pthread_create: libc adds 1, then the library subtracts 1
 *   end     the library adds 1, then libc subtracts 1
 *
 * So the process ends in the host's last thread, when that ends, with its signal mask and its
 * descriptors. A thread of the library could not end the process in place of the host's last
 * thread: the library's threads that keep a file open have a table of descriptors of their own, and
 * the host's table goes with the host's last thread.
 *
 * While a thread of the library begins or ends, the count is one too high. The thread that waits
 * for that end may be the host's last thread, which runs exit handlers and is not counted any more.
 * So another 1 is added during that time (`middle`), also while a thread of the library begins
 * another thread. If the host's last thread ends in the middle, libc does not see that it is the
 * last; pt_own_exit_if_last checks for that afterwards.
 *
 * libc never takes a thread that leaves by the system call exit(2) out of the count, with or
 * without the library: the process then ends when its last thread has gone, runs no exit handler,
 * and has the exit status of the first thread. The library's threads would be the last, so one of
 * them ends the process: pt_own_leave_as_first_thread. */
#include "agent/agent.h"

#include <errno.h>
#include <fcntl.h>
#include <link.h>
#include <linux/futex.h>
#include <sched.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

enum { OWN_MAX = 16 }; /* a thread of each kind, and some that are ending */

typedef struct {
    _Atomic(pid_t) tid; /* stays after the thread has ended, since the kernel may still list the
                         * thread */
    atomic_bool runs;
    void *(*main)(void *);
    void *arg;
} own_slot;

static own_slot slots[OWN_MAX + 1]; /* the last one is for the thread that libc does not know */
static size_t next_slot;

/* ---- libc's count ---- */

/* libc's count of threads in a static program. The symbol is hidden, so that the linker does not
 * bind it to the symbol of a shared libc, which is there for debuggers. */
extern unsigned second_count __asm__("__nptl_nthreads") __attribute__((weak));
__asm__(".hidden __nptl_nthreads");

static unsigned *count;     /* NULL: not known in this libc */
static sigset_t first_mask; /* the program's mask when the library was loaded */

static struct {
    pt_agent_mutex lock;
    unsigned holders;
    bool had_host; /* libc counted a thread of the host when the middle began */
    bool is_last;  /* all threads of the host ended in the middle */
} middle;

void pt_own_init(void)
{
    sigprocmask(SIG_SETMASK, NULL, &first_mask);
}

/* libc has a descriptor of the count for debuggers, which gives the size of the count in bits, the
 * number of its elements, and its offset (nptl_db/db_info.c). */
void pt_own_find_count(void)
{
    static bool is_known;
    if (is_known) return;
    is_known = true;
    const uint32_t *const shape = pt_find_first("_thread_db___nptl_nthreads");
    unsigned *const shared =
        shape != NULL && shape[0] == 32 ? pt_find_first("__nptl_nthreads") : NULL;
    unsigned *volatile const own = &second_count; /* the address may be NULL */
    count = own != NULL ? own : shared;
}

bool pt_own_is_uncounted(void)
{
    return count != NULL;
}

static unsigned add_own(int n)
{
    enum { MANY = 2 }; /* not known: no thread is the last */
    return count != NULL ? __atomic_fetch_add(count, (unsigned)n, __ATOMIC_SEQ_CST) : MANY;
}

static void lock_middle(sigset_t *ret_mask)
{
    sigset_t all;
    sigfillset(&all);
    sigprocmask(SIG_SETMASK, &all, ret_mask);
    pt_agent_mutex_take(&middle.lock, PT_AGENT_FOR_EVER);
}

static void unlock_middle(const sigset_t *mask)
{
    pt_agent_mutex_give(&middle.lock);
    sigprocmask(SIG_SETMASK, mask, NULL);
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

/* Fills in the thread id, which is in the number of the thread's clock (pt_timer_cpu_clock). If a
 * filter of system calls has ended the thread already, libc returns an error. */
static void note_thread(pt_own_thread *thread)
{
    thread->tid =
        pt_libc_getcpuclockid(thread->thread, &thread->clock) == 0 ? ~(thread->clock >> 3) : 0;
}

bool pt_own_begin(pt_own_thread *ret_thread, size_t stack_bytes, void *(*own)(void *), void *arg)
{
    pthread_attr_t attr;
    own_slot *const slot = free_slot();
    const bool is_middle = pt_own_is(pt_tick_gettid());
    /* pthread_create uses malloc, which the thread that libc does not know must not call. */
    if (atomic_load(&slots[OWN_MAX].tid) == pt_tick_gettid()) return false;
    pt_own_find_count();
    pt_libc_find_threads();
    if (slot == NULL || pthread_attr_init(&attr) != 0) return false;
    pt_libc_attr_setstacksize(&attr, stack_bytes);
    *slot = (own_slot){.main = own, .arg = arg};
    /* If libc's count becomes 1, libc takes the new thread for the process's first thread
     * (_IO_enable_locks). So a thread of the library adds 1 first; libc counts a thread of the host
     * already. */
    sigset_t all, mask;
    sigfillset(&all);
    sigprocmask(SIG_SETMASK, &all, &mask);
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
    sigprocmask(SIG_SETMASK, &mask, NULL);
    pthread_attr_destroy(&attr);
    return begun;
}

/* ---- the thread that libc does not know ---- */

enum {
    BARE_STACK_BYTES = 256 << 10,
    BARE_BELOW_BYTES = 64 << 10, /* thread-local variables lie below the thread pointer, */
    BARE_ABOVE_BYTES = 16 << 10, /* and libc's data about the thread above it */
    BARE_BYTES = BARE_STACK_BYTES + BARE_BELOW_BYTES + BARE_ABOVE_BYTES,
    POINTER_GUARDS = 5,   /* an index of 64-bit words from the thread pointer: stack guard, then
                           * pointer guard */
    HAS_MORE_THREADS = 6, /* an index of ints from the thread pointer: where libc, in some versions,
                           * notes that the process has more than one thread */
    TID_AT = 0x2d0,       /* bytes from the thread pointer, where libc keeps the thread's id */
};

static struct {
    atomic_bool is_taken;
    _Atomic(int) is_there; /* cleared by the kernel when the thread has ended */
    uint8_t *memory;
} bare;

#if defined(__x86_64__) && defined(__GLIBC__)

/* The initial content and the place of libc's thread-local variables. */
static struct {
    const void *image;
    size_t bytes, below_bytes;
} libc_tls;

static uintptr_t *thread_pointer(void)
{
    uintptr_t *at;
    __asm__("mov %%fs:0, %0" : "=r"(at));
    return at;
}

/* Notes the object whose thread-local variables include the error number: libc. */
void pt_own_note_object(const struct dl_phdr_info *object)
{
    const uintptr_t error_at = (uintptr_t)&errno, data = (uintptr_t)object->dlpi_tls_data;
    for (size_t i = 0; i < object->dlpi_phnum; i++) {
        const ElfW(Phdr) *const segment = &object->dlpi_phdr[i];
        if (segment->p_type != PT_TLS || data == 0 || error_at - data >= segment->p_memsz) continue;
        libc_tls.image = (const void *)(object->dlpi_addr + segment->p_vaddr);
        libc_tls.bytes = segment->p_filesz;
        libc_tls.below_bytes = (uintptr_t)thread_pointer() - data;
    }
}

PT_NEAR bool pt_own_can_begin_in_handler(void)
{
    return libc_tls.image != NULL && libc_tls.below_bytes >= libc_tls.bytes &&
           libc_tls.below_bytes <= BARE_BELOW_BYTES;
}

static void make_thread_pointer(uint8_t *at, pid_t tid)
{
    const uintptr_t *const own = thread_pointer();
    uintptr_t *const made = (uintptr_t *)at;
    made[0] = made[2] = (uintptr_t)at;
    made[POINTER_GUARDS] = own[POINTER_GUARDS];
    made[POINTER_GUARDS + 1] = own[POINTER_GUARDS + 1];
    ((int *)at)[HAS_MORE_THREADS] = 1;
    if (*(const int *)((const uint8_t *)own + TID_AT) == tid) *(int *)(at + TID_AT) = -1;
    memcpy(at - libc_tls.below_bytes, libc_tls.image, libc_tls.bytes);
}

static int bare_main(void *arg)
{
    own_slot *const slot = arg;
    madvise(bare.memory, BARE_BYTES, MADV_DONTFORK);
    int *const tid_at = (int *)((uint8_t *)thread_pointer() + TID_AT);
    if (*tid_at == -1) *tid_at = pt_tick_gettid();
    atomic_store(&slot->tid, pt_tick_gettid());
    slot->main(slot->arg);
    return 0;
}

/* Makes the thread. Returns its id; 0 if the kernel made no thread. */
static pid_t begin_bare(void *(*own)(void *), void *arg)
{
    enum {
        FLAGS = CLONE_VM | CLONE_FS | CLONE_FILES | CLONE_SIGHAND | CLONE_THREAD | CLONE_SYSVSEM |
                CLONE_SETTLS | CLONE_CHILD_CLEARTID
    };
    own_slot *const slot = &slots[OWN_MAX];
    if (!pt_own_can_begin_in_handler() || atomic_exchange(&bare.is_taken, true)) return 0;
    bare.memory = pt_agent_map(BARE_BYTES);
    uint8_t *const stack_end = bare.memory + BARE_STACK_BYTES;
    uint8_t *const pointer = stack_end + BARE_BELOW_BYTES;
    if (bare.memory != NULL) {
        make_thread_pointer(pointer, pt_tick_gettid());
        *slot = (own_slot){.main = own, .arg = arg};
        atomic_store(&slot->runs, true);
        atomic_store(&bare.is_there, 1);
        const pid_t tid = clone(bare_main, stack_end, FLAGS, slot, NULL, pointer, &bare.is_there);
        if (tid > 0) return tid;
        atomic_store(&slot->runs, false);
        munmap(bare.memory, BARE_BYTES);
    }
    atomic_store(&bare.is_taken, false);
    return 0;
}

#else

void pt_own_note_object(const struct dl_phdr_info *object)
{
    (void)object;
}

PT_NEAR bool pt_own_can_begin_in_handler(void)
{
    return false;
}

static pid_t begin_bare(void *(*own)(void *), void *arg)
{
    (void)own;
    (void)arg;
    return 0;
}

#endif

bool pt_own_begin_in_handler(void *(*own)(void *), void *arg)
{
    return begin_bare(own, arg) > 0;
}

bool pt_own_begin_bare(pt_own_thread *ret_thread, void *(*own)(void *), void *arg)
{
    const pid_t tid = begin_bare(own, arg);
    if (tid <= 0) return false;
    *ret_thread = (pt_own_thread){.tid = tid, .clock = pt_timer_cpu_clock(tid), .slot = OWN_MAX};
    return true;
}

pt_own_thread pt_own_self(void)
{
    const pid_t tid = pt_tick_gettid();
    return (pt_own_thread){.tid = tid, .clock = pt_timer_cpu_clock(tid), .slot = OWN_MAX};
}

/* The kernel wakes the waiters of this futex as those of a futex in shared memory
 * (CLONE_CHILD_CLEARTID), so the wait is not a private one. */
static void wait_for_bare(void)
{
    while (atomic_load(&bare.is_there) != 0)
        syscall(SYS_futex, &bare.is_there, FUTEX_WAIT, 1, NULL, NULL, 0);
    munmap(bare.memory, BARE_BYTES);
    atomic_store(&bare.is_taken, false);
}

/* ---- the end of a thread ---- */

void pt_own_end_begins(void)
{
    enter_middle();
}

void pt_own_end(const pt_own_thread *thread)
{
    if (thread->slot == OWN_MAX &&
        thread->tid == pt_tick_gettid()) { /* the thread ends the process itself */
        leave_middle();
        return;
    }
    if (thread->slot == OWN_MAX)
        wait_for_bare();
    else
        pt_libc_join(thread->thread);
    atomic_store(&slots[thread->slot].runs, false);
    leave_middle();
}

bool pt_own_is(pid_t tid)
{
    for (size_t i = 0; i <= OWN_MAX; i++)
        if (atomic_load(&slots[i].tid) == tid) return true;
    return false;
}

PT_NEAR void pt_own_after_fork(void)
{
    for (size_t i = 0; i <= OWN_MAX; i++)
        if (atomic_load(&slots[i].tid) != 0 || atomic_load(&slots[i].runs))
            slots[i] = (own_slot){0};
    PT_SET(bare.is_taken, false);
    PT_SET(middle.lock.state, 0);
    PT_SET(middle.holders, 0);
    PT_SET(middle.is_last, false);
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
    sigprocmask(SIG_SETMASK, &first_mask, NULL);
    exit(0); /* NOLINT(concurrency-mt-unsafe): libc does this in the last of its threads */
}

/* Reads the first thread's stat file in /proc. Returns its text from the third field on ("R 1
 * ..."), which follows the thread's name; the name may hold any character (proc(5)). Returns NULL
 * if the file cannot be read. */
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

/* The first thread's exit status in the form of wait(2): the last field, the 52nd. */
static int first_thread_status(void)
{
    char text[1024];
    const char *const fields = read_first_thread(text, sizeof text);
    const char *const last = fields != NULL ? strrchr(fields, ' ') : NULL;
    return last != NULL ? (int)strtol(last, NULL, 10) : 0;
}

/* A filter of system calls may have ended the first thread by a signal. The process then ends by
 * the same signal. */
static void raise_as_default(int signo)
{
    static const struct sigaction usual = {.sa_handler = SIG_DFL};
    sigset_t only;
    sigemptyset(&only);
    sigaddset(&only, signo);
    pt_real_sigaction(signo, &usual, NULL);
    syscall(SYS_tgkill, pt_tick_getpid(), pt_tick_gettid(), signo);
    sigprocmask(SIG_UNBLOCK, &only, NULL);
}

void pt_own_leave_as_first_thread(void)
{
    const int status = first_thread_status();
    pt_last_words();
    if (WIFSIGNALED(status)) raise_as_default(WTERMSIG(status));
    for (;;)
        syscall(SYS_exit_group, WIFSIGNALED(status) ? 128 + WTERMSIG(status) : WEXITSTATUS(status));
}
