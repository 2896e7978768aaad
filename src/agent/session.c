/* session.c: a profile from start to end, and the drain thread that runs in between.
 *
 *   start     signal, journal, timers for all threads, drain thread
 *   drain     every few milliseconds: rings -> stacks in the journal, facts in its header; the
 *             changes of the journal go to its file
 *   fork      the child starts a session with a journal, timers and a name of its own
 *   stop      timers off, last drain, journal -> gperftools file or profile.proto
 *
 * A process that is killed at any moment leaves its journal, which pitot reads as a profile. A
 * child of fork makes no file before it has used CPU time. */
#include "agent/agent.h"

#include <dlfcn.h>
#include <elf.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <linux/futex.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/auxv.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

PT_EDGE pt_session pt_agent;

enum {
    DRAIN_FIRST_MS = 10, /* until the first round; then twice as long before each further round */
    ANSWER_EVERY_NS = 1000000,
    MEET_EVERY_NS = 200000000,  /* between two readings of the task list */
    HEED_EVERY_NS = 1000000000, /* between two checks that the recorder still exists */
    ASLEEP_NS = 200000000,
    SAMPLE_WORDS = 48, /* words of a rather deep stack, for the choice of how often to drain */
    DRAIN_STACK_BYTES = 256 << 10,
    START_TABLES_NS = 250000000, /* of compiling unwind tables before the first tick */
    DRAIN_TABLES_NS = 10000000,  /* the same between two rounds of the drain thread */
};

/* ---- facts ---- */

static uint32_t read_file(const char *path, char *to, size_t size)
{
    const int fd = open(path, O_RDONLY | O_CLOEXEC);
    if (fd < 0) return 0;
    size_t held = 0;
    while (held < size) {
        const ssize_t got = read(fd, to + held, size - held);
        if (got < 0 && errno == EINTR) continue;
        if (got <= 0) break;
        held += (size_t)got;
    }
    close(fd);
    return (uint32_t)held;
}

static void note_comm(pt_journal_header *header)
{
    char comm[PT_JOURNAL_COMM_BYTES + 1] = "";
    const uint32_t length = read_file("/proc/self/comm", comm, sizeof comm - 1);
    if (length > 0 && comm[length - 1] == '\n') comm[length - 1] = '\0';
    comm[sizeof header->comm - 1] = '\0';
    memcpy(header->comm, comm, sizeof header->comm);
}

static uint64_t own_cpu_ns(void)
{
    return (pt_agent.drain_runs ? pt_agent_clock_ns(pt_agent.drain.clock) : 0) +
           pt_agent.drain_before_ns + pt_ticker_cpu_ns();
}

static pt_journal_span as_span(pt_tick_code code)
{
    return (pt_journal_span){.low = code.low, .limit = code.limit};
}

static void note_code(pt_journal_header *header)
{
    header->spans = (pt_journal_spans){.own_code = as_span(pt_agent.own_code),
                                       .passing_code = as_span(pt_agent.passing_code),
                                       .main_start = as_span(pt_tick.main_start),
                                       .thread_start = as_span(pt_tick.thread_start),
                                       .own_start = as_span(pt_tick.own_start),
                                       .unblocking_code = as_span(pt_agent.unblocking_code)};
}

/* Notes the program of a process that leaves a journal. */
static void note_program(pt_journal_header *header)
{
    note_comm(header);
    const ssize_t exe_bytes = readlink("/proc/thread-self/exe", header->exe, sizeof header->exe);
    header->exe_bytes = exe_bytes > 0 ? (uint32_t)exe_bytes : 0;
    header->command_bytes =
        read_file("/proc/thread-self/cmdline", header->command, sizeof header->command);
}

PT_NEAR static void note_start(uint32_t asked_hz)
{
    pt_journal_header *const header = pt_agent.journal.header;
    header->byte_order = PT_JOURNAL_BYTE_ORDER;
    header->version = PT_JOURNAL_VERSION;
    header->header_bytes = PT_JOURNAL_HEADER_BYTES;
    header->word_bytes = sizeof(void *);
    header->machine = PT_MACHINE_HOST->elf_machine;
    header->pid = (uint32_t)pt_tick_getpid();
    header->ppid = (uint32_t)getppid();
    header->engine = pt_agent.engine->id;
    header->asked_hz = asked_hz;
    header->tick_hz = pt_agent.engine->is_tick_bound ? pt_timers_tick_hz() : 0;
    header->period_ns = pt_agent.period_ns;
    header->start_realtime_ns = pt_agent_clock_ns(CLOCK_REALTIME);
    header->start_monotonic_ns = pt_agent_clock_ns(CLOCK_MONOTONIC);
    header->last_monotonic_ns = header->start_monotonic_ns;
    header->cpu_before_ns = pt_agent_clock_ns(CLOCK_PROCESS_CPUTIME_ID);
    note_code(header);
    memcpy(header->magic, PT_JOURNAL_MAGIC, sizeof header->magic);
}

PT_NEAR static void note_progress(void)
{
    pt_journal_header *const header = pt_agent.journal.header;
    const uint64_t now_ns = pt_agent_clock_ns(CLOCK_MONOTONIC);
    const uint64_t cpu_ns = pt_agent_clock_ns(CLOCK_PROCESS_CPUTIME_ID);
    /* The host may have forbidden itself to read clocks; then the last value stays. */
    if (now_ns != 0) header->last_monotonic_ns = now_ns;
    if (cpu_ns == 0) return;
    header->cpu_own_ns = own_cpu_ns();
    header->cpu_used_ns = cpu_ns - header->cpu_before_ns - header->cpu_own_ns;
}

static void add_ticks(pt_tick_ring *ring, void *arg)
{
    *(uint64_t *)arg += ring->weight;
}

uint64_t pt_session_samples(void)
{
    uint64_t samples = 0;
    pt_threads_each_ring(add_ticks, &samples);
    return samples;
}

/* ---- the drain thread ---- */

PT_NEAR uint64_t pt_session_collect(void)
{
    note_progress(); /* first, so that the stacks hold all samples of the CPU time noted here */
    const uint64_t fullest = pt_fold_rings();
    pt_journal_header *const header = pt_agent.journal.header;
    if (header->exe_bytes == 0 && header->ticks > 0) {
        pthread_setcancelstate(PTHREAD_CANCEL_DISABLE, NULL); /* _exit has not disabled it */
        note_program(header);
    }
    return fullest;
}

uint64_t pt_session_drain(void)
{
    const uint64_t fullest = pt_session_collect();
    if (pt_agent.is_asleep) return fullest;
    if (pt_maps_are_expired()) pt_maps_refresh();
    pt_threads_want_caches();
    pt_threads_find_stacks();
    pt_tables_update(DRAIN_TABLES_NS);
    pt_languages_update();
    pt_languages_review();
    return fullest;
}

static uint64_t shorter_of(uint64_t a, uint64_t b)
{
    return a < b ? a : b;
}

/* The time in which a busy thread with usual stacks fills half a ring. */
static uint64_t longest_sleep_ns(void)
{
    return shorter_of(pt_agent.period_ns * (PT_RING_WORDS / 2 / SAMPLE_WORDS),
                      UINT64_C(1000000) * PT_JOURNAL_INTERVAL_MS);
}

/* Takes the lock in the keeper. While the keeper waits for the lock it answers requests, since the
 * thread with the lock may wait for an answer. */
static void lock_as_keeper(pt_caller *caller)
{
    do
        pt_publish_answer();
    while (!pt_agent_lock_within(caller, ANSWER_EVERY_NS));
}

static void leave_file(void)
{
    pt_caller caller;
    pt_agent_lock(&caller);
    if (pt_agent.file.keeper_tid == pt_tick_gettid()) pt_agent.file.keeper_tid = 0;
    pt_agent_unlock(&caller);
}

/* Does this drain thread belong to the present session? A flag would not do: if a new session began
 * before this thread had noticed the end of its own session, the new session would clear the flag.
 * Then the drain threads of both sessions would run on, and a thread that waits for the end of this
 * thread would wait for ever. */
static bool is_our_round(int round)
{
    return pt_agent.on && atomic_load(&pt_agent.drain_round) == round;
}

/* Waits until the bell's value changes, for at most ns. While it waits, gives threads the new
 * periods that they have requested. */
static void sleep_unless_rung(int round, int bell, uint64_t ns)
{
    const uint64_t until_ns = pt_agent_clock_ns(CLOCK_MONOTONIC) + ns;
    while (ns > 0) {
        const struct timespec time = {.tv_sec = (time_t)(ns / 1000000000),
                                      .tv_nsec = (long)(ns % 1000000000)};
        syscall(SYS_futex, &pt_agent.drain_bell, FUTEX_WAIT_PRIVATE, bell, &time, NULL, 0);
        if (!atomic_exchange(&pt_tick.wants_periods, 0)) return;
        pt_caller caller;
        lock_as_keeper(&caller);
        if (is_our_round(round)) pt_threads_change_periods();
        pt_agent_unlock(&caller);
        const uint64_t now_ns = pt_agent_clock_ns(CLOCK_MONOTONIC);
        ns = now_ns < until_ns ? until_ns - now_ns : 0;
    }
}

/* Makes this thread the keeper of the file, with a table of descriptors of its own unless the
 * kernel cannot make one. */
static void become_keeper(void)
{
    pt_publish_keep();
    const bool is_keeper = pt_agent.file.keeper_tid == pt_tick_gettid();
    atomic_store(&pt_tick.keeper_bell,
                 is_keeper && !pt_agent.keeps_periods ? &pt_agent.drain_bell : NULL);
}

/* Writes, without the lock, the changes that were copied under the lock. */
static void write_taken(pt_publisher *publisher, int round)
{
    while (pt_publisher_write(publisher)) {
        pt_caller caller;
        lock_as_keeper(&caller);
        const bool taken = is_our_round(round) && pt_publisher_take(publisher);
        pt_agent_unlock(&caller);
        if (!taken) return;
    }
}

/* ---- sleep ---- */

static void begin_drain_late(void);
static bool drain_start(void);

/* Prepares a session for few samples. A recorded process has no drain thread, no list of mappings,
 * no unwind tables and no image of a journal before it has a few samples: most processes end
 * earlier. Until then the handler copies stacks. A copied stack has no frames of an interpreter, so
 * a process with CPython is awake from the start. */
static void fall_asleep(void)
{
    const bool sleeps = pt_agent.is_asleep;
    void (*const tell)(void) =
        pt_own_can_begin_in_handler() ? begin_drain_late : pt_agent_wake_drain;
    PT_SET(pt_tick.copies_stacks, pt_agent.recording);
    PT_SET(pt_tick.on_wanted_table, pt_agent.recording ? pt_agent_wake_drain : NULL);
    PT_SET(pt_tick.keeper_bell, NULL);
    PT_SET(pt_tick.early_samples, 0);
    PT_SET(pt_tick.kernel_owed_ns, 0);
    PT_SET(pt_tick.on_samples, sleeps ? tell : NULL);
}

static void look_at_program(void)
{
    note_program(pt_agent.journal.header);
    if (pt_tables_known()) return; /* the process is a child of fork, and may call exec soon */
    pt_maps_refresh();
    pt_maps_set_lasting();
    pt_tables_update(START_TABLES_NS);
}

void pt_session_wake(void)
{
    pt_caller caller;
    pt_agent_lock(&caller);
    if (pt_agent.on && pt_agent.pid == pt_tick_getpid()) {
        atomic_store(&pt_tick.on_samples, NULL);
        look_at_program();
        pt_maps_refresh(); /* also in a child of fork */
        if (!pt_agent.drain_runs) drain_start();
        pt_agent_wake_drain();
    }
    pt_agent_unlock(&caller);
}

/* Was the session asleep until this call? Wakes the session after its first samples: is_asleep is
 * false then, and the caller waits a little before the first drain. */
static bool is_still_asleep(void)
{
    if (!pt_agent.is_asleep) return false;
    pt_agent.is_asleep = atomic_load(&pt_tick.on_samples) != NULL;
    return true;
}

static uint64_t first_sleep_ns(void)
{
    return shorter_of(UINT64_C(1000000) * DRAIN_FIRST_MS, longest_sleep_ns());
}

/* Empties the rings once, and adapts the time until the next round. Returns true if publisher holds
 * changes to write. */
static bool drain_once(pt_publisher *publisher, uint64_t *sleep_ns)
{
    if (is_still_asleep()) {
        if (!pt_agent.is_asleep) *sleep_ns = first_sleep_ns();
        return false;
    }
    const uint64_t fullest = pt_session_drain();
    if (fullest > PT_RING_WORDS / 4 && *sleep_ns > 1000000)
        *sleep_ns /= 2; /* deep stacks, or a late wake-up */
    else if (fullest < PT_RING_WORDS / 16 && *sleep_ns < longest_sleep_ns())
        *sleep_ns = shorter_of(2 * *sleep_ns, longest_sleep_ns());
    if (publisher != NULL) return pt_publisher_take(publisher);
    pt_publish();
    return false;
}

/* Ends the recording of a process that lives longer than its recorder, as a daemon does: the
 * process goes on as if it had never been recorded. is_read: the journal may still be read. */
static void leave_recording(int round, bool is_read)
{
    pt_caller caller;
    lock_as_keeper(&caller);
    if (is_our_round(round)) {
        pt_threads_detach_all();
        pt_session_collect();
        if (is_read) pt_publish_all();
        pt_timers_stop(false);
        pt_signals_forget_pending();
        pt_agent.on = pt_agent.drain_runs = false;
        atomic_fetch_add(&pt_agent.drain_round, 1);
        pt_threads_free_rings(false);
        pt_journal_close(&pt_agent.journal, false);
    }
    pt_agent_unlock(&caller);
}

static void drain_rings(int round, pt_publisher *publisher, int bell)
{
    const bool is_asleep = pt_agent.is_asleep && atomic_load(&pt_tick.on_samples) != NULL;
    uint64_t sleep_ns = is_asleep ? ASLEEP_NS : first_sleep_ns();
    uint64_t met_ns = pt_agent_clock_ns(CLOCK_MONOTONIC), heeded_ns = met_ns;
    bool is_alone = false, is_left;
    while (atomic_load(&pt_agent.drain_round) == round) {
        sleep_unless_rung(round, bell, sleep_ns);
        bell = atomic_load(&pt_agent.drain_bell);
        pt_caller caller;
        bool taken = false;
        lock_as_keeper(&caller);
        if (is_our_round(round)) {
            pt_signals_keep();
            taken = drain_once(publisher, &sleep_ns);
            const uint64_t now_ns = pt_agent_clock_ns(CLOCK_MONOTONIC);
            if (now_ns - met_ns > MEET_EVERY_NS) {
                pt_timers_review();
                is_alone = !pt_threads_meet();
                met_ns = now_ns;
            }
        }
        pt_agent_unlock(&caller);
        if (taken) write_taken(publisher, round);
        pt_publisher_tidy(publisher);
        if (pt_agent.recording && met_ns - heeded_ns > HEED_EVERY_NS) {
            heeded_ns = met_ns;
            if (pt_publish_is_in_vain(&is_left)) leave_recording(round, is_left);
        }
        pt_own_exit_if_last();
        if (is_alone) pt_own_leave_as_first_thread();
    }
    pt_publisher_free(publisher);
    leave_file();
}

static void *drain_main(void *arg)
{
    const int bell = atomic_load(&pt_agent.drain_bell); /* read first, so that a change after this
                                                         * is noticed */
    pt_publisher *const publisher = pt_publisher_new();
    become_keeper(); /* the thread that began this thread holds the lock, and waits until this
                      * thread is the keeper */
    atomic_store(&pt_agent.drain_is_ready, 1);
    syscall(SYS_futex, &pt_agent.drain_is_ready, FUTEX_WAKE_PRIVATE, 1, NULL, NULL, 0);
    drain_rings((int)(intptr_t)arg, publisher, bell);
    return NULL;
}

/* The main function of a drain thread that a handler began. The drain thread waits until no other
 * thread has the lock. */
static void *late_drain_main(void *arg)
{
    const int round = (int)(intptr_t)arg, bell = atomic_load(&pt_agent.drain_bell);
    pt_publisher *publisher = NULL;
    pt_caller caller;
    pt_agent_lock(&caller);
    const bool is_wanted = is_our_round(round) && !pt_agent.drain_runs;
    if (is_wanted) {
        pt_agent.drain = pt_own_self();
        pt_agent.drain_runs = true;
        publisher = pt_publisher_new();
        become_keeper();
    }
    pt_agent_unlock(&caller);
    if (is_wanted) drain_rings(round, publisher, bell);
    return NULL;
}

static void begin_drain_late(void)
{
    const int round = atomic_load(&pt_agent.drain_round);
    if (!pt_own_begin_in_handler(late_drain_main, (void *)(intptr_t)round))
        atomic_store(&pt_tick.on_samples, begin_drain_late); /* a later sample tries again */
}

static bool drain_start(void)
{
    void *const round = (void *)(intptr_t)atomic_load(&pt_agent.drain_round);
    void (*late)(void) = begin_drain_late;
    atomic_compare_exchange_strong(&pt_tick.on_samples, &late, pt_agent_wake_drain);
    atomic_store(&pt_agent.drain_is_ready, 0);
    /* If libc counts the thread, and the library cannot take it out of the count, the process would
     * not end with the host's last thread. */
    pt_own_find_count();
    const bool is_bare = !pt_own_is_uncounted() && late != begin_drain_late &&
                         pt_own_begin_bare(&pt_agent.drain, drain_main, round);
    pt_agent.drain_runs =
        is_bare || pt_own_begin(&pt_agent.drain, DRAIN_STACK_BYTES, drain_main, round);
    while (pt_agent.drain_runs && !atomic_load(&pt_agent.drain_is_ready))
        syscall(SYS_futex, &pt_agent.drain_is_ready, FUTEX_WAIT_PRIVATE, 0, NULL, NULL, 0);
    pt_publish_handed_over();
    void (*bell)(void) = pt_agent_wake_drain;
    if (!pt_agent.drain_runs && late == begin_drain_late && pt_own_can_begin_in_handler())
        atomic_compare_exchange_strong(&pt_tick.on_samples, &bell, begin_drain_late);
    return pt_agent.drain_runs;
}

static void tell_drain_to_end(void)
{
    pt_own_end_begins();
    pt_agent.drain_runs = false;
    atomic_store(&pt_tick.keeper_bell, NULL);
    atomic_fetch_add(&pt_agent.drain_round, 1);
    pt_agent_wake_drain();
}

void pt_session_keep_periods(void)
{
    pt_caller caller;
    pt_agent_lock(&caller);
    pt_agent.keeps_periods = true;
    atomic_store(&pt_tick.keeper_bell, NULL);
    pt_agent_unlock(&caller);
}

bool pt_session_rest(void)
{
    pt_caller caller;
    pt_agent_lock(&caller);
    if (pt_agent.on && pt_agent.pid == pt_tick_getpid() && pt_agent.is_asleep &&
        !pt_agent.drain_runs)
        drain_start(); /* opens the journal's file while the process has the rights to do so */
    const bool runs = pt_agent.on && pt_agent.drain_runs;
    const pt_own_thread drain = pt_agent.drain;
    if (runs) {
        const uint64_t own_ns = own_cpu_ns();
        pt_timers_stop_threads();
        pt_session_drain();
        pt_publish_take_over();
        pt_agent.drain_before_ns = own_ns;
        tell_drain_to_end();
    }
    pt_caller joining = caller;
    joining.cancel = PTHREAD_CANCEL_DISABLE;
    pt_agent_unlock(&joining);
    if (runs) pt_own_end(&drain);
    pthread_setcancelstate(caller.cancel, NULL);
    return runs;
}

void pt_session_go_on(void)
{
    pt_caller caller;
    pt_agent_lock(&caller);
    if (pt_agent.on && !pt_agent.drain_runs && pt_agent.pid == pt_tick_getpid()) {
        pt_timers_start_threads();
        drain_start();
    }
    pt_agent_unlock(&caller);
}

/* ---- start ---- */

static bool create_journal(const char *path, bool is_child)
{
    if (pt_agent.is_asleep)
        pt_journal_open_early(&pt_agent.journal);
    else if (!pt_journal_open(&pt_agent.journal))
        return false;
    pt_publish_begin(path);
    if (pt_agent.recording || pt_agent.served || is_child) return true;
    pt_publish_keep_earlier(path);
    if (pt_publish_make()) return true;
    const int saved_errno = errno;
    pt_journal_close(&pt_agent.journal, false);
    errno = saved_errno;
    return false;
}

PT_NEAR void pt_session_add_own_time(uint64_t since_ns)
{
    const uint64_t now_ns = pt_agent_clock_ns(CLOCK_THREAD_CPUTIME_ID);
    if (now_ns > since_ns) pt_agent.journal.header->own_ns += now_ns - since_ns;
}

/* Accounts for the library's own work at the start, since begun_ns of the thread's CPU clock. In a
 * recording the work counts as time of the process, and the recorder subtracts it (own_ns). In a
 * profile that the program writes itself it counts as time before the profile. */
static void note_before(uint64_t begun_ns)
{
    pt_journal_header *const header = pt_agent.journal.header;
    const uint64_t own_ns = header->own_ns;
    header->cpu_before_ns = pt_agent_clock_ns(CLOCK_PROCESS_CPUTIME_ID);
    pt_session_add_own_time(begun_ns);
    const uint64_t start_ns = header->own_ns - own_ns;
    if (pt_agent.recording && start_ns < header->cpu_before_ns) header->cpu_before_ns -= start_ns;
}

/* begun_ns: the thread's CPU clock when the library began to work on this session. */
PT_NEAR static bool begin_session(const char *path, bool is_child, uint64_t begun_ns)
{
    if (!is_child || pt_agent.engine == NULL) pt_agent.asked_hz = pt_timers_choose();
    pt_agent.is_asleep = pt_agent.recording && !pt_languages_any();
    if (!create_journal(path, is_child)) {
        pt_agent_say("%s: cannot be written: %s%s", pt_agent.recording ? pt_agent.base_path : path,
                     errno == EEXIST ? "it is no regular file, and the library keeps its journal "
                                       "there while the program runs; name another file"
                                     : strerror(errno),
                     errno == ELOOP ? " (symbolic links are not followed; name the file itself)"
                                    : "");
        return false;
    }
    if (pt_agent.recording) PT_SET(pt_agent.path[0], '\0');
    pt_maps_reset();
    pt_fold_reset();
    pt_codes_reset();
    pt_agent.pid = pt_tick_getpid();
    pt_agent.start_time = (time_t)(pt_agent_clock_ns(CLOCK_REALTIME) / 1000000000);
    pt_agent.drain_before_ns = 0;
    note_start(pt_agent.asked_hz);
    pt_agent.on = true;
    fall_asleep();
    if (!pt_agent.is_asleep) look_at_program();
    pt_languages_update();
    if (!pt_agent.recording) note_before(begun_ns);
    if (pt_agent.file.is_made)
        pt_publish_all(); /* from now on a journal is left if the process is
                           * killed */
    pt_timers_start();
    if (pt_agent.is_asleep)
        pt_threads_attach_known();
    else
        pt_threads_attach_all();
    if (pt_agent.recording) note_before(begun_ns);
    const bool comes_late = pt_agent.is_asleep && pt_own_can_begin_in_handler();
    if (!comes_late && !drain_start())
        pt_agent_say("no thread could be started to collect samples; long runs will lose some");
    return true;
}

static uint64_t came_ns; /* the thread's CPU clock when the library was loaded; 0 after the
                          * constructor */

bool pt_session_start(const char *path, int (*filter)(void *), void *filter_arg)
{
    if (pt_agent.on) return false;
    pt_agent.recording = path == NULL;
    const uint64_t begun_ns = came_ns != 0 ? came_ns : pt_agent_clock_ns(CLOCK_THREAD_CPUTIME_ID);
    if (path != NULL && (!pt_agent_absolute(path, pt_agent.path) || path[0] == '\0')) {
        pt_agent_say("%s: not a file name: %s", path, strerror(errno));
        return false;
    }
    if (!pt_timers_take_signal()) return false;
    if (!pt_agent.recording)
        pt_agent_join(pt_agent.base_path, sizeof pt_agent.base_path, pt_agent.path, "");
    pt_agent.proto = !pt_agent.recording && pt_profile_is_proto(pt_agent.path);
    pt_tick.filter = filter;
    pt_tick.filter_arg = filter_arg;
    return begin_session(pt_agent.path, false, begun_ns);
}

/* ---- end ---- */

/* Writes the profile, which replaces the journal. If the profile cannot be written, completes the
 * journal and reports the journal's name. */
static void write_result(void)
{
    char name[PATH_MAX];
    pt_maps_refresh();
    if (pt_profile_write(pt_agent.path)) {
        if (pt_agent.file.is_made && strcmp(pt_agent.file.path, pt_agent.path) != 0)
            unlink(pt_agent.file.path);
        return;
    }
    const int error = errno;
    if (pt_publish_whole(name))
        pt_agent_say("%s: cannot be written: %s; the samples are in the journal %s, which pitot "
                     "reads as well",
                     pt_agent.path, strerror(error), name);
    else
        pt_agent_say("%s: cannot be written: %s; the samples are lost: name a file that the "
                     "program may write to at its end",
                     pt_agent.path, strerror(error));
}

static void publish_recorded(void)
{
    if (!pt_publish_recorded())
        pt_agent_say("%s: cannot be written: %s; samples are lost", pt_agent.base_path,
                     strerror(errno));
}

/* A child of fork that ended at once writes no file. */
static bool is_worth_a_result(void)
{
    const pt_journal_header *const header = pt_agent.journal.header;
    return pt_agent.file.is_made || pt_agent.served || header->ticks > 0;
}

/* Reports CPU time that is in no sample, if chance and the ends of threads do not explain it. The
 * file states this CPU time in any case. */
static void say_what_was_not_seen(void)
{
    enum { WORTH_TELLING_NS = 100000000, CHANCE_PERIODS = 4 };
    const pt_journal_header *const header = pt_agent.journal.header;
    const uint64_t used_ns = header->cpu_used_ns, seen_ns = pt_profile_seen_ns();
    const uint64_t chance_ns = CHANCE_PERIODS * header->period_ns;
    const uint64_t missing_ns = used_ns > seen_ns ? used_ns - seen_ns : 0;
    if (header->engine == PT_JOURNAL_ENGINE_REAL || pt_tick.filter != NULL ||
        missing_ns < WORTH_TELLING_NS || missing_ns < used_ns / 20 || missing_ns < chance_ns)
        return;
    pt_agent_say("%s: %llu of %llu ms of CPU time are in no sample%s", pt_agent.path,
                 (unsigned long long)(missing_ns / 1000000),
                 (unsigned long long)(used_ns / 1000000),
                 pt_interposes() ? ""
                                 : ": a library that is loaded by dlopen finds new threads late; "
                                   "LD_PRELOAD or -lprofiler finds them at once");
}

/* Is this a process of a recording that has no sample at its end? Its pt_journal_brief goes to a
 * file by system calls only. */
static bool is_brief(void)
{
    return pt_agent.recording && pt_agent.is_asleep && pt_agent.journal.header->ticks == 0;
}

PT_NEAR void pt_session_stop(uint32_t end, const pt_caller *caller)
{
    pt_caller joining = *caller;
    joining.cancel = PT_CANCEL_KEPT;
    bool join = false;
    pt_own_thread drain = {0};
    if (pt_agent.on) {
        const uint64_t since_ns = pt_agent_clock_ns(CLOCK_THREAD_CPUTIME_ID);
        pt_threads_detach_all();
        pt_session_collect();
        if (!is_brief()) pthread_setcancelstate(PTHREAD_CANCEL_DISABLE, NULL);
        pt_timers_stop(end == PT_JOURNAL_EXITED_FAST);
        if (pt_agent.journal.header->exe_bytes > 0) note_comm(pt_agent.journal.header);
        pt_agent.journal.header->end = end;
        pt_publish_settle();
        note_progress();
        pt_session_add_own_time(since_ns);
        if (pt_agent.recording) {
            publish_recorded();
        } else if (!pt_agent.served || end == PT_JOURNAL_STOPPED) { /* else no client reads it */
            if (is_worth_a_result()) write_result();
            say_what_was_not_seen();
        }
        pt_agent.on = pt_agent.served = false;
        pt_threads_free_rings(pt_agent.leaving);
        pt_journal_close(&pt_agent.journal, pt_agent.leaving);
        PT_SET(pt_tick.filter, NULL);
        join = pt_agent.drain_runs && end != PT_JOURNAL_EXITED_FAST;
        drain = pt_agent.drain;
        if (pt_agent.drain_runs) tell_drain_to_end();
    }
    pt_agent_unlock(&joining);
    if (join) pt_own_end(&drain);
    if (caller->cancel != PT_CANCEL_KEPT) pthread_setcancelstate(caller->cancel, NULL);
}

/* Writes the profile so far. The journal is renamed, in the same folder, and keeps that name until
 * the session ends.
 */
void pt_session_flush(void)
{
    pt_agent_file *const file = &pt_agent.file;
    char name[PATH_MAX];
    if (!pt_agent.on || pt_agent.recording || pt_agent.served) return;
    pt_publish_settle();
    pt_session_drain();
    if (strcmp(file->path, pt_agent.path) == 0 &&
        pt_agent_join(name, sizeof name, file->path, ".journal")) {
        if (file->is_made)
            rename(file->path, name); /* fails if someone removed the file, which then has
                                       * no name */
        pt_agent_join(file->path, sizeof file->path, name, "");
        pt_publish_all();
    }
    if (strcmp(file->path, pt_agent.path) == 0 || !pt_profile_write(pt_agent.path))
        pt_agent_say("%s: cannot be written: %s", pt_agent.path, strerror(errno));
}

/* ---- fork ---- */

/* A page of code or data that a child of fork is the first to use costs it a page fault, so the
 * functions below make their system calls themselves, call libc only where they must, and write to
 * few pages. */
static pt_caller forking;

/* All signals stay blocked while the kernel copies the process: a tick in the middle would make the
 * kernel start the copy again, in a large process for ever. */
PT_NEAR static void before_fork(void)
{
    pt_caller caller;
    pt_agent_lock_quietly(&caller, &errno);
    forking = caller;
}

/* Ticks for the time in fork arrive in this function, when signals are allowed again: their time
 * belongs to fork. */
PT_UNBLOCKING static void after_fork_in_parent(void)
{
    const pt_caller caller = forking;
    pt_agent_unlock_undisturbed(&caller);
    pt_kernel_set_mask(&caller.mask, NULL);
}

/* Does the session of a child of fork begin without a cancellation point? Starting a thread and
 * making a file are cancellation points. */
static bool begins_quietly(void)
{
    return pt_agent.recording && !pt_languages_any() && pt_own_can_begin_in_handler() &&
           pt_agent.engine != NULL && pt_agent.engine->start == NULL;
}

PT_NEAR static void after_fork_in_child(void)
{
    pt_caller caller = forking; /* this thread still has the lock from before_fork */
    const uint64_t begun_ns = pt_agent_clock_ns(CLOCK_THREAD_CPUTIME_ID);
    const bool again = pt_agent.on && !pt_agent.served;
    if (again && !begins_quietly()) pthread_setcancelstate(PTHREAD_CANCEL_DISABLE, &caller.cancel);
    pt_agent.on = false;
    pt_agent.pid = pt_tick_getpid();
    pt_agent.drain_runs = false;
    pt_agent.leaving = false;
    pt_signals_after_fork();
    pt_own_after_fork();
    pt_listen_after_fork();
    pt_agent.journal.header = NULL; /* the image's memory stayed with the parent */
    pt_publish_after_fork();
    pt_fold_after_fork();
    pt_threads_after_fork();
    if (again) {
        if (!pt_agent.recording) {
            pt_agent_join(pt_agent.path, sizeof pt_agent.path, pt_agent.base_path, "");
            pt_name_add_pid(pt_agent.path);
        }
        pt_agent.sequence = 0;
        begin_session(pt_agent.path, true, begun_ns);
    }
    pt_toggle_after_fork();
    pt_agent_unlock(&caller);
}

/* ---- the library comes and goes ---- */

/* The stack pointer at the program's entry, which is the address of the number of arguments, just
 * below argv; 0 if not known. */
static uintptr_t stack_end(int argc, char **argv)
{
    if (!pt_libc_hands_arguments()) return 0;
    return argv != NULL && ((const long *)argv)[-1] == argc ? (uintptr_t)(argv - 1) : 0;
}

static void meet_main_thread(uintptr_t end)
{
    enum { USUAL_STACK_BYTES = 128 << 20 };
    if (pt_tick_getpid() != pt_tick_gettid()) { /* the library was loaded by another thread */
        pt_thread_register_self();
        return;
    }
    /* Linux places no mapping nearer to the stack than the stack's limit at exec, which counts as
     * at least 128 MiB (mmap_base in arch/x86/mm/mmap.c). */
    struct rlimit limit;
    uintptr_t bytes = USUAL_STACK_BYTES;
    if (getrlimit(RLIMIT_STACK, &limit) == 0 && limit.rlim_cur < bytes)
        bytes = (uintptr_t)limit.rlim_cur;
    pt_thread *const slot = pt_thread_new();
    const pt_tick_stack stack = {.low = end == 0 ? 0 : end - bytes, .limit = end};
    if (slot != NULL) pt_thread_begin(slot, &stack);
}

__attribute__((constructor)) static void library_comes(int argc, char **argv)
{
    const int saved_errno = errno;
    came_ns = pt_agent_clock_ns(CLOCK_THREAD_CPUTIME_ID);
    pt_interpose_init();
    pt_own_init();
    pt_agent.pid = pt_tick_getpid();
    if (pt_threads_init()) {
        meet_main_thread(stack_end(argc, argv));
        pt_libc_atfork(before_fork, after_fork_in_parent, after_fork_in_child);
        pt_environment_begin();
    }
    came_ns = 0;
    errno = saved_errno;
}

__attribute__((destructor)) static void library_goes(void)
{
    pt_caller caller;
    pt_agent_lock(&caller);
    pt_agent.leaving = true;
    if (pt_tick_getpid() == pt_agent.pid) pt_listen_stop();
    if (pt_agent.on && pt_tick_getpid() == pt_agent.pid)
        pt_session_stop(PT_JOURNAL_EXITED, &caller);
    else
        pt_agent_unlock(&caller);
}
