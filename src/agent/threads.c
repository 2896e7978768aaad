/* threads.c: a slot for every thread of the host, from the thread's beginning to its end; while a
 * session runs, a slot has a ring and a timer.
 *
 * Slots live in chunks that are never unmapped, so that a handler may search them at any time. A
 * child of fork does not inherit the rings. A ring outlives its thread until it is empty, then
 * serves another thread. */
#include "agent/agent.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <sched.h>
#include <stdatomic.h>
#include <string.h>
#include <sys/auxv.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

enum {
    CHUNK_SLOTS = 256,
    CHUNKS_MAX = 1024,
    RINGS_MAX = 3840, /* 240 MiB, if all of them were filled */
    RING_BYTES = sizeof(pt_tick_ring) + PT_RING_WORDS * sizeof(uint64_t),
    LISTING_BYTES = 16384,
    OWED_COUNT = 64,
    PAGE_BYTES = 4096, /* of most machines */
};

static PT_FAR pt_thread *chunks[CHUNKS_MAX];
static size_t chunk_count;
static _Atomic(size_t) slot_count; /* slots that are or were in use */
static pt_thread *free_slots;
static PT_FAR pt_tick_ring *rings[RINGS_MAX];

/* Most processes have few threads and end soon: the first chunk and the first ring need no mapping
 * of their own, and no slot is touched before a thread gets it. A child of fork uses the first ring
 * for its own samples. The chunk's first slot, which is its last one in memory, and the ring's
 * header lie in one page. */
typedef struct {
    pt_thread chunk[CHUNK_SLOTS];
    union {
        pt_tick_ring ring;
        uint8_t bytes[RING_BYTES];
    } ring;
} first_memory;
_Static_assert(offsetof(first_memory, ring) % PAGE_BYTES >= sizeof(pt_thread) &&
                   offsetof(first_memory, ring) % PAGE_BYTES + sizeof(pt_tick_ring) <= PAGE_BYTES,
               "one page");

static PT_FAR uint8_t first_bytes[sizeof(first_memory) + PAGE_BYTES];

/* This function aligns the memory: an aligned variable would move the other variables to more
 * pages. */
static first_memory *find_first_memory(void)
{
    const uintptr_t at = ((uintptr_t)first_bytes + PAGE_BYTES - 1) & ~(uintptr_t)(PAGE_BYTES - 1);
    return (first_memory *)at; /* NOLINT(performance-no-int-to-ptr) */
}

static size_t ring_count;
static pthread_key_t ended_key;
static bool has_key; /* also false where libpthread may be loaded later */
static bool ready;   /* false in constructors that run before the library's own */

/* ---- slots ---- */

/* A chunk is filled from its end. */
static pt_thread *slot_at(size_t i)
{
    return &chunks[i / CHUNK_SLOTS][CHUNK_SLOTS - 1 - i % CHUNK_SLOTS];
}

/* The live slot of a thread; NULL if it has none. Also runs in handlers. */
static pt_thread *find_slot(int tid)
{
    const size_t count = atomic_load(&slot_count);
    for (size_t i = 0; i < count; i++) {
        pt_thread *const slot = slot_at(i);
        if (atomic_load(&slot->live) && atomic_load(&slot->tid) == tid) return slot;
    }
    return NULL;
}

/* Is `at` in a chunk of slots? Also runs in handlers. */
static bool is_slot(const void *at)
{
    const size_t count = atomic_load(&slot_count);
    for (size_t i = 0; i < count; i += CHUNK_SLOTS)
        if ((uintptr_t)at - (uintptr_t)chunks[i / CHUNK_SLOTS] < CHUNK_SLOTS * sizeof(pt_thread))
            return true;
    return false;
}

void pt_threads_each(void (*use)(pt_thread *slot, void *arg), void *arg)
{
    const size_t count = atomic_load(&slot_count);
    for (size_t i = 0; i < count; i++) {
        pt_thread *const slot = slot_at(i);
        if (atomic_load(&slot->live)) use(slot, arg);
    }
}

static void each_live(void (*use)(pt_thread *slot))
{
    const size_t count = atomic_load(&slot_count);
    for (size_t i = 0; i < count; i++) {
        pt_thread *const slot = slot_at(i);
        if (atomic_load(&slot->live)) use(slot);
    }
}

static bool more_slots(void)
{
    pt_thread *const chunk =
        chunk_count == CHUNKS_MAX ? NULL : pt_agent_map(CHUNK_SLOTS * sizeof(pt_thread));
    if (chunk == NULL) return false;
    chunks[chunk_count++] = chunk;
    return true;
}

static pt_thread *take_slot(void)
{
    pt_thread *slot = free_slots;
    if (slot != NULL) {
        free_slots = slot->next_free;
        return slot;
    }
    const size_t count = atomic_load(&slot_count);
    if (count == chunk_count * CHUNK_SLOTS && !more_slots()) return NULL;
    slot = slot_at(count);
    atomic_store(&slot_count, count + 1);
    return slot;
}

static void give_slot(pt_thread *slot)
{
    atomic_store(&slot->live, 0);
    atomic_store(&slot->tid, 0);
    slot->is_foreign = slot->is_paused = slot->is_unsampled = false;
    slot->start_routine = NULL;
    slot->stack = (pt_tick_stack){0};
    atomic_store(&slot->wants_stack, 0);
    atomic_store(&slot->was_blocked, 0);
    slot->next_free = free_slots;
    free_slots = slot;
}

pt_thread *pt_thread_new(void)
{
    pt_caller caller;
    pt_agent_lock(&caller);
    pt_thread *const slot = ready ? take_slot() : NULL;
    pt_agent_unlock(&caller);
    return slot;
}

void pt_thread_free(pt_thread *thread)
{
    pt_caller caller;
    pt_agent_lock(&caller);
    give_slot(thread);
    pt_agent_unlock(&caller);
}

/* ---- rings ---- */

PT_NEAR void pt_threads_each_ring(void (*use)(pt_tick_ring *ring, void *arg), void *arg)
{
    for (size_t i = 0; i < ring_count; i++)
        use(rings[i], arg);
}

static pt_tick_ring *clear_first_ring(void)
{
    pt_tick_ring *const ring = &find_first_memory()->ring.ring;
    *ring = (pt_tick_ring){0};
    return ring;
}

static pt_tick_ring *map_ring(void)
{
    pt_tick_ring *const ring = pt_agent_map(RING_BYTES);
    if (ring == NULL) return NULL;
    madvise(ring, RING_BYTES, MADV_DONTFORK);
    madvise(ring, RING_BYTES, MADV_NOHUGEPAGE); /* many rings lie side by side */
    return ring;
}

PT_NEAR static pt_tick_ring *take_ring(int tid)
{
    for (size_t i = 0; i < ring_count; i++) {
        if (rings[i]->tid == 0 && rings[i]->head_words == rings[i]->tail_words) {
            rings[i]->tid = (uint64_t)tid;
            return rings[i];
        }
    }
    if (ring_count == RINGS_MAX) return NULL;
    pt_tick_ring *const ring = ring_count == 0 ? clear_first_ring() : map_ring();
    if (ring == NULL) return NULL;
    ring->ring_words = PT_RING_WORDS;
    ring->tid = (uint64_t)tid;
    PT_SET(rings[ring_count], ring);
    ring_count++;
    return ring;
}

/* ---- owed time ---- */

/* The owed time (tick/weight.c) by start function. The first row is for threads whose start
 * function is not known, and, when the table is full, for all start functions without a row. */
static PT_FAR struct {
    void *(*start_routine)(void *);
    _Atomic(int64_t) ns;
} owed[OWED_COUNT];
static size_t owed_count;

/* Makes a row for a start function, with no owed time at first: the weights of first looks
 * (tick/weight.c) are right on average without owed time, and a part of a period would be counted
 * after the end of the session. */
static _Atomic(int64_t) *new_owed(void *(*start_routine)(void *))
{
    const size_t i = owed_count++;
    owed[i].start_routine = start_routine;
    atomic_store(&owed[i].ns, 0);
    return &owed[i].ns;
}

_Atomic(int64_t) *pt_threads_owed(void *(*start_routine)(void *))
{
    if (owed_count == 0) new_owed(NULL);
    for (size_t i = 0; i < owed_count; i++)
        if (owed[i].start_routine == start_routine) return &owed[i].ns;
    return owed_count < OWED_COUNT ? new_owed(start_routine) : &owed[0].ns;
}

/* Counts the owed time, in whole periods, for the start functions themselves. Called at the end of
 * a session, when no thread follows that the time could be given to. */
static void settle_owed(void)
{
    for (size_t i = 0; i < owed_count; i++) {
        if (atomic_load(&owed[i].ns) < (int64_t)pt_agent.period_ns || owed[i].start_routine == NULL)
            continue;
        pt_tick_ring *const ring = take_ring(pt_tick_getpid());
        if (ring == NULL) continue;
        pt_tick_settle_owed(&owed[i].ns, owed[i].start_routine, ring);
        ring->tid = 0;
    }
}

/* ---- giving and taking ---- */

static bool attach_engine(const pt_timer_engine *engine, pt_thread *slot, uint64_t first_ns)
{
    slot->engine = engine;
    return engine->attach(slot, pt_agent.period_ns, first_ns);
}

static void want_cache(pt_thread *slot)
{
    if (slot->unwind_cache == NULL) slot->unwind_cache = pt_agent_map(sizeof(pt_unwind_cache));
}

void pt_threads_want_caches(void)
{
    each_live(want_cache);
}

static bool has_died(int tid)
{
    const pid_t pid = pt_tick_getpid();
    return syscall(SYS_tgkill, pid, tid, 0) != 0 || (tid == pid && pt_own_first_thread_is_dead());
}

/* Waits until the slot's handler has ended, which takes a short time, or until the thread has
 * ended: a filter of system calls may have ended it inside the handler. */
static void wait_for_handler(pt_thread *slot)
{
    enum { LOOK_EVERY = 1000 };
    for (unsigned turn = 1; atomic_load(&slot->busy) && slot != pt_tick_self; turn++) {
        if (turn % LOOK_EVERY == 0 && has_died(atomic_load(&slot->tid))) return;
        sched_yield();
    }
}

/* Takes the ring away from the slot's handler and returns it; NULL if the slot had no ring. */
static pt_tick_ring *stop_handler(pt_thread *slot)
{
    pt_tick_ring *const ring = atomic_load(&slot->ring);
    atomic_store(&slot->ring, NULL);
    wait_for_handler(slot);
    if (ring != NULL) pt_tick_settle_kept(slot, ring);
    return ring;
}

/* Gives up the slot's engine and ring. Another thread may get the ring from now on. */
static void leave_ring(pt_thread *slot, pt_tick_ring *ring)
{
    slot->engine = NULL;
    if (ring != NULL) ring->tid = 0;
}

/* Counts a thread without a timer once, however often a timer is tried, and takes the thread out of
 * the count if it gets a timer later. */
static void count_unsampled(pt_thread *slot, bool is_unsampled)
{
    pt_journal_header *const header = pt_agent.journal.header;
    if (is_unsampled && !slot->is_unsampled) header->threads_unsampled++;
    if (!is_unsampled && slot->is_unsampled) header->threads_unsampled--;
    slot->is_unsampled = is_unsampled;
}

/* Gives the slot's thread a ring, and a timer of the engine or else a POSIX timer. */
PT_NEAR static bool start_ticks(pt_thread *slot, const pt_timer_engine *engine, uint64_t first_ns)
{
    slot->last_words = slot->kept = 0;
    slot->debt_ns = 0;
    slot->was_long = false;
    atomic_store(&slot->ring, take_ring(atomic_load(&slot->tid)));
    const bool has_timer =
        atomic_load(&slot->ring) != NULL &&
        (attach_engine(engine, slot, first_ns) || attach_engine(&pt_timer_posix, slot, first_ns));
    if (!has_timer) leave_ring(slot, stop_handler(slot));
    count_unsampled(slot, !has_timer);
    return has_timer;
}

PT_NEAR static void attach_slot(pt_thread *slot)
{
    if (slot->engine != NULL || slot->is_paused || !pt_agent.on) return;
    /* Between two sessions the thread's number may have been given to another thread, with another
     * stack, so the bounds are read again. */
    if (slot->is_foreign) slot->stack = (pt_tick_stack){0};
    if (!pt_agent.is_asleep) want_cache(slot);
    pt_languages_want_caches(slot);
    pt_languages_forget_pages(slot);
    if (start_ticks(slot, pt_agent.engine, 1 + pt_agent_random(pt_agent.period_ns)))
        pt_agent.journal.header->threads_seen++;
}

/* A POSIX timer takes the place of an engine whose first tick could not arm the timer for further
 * ticks. */
static void attach_again(pt_thread *slot)
{
    if (slot->engine == NULL || !atomic_load(&slot->wants_timer)) return;
    pt_tick_ring *const ring = stop_handler(slot);
    slot->engine->detach(slot);
    leave_ring(slot, ring);
    start_ticks(slot, &pt_timer_posix, pt_agent.period_ns);
}

void pt_threads_wait_for_handlers(void)
{
    each_live(wait_for_handler);
}

/* Counts the CPU time after a thread's last tick, if the ticks are weighed by the thread's CPU
 * clock. */
static void settle_ticks(pt_thread *slot, pt_tick_ring *ring, bool is_last)
{
    if (ring == NULL) return;
    const int weighing = atomic_load(&slot->weighing);
    const bool by_looks = weighing == PT_TICK_BY_LOOKS;
    const bool by_user_mode = weighing == PT_TICK_BY_USER_MODE;
    const bool by_clock =
        by_looks || by_user_mode || weighing == PT_TICK_BY_CLOCK || weighing == PT_TICK_BY_MODE;
    const uint64_t clock_ns =
        by_clock ? pt_agent_clock_ns(pt_timer_cpu_clock(atomic_load(&slot->tid))) : 0;
    if (clock_ns == 0) return;
    /* A difference that chance explains is not counted but owed, if threads can follow. */
    const uint64_t chance_ns = is_last ? 0 : pt_agent.period_ns + pt_tick.look_ns;
    if (by_looks)
        pt_tick_settle_looks(slot, ring, clock_ns, (int64_t)(pt_agent.period_ns + chance_ns));
    else if (by_user_mode)
        pt_tick_settle_kernel(slot, ring, clock_ns);
    else
        pt_tick_settle(slot, ring, clock_ns);
}

PT_NEAR static void take_away(pt_thread *slot, bool is_last)
{
    if (slot->engine == NULL) return;
    pt_tick_ring *const ring = stop_handler(slot);
    settle_ticks(slot, ring, is_last);
    slot->engine->detach(slot);
    leave_ring(slot, ring);
}

static void detach_slot(pt_thread *slot)
{
    take_away(slot, false);
}

static void detach_last(pt_thread *slot)
{
    take_away(slot, true);
}

static void thread_ended(void *thread)
{
    if (pt_tick_self == thread) pt_thread_end(thread);
}

void pt_thread_begin(pt_thread *thread, const pt_tick_stack *stack)
{
    pt_caller caller;
    pt_agent_lock(&caller);
    const uint64_t since_ns = pt_agent_clock_ns(CLOCK_THREAD_CPUTIME_ID);
    pt_thread *const met = find_slot(pt_tick_gettid()); /* the drain thread read the task list in
                                                         * between */
    if (met != NULL && met != thread) {
        detach_slot(met);
        give_slot(met);
    }
    thread->stack = *stack;
    atomic_store(&thread->tid, pt_tick_gettid());
    atomic_store(&thread->live, 1);
    pt_tick_self = thread;
    if (!has_key) has_key = pt_libc_key_create(&ended_key, thread_ended) == 0;
    if (has_key) pt_libc_setspecific(ended_key, thread);
    thread->begun_ns = since_ns;
    attach_slot(thread);
    const bool sampled = thread->engine != NULL;
    if (sampled) pt_agent.journal.header->own_ns += thread->begun_ns - since_ns;
    if (atomic_load(&thread->weighing) == PT_TICK_BY_USER_MODE) /* the thread's time so far is the
                                                                 * kernel's, which made the
                                                                 * thread */
        atomic_fetch_add(&pt_tick.kernel_owed_ns, (int64_t)since_ns);
    pt_agent_unlock(&caller);
    /* Many programs start threads with every signal blocked; such a thread would get no ticks. */
    if (sampled) pt_signals_allow();
}

void pt_thread_end(pt_thread *thread)
{
    pt_caller caller;
    pt_agent_lock(&caller);
    const bool was_sampled = thread->engine != NULL;
    const uint64_t since_ns = pt_agent_clock_ns(CLOCK_THREAD_CPUTIME_ID);
    detach_slot(thread);
    pt_tick_self = NULL;
    give_slot(thread);
    if (was_sampled)
        pt_agent.journal.header->own_ns += pt_agent_clock_ns(CLOCK_THREAD_CPUTIME_ID) - since_ns;
    pt_agent_unlock(&caller);
}

/* The range in which the first thread's stack may grow. The last text above the stack is the
 * program's name of the auxiliary vector; one word of zeros follows. From there downwards the
 * kernel counts the limit of the stack's size. Without such a limit the kernel maps other memory
 * from at most a third of the address space upwards, so that only the stack uses a quarter of
 * it. */
static pt_tick_code find_first_stack(void)
{
    const uintptr_t text = (uintptr_t)getauxval(AT_EXECFN);
    const uintptr_t page_bytes = (uintptr_t)getauxval(AT_PAGESZ);
    struct rlimit most;
    if (text == 0 || getrlimit(RLIMIT_STACK, &most) != 0) return (pt_tick_code){0, UINTPTR_MAX};
    const uintptr_t limit = text + strlen((const char *)text) + 1 + sizeof(uint64_t);
    if (limit % page_bytes != 0) return (pt_tick_code){0, UINTPTR_MAX};
    if (most.rlim_cur >= limit) return (pt_tick_code){limit - limit / 4, limit};
    return (pt_tick_code){limit - most.rlim_cur / page_bytes * page_bytes, limit};
}

bool pt_threads_init(void)
{
    pt_tick.first_stack = find_first_stack();
    chunks[0] = find_first_memory()->chunk;
    chunk_count = 1;
    pt_tick.find = find_slot;
    pt_tick.is_slot = is_slot;
    pt_libc_find_threads();
    const int error = pt_libc_key_create(&ended_key, thread_ended);
    has_key = error == 0;
    ready = error == 0 || error == ENOSYS; /* also in a process without functions of threads */
    return ready;
}

void pt_thread_register_self(void)
{
    if (pt_tick_self != NULL) return;
    pt_caller caller;
    pt_agent_lock(&caller);
    pt_thread *slot = find_slot(pt_tick_gettid());
    if (slot != NULL)
        pt_tick_self = slot;
    else
        slot = take_slot();
    const pt_tick_stack stack = slot != NULL ? slot->stack : (pt_tick_stack){0};
    pt_agent_unlock(&caller);
    if (slot != NULL)
        pt_thread_begin(slot, &stack); /* the drain thread finds the stack's bounds if they are not
                                        * known */
}

/* Takes a slot for a thread that was not made by the library's pthread_create. */
static void meet_host_task(int tid)
{
    pt_thread *const slot = take_slot();
    if (slot == NULL) {
        pt_agent.journal.header->threads_unsampled++;
        return;
    }
    slot->is_foreign = true; /* nothing reports its end */
    atomic_store(&slot->tid, tid);
    atomic_store(&slot->live, 1);
}

/* Counts of one reading of the task list. */
static struct {
    uint64_t listed; /* threads in the list, with the library's */
    bool has_first, has_other;
} tasks;

static void meet_task(int tid)
{
    tasks.listed++;
    if (pt_own_is(tid)) return;
    if (tid == pt_tick_getpid())
        tasks.has_first = true; /* the first thread, which stays in the list when it has ended */
    else
        tasks.has_other = true;
    if (tid != pt_tick_getpid() && find_slot(tid) == NULL) meet_host_task(tid);
}

static void leave_if_ended(pt_thread *slot)
{
    if (slot->is_foreign &&
        syscall(SYS_tgkill, pt_tick_getpid(), atomic_load(&slot->tid), 0) != 0) {
        detach_slot(slot);
        give_slot(slot);
    }
}

struct listed { /* linux_dirent64, include/linux/dirent.h */
    uint64_t inode;
    int64_t next;
    uint16_t bytes;
    uint8_t type;
    char name[];
};

/* Takes slots for new tasks. Returns false if all of the host's threads are gone. A thread that
 * ends during the reading may cut the list short. So this function returns false only if the list
 * has as many threads as the folder's count of links states (proc_task_getattr in
 * fs/proc/base.c). */
static bool meet_tasks(void)
{
    static PT_FAR char listing[LISTING_BYTES] __attribute__((aligned(8)));
    struct stat st = {0};
    const int fd = open("/proc/self/task", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    long got;
    memset(&tasks, 0, sizeof tasks);
    while (fd >= 0 && (got = syscall(SYS_getdents64, fd, listing, sizeof listing)) > 0) {
        for (long at = 0; at < got;) {
            const struct listed *const one = (const struct listed *)(listing + at);
            const uint64_t tid = pt_agent_number(one->name, 0);
            if (tid != 0) meet_task((int)tid);
            at += one->bytes;
        }
    }
    const bool is_whole = fd >= 0 && pt_libc_fstat(fd, &st) == 0 && st.st_nlink == tasks.listed + 2;
    if (fd >= 0) close(fd);
    if (!tasks.has_first) return true;
    const bool first_lives = !pt_own_first_thread_is_dead();
    if (first_lives && find_slot(pt_tick_getpid()) == NULL) meet_host_task(pt_tick_getpid());
    return first_lives || tasks.has_other || !is_whole;
}

bool pt_threads_meet(void)
{
    each_live(leave_if_ended);
    each_live(attach_again);
    const bool has_any = meet_tasks();
    each_live(attach_slot);
    return has_any;
}

PT_NEAR void pt_threads_attach_known(void)
{
    each_live(attach_slot);
    if (pt_tick_self == NULL) pt_tick_self = find_slot(pt_tick_gettid());
}

void pt_threads_attach_all(void)
{
    pt_threads_meet();
    if (pt_tick_self == NULL) pt_tick_self = find_slot(pt_tick_gettid());
}

void pt_thread_pause_self(void)
{
    pt_thread *slot = pt_tick_self != NULL ? pt_tick_self : find_slot(pt_tick_gettid());
    if (slot == NULL) { /* takes a slot, so that no other thread finds this thread in the task list
                         * and gives it a timer */
        meet_host_task(pt_tick_gettid());
        slot = find_slot(pt_tick_gettid());
    }
    pt_tick_self = slot; /* this thread's handler does not run now */
    if (slot == NULL) return;
    detach_slot(slot);
    slot->is_paused = true; /* the drain thread gives a timer to each thread that has none */
}

void pt_thread_resume_self(void)
{
    if (pt_tick_self == NULL) return;
    pt_tick_self->is_paused = false;
    attach_slot(pt_tick_self);
}

PT_NEAR void pt_threads_detach_all(void)
{
    each_live(detach_last);
    settle_owed();
}

/* The next session counts threads without a timer anew. */
static void forget_count(pt_thread *slot)
{
    slot->is_unsampled = false;
}

PT_NEAR void pt_threads_free_rings(bool with_process)
{
    each_live(forget_count);
    for (size_t i = 1; !with_process && i < ring_count; i++)
        munmap(rings[i], RING_BYTES);
    ring_count = owed_count = 0;
}

PT_NEAR static void forget_other(pt_thread *slot)
{
    /* Timers, events and rings are not inherited by a child. */
    atomic_store(&slot->ring, NULL);
    atomic_store(&slot->busy, 0);
    slot->engine = NULL;
    slot->is_unsampled = false;
    slot->timer = slot->event = slot->first_event = NULL;
    atomic_store(&slot->weighing, PT_TICK_BY_NOTHING);
    atomic_store(&slot->wants_timer, 0);
    pt_languages_forget_pages(slot);
    if (slot != pt_tick_self) give_slot(slot);
}

PT_NEAR void pt_threads_after_fork(void)
{
    pt_ticker_after_fork();
    each_live(forget_other);
    ring_count = 0;
    PT_SET(owed_count, 0);
    if (pt_tick_self != NULL) atomic_store(&pt_tick_self->tid, pt_tick_gettid());
}

static void find_stack(pt_thread *slot)
{
    const uintptr_t sp = atomic_load(&slot->wants_stack);
    uint64_t low, limit;
    if (sp == 0 || slot->stack.low != slot->stack.limit || !pt_maps_around(sp, &low, &limit))
        return;
    /* A handler reads the bounds only if it sees a limit, and then it also sees the new low. */
    __atomic_store_n(&slot->stack.low, (uintptr_t)low, __ATOMIC_RELAXED);
    __atomic_store_n(&slot->stack.limit, (uintptr_t)limit, __ATOMIC_RELEASE);
    atomic_store(&slot->wants_stack, 0);
}

static void change_period(pt_thread *slot)
{
    if (atomic_exchange(&slot->wants_period, 0) && slot->engine != NULL &&
        slot->engine->change_period != NULL)
        slot->engine->change_period(slot);
}

void pt_threads_change_periods(void)
{
    each_live(change_period);
}

void pt_threads_find_stacks(void)
{
    each_live(find_stack);
}
