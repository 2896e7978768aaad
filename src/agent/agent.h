/* agent.h: the in-process profiler's own parts, and what they promise each other.
 *
 *   interpose.c   the host's calls that we must see: threads, unloading, the fast exits, exec
 *   ids.c, raw_calls.c, spawn.c  more of them, in the shared library only
 *   libc*.c, find_function.c  what depends on which libc the process has
 *   signals.c     the signals of ticks, and what the host has for them
 *   own_threads.c  the library's own threads, which do not count as the host's
 *   threads.c     a slot for every thread; giving and taking rings and timers
 *   timers.c      which engine makes the ticks, how often
 *   timer_*.c     the engines
 *   tick/         the signal handler
 *   journal.c     the journal's image, which holds everything (layout: wire/journal.h)
 *   publish.c     the image -> its file
 *   maps.c        what is mapped, with build ids, into the journal
 *   unwind_tables.c  what is mapped -> unwind tables for the handler
 *   images.c      a mapped image's segments, symbols and entries of .eh_frame
 *   languages.c   the interpreters in the process, for the handler
 *   python.c, v8.c, php.c  a language each
 *   codes.c       their functions, for the handler; their names into the journal
 *   fold.c        rings -> distinct stacks and counts, in the journal
 *   profile*.c    journal -> gperftools file, or profile.proto
 *   output.c      a result file, plain or gzipped
 *   session.c     start, drain thread, stop, fork, exit
 *   enter.c       programs that the library cannot enter
 *   environment.c what the environment asks for when a program begins
 *   toggle.c      a profile from one signal to the next
 *   listen*.c     a profile for whoever asks over a socket
 *   api.c         the ten functions
 *
 * Rules: nothing here calls malloc (the host's may be anything). One lock guards all of it; it is
 * only held with every signal blocked, so no handler of the host, and not ours, can interrupt the
 * holder, and with cancellation off, so that it is always released. Lines for the user go to stderr
 * with one write each.
 */
#pragma once

#include <limits.h>
#include <pthread.h>
#include <signal.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#include "agent/libc.h"
#include "agent/tick/tick.h"
#include "wire/buf.h"
#include "wire/journal.h"

/* A function that the host calls. PT_PASSING: it may call the host's code in turn, whose time is
 * not the library's own, though the library has a frame on that stack. */
#define PT_UNBLOCKING __attribute__((section("pt_unblocking"), noinline)) /* pt_journal_spans */
#define PT_EXPORT     PT_PASSING __attribute__((visibility("default")))

/* ---- util.c ---- */

/* libc's mutexes take no atomic step while libc knows of one thread only, and libc does not know
 * the thread of pt_own_begin_in_handler. */
typedef struct {
    _Atomic(int) state;
} pt_agent_mutex;

#define PT_AGENT_FOR_EVER UINT64_MAX
/* False: another thread has held it for within_ns. */
bool pt_agent_mutex_take(pt_agent_mutex *mutex, uint64_t within_ns);
void pt_agent_mutex_give(pt_agent_mutex *mutex);

/* The state that the calling thread gets back when the lock is released. */
typedef struct {
    sigset_t mask;
    int cancel; /* whether it may be cancelled */
    int error;  /* errno */
} pt_caller;

/* Blocks all signals and puts off cancellation, which would leave a lock taken for ever. */
void pt_agent_be_undisturbed(pt_caller *ret_caller);
/* With caller's errno. The thread may be cancelled here. */
void pt_agent_be_as_before(const pt_caller *caller);

/* Takes the lock, with all signals blocked and cancellation put off: much of what is done under the
 * lock is a cancellation point (pthreads(7)), and a thread that ended there would keep it. */
void pt_agent_lock(pt_caller *ret_caller);
void pt_agent_unlock(const pt_caller *caller);
/* The same, but signals stay blocked: the caller restores the mask itself. */
void pt_agent_unlock_undisturbed(const pt_caller *caller);
/* The same, if that takes no longer; false: the lock is another's, and nothing has changed. */
bool pt_agent_lock_within(pt_caller *ret_caller, uint64_t ns);

/* "pitot: libprofiler: ..." on stderr, in one write. Keeps errno. */
void pt_agent_say(const char *format, ...) __attribute__((format(printf, 1, 2)));

uint64_t pt_agent_clock_ns(clockid_t clock); /* 0 if it cannot be read */
uint64_t pt_agent_random(uint64_t below);    /* in [0, below) */
/* The drain thread wakes up, or does not fall asleep. */
void pt_agent_wake_drain(void);
void *pt_agent_map(size_t bytes); /* zeroed private memory; NULL if there is none */
bool pt_agent_write(int fd, const void *bytes,
                    size_t size); /* all of it, through EINTR; under the lock */
bool pt_agent_write_at(int fd, const void *bytes, size_t size, off_t at); /* the same, there */
/* first and then second, terminated; "" and false with ENAMETOOLONG when they do not fit. first may
 * be `to` itself. */
bool pt_agent_join(char *to, size_t size, const char *first, const char *second);
/* path seen from the root, in PATH_MAX bytes: the host may change directory. False and errno when
 * it does not fit or there is no current directory. */
bool pt_agent_absolute(const char *path, char *ret_path);
/* "_PID" behind a name in PATH_MAX bytes; "" when it does not fit. */
void pt_name_add_pid(char *name);
/* The whole number that text is, or fallback if it is anything else. */
uint64_t pt_agent_number(const char *text, uint64_t fallback);

/* A child of fork copies each page of memory that it writes to, so most forks would copy pages only
 * to write the value that is there. */
#define PT_SET(at, value)                                                                          \
    do {                                                                                           \
        if ((at) != (value)) (at) = (value);                                                       \
    } while (0)

/* Large memory that most processes never write to. It lies behind all other variables (sections are
 * sorted by their names), so that these share few pages: each page is a page fault in every
 * process, and one more in both processes of a fork. */
#define PT_FAR __attribute__((section(".bss.far")))
/* Between these and the others: its first bytes are written to, the rest is large. */
#define PT_EDGE __attribute__((section(".bss.edge")))

/* ---- own_threads.c ---- */

typedef struct {
    pthread_t thread;
    clockid_t clock; /* its CPU time */
    pid_t tid;       /* 0: it has ended already */
    int slot;
} pt_own_thread;

struct dl_phdr_info;

void pt_own_init(void);
/* Before the process has a second thread: finds libc's count of its threads. */
void pt_own_find_count(void);
/* Does libc count none of our threads? */
bool pt_own_is_uncounted(void);
/* Under the lock. All signals are blocked in it: they are the host's. False: there is none. */
bool pt_own_begin(pt_own_thread *ret_thread, size_t stack_bytes, void *(*own)(void *), void *arg);
/* For each loaded object, before the thread below is begun. */
void pt_own_note_object(const struct dl_phdr_info *object);
/* Can a handler begin a thread here? */
bool pt_own_can_begin_in_handler(void);
/* Called by a signal handler with all signals blocked: begins a thread that libc does not know, at
 * most one at a time. It may call neither malloc nor the loader. False: there is none. */
bool pt_own_begin_in_handler(void *(*own)(void *), void *arg);
/* The same outside of handlers, with all signals blocked. */
bool pt_own_begin_bare(pt_own_thread *ret_thread, void *(*own)(void *), void *arg);
/* In that thread: itself. */
pt_own_thread pt_own_self(void);
/* Before a thread is told to end, and then: waits for it. One that nobody waits for may be told at
 * the end of the process only. */
void pt_own_end_begins(void);
void pt_own_end(const pt_own_thread *thread);
/* Is it a thread of the library? */
bool pt_own_is(pid_t tid);
/* In a child of fork, which has none. */
void pt_own_after_fork(void);
/* Called by a thread of ours that holds nothing, after it has begun or ended another: if the host's
 * last thread has ended meanwhile, so does the process, by exit(0). */
void pt_own_exit_if_last(void);
/* The thread with the number of the process: it stays in the list of threads until all have ended.
 */
bool pt_own_first_thread_is_dead(void);
/* Called by one of ours that holds nothing, when the host has no thread any more and libc has not
 * ended the process: all have gone by exit(2). */
_Noreturn void pt_own_leave_as_first_thread(void);

/* ---- journal.c ---- */

enum { PT_JOURNAL_MAX_BYTES = 256 << 20 }; /* as large as a journal gets */

/* The image of a journal: private memory, of which a child of fork has nothing. */
typedef struct {
    pt_journal_header *header; /* NULL = none open */
    uint8_t *base;
    size_t size_bytes; /* of the address space, as large as the image may get */
    size_t open_bytes; /* of it, memory */
    size_t used_bytes; /* handed out as areas */
} pt_agent_journal;

/* An empty one, the header zeroed. Returns false and ENOMEM. */
bool pt_journal_open(pt_agent_journal *journal);
/* The same without memory for areas, which the first area makes, or pt_journal_make: until then
 * `base` is NULL and the header lies elsewhere. */
void pt_journal_open_early(pt_agent_journal *journal);
/* Returns false and ENOMEM. */
bool pt_journal_make(pt_agent_journal *journal);
/* A new area of size_bytes (rounded up), empty; NULL when there is no room or no memory. */
pt_journal_area *pt_journal_area_new(pt_agent_journal *journal, uint32_t kind, size_t size_bytes);
/* Where the area's next record of size bytes is to be put; NULL if it does not fit, or there is no
 * area. Then the record is added. */
void *pt_journal_room(pt_journal_area *area, size_t size);
void pt_journal_add(pt_journal_area *area, size_t size);
/* Memory behind the used part of the image, valid until the next area is made. NULL: fewer than
 * `bytes` are left. */
void *pt_journal_spare(const pt_agent_journal *journal, size_t bytes);
/* with_process: its memory goes with the process, which is at its end. */
void pt_journal_close(pt_agent_journal *journal, bool with_process);

/* ---- publish.c ---- */

/* The file that the image is copied to. */
typedef struct {
    bool is_made;
    dev_t device; /* which file it is, whatever has its name by then */
    ino_t inode;
    int fd;           /* in the host's table while it is handed over to its keeper; -1 = none */
    pid_t keeper_tid; /* the thread that has the file open in a table of its own; 0 = none */
    int keeper_fd;    /* there; -1 = not yet */
    int folder_fd;    /* there, of the file's folder while it is not made; -1 = none */
    char path[PATH_MAX];
} pt_agent_file;

/* For a new image: nothing of it is in a file yet, which will have that name (in a recording: one
 * of its own). */
void pt_publish_begin(const char *path);
/* Makes the file, mode 0600, in place of a regular file that is there; without this the first copy
 * does. It stays open until pt_publish_handed_over. Returns false and errno: ELOOP for a symbolic
 * link, EEXIST for anything else that is no regular file. */
bool pt_publish_make(void);
/* Before that: if this process left its journal there, as another program that worked for a while
 * and then called exec, it gets the name path_PID (path_PID.2, ...). */
void pt_publish_keep_earlier(const char *path);
/* Bytes of the image, not of its header, have changed. */
void pt_publish_note(const void *at, size_t bytes);
/* Writes the changed parts of the image to the file, which is created if there is none. False and
 * errno: it failed, and the next call tries again. */
bool pt_publish_all(void);
/* The same, except when there is neither a file nor a sample. */
bool pt_publish(void);
/* Before exec and at the end of a process in a recording: its journal, or, if it has no sample, its
 * figures (pt_journal_brief). False and errno. */
bool pt_publish_recorded(void);
/* All of the image, whatever happened to the file. True if a file has it; its name is then in
 * ret_name, of PATH_MAX bytes. */
bool pt_publish_whole(char *ret_name);
/* Called with the lock before anything is done with the file's name: waits until the keeper writes
 * no more. */
void pt_publish_settle(void);
/* Called by a thread of ours that is to be the keeper: takes a table of descriptors of its own with
 * nothing but the file in it, so that the host meets none of them. */
void pt_publish_keep(void);
/* Called by the keeper without the lock, all the time: does what the one who has it asks for. */
void pt_publish_answer(void);
/* Closes the descriptor in the host's table. */
void pt_publish_handed_over(void);
/* Copies all, and takes the file back into the host's table, since the keeper is to end. */
void pt_publish_take_over(void);
/* In a child of fork. */
void pt_publish_after_fork(void);
/* Called by the keeper, in a recording: nobody will read the journal any more, for its file or its
 * folder is removed, or its recorder is gone. *ret_is_left: the files are still there. */
bool pt_publish_is_in_vain(bool *ret_is_left);

/* What the keeper writes from: a part of the image of its own, so that it writes without the lock.
 * NULL: no memory. */
typedef struct pt_publisher pt_publisher;
pt_publisher *pt_publisher_new(void);
/* Without the lock: removes once what killed processes left beside the file of the session in which
 * it was made. A child of fork leaves that to its parent. */
void pt_publisher_tidy(pt_publisher *publisher); /* accepts NULL */
void pt_publisher_free(pt_publisher *publisher); /* accepts NULL */
/* Under the lock: takes as much as fits of what has changed. False if there is nothing to tell. */
bool pt_publisher_take(pt_publisher *publisher);
/* Then, without the lock: writes it. True if more is to be taken. What could not be written is
 * taken again next time. */
bool pt_publisher_write(pt_publisher *publisher);

/* ---- leftovers.c ---- */

/* Removes PATH.PID.tmp of this user's processes that are no more. room: memory for names. */
void pt_leftovers_remove(const char *path, void *room, size_t room_bytes);

/* ---- maps.c ---- */

/* Brings the maps area up to date with /proc/self/maps. True if something changed. */
bool pt_maps_refresh(void);
/* A library is unloaded: nobody knows yet which mappings are gone, or what comes in their place. */
void pt_maps_expire(void);
bool pt_maps_are_expired(void);
/* Brings the maps area up to date for samples that were taken before. After pt_maps_expire the
 * mapping of such a sample may be gone, so absent mappings stay until pt_maps_refresh, unless there
 * is something else in their place. */
void pt_maps_learn(void);
/* Is addr inside a known executable mapping that is alive? */
bool pt_maps_known(uint64_t addr);
/* The journal's record of the known mapping that holds addr. NULL: there is no such mapping, or the
 * journal had no room for its record. */
const pt_journal_map *pt_maps_record_of(uint64_t addr);
/* The first epoch in which all of a stack was mapped as it is now; the present one if part of it is
 * in no known mapping. So a library that goes makes no other stack a new one. */
uint16_t pt_maps_epoch_of(const uint64_t *pcs, uint32_t depth);
/* The readable mapping that holds addr now. */
bool pt_maps_around(uint64_t addr, uint64_t *ret_low, uint64_t *ret_limit);
void pt_maps_reset(void);
/* A number that grows when a refresh finds something else. */
uint32_t pt_maps_changes(void);
/* Calls use for each executable mapping that is alive, by ascending address. */
typedef struct {
    uint64_t start, limit;
    uint64_t image; /* where its file is mapped from the start; 0 = not known */
    uint64_t inode;
} pt_maps_live;
void pt_maps_each_live(void (*use)(const pt_maps_live *live, void *arg), void *arg);
/* Copies memory of this process. False: a page of it is not mapped or cannot be read. */
bool pt_maps_peek(uint64_t addr, void *bytes, size_t size);
/* Calls use for each executable mapping ever seen. */
void pt_maps_each(void (*use)(const pt_journal_map *map, void *arg), void *arg);

/* ---- unwind_tables.c ---- */

/* Gives the handler tables of what is mapped now, as pt_maps_refresh last saw it. Starts no more
 * compiling after budget_ns; what is left over is done by the next call. Called under the lock,
 * never in a handler. */
void pt_tables_update(uint64_t budget_ns);
/* Are there any? */
bool pt_tables_known(void);

/* ---- languages.c ---- */

/* Is there an interpreter in what the loader has loaded? */
bool pt_languages_any(void);
/* Finds interpreters in the files mapped since the last call, and publishes their facts for the
 * handler. Called under the lock, never in a handler. */
void pt_languages_update(void);
/* Prints one line for an interpreter whose memory does not fit the layout of its version. */
void pt_languages_review(void);
/* Gives the slot a cache for each interpreter in the process. */
void pt_languages_want_caches(pt_thread *slot);
/* Forgets which pages the slot's thread could read: a child of fork has no heap of V8's. */
void pt_languages_forget_pages(pt_thread *slot);
/* Joins native addresses with the frames of an interpreter that follow them, in at most
 * PT_JOURNAL_CHAIN_MAX words. Returns how many words; *ret_certain: both chains matched. */
uint32_t pt_languages_merge(const uint64_t *words, uint32_t native, uint32_t frames, bool is_whole,
                            uint64_t *ret_chain, bool *ret_certain);

/* ---- codes.c ---- */

/* What handlers keep functions in; NULL: no memory. */
pt_tick_codes *pt_codes_for_handlers(void);
/* For a new journal, which has no functions yet. */
void pt_codes_reset(void);
/* Sees that the journal has the functions of the frames among these words. True: there are such
 * frames. */
bool pt_codes_keep(const uint64_t *words, uint32_t count);
/* Calls use for each function in the journal. */
void pt_codes_each(void (*use)(const pt_journal_code *code, void *arg), void *arg);

/* ---- fold.c ---- */

/* Empties all rings into the stacks area; returns how many words were in the fullest one. */
uint64_t pt_fold_rings(void);
void pt_fold_reset(void);
/* In a child of fork, which has not got the index. */
void pt_fold_after_fork(void);
void pt_fold_each(void (*use)(const pt_journal_stack *stack, void *arg), void *arg);

/* ---- timers.c ---- */

/* Takes the signal of the ticks; false, and said, if the host has a handler for it. */
bool pt_timers_take_signal(void);
/* Chooses engine and period, pt_agent's and pt_tick's, by the environment and by what the kernel
 * allows; returns the rate that was asked for. */
uint32_t pt_timers_choose(void);
/* The engine begins, or another in its place; and ends. */
void pt_timers_start(void);
void pt_timers_stop(bool is_last);
/* Threads of the engine's own, if it has any: end, and begin again. */
void pt_timers_stop_threads(void);
void pt_timers_start_threads(void);
/* Around exec: no timer that the new program would be ended by. */
void pt_timers_pause(void);
void pt_timers_resume(void);
/* Takes another engine if the present one does harm now: a debugger has come. */
void pt_timers_review(void);
/* The same before a debugger comes. */
void pt_timers_leave_traps(void);

/* ---- timer_*.c ---- */

typedef struct pt_timer_engine {
    uint32_t id;        /* PT_JOURNAL_ENGINE_X */
    bool is_tick_bound; /* no more signals than the kernel's own ticks */
    bool is_for_all;    /* one timer for the process: exec would keep it */
    /* Can it work in this process at all? */
    bool (*probe)(uint64_t period_ns);
    /* Before the first thread is attached and after the last is detached; NULL: nothing to do.
     * is_last: the process ends. */
    bool (*start)(void);
    void (*stop)(bool is_last);
    /* Gives a thread of this process its own ticks, the first one after first_ns of its CPU time.
     * Any thread may be served by any other. */
    bool (*attach)(pt_thread *thread, uint64_t period_ns, uint64_t first_ns);
    /* Ends them. The thread's handler is not running and will not find a ring. */
    void (*detach)(pt_thread *thread);
    /* Gives it ticks with another period; the caller has a table of descriptors of its own. NULL:
     * its ticks have no period that a program could meet in step. */
    void (*change_period)(pt_thread *thread);
} pt_timer_engine;

extern const pt_timer_engine pt_timer_posix, /* a POSIX timer on the thread's CPU clock */
    pt_timer_real,                           /* the same on the clock on the wall */
    pt_timer_trap,                           /* a perf event with SIGTRAP */
    pt_timer_perf,                           /* a perf event with the signal of the timers */
    pt_timer_mode_trap, pt_timer_mode, /* the same in user mode; a POSIX timer for the kernel */
    pt_timer_ticker,                   /* a thread that sends signals to those that run */
    pt_timer_itimer;                   /* one timer for the process, at the kernel's own ticks */

/* timer_posix.c, for engines that have one beside their own: a timer on the thread's CPU clock that
 * ends as often as the kernel looks at it. */
bool pt_timer_looks_start(pt_thread *thread);
void pt_timer_looks_stop(pt_thread *thread);

/* timer_ticker.c: what its thread has used; in a child of fork there is none. */
uint64_t pt_ticker_cpu_ns(void);
void pt_ticker_after_fork(void);

/* For engines that weigh a thread's ticks by its clock: its time is counted from now on, and its
 * first tick comes after first_ns. */
void pt_timer_begin_clock(pt_thread *thread, uint64_t period_ns, uint64_t first_ns);
/* The CPU clock of a thread, for any thread of the process. */
clockid_t pt_timer_cpu_clock(int tid);
/* How often the kernel looks at timers of CPU clocks, 0 if that cannot be known: HZ. */
uint32_t pt_timers_tick_hz(void);

/* ---- threads.c ---- */

bool pt_threads_init(void);
/* A free slot, not yet live; NULL if there is no memory. */
pt_thread *pt_thread_new(void);
void pt_thread_free(pt_thread *thread);
/* The calling thread's slot goes live, and gets a ring and timer while a session runs. */
void pt_thread_begin(pt_thread *thread, const pt_tick_stack *stack);
void pt_thread_end(pt_thread *thread);
/* Gives the calling thread a slot, whoever created the thread. */
void pt_thread_register_self(void);
enum { PT_RING_WORDS = 8192 }; /* 64 KiB: a sample of 30 frames takes 31 words */
/* All threads get rings and timers, known ones and those found in /proc/self/task. */
void pt_threads_attach_all(void);
/* Attaches the known threads only; the next reading of the task list finds the others. */
void pt_threads_attach_known(void);
/* Looks for threads that were made in other ways (thrd_create, clone), and for those that ended.
 * False: the host has none any more. */
bool pt_threads_meet(void);
void pt_threads_detach_all(void);
/* The time owed to threads with that start function (tick/weight.c). */
_Atomic(int64_t) *pt_threads_owed(void *(*start_routine)(void *));
/* The calling thread gets no ticks, until resumed. */
void pt_thread_pause_self(void);
void pt_thread_resume_self(void);
/* The rings' memory goes, by us or, with the process, by the kernel; nobody has one. */
void pt_threads_free_rings(bool with_process);
/* In a child of fork: only the calling thread is left. */
void pt_threads_after_fork(void);
/* Returns when no handler that runs now was running before the call. */
void pt_threads_wait_for_handlers(void);
/* Calls use for each slot that is live; without the lock, slots come and go meanwhile. */
void pt_threads_each(void (*use)(pt_thread *slot, void *arg), void *arg);
/* All threads get what walks by tables are quicker with. */
void pt_threads_want_caches(void);
/* Finds stack bounds that ticks have asked for. */
void pt_threads_find_stacks(void);
/* Gives other periods to the ticks of threads that want them. The caller is the keeper of the file,
 * whose table of descriptors is its own. */
void pt_threads_change_periods(void);
void pt_threads_each_ring(void (*use)(pt_tick_ring *ring, void *arg), void *arg);

/* ---- output.c ---- */

/* Begins a file that will have that name, mode 0600. Returns false and errno. */
bool pt_output_begin(const char *path, bool gzip);
/* Room for the next piece, and the piece taken. False: it did not fit; the room is larger now, and
 * it is to be put again. */
pt_wire_buf pt_output_buf(void);
bool pt_output_take(const pt_wire_buf *buf);
/* Puts what encode, which may run twice, puts into the pt_wire_buf of that name. */
#define PT_OUTPUT_PUT(buf, ...)                                                                    \
    do {                                                                                           \
        pt_wire_buf buf = pt_output_buf();                                                         \
        __VA_ARGS__;                                                                               \
        if (pt_output_take(&buf)) break;                                                           \
        buf = pt_output_buf();                                                                     \
        __VA_ARGS__;                                                                               \
        pt_output_take(&buf);                                                                      \
    } while (0)
/* Completes the file and renames it. Returns false, the first errno, and leaves no file. */
bool pt_output_end(const char *path);
void pt_output_abandon(void);

/* ---- profile.c, profile_proto.c ---- */

/* Whether a profile of that name is to be a profile.proto: PITOT_FORMAT=pprof|gperftools, else its
 * .pb.gz, behind which process ids and numbers may stand. */
bool pt_profile_is_proto(const char *path);
/* Writes the result of the running session, in one step. */
bool pt_profile_write(const char *path);
/* Why stacks end, in words, by PT_JOURNAL_END_X. */
extern const char *const pt_profile_ends[PT_JOURNAL_END_COUNT];
/* The figures of the whole recording that files have no field for, in the words of
 * formats/facts.c, and the CPU time of its samples. */
enum { PT_PROFILE_FACTS_BYTES = 256 };
void pt_profile_facts(char text[PT_PROFILE_FACTS_BYTES]);
uint64_t pt_profile_seen_ns(void);
/* The profile.proto into the output; false when there was no memory. */
bool pt_profile_put_proto(void);

/* ---- session.c ---- */

typedef struct {
    bool on;        /* between start and stop */
    bool recording; /* for `pitot record`: the journal is the result */
    bool proto;     /* the result is a profile.proto, gzipped; else a gperftools file */
    pid_t pid;
    uint32_t asked_hz; /* samples a CPU second */
    uint64_t period_ns;
    const pt_timer_engine *engine;
    time_t start_time;
    pt_agent_journal journal;
    pt_own_thread drain;
    bool drain_runs;
    _Atomic(int) drain_round; /* grows: a drain thread ends when it is not its own any more */
    _Atomic(int) drain_bell;  /* grows whenever there is something for it to do: it waits here */
    _Atomic(int) drain_is_ready;
    uint64_t drain_before_ns;     /* CPU time of those that were before this one */
    bool is_asleep;               /* in a recording: there were no samples yet, or few */
    bool leaving;                 /* the process is at its end */
    bool keeps_periods;           /* a filter of system calls may end who opens events */
    pt_tick_code own_code;        /* the library, unless it is part of the program */
    pt_tick_code passing_code;    /* PT_PASSING */
    pt_tick_code unblocking_code; /* PT_UNBLOCKING */
    bool served;                  /* this session is for one who asked over a socket */
    uint32_t sequence;            /* of the next journal of this process, in a recording */
    pt_agent_file file;
    char path[PATH_MAX];      /* of the result, absolute; "" in recording */
    char base_path[PATH_MAX]; /* children add their pid to it; in a recording: the directory */
} pt_session;

extern pt_session pt_agent; /* under the lock */

/* 1 if it runs now. path NULL: recording into PITOT_RECORD_DIR. The lock is held. */
bool pt_session_start(const char *path, int (*filter)(void *), void *filter_arg);
/* Ends it, writes the result. The lock was taken from this caller; it is released inside. */
void pt_session_stop(uint32_t end, const pt_caller *caller);
/* Writes the result so far. */
void pt_session_flush(void);
/* Empties the rings and brings the journal's facts up to date; the fullest ring's words. */
uint64_t pt_session_collect(void);
/* The same, and, when it is awake, makes unwind tables of code that is new. */
uint64_t pt_session_drain(void);
/* Looks at once at what is mapped, which a process of a recording puts off. The lock is not held.
 */
void pt_session_wake(void);
/* Counts the calling thread's CPU time since that reading of its clock as the library's own. The
 * caller kept ticks away meanwhile. */
void pt_session_add_own_time(uint64_t since_ns);
/* Ticks so far. */
uint64_t pt_session_samples(void);
/* The drain thread opens no more events: the periods of ticks stay as they are. */
void pt_session_keep_periods(void);
/* Ends the threads that collect, until pt_session_go_on; samples wait in their rings. False: there
 * are none. The lock is not held. */
bool pt_session_rest(void);
void pt_session_go_on(void);

/* ---- enter.c ---- */

/* Before exec of that file in a recording: notes its name if the library will not be in that
 * program. Keeps errno. */
void pt_enter_look(int folder, const char *path, bool look_in_path);

/* ---- environment.c ---- */

/* The environment variables that the library reads: environment.def. */
typedef enum {
#define X(name, usage, meaning) PT_ENV_##name,
#include "agent/environment.def"
#undef X
    PT_ENV_COUNT,
    PT_ENV_NONE = PT_ENV_COUNT,
} pt_env;

/* The value of a variable; NULL if it is unset or empty, or if the environment of this program is
 * not to be trusted. */
const char *pt_environment(pt_env variable);
/* The kernel's answers are the same for each process of a user in a recording: the first one leaves
 * a letter for the engine that it chose to those that it starts. '.': no process did. */
enum { PT_SHARED_ENGINE_BYTES = 10 };
char pt_environment_engine(void);
void pt_environment_share_engine(char engine);
/* False: the recorder is not traced, and no program of the recording asked to trace this one. */
bool pt_environment_may_be_traced(void);
/* The program that gets this environment is traced. */
void pt_environment_note_tracer(char *const envp[]);
/* Does what the environment asks for. Called once, by the constructor. */
void pt_environment_begin(void);

/* ---- toggle.c ---- */

/* From now on the signal of that number starts and stops profiles name.0, name.1, ...; children of
 * fork have base_PID.0, ... Says what is wrong with the signal, if anything. */
void pt_toggle_start(const char *signal_text, const char *name, const char *base);
/* Ends its thread, until pt_toggle_go_on; false: there is none. The lock is not held. */
bool pt_toggle_rest(void);
void pt_toggle_go_on(void);
/* In a child of fork, under the lock. */
void pt_toggle_after_fork(void);

/* ---- listen*.c; among themselves: listen.h ---- */

/* Serves profiles of this process at `where` (PITOT_LISTEN) from a thread of its own. first: this
 * process was not started by one that does; it says what goes wrong, and the address for TCP. */
void pt_listen_start(const char *where, bool first);
/* At the process's end: the socket's file goes. */
void pt_listen_stop(void);
/* Ends its thread and closes its socket; false: there is none. And one again, at the same place if
 * the program still may; says if not. The lock is not held. */
bool pt_listen_rest(void);
void pt_listen_go_on(void);
/* Its thread; 0 = there is none. */
pid_t pt_listen_tid(void);
/* In a child of fork, which has no listener. */
void pt_listen_after_fork(void);
/* The answer to a POST of "0xA+0xB", in memory of *ret_map_bytes to be unmapped; NULL: no memory.
 */
char *pt_listen_names(const char *addresses, size_t *ret_bytes, size_t *ret_map_bytes);
void pt_agent_unmap(void *at, size_t bytes); /* accepts NULL */

/* ---- signals.c ---- */

void pt_signals_init(void);
/* Functions of libc that few programs call (interpose.c). */
void pt_signals_find_rest(void);
/* Installs our handler for the signal, pt_tick.signo or SIGTRAP; false if the host has one there.
 */
bool pt_signal_take(int signo);
/* Has the host no handler for it? */
bool pt_signal_is_free(int signo);
/* Was it taken, in this process? */
bool pt_signal_is_ours(int signo);
typedef int pt_sigaction_fn(int signo, const struct sigaction *act, struct sigaction *old);
/* As the host's sigaction, by one that knows nothing of the library. */
int pt_signal_set(int signo, const struct sigaction *act, struct sigaction *old,
                  pt_sigaction_fn *real);
/* As libc's, for the signal as it is. */
int pt_real_sigaction(int signo, const struct sigaction *act, struct sigaction *old);
/* Puts back our handler if the host has taken it away in a way that we do not see; what it has put
 * there is the host's from then on. */
void pt_signals_keep(void);
/* Unblocks the signals that the library has taken, in the calling thread. */
void pt_signals_allow(void);
/* From now on no handler of the host blocks ticks; sigaction tells the host that its handlers do.
 */
void pt_signals_free_ticks(void);
void pt_signals_after_fork(void);
/* Discards pending signals that the library has taken. */
void pt_signals_forget_pending(void);
/* spawn.c and epoll.c, which the static library has not: as find_rest in interpose.c. */
void pt_spawn_find_rest(void) __attribute__((weak));
void pt_epoll_find_rest(void) __attribute__((weak));

/* ---- interpose.c ---- */

/* A static program has no libraries after this one: there our name took the place of glibc's, which
 * has a second one for itself. */
#define PT_SECOND_NAME(name, text)                                                                 \
    static _Atomic(name##_fn *) next_##name;                                                       \
    extern name##_fn second_##name __asm__(text) __attribute__((weak))
/* The function of that name in the libraries after this one. Looked up at once by the constructor;
 * a library whose own constructor runs earlier may ask for one first. */
#define PT_NEXT(name)                                                                              \
    ({                                                                                             \
        if (atomic_load(&next_##name) == NULL)                                                     \
            atomic_store(&next_##name,                                                             \
                         (name##_fn *)pt_find_next(#name, (void *)(uintptr_t)second_##name));      \
        atomic_load(&next_##name);                                                                 \
    })

int pt_real_pthread_create(pthread_t *thread, const pthread_attr_t *attr, void *(*start)(void *),
                           void *arg);
void pt_interpose_init(void);
/* The process ends without destructors: what there is is written. The lock is not held. */
void pt_last_words(void);
/* The calling process, which may be a child of vfork, has asked for a tracer. The next exec passes
 * that on to the new program by the environment, so that its ticks do not come by SIGTRAP. */
void pt_exec_will_be_traced(void);
/* Before exec: the thread gets no ticks any more; true if it had any. And after it, which gives
 * back result: exec has failed. */
bool pt_exec_begins(void);
int pt_exec_failed(bool paused, int result);
/* Do the host's calls go through us? Not where the library was loaded by dlopen. */
bool pt_interposes(void);
