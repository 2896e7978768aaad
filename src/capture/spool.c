/* spool.c: see spool.h. */
#include "capture/spool.h"

#include <errno.h>
#include <poll.h>
#include <pthread.h>
#include <sched.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>
#include <sys/eventfd.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/grow.h"

enum {
    PASS_MS = 20, /* interval between passes over all rings while they fill */
    /* Interval while few bytes arrive, and nothing urgent. The stacks of a new program are copied,
     * and may be cut, until its report is read. */
    STEADY_MS = 50,
    /* Where nothing urgent has come for a time, the interval is this part of that time, up to
     * CALM_MS. With copies of stacks it is at most CALM_COPIES_MS, since their processes may have
     * to be read while they live. */
    CALM_PART = 8,
    CALM_MS = 500,
    CALM_COPIES_MS = 200,
    COPY_BYTES = 4 << 10,   /* a sample of this size has a copy */
    IDLE_MS = 4000,         /* longest interval: the reader takes the rings each second, too */
    SMALL_PART = 4,         /* few bytes: this part of a ring in one pass */
    FEW = 4,                /* a pass with fewer records lengthens the interval; */
    FEW_MS = 50,            /* one more is allowed for each such time that was waited */
    BEHIND_BYTES = 2 << 20, /* read bytes that are released at once; a multiple of a huge page */
    URGENT = -15,           /* nice(2), where no real-time priority is permitted */
    HEEDED = 1 << 15,       /* process numbers that are equal modulo this share a count */
    MARKED = 1 << 12,       /* of process numbers with one remainder only the last is shunned, or
                             * hurried */
};

/* Process numbers, by their remainder. */
typedef _Atomic uint32_t marked_pids[MARKED];

struct pt_spool {
    pt_perf_layout layout;
    pt_spool_ring *rings;
    uint64_t *released;    /* of each ring: position up to which pages were released */
    struct pollfd *polled; /* one for each ring, then end_fd */
    size_t count;
    int wake_fd, end_fd;
    pthread_t thread;
    bool has_thread;
    pthread_mutex_t lock; /* of the kernel's side of the rings */
    _Atomic uint64_t upto_ns;
    atomic_bool is_calm;             /* the last pass found nothing urgent */
    atomic_bool has_heeded;          /* pt_spool_heed was called: only `heeded` are urgent */
    _Atomic uint16_t heeded[HEEDED]; /* by process number, modulo: how many */
    /* The last child of a heeded process with this remainder: it counts as heeded, too. The reader
     * heeds it when it comes to the record of the fork. */
    _Atomic uint32_t born[HEEDED];
    marked_pids shunned, hurried;
    atomic_bool is_narrowing; /* the records of processes that are not heeded are to be dropped */
    /* These are guarded by the lock. */
    bool is_narrow;        /* they are dropped */
    bool sees_births;      /* forks are searched for; until is_narrow every child is in `born` */
    uint64_t *unread_upto; /* of each ring: its end when that began */
    uint64_t *searched;    /* of each kernel's ring: up to where it was searched */
};

/* ---- rings ---- */

/* Layout: one page for head and tail, then the data, aligned for huge pages. */
pt_status pt_spool_ring_open(size_t bytes, pt_ring *ret_ring, pt_error *reterr)
{
    const size_t page_bytes = (size_t)sysconf(_SC_PAGESIZE);
    size_t room = page_bytes;
    while (room < bytes)
        room *= 2;
    const size_t whole = page_bytes + room + BEHIND_BYTES;
    uint8_t *const memory = mmap(NULL, whole, PROT_READ | PROT_WRITE,
                                 MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
    if (memory == MAP_FAILED)
        return pt_error_errno(reterr, errno, "no memory for a ring of %zu KiB for samples",
                              room / 1024);
    uint8_t *const data = (uint8_t *)(((uintptr_t)memory + page_bytes + BEHIND_BYTES - 1) /
                                      BEHIND_BYTES * BEHIND_BYTES);
    uint8_t *const page = data - page_bytes;
    if (page > memory) munmap(memory, (size_t)(page - memory));
    if (data + room < memory + whole) munmap(data + room, (size_t)(memory + whole - (data + room)));
    /* Fewer page faults, if huge pages are available; not for the first records, which may be all
     * of a short recording: clearing a huge page takes up to milliseconds. */
    const size_t first = room < BEHIND_BYTES ? room : BEHIND_BYTES;
    madvise(data, first, MADV_NOHUGEPAGE);
    if (room > first) madvise(data + first, room - first, MADV_HUGEPAGE);
    pt_ring_take(page, page_bytes, room, ret_ring);
    return PT_OK;
}

/* Releases the pages of data that was read, so that a ring uses memory for waiting records only. In
 * a full ring the pages may have been written again already; then they stay. */
static void release_pages(pt_ring *ring, uint64_t *upto)
{
    const uint64_t head = ring->page->data_head; /* this thread is the only writer */
    const uint64_t tail = __atomic_load_n(&ring->page->data_tail, __ATOMIC_ACQUIRE);
    while (ring->bytes > BEHIND_BYTES && tail - *upto >= BEHIND_BYTES) {
        if (head - *upto <= ring->bytes)
            madvise(ring->data + (*upto & (ring->bytes - 1)), BEHIND_BYTES, MADV_DONTNEED);
        *upto += BEHIND_BYTES;
    }
}

/* Writes bytes at the ring's head, wrapping around. */
static void put_bytes(pt_ring *to, uint64_t *head, const void *bytes, size_t count)
{
    const uint64_t at = *head & (to->bytes - 1);
    const size_t first = count < to->bytes - at ? count : (size_t)(to->bytes - at);
    memcpy(to->data + at, bytes, first);
    memcpy(to->data, (const uint8_t *)bytes + first, count - first);
    *head += count;
}

void pt_spool_heed(pt_spool *spool, uint32_t pid)
{
    atomic_fetch_add(&spool->heeded[pid % HEEDED], 1);
    atomic_store(&spool->has_heeded, true);
}

void pt_spool_ignore(pt_spool *spool, uint32_t pid)
{
    atomic_fetch_sub(&spool->heeded[pid % HEEDED], 1);
}

void pt_spool_narrow(pt_spool *spool)
{
    atomic_store(&spool->is_narrowing, true);
}

static bool is_heeded(const pt_spool *spool, uint32_t pid)
{
    return !atomic_load(&spool->has_heeded) || atomic_load(&spool->heeded[pid % HEEDED]) > 0 ||
           (pid != 0 && atomic_load(&spool->born[pid % HEEDED]) == pid);
}

static void mark_pid(marked_pids pids, uint32_t pid, bool is_marked)
{
    uint32_t own = pid;
    if (is_marked)
        atomic_store(&pids[pid % MARKED], pid);
    else
        atomic_compare_exchange_strong(&pids[pid % MARKED], &own, 0);
}

static bool is_pid_marked(const marked_pids pids, uint32_t pid)
{
    return pid != 0 && atomic_load(&pids[pid % MARKED]) == pid;
}

void pt_spool_shun(pt_spool *spool, uint32_t pid, bool is_shunned)
{
    mark_pid(spool->shunned, pid, is_shunned);
}

void pt_spool_hurry(pt_spool *spool, uint32_t pid, bool is_hurried)
{
    mark_pid(spool->hurried, pid, is_hurried);
}

/* A pass over all rings. */
typedef struct {
    uint64_t count;  /* records of heeded processes */
    bool is_patient; /* all of them are samples, and of processes that are not hurried */
    bool is_light;   /* few bytes of heeded processes came in each ring */
    bool has_copies; /* of the stacks of heeded processes */
} pass;

/* The new process of a record of a fork; 0: the record is none. */
static uint32_t child_of(const struct perf_event_header *record)
{
    if (record->type != PERF_RECORD_FORK || record->size < sizeof *record + sizeof(uint64_t))
        return 0;
    return (uint32_t) * (const uint64_t *)(record + 1);
}

/* Looks through the records of a ring that were not searched yet, before any is copied, for forks
 * of heeded processes. Returns true if one has made another process heeded. Before records are
 * dropped every child is heeded, since the reader may not have heeded its parent yet. */
static bool find_births(pt_spool *spool, size_t i)
{
    const pt_spool_ring *const ring = &spool->rings[i];
    pt_ring ahead = *ring->from;
    const struct perf_event_header *record;
    bool has_found = false;
    if (spool->searched[i] > ahead.tail) ahead.tail = spool->searched[i];
    while ((record = pt_ring_peek(&ahead)) != NULL) {
        const struct perf_event_header head = *record;
        const uint32_t child = child_of(record);
        if (child != 0 && !is_heeded(spool, child) &&
            (!spool->is_narrow || is_heeded(spool, pt_perf_record_pid(&spool->layout, record)))) {
            atomic_store(&spool->born[child % HEEDED], child);
            has_found = true;
        }
        pt_ring_next(&ahead, &head);
    }
    ring->from->scratch = ahead.scratch; /* one for both */
    return has_found;
}

/* Looks for first samples of events in the records of a ring that were not searched yet, and ends
 * their search. */
static void find_first_samples(pt_spool *spool, size_t i)
{
    const pt_spool_ring *const ring = &spool->rings[i];
    pt_ring ahead = *ring->from;
    const struct perf_event_header *record;
    if (spool->searched[i] > ahead.tail) ahead.tail = spool->searched[i];
    while ((record = pt_ring_peek(&ahead)) != NULL) {
        const struct perf_event_header head = *record;
        if (ring->first != NULL && head.type == PERF_RECORD_SAMPLE && head.size > sizeof head)
            pt_first_sampled(ring->first, *(const uint64_t *)(record + 1));
        pt_ring_next(&ahead, &head);
    }
    spool->searched[i] = ahead.tail;
    ring->from->scratch = ahead.scratch; /* one for both */
}

/* Begins to see births, and to drop records once the reader has heeded all children born before. */
static void begin_narrow(pt_spool *spool)
{
    bool is_read = spool->sees_births;
    for (size_t i = 0; i < spool->count; i++) {
        const struct perf_event_mmap_page *const page = spool->rings[i].to->page;
        if (!spool->sees_births) spool->unread_upto[i] = page->data_head;
        is_read &= __atomic_load_n(&page->data_tail, __ATOMIC_ACQUIRE) >= spool->unread_upto[i];
    }
    spool->sees_births = true;
    spool->is_narrow = is_read;
}

/* Looks at all rings, then searches those with forks or first samples. A child's records come after
 * the record of its fork, which another ring has: so the fork is found, if this pass takes any
 * record of the child. The fork of a grandchild may be in a ring that was searched before its
 * parent's: the search is repeated as long as it finds another generation. */
static void look_at_rings(pt_spool *spool)
{
    enum { GENERATIONS_MAX = 64 }; /* two children with one remainder would alternate for ever */
    if (atomic_load(&spool->is_narrowing) && !spool->is_narrow) begin_narrow(spool);
    for (size_t i = 0; i < spool->count; i++)
        pt_ring_look(spool->rings[i].from);
    bool has_found = spool->sees_births;
    for (int generation = 0; has_found && generation < GENERATIONS_MAX; generation++) {
        has_found = false;
        for (size_t i = 0; i < spool->count; i++)
            if (spool->rings[i].has_forks) has_found |= find_births(spool, i);
    }
    for (size_t i = 0; i < spool->count; i++)
        if (spool->rings[i].first != NULL || (spool->sees_births && spool->rings[i].has_forks))
            find_first_samples(spool, i);
}

/* Is the record dropped? It is of a process, and no reader needs it. A fork that gives a child the
 * number of a heeded process, which has ended, is needed. */
static bool is_dropped(const pt_spool *spool, const struct perf_event_header *record)
{
    if (!spool->is_narrow) return false;
    switch (record->type) {
    case PERF_RECORD_SAMPLE:
    case PERF_RECORD_MMAP2:
    case PERF_RECORD_COMM:
    case PERF_RECORD_EXIT:
    case PERF_RECORD_SWITCH:
    case PERF_RECORD_SWITCH_CPU_WIDE: return true;
    case PERF_RECORD_FORK: return !is_heeded(spool, child_of(record));
    default: return false;
    }
}

/* Copies the records of one ring that were looked at. False if not all fitted. */
static bool take_ring(const pt_spool *spool, pt_ring *from, pt_ring *to, pass *p)
{
    uint64_t own_bytes = 0;
    uint64_t head = to->page->data_head; /* this thread is the only writer */
    const uint64_t tail = __atomic_load_n(&to->page->data_tail, __ATOMIC_ACQUIRE);
    const struct perf_event_header *record;
    while ((record = pt_ring_peek(from)) != NULL) {
        const struct perf_event_header whole = *record;
        const uint32_t pid = pt_perf_record_pid(&spool->layout, record);
        const bool is_own = is_heeded(spool, pid);
        if (!is_own && is_dropped(spool, record)) {
            pt_ring_next(from, &whole);
            continue;
        }
        pt_perf_compact c;
        const bool is_compact =
            pt_perf_record_compact(&spool->layout, record, is_pid_marked(spool->shunned, pid), &c);
        const size_t size = is_compact ? c.header.size : whole.size;
        if (size > to->bytes - (head - tail)) break;
        if (is_compact) {
            put_bytes(to, &head, &c.header, sizeof c.header);
            put_bytes(to, &head, c.body, c.body_bytes);
            put_bytes(to, &head, &c.copied, sizeof c.copied);
            put_bytes(to, &head, c.stack, c.stack_bytes);
        } else {
            put_bytes(to, &head, record, size);
        }
        pt_ring_next(from, &whole);
        p->count += is_own;
        own_bytes += is_own ? whole.size : 0;
        p->is_patient &=
            !is_own || (whole.type == PERF_RECORD_SAMPLE && !is_pid_marked(spool->hurried, pid));
        p->has_copies |= is_own && whole.size >= COPY_BYTES;
    }
    p->is_light &= own_bytes <= from->bytes / SMALL_PART;
    __atomic_store_n(&to->page->data_head, head, __ATOMIC_RELEASE);
    pt_ring_release(from);
    return record == NULL;
}

static bool take_rings(pt_spool *spool, pass *ret_pass)
{
    bool is_all = true;
    *ret_pass = (pass){.is_patient = true, .is_light = true};
    pthread_mutex_lock(&spool->lock);
    const uint64_t begun_ns = (uint64_t)pt_clock_ns(CLOCK_MONOTONIC);
    look_at_rings(spool);
    for (size_t i = 0; i < spool->count; i++) {
        is_all &= take_ring(spool, spool->rings[i].from, spool->rings[i].to, ret_pass);
        release_pages(spool->rings[i].to, &spool->released[i]);
    }
    atomic_store(&spool->is_calm, ret_pass->is_patient && ret_pass->is_light);
    atomic_store(&spool->upto_ns, begun_ns);
    pthread_mutex_unlock(&spool->lock);
    return is_all;
}

bool pt_spool_take(pt_spool *spool)
{
    pass p;
    return take_rings(spool, &p);
}

/* ---- the thread ---- */

static bool has_many(const pass *p, int waited_ms)
{
    return p->count >= FEW + (uint64_t)waited_ms / FEW_MS;
}

/* The wait until the next pass. Records of heeded processes that are no samples shorten it, and so
 * do many bytes. Many samples that take little of the rings let it grow a little. Few records let
 * it grow fast and far, since the kernel wakes the thread when a ring is half full. is_full: not
 * all records fitted. calm_ms: for how long the heeded processes have had samples only. */
static int next_wait_ms(int wait_ms, bool is_full, int calm_ms, const pass *p)
{
    const int steady_ms = calm_ms / CALM_PART > STEADY_MS ? calm_ms / CALM_PART : STEADY_MS;
    const int longest_ms = p->has_copies ? CALM_COPIES_MS : CALM_MS;
    const int many_ms = steady_ms < longest_ms ? steady_ms : longest_ms;
    if (has_many(p, wait_ms) && !p->is_patient) return PASS_MS;
    if (is_full || !p->is_light) return wait_ms / 2 > PASS_MS ? wait_ms / 2 : PASS_MS;
    const bool is_busy = has_many(p, wait_ms);
    const int next_ms = wait_ms * (is_busy ? 2 : 4), most_ms = is_busy ? many_ms : IDLE_MS;
    return next_ms < most_ms ? next_ms : most_ms;
}

static void *run_spool(void *arg)
{
    pt_spool *const spool = arg;
    const struct sched_param least = {.sched_priority = 1};
    if (sched_setscheduler(0, SCHED_RR | SCHED_RESET_ON_FORK, &least) != 0)
        setpriority(PRIO_PROCESS, 0, URGENT);
    int wait_ms = PASS_MS, calm_ms = 0;
    while (spool->polled[spool->count].revents == 0) {
        pass p;
        const bool is_urgent = poll(spool->polled, spool->count + 1, wait_ms) > 0;
        const bool is_all = take_rings(spool, &p);
        const uint64_t one = 1;
        /* The reader looks by itself from time to time; it need not wake for a few samples. */
        if ((is_urgent && p.count > 0) || !p.is_patient || !p.is_light || has_many(&p, wait_ms))
            (void)!write(spool->wake_fd, &one, sizeof one);
        calm_ms = p.is_patient ? calm_ms + wait_ms : 0;
        if (calm_ms > CALM_PART * CALM_MS) calm_ms = CALM_PART * CALM_MS;
        wait_ms = next_wait_ms(wait_ms, !is_all, calm_ms, &p);
        /* Full rings keep poll readable: sleep while the reader makes room. */
        if (!is_all) poll(NULL, 0, 1);
    }
    return NULL;
}

pt_spool *pt_spool_new(const pt_perf_layout *layout, const pt_spool_ring *rings, size_t count)
{
    pt_spool *const spool = pt_alloc(1, sizeof *spool);
    spool->layout = *layout;
    spool->rings = pt_alloc(count, sizeof *spool->rings);
    spool->released = pt_alloc(count, sizeof *spool->released);
    spool->unread_upto = pt_alloc(count, sizeof *spool->unread_upto);
    spool->searched = pt_alloc(count, sizeof *spool->searched);
    spool->polled = pt_alloc(count + 1, sizeof *spool->polled);
    spool->count = count;
    memcpy(spool->rings, rings, count * sizeof *rings);
    /* With priority inheritance, the holder of the lock runs with the priority of a waiter. */
    pthread_mutexattr_t inherits;
    pthread_mutexattr_init(&inherits);
    pthread_mutexattr_setprotocol(&inherits, PTHREAD_PRIO_INHERIT);
    pthread_mutex_init(&spool->lock, &inherits);
    pthread_mutexattr_destroy(&inherits);
    spool->wake_fd = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
    spool->end_fd = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
    for (size_t i = 0; i < count; i++)
        spool->polled[i] = (struct pollfd){.fd = rings[i].fd, .events = POLLIN};
    spool->polled[count] = (struct pollfd){.fd = spool->end_fd, .events = POLLIN};
    /* The caller's thread handles signals. */
    sigset_t all, before;
    sigfillset(&all);
    pthread_sigmask(SIG_SETMASK, &all, &before);
    spool->has_thread = pthread_create(&spool->thread, NULL, run_spool, spool) == 0;
    pthread_sigmask(SIG_SETMASK, &before, NULL);
    return spool;
}

void pt_spool_free(pt_spool *spool)
{
    const uint64_t one = 1;
    if (spool == NULL) return;
    (void)!write(spool->end_fd, &one, sizeof one);
    if (spool->has_thread) pthread_join(spool->thread, NULL);
    close(spool->wake_fd);
    close(spool->end_fd);
    pthread_mutex_destroy(&spool->lock);
    free(spool->rings);
    free(spool->released);
    free(spool->unread_upto);
    free(spool->searched);
    free(spool->polled);
    free(spool);
}

bool pt_spool_has_thread(const pt_spool *spool)
{
    return spool->has_thread;
}

int pt_spool_fd(const pt_spool *spool)
{
    return spool->wake_fd;
}

void pt_spool_noticed(pt_spool *spool)
{
    uint64_t count;
    (void)!read(spool->wake_fd, &count, sizeof count);
    if (!spool->has_thread) pt_spool_take(spool);
}

bool pt_spool_is_calm(const pt_spool *spool)
{
    return atomic_load(&spool->is_calm);
}

uint64_t pt_spool_upto_ns(const pt_spool *spool)
{
    return atomic_load(&spool->upto_ns);
}
