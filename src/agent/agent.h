/* agent.h: the parts of the in-process profiler, and their contracts.
 *
 *   interpose.c   calls of the host that go through the library: threads, unloading, exits, exec
 *   ids.c, raw_calls.c, spawn.c, epoll.c  more such calls, in the shared library only
 *   libc*.c, find_function.c  functions that depend on the libc of the process
 *   signals.c     the signals of ticks, and the host's actions for them
 *   own_threads.c  the library's own threads, which do not count as the host's
 *   threads.c     a slot for every thread; giving and taking rings and timers
 *   timers.c      which engine makes the ticks, how often
 *   timer_*.c     the engines
 *   tick/         the signal handler
 *   journal.c     the journal's image, which holds all results (layout: wire/journal.h)
 *   publish.c     the image -> its file
 *   maps.c        the mappings, with build ids, into the journal
 *   unwind_tables.c  mappings -> unwind tables for the handler
 *   images.c      a mapped image's segments, symbols and entries of .eh_frame
 *   languages.c   finds the interpreters in the process, for the handler
 *   python.c, v8.c, php.c, perl.c, ruby.c, java.c  the facts of one interpreter each
 *   codes.c       the functions of interpreters that handlers have found -> the journal
 *   fold.c        rings -> distinct stacks and counts, in the journal
 *   profile*.c    journal -> gperftools file, or profile.proto
 *   output.c      a result file, plain or gzipped
 *   session.c     a session, from the start of a profile to its end: its drain thread, which
 *                 empties the rings; fork, exit
 *   enter.c       before exec: will the loader put the library into the new program?
 *   environment.c the profile that environment variables request when a program begins
 *   toggle.c      a profile from one signal to the next
 *   listen*.c     profiles for clients of a socket
 *   api.c         the ten functions
 *
 * Rules: nothing here calls malloc, which the host may have replaced. One lock guards all data of
 * the library. The thread that holds it has all signals blocked, so that no signal handler
 * interrupts that thread, and cancellation off, so that the thread always releases the lock. A
 * message goes out in one write: to stderr, or in a recording to a file that `pitot record`
 * prints.
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

/* PT_EXPORT marks a function that the host calls. PT_EXPORT includes PT_PASSING (tick/tick.h),
 * since the function may call code of the host: the CPU time of that code is the host's, although
 * the stack has a frame of the library. PT_UNBLOCKING: see unblocking_code of pt_journal_spans
 * (wire/journal.h). */
#define PT_UNBLOCKING __attribute__((section("pt_unblocking"), noinline))
#define PT_EXPORT     PT_PASSING __attribute__((visibility("default")))

/* ---- util.c ---- */

/* A mutex of the library's own: libc's mutexes use no atomic operations while libc knows of one
 * thread only, and libc does not know the thread that pt_own_begin_in_handler makes. */
typedef struct {
    _Atomic(int) state;
} pt_agent_mutex;

#define PT_AGENT_FOR_EVER UINT64_MAX
/* Returns false if another thread has held the mutex for within_ns. */
bool pt_agent_mutex_take(pt_agent_mutex *mutex, uint64_t within_ns);
void pt_agent_mutex_give(pt_agent_mutex *mutex);

/* The state that the calling thread gets back when it releases the lock. */
typedef struct {
    sigset_t mask;
    int cancel;    /* its pthread_setcancelstate, or PT_CANCEL_KEPT: the library did not change the
                    * state */
    int error;     /* errno */
    int *error_at; /* the address of the thread's errno, or NULL: errno is not restored */
} pt_caller;

#define PT_CANCEL_KEPT (-1)

/* Blocks all signals and disables cancellation: a cancelled thread would never release the lock. */
void pt_agent_be_undisturbed(pt_caller *ret_caller);
/* Restores the thread's state and errno from *caller. A pending cancellation may end the thread in
 * this call. */
void pt_agent_be_as_before(const pt_caller *caller);

/* Takes the lock, with all signals blocked and cancellation disabled: much of the work under the
 * lock is a cancellation point (pthreads(7)), and a thread that ended there would keep the lock. */
void pt_agent_lock(pt_caller *ret_caller);
void pt_agent_unlock(const pt_caller *caller);
/* Like pt_agent_lock, but without calls of libc, which cost a child of fork page faults.
 * Cancellation stays as it is, so the caller must reach no cancellation point before it unlocks.
 * error_at: the address of the thread's errno; NULL: errno need not be restored. */
void pt_agent_lock_quietly(pt_caller *ret_caller, int *error_at);
/* Like pt_agent_unlock, but signals stay blocked: the caller restores the mask itself. */
void pt_agent_unlock_undisturbed(const pt_caller *caller);
/* Like pt_agent_lock, but waits for at most ns. Returns false, with the thread's state unchanged,
 * if another thread still has the lock. */
bool pt_agent_lock_within(pt_caller *ret_caller, uint64_t ns);

/* Prints a message in one write: "pitot: libprofiler: ..." on stderr, or in a recording
 * "process PID: ..." into its file of messages. Keeps errno. */
void pt_agent_say(const char *format, ...) __attribute__((format(printf, 1, 2)));

uint64_t pt_agent_clock_ns(clockid_t clock); /* 0 if the clock cannot be read */
uint64_t pt_agent_random(uint64_t below);    /* in [0, below) */
/* Wakes the drain thread, or keeps it from falling asleep. */
void pt_agent_wake_drain(void);
void *pt_agent_map(size_t bytes); /* zeroed private memory; NULL if the kernel gives none */
bool pt_agent_write(int fd, const void *bytes,
                    size_t size); /* all bytes, also after EINTR; called under the lock */
bool pt_agent_write_at(int fd, const void *bytes, size_t size, off_t at); /* the same, at `at` */
/* Puts first and then second into `to`, terminated. Returns false with ENAMETOOLONG, and `to` is
 * "", if both do not fit in size bytes. first may be `to` itself. */
bool pt_agent_join(char *to, size_t size, const char *first, const char *second);
/* Writes the absolute form of path to ret_path, of PATH_MAX bytes: the host may change its
 * directory later. Returns false and errno if the result does not fit or the process has no current
 * directory. */
bool pt_agent_absolute(const char *path, char *ret_path);
/* Appends "_PID" to a name in PATH_MAX bytes. The name becomes "" if it does not fit. */
void pt_name_add_pid(char *name);
/* The value of a text that is a whole number; `fallback` for any other text. */
uint64_t pt_agent_number(const char *text, uint64_t fallback);

/* Writes a variable only if its value changes: a child of fork gets a copy of each page that it
 * writes to, and in most forks the value is there already. */
#define PT_SET(at, value)                                                                          \
    do {                                                                                           \
        if ((at) != (value)) (at) = (value);                                                       \
    } while (0)

/* Marks large variables that most processes never write to. These variables lie after all other
 * variables (sections are sorted by their names), so that the other variables share few pages: each
 * page that is written to costs every process a page fault, and both processes of a fork one
 * more. */
#define PT_FAR __attribute__((section(".bss.far")))
/* The section between .bss.far and the other variables: for objects whose first bytes alone are
 * usually written to. */
#define PT_EDGE __attribute__((section(".bss.edge")))

/* ---- own_threads.c ---- */

typedef struct {
    pthread_t thread;
    clockid_t clock; /* its CPU time */
    pid_t tid;       /* 0: it has ended already */
    int slot;
} pt_own_thread;

struct dl_phdr_info;

/* Notes the program's signal mask. Called when the library is loaded. */
void pt_own_init(void);
/* Finds libc's count of its threads. Called before the process has a second thread. */
void pt_own_find_count(void);
/* Are the library's threads left out of libc's count? */
bool pt_own_is_uncounted(void);
/* Begins a thread of the library, with all signals blocked, since signals are the host's. Returns
 * false if the thread could not be begun. Called under the lock. */
bool pt_own_begin(pt_own_thread *ret_thread, size_t stack_bytes, void *(*own)(void *), void *arg);
/* Called for each loaded object, before pt_own_begin_in_handler or pt_own_begin_bare is used. */
void pt_own_note_object(const struct dl_phdr_info *object);
/* Can a handler begin a thread here? */
bool pt_own_can_begin_in_handler(void);
/* Begins a thread that libc does not know; only one such thread can exist at a time. Returns false
 * if it could not be begun. Called by a signal handler with all signals blocked, so it calls
 * neither malloc nor the loader. */
bool pt_own_begin_in_handler(void *(*own)(void *), void *arg);
/* The same, called outside of handlers with all signals blocked. */
bool pt_own_begin_bare(pt_own_thread *ret_thread, void *(*own)(void *), void *arg);
/* The calling thread, which pt_own_begin_in_handler began. */
pt_own_thread pt_own_self(void);
/* To end a thread: call pt_own_end_begins, then make the thread return from its function, then call
 * pt_own_end, which waits until the thread has ended. A thread that nobody waits for may only be
 * made to return at the end of the process. */
void pt_own_end_begins(void);
void pt_own_end(const pt_own_thread *thread);
/* Is it a thread of the library? */
bool pt_own_is(pid_t tid);
/* Called in a child of fork, which has no thread of the library. */
void pt_own_after_fork(void);
/* Ends the process by exit(0) if the host's last thread has ended while a thread of the library
 * began or ended another. Called by a thread of the library that holds no lock. */
void pt_own_exit_if_last(void);
/* Has the process's first thread, whose id is the process id, ended? The kernel lists that thread
 * until all threads have ended. */
bool pt_own_first_thread_is_dead(void);
/* Ends the process as the kernel would have done: all threads of the host have left by exit(2), so
 * that libc did not end the process. Called by a thread of the library that holds no lock. */
_Noreturn void pt_own_leave_as_first_thread(void);

/* ---- journal.c ---- */

enum { PT_JOURNAL_MAX_BYTES = 256 << 20 }; /* the limit of a journal's size */

/* The image of a journal, in private memory that a child of fork does not inherit. */
typedef struct {
    pt_journal_header *header; /* NULL = none open */
    uint8_t *base;
    size_t size_bytes; /* of the reserved address space: the limit of the image's size */
    size_t open_bytes; /* of these, usable as memory */
    size_t used_bytes; /* of these, given to areas */
} pt_agent_journal;

/* Opens an empty image with a zeroed header. Returns false and ENOMEM if there is no memory. */
bool pt_journal_open(pt_agent_journal *journal);
/* Opens an image that has only a header. The first area, or pt_journal_make, brings the memory for
 * areas; until then `base` is NULL and the header lies in other memory. */
void pt_journal_open_early(pt_agent_journal *journal);
/* Makes the memory for areas of an image that pt_journal_open_early opened. Returns false and
 * ENOMEM if there is no memory. */
bool pt_journal_make(pt_agent_journal *journal);
/* Returns a new, empty area of size_bytes (rounded up); NULL if the image has no room or there is
 * no memory. */
pt_journal_area *pt_journal_area_new(pt_agent_journal *journal, uint32_t kind, size_t size_bytes);
/* pt_journal_room returns the place for the area's next record of size bytes; NULL if the record
 * does not fit, or area is NULL. After the caller has written the record there, pt_journal_add adds
 * the record to the area. */
void *pt_journal_room(pt_journal_area *area, size_t size);
void pt_journal_add(pt_journal_area *area, size_t size);
/* Returns memory after the used part of the image, valid until the next area is made; NULL if fewer
 * than `bytes` bytes are left. */
void *pt_journal_spare(const pt_agent_journal *journal, size_t bytes);
/* Closes the image and frees its memory. with_process: the process ends now, so the kernel frees
 * the memory. */
void pt_journal_close(pt_agent_journal *journal, bool with_process);

/* ---- publish.c ---- */

/* The file that the image is copied to. The keeper is the drain thread, which has the file open in
 * a table of descriptors of its own. */
typedef struct {
    bool is_made;
    dev_t device; /* device and inode identify the file, even if another file gets its name later */
    ino_t inode;
    int fd;           /* in the host's table until the file is handed to the keeper; -1 = not open
                       * there */
    pid_t keeper_tid; /* 0 = no thread is the keeper */
    int keeper_fd;    /* in the keeper's table; -1 = not open yet */
    int folder_fd;    /* in the keeper's table: the file's folder, until the file is made; -1 = not
                       * open */
    char path[PATH_MAX];
} pt_agent_file;

/* Called for a new image, of which nothing is in a file yet. The file will be at path; in a
 * recording each image gets a file name of its own. */
void pt_publish_begin(const char *path);
/* Makes the file, mode 0600, and replaces a regular file at its path. If this is not called, the
 * first copy makes the file. The descriptor stays open until pt_publish_handed_over. Returns false
 * and errno: ELOOP if the path is a symbolic link, EEXIST if the path is neither a symbolic link
 * nor a regular file. */
bool pt_publish_make(void);
/* Called before pt_publish_make. If the program that this process executed before its last exec
 * left a journal at path, and used at least 100 ms of CPU time, the journal is renamed to path_PID
 * (path_PID.2, ...). */
void pt_publish_keep_earlier(const char *path);
/* Notes that these bytes of the image, outside its header, have changed. */
void pt_publish_note(const void *at, size_t bytes);
/* Writes the changed parts of the image to the file, which is created if there is none. Returns
 * false and errno if that failed; the next call tries again. */
bool pt_publish_all(void);
/* Like pt_publish_all, but does nothing and returns true if there is no file, no tick has come, and
 * the process has used less than 10 ms of CPU time. */
bool pt_publish(void);
/* In a recording, before exec and at the end of a process: writes the journal to its file; if there
 * are few samples, appends a record to a file that the processes of the recording share; if there
 * are none, appends only a pt_journal_brief to another such file. Returns false and errno if that
 * failed. */
bool pt_publish_recorded(void);
/* Writes all of the image, even if the file was moved or cut. Returns true if a file now has all of
 * the image; ret_name, of PATH_MAX bytes, then is the file's present name. */
bool pt_publish_whole(char *ret_name);
/* Waits until the keeper has written the copy that it is writing now, if any. Called with the lock,
 * before the file is renamed or removed. */
void pt_publish_settle(void);
/* Called by the thread that becomes the keeper: gives the thread a table of descriptors of its own
 * that has nothing but the file, so that the host never sees the library's descriptors. */
void pt_publish_keep(void);
/* Called by the keeper, without the lock, again and again: answers a request by the thread that
 * holds the lock. */
void pt_publish_answer(void);
/* Closes the file's descriptor in the host's table. */
void pt_publish_handed_over(void);
/* Writes all changes, and opens the file in the host's table again, because the keeper is about to
 * end. */
void pt_publish_take_over(void);
/* Called in a child of fork, which has neither a file nor a keeper. */
void pt_publish_after_fork(void);
/* Returns true if nobody will read the journal: its file or folder was removed, or its recorder has
 * ended. *ret_is_left: the files still exist. Called by the keeper in a recording. */
bool pt_publish_is_in_vain(bool *ret_is_left);

/* A publisher holds copies of the changed parts of the image, from which the keeper writes to the
 * file without the lock. pt_publisher_new returns NULL if there is no memory. */
typedef struct pt_publisher pt_publisher;
pt_publisher *pt_publisher_new(void);
/* At its first call, removes the files that killed processes left next to the session's file. In a
 * child of fork it does nothing: the parent removes these files. Called without the lock. */
void pt_publisher_tidy(pt_publisher *publisher); /* accepts NULL */
void pt_publisher_free(pt_publisher *publisher); /* accepts NULL */
/* Copies as many changes as fit into the publisher. Returns false if there is nothing to publish.
 * Called under the lock. */
bool pt_publisher_take(pt_publisher *publisher);
/* Writes the publisher's copy to the file. Returns true if more changes are to be taken. Bytes that
 * could not be written are taken again next time. Called without the lock, after pt_publisher_take.
 */
bool pt_publisher_write(pt_publisher *publisher);

/* ---- leftovers.c ---- */

/* Removes PATH.PID.tmp of each process of this user that has ended. room: memory for names. */
void pt_leftovers_remove(const char *path, void *room, size_t room_bytes);

/* ---- maps.c ---- */

/* Brings the maps area up to date with /proc/self/maps. Returns true if something changed. */
bool pt_maps_refresh(void);
/* Called when a library is unloaded: the next pt_maps_refresh finds out which mappings are gone,
 * and which mappings have taken their addresses. Until then pt_maps_are_expired returns true. */
void pt_maps_expire(void);
bool pt_maps_are_expired(void);
/* Brings the maps area up to date for samples that were taken before. After pt_maps_expire the
 * mapping of such a sample may be gone, so mappings that are absent stay until pt_maps_refresh,
 * unless another mapping has taken their addresses. */
void pt_maps_learn(void);
/* Is addr inside a known executable mapping that is alive? */
bool pt_maps_known(uint64_t addr);
/* Notes the files that the loader never unloads: the program, the loader, libc, the vDSO and this
 * library. A library that another one loaded in its constructor can be unloaded. */
void pt_maps_set_lasting(void);
bool pt_maps_lasts(uint64_t addr); /* false: in none of these */
/* Returns the journal's record of the known mapping that holds addr; NULL if there is no such
 * mapping, or the journal had no room for its record. */
const pt_journal_map *pt_maps_record_of(uint64_t addr);
/* The first epoch in which all addresses of a stack were mapped as they are now; the present epoch
 * if an address is in no known mapping. An epoch ends when a mapping goes (maps.c). Since the first
 * epoch is taken, a stack without a frame in an unloaded library remains the same stack. */
uint16_t pt_maps_epoch_of(const uint64_t *pcs, uint32_t depth);
/* Finds the readable mapping that now holds addr. Returns false if there is none. */
bool pt_maps_around(uint64_t addr, uint64_t *ret_low, uint64_t *ret_limit);
void pt_maps_reset(void);
/* A number that grows when a refresh finds a change. */
uint32_t pt_maps_changes(void);
/* Calls use for each executable mapping that is alive, by ascending address. */
typedef struct {
    uint64_t start, limit;
    uint64_t image; /* where its file is mapped from the start; 0 = not known */
    uint64_t inode;
} pt_maps_live;
void pt_maps_each_live(void (*use)(const pt_maps_live *live, void *arg), void *arg);
/* Copies memory of this process. Returns false if a page of that memory is not mapped or cannot be
 * read. */
bool pt_maps_peek(uint64_t addr, void *bytes, size_t size);
/* Calls use for each executable mapping ever seen. */
void pt_maps_each(void (*use)(const pt_journal_map *map, void *arg), void *arg);

/* ---- unwind_tables.c ---- */

/* Gives the handler unwind tables for the executable mappings that the last pt_maps_refresh found.
 * Begins no table after budget_ns; the next call makes the missing tables. Called under the lock,
 * never in a handler. */
void pt_tables_update(uint64_t budget_ns);
/* Does the handler have any tables? */
bool pt_tables_known(void);

/* ---- languages.c ---- */

/* Has the loader loaded an interpreter? */
bool pt_languages_any(void);
/* Finds interpreters in the files mapped since the last call, and publishes their facts for the
 * handler. Called under the lock, never in a handler. */
void pt_languages_update(void);
/* Prints one line for an interpreter whose memory does not fit the layout of its version. */
void pt_languages_review(void);
/* Gives the slot a cache for each interpreter in the process. */
void pt_languages_want_caches(pt_thread *slot);
/* Forgets which pages the slot's thread could read: a child of fork does not have V8's heap. */
void pt_languages_forget_pages(pt_thread *slot);
/* Joins native addresses with the frames of an interpreter, which follow the addresses in `words`,
 * to a chain of at most PT_JOURNAL_CHAIN_MAX words. Returns the number of words; *ret_certain: each
 * native evaluator matched its frames. */
uint32_t pt_languages_merge(const uint64_t *words, uint32_t native, uint32_t frames, bool is_whole,
                            uint64_t *ret_chain, bool *ret_certain);

/* ---- codes.c ---- */

/* The memory in which handlers keep functions; NULL if no memory could be mapped. */
pt_tick_codes *pt_codes_for_handlers(void);
/* Called for a new journal, which has no functions yet. */
void pt_codes_reset(void);
/* Writes the functions of the frames among these words to the journal. Returns true if there are
 * such frames. */
bool pt_codes_keep(const uint64_t *words, uint32_t count);
/* Calls use for each function in the journal. */
void pt_codes_each(void (*use)(const pt_journal_code *code, void *arg), void *arg);

/* ---- fold.c ---- */

/* Empties all rings into the stacks area. Returns the number of words that were in the fullest
 * ring. */
uint64_t pt_fold_rings(void);
/* Called for a new journal, which has no stacks yet. */
void pt_fold_reset(void);
/* Called in a child of fork, which does not inherit the index. */
void pt_fold_after_fork(void);
/* Calls use for each distinct stack in the journal. */
void pt_fold_each(void (*use)(const pt_journal_stack *stack, void *arg), void *arg);

/* ---- timers.c ---- */

/* Takes the signal of the ticks. Returns false, with a message, if the host has a handler for it.
 */
bool pt_timers_take_signal(void);
/* Chooses the engine and the period (in pt_agent and pt_tick) by the environment variables and by
 * the calls that the kernel allows. Returns the rate in Hz: the rate that the user requested, at
 * most the highest permitted rate; the usual rate if the user requested none. */
uint32_t pt_timers_choose(void);
/* pt_timers_start starts the chosen engine, or another engine if the chosen one fails;
 * pt_timers_stop stops the engine. is_last: the process ends. */
void pt_timers_start(void);
void pt_timers_stop(bool is_last);
/* pt_timers_stop_threads ends the engine's own threads, if it has any; pt_timers_start_threads
 * begins such threads again. */
void pt_timers_stop_threads(void);
void pt_timers_start_threads(void);
/* pt_timers_pause, before exec, stops a timer that exec would keep: its signal would end the new
 * program. pt_timers_resume starts the timer again if exec failed. */
void pt_timers_pause(void);
void pt_timers_resume(void);
/* Chooses another engine if a debugger traces this process and the present engine raises SIGTRAP.
 */
void pt_timers_review(void);
/* The same, called when a debugger is about to attach. */
void pt_timers_leave_traps(void);

/* ---- timer_*.c ---- */

typedef struct pt_timer_engine {
    uint32_t id;        /* PT_JOURNAL_ENGINE_X */
    bool is_tick_bound; /* its ticks come at most as often as the kernel's own tick */
    bool is_for_all;    /* one timer for the whole process, which exec keeps */
    /* Can the engine work in this process? */
    bool (*probe)(uint64_t period_ns);
    /* start is called before the first thread is attached, stop after the last thread is detached.
     * Each may be NULL if it has nothing to do. is_last: the process ends. */
    bool (*start)(void);
    void (*stop)(bool is_last);
    /* Gives a thread of this process its own ticks; the first tick comes after first_ns of the
     * thread's CPU time. Any thread may call this function for any other thread. */
    bool (*attach)(pt_thread *thread, uint64_t period_ns, uint64_t first_ns);
    /* Ends the ticks of a thread. Its handler is not running, and a later handler will not find a
     * ring. */
    void (*detach)(pt_thread *thread);
    /* Gives the thread's ticks another period, so that they do not stay in step with a periodic
     * program. Called by the keeper, which has a table of descriptors of its own. NULL: the ticks
     * have no fixed period. */
    void (*change_period)(pt_thread *thread);
} pt_timer_engine;

extern const pt_timer_engine pt_timer_posix, /* a POSIX timer on the thread's CPU clock */
    pt_timer_real,                           /* the same on the wall clock */
    pt_timer_trap,                           /* a perf event with SIGTRAP */
    pt_timer_perf,                           /* a perf event with the signal of the timers */
    pt_timer_mode_trap, pt_timer_mode, /* the same in user mode; a POSIX timer for the kernel */
    pt_timer_ticker,                   /* a thread that sends signals to the threads that run */
    pt_timer_itimer;                   /* one timer for the process, at the kernel's own ticks */

/* timer_posix.c: starts and stops a timer on the thread's CPU clock that expires each time the
 * kernel checks such timers. For engines that use this timer in addition to their own ticks. */
bool pt_timer_looks_start(pt_thread *thread);
void pt_timer_looks_stop(pt_thread *thread);

/* timer_ticker.c: the CPU time of the ticker thread; 0 in a child of fork, which has none. */
uint64_t pt_ticker_cpu_ns(void);
void pt_ticker_after_fork(void);

/* For engines that weigh a thread's ticks by the thread's CPU clock: counts its CPU time from now
 * on; the first tick comes after first_ns. */
void pt_timer_begin_clock(pt_thread *thread, uint64_t period_ns, uint64_t first_ns);
/* The CPU clock of a thread, for any thread of the process. */
clockid_t pt_timer_cpu_clock(int tid);
/* How often the kernel checks timers of CPU clocks: HZ; 0 if that is unknown. */
uint32_t pt_timers_tick_hz(void);

/* ---- threads.c ---- */

/* Prepares slots of threads. Called once, by the constructor. Returns false if the process cannot
 * have slots: no thread is sampled then. */
bool pt_threads_init(void);
/* Takes a free slot, which is not live yet. Returns NULL if there is no memory. */
pt_thread *pt_thread_new(void);
/* Frees a slot for which no thread was created. */
void pt_thread_free(pt_thread *thread);
/* Makes the calling thread's slot live; while a session runs the thread gets a ring and a timer. */
void pt_thread_begin(pt_thread *thread, const pt_tick_stack *stack);
void pt_thread_end(pt_thread *thread);
/* Gives the calling thread a slot, however the thread was created. */
void pt_thread_register_self(void);
enum { PT_RING_WORDS = 8192 }; /* 64 KiB: a sample of 30 frames takes 31 words */
/* Gives rings and timers to all threads: to the known threads and to those found in
 * /proc/self/task. */
void pt_threads_attach_all(void);
/* Gives rings and timers to the known threads only; the next reading of the task list finds the
 * other threads. */
void pt_threads_attach_known(void);
/* Finds threads that were not created by pthread_create (but by thrd_create, clone), and threads
 * that ended. Returns false if the host has no thread left. */
bool pt_threads_meet(void);
void pt_threads_detach_all(void);
/* The CPU time of threads with that start function that no sample stands for yet (tick/weight.c).
 */
_Atomic(int64_t) *pt_threads_owed(void *(*start_routine)(void *));
/* pt_thread_pause_self stops the calling thread's ticks, pt_thread_resume_self starts these ticks
 * again.
 */
void pt_thread_pause_self(void);
void pt_thread_resume_self(void);
/* Gives up the rings, which no thread uses any more. with_process: the process ends now, so the
 * kernel frees their memory. */
void pt_threads_free_rings(bool with_process);
/* Called in a child of fork, which has only the calling thread. */
void pt_threads_after_fork(void);
/* Returns when all handlers have ended that were running at the call. */
void pt_threads_wait_for_handlers(void);
/* Calls `use` for each live slot. Called without the lock, so slots come and go during the call. */
void pt_threads_each(void (*use)(pt_thread *slot, void *arg), void *arg);
/* Gives all threads the caches that speed up walks by unwind tables and reads of interpreters. */
void pt_threads_want_caches(void);
/* Finds the stack bounds that ticks have requested. */
void pt_threads_find_stacks(void);
/* Changes the period of the ticks of each thread that requested it. Called by the keeper, which has
 * a table of descriptors of its own. */
void pt_threads_change_periods(void);
void pt_threads_each_ring(void (*use)(pt_tick_ring *ring, void *arg), void *arg);

/* ---- output.c ---- */

/* Begins the file at path, mode 0600. Returns false and errno if that failed. */
bool pt_output_begin(const char *path, bool gzip);
/* pt_output_buf returns room for the next piece of the file, and pt_output_take takes the piece.
 * Returns false if the piece did not fit: the room is larger now, and the caller must write the
 * piece again. */
pt_wire_buf pt_output_buf(void);
bool pt_output_take(const pt_wire_buf *buf);
/* Puts a piece into the file. The arguments after `buf` are statements that write the piece to the
 * pt_wire_buf named `buf`; these statements may run twice. */
#define PT_OUTPUT_PUT(buf, ...)                                                                    \
    do {                                                                                           \
        pt_wire_buf buf = pt_output_buf();                                                         \
        __VA_ARGS__;                                                                               \
        if (pt_output_take(&buf)) break;                                                           \
        buf = pt_output_buf();                                                                     \
        __VA_ARGS__;                                                                               \
        pt_output_take(&buf);                                                                      \
    } while (0)
/* Completes the file and renames it. If an operation failed, returns false and the first errno, and
 * leaves no file. */
bool pt_output_end(const char *path);
void pt_output_abandon(void);

/* ---- profile.c, profile_proto.c ---- */

/* Must the profile of that name have the format profile.proto? PITOT_FORMAT=pprof|gperftools
 * decides. Without that variable the ending .pb.gz decides, which process ids and numbers may
 * follow. */
bool pt_profile_is_proto(const char *path);
/* Writes the result of the running session; the file appears in one step. */
bool pt_profile_write(const char *path);
/* The words for why stacks end, by PT_JOURNAL_END_X. */
extern const char *const pt_profile_ends[PT_JOURNAL_END_COUNT];
/* pt_profile_facts: writes the numbers about the whole session that no field of the file holds, in
 * the words of formats/facts.c. pt_profile_seen_ns: the CPU time of the session's samples. */
enum { PT_PROFILE_FACTS_BYTES = 256 };
void pt_profile_facts(char text[PT_PROFILE_FACTS_BYTES]);
uint64_t pt_profile_seen_ns(void);
/* Writes the profile.proto to the output. Returns false if there is no memory. */
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
    _Atomic(int) drain_round; /* the number of the session's drain thread; a thread with another
                               * number ends */
    _Atomic(int) drain_bell;  /* a futex at which the drain thread waits; its value grows whenever
                               * there is work */
    _Atomic(int) drain_is_ready;
    uint64_t drain_before_ns;     /* CPU time of earlier drain threads */
    bool is_asleep;               /* in a recording: few or no samples so far, so there is no drain
                                   * thread */
    bool leaving;                 /* the process is at its end */
    bool keeps_periods;           /* the drain thread opens no more events, because a filter of
                                   * system calls could end the process for such a call */
    pt_tick_code own_code;        /* the library, unless it is part of the program */
    pt_tick_code passing_code;    /* PT_PASSING */
    pt_tick_code unblocking_code; /* PT_UNBLOCKING */
    bool served;                  /* a client of the socket requested this session */
    uint32_t sequence;            /* number of this process's next journal in a recording */
    pt_agent_file file;
    char path[PATH_MAX];      /* of the result, absolute; "" in recording */
    char base_path[PATH_MAX]; /* children append their pid to this name; in a recording: the
                               * directory */
} pt_session;

extern pt_session pt_agent; /* under the lock */

/* Starts a session; path NULL: a recording into PITOT_RECORD_DIR. Returns true if this call has
 * started it; false if a session was running already, or after an error, which is printed. The
 * caller holds the lock of the library (pt_agent_lock). */
bool pt_session_start(const char *path, int (*filter)(void *), void *filter_arg);
/* Ends the session and writes the result. The caller holds the lock, which it took with *caller;
 * this function releases it. */
void pt_session_stop(uint32_t end, const pt_caller *caller);
/* Writes the result of the samples so far. */
void pt_session_flush(void);
/* Empties the rings and brings the journal's facts up to date. Returns the words that were in the
 * fullest ring. */
uint64_t pt_session_collect(void);
/* The same; also makes unwind tables of new code unless the session is asleep. */
uint64_t pt_session_drain(void);
/* Wakes a session that has taken few samples: reads the mappings now and begins the drain thread.
 * The caller does not hold the lock. */
void pt_session_wake(void);
/* Adds the calling thread's CPU time since since_ns (by the thread's CPU clock) to the library's
 * own time. The caller allowed no ticks since then. */
void pt_session_add_own_time(uint64_t since_ns);
/* The sum of the weights of all samples so far, in periods. */
uint64_t pt_session_samples(void);
/* The drain thread opens no more events: the periods of ticks stay as they are. */
void pt_session_keep_periods(void);
/* Ends the threads that collect, until pt_session_go_on; until then samples wait in the rings.
 * Returns false if there are no such threads. The caller does not hold the lock. */
bool pt_session_rest(void);
void pt_session_go_on(void);

/* ---- enter.c ---- */

/* Called before exec of that file in a recording: notes the file's name if the loader will not put
 * the library into the program. Keeps errno. */
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

/* The value of a variable; NULL if the variable is unset or empty, or if this program must not
 * trust its environment. */
const char *pt_environment(pt_env variable);
/* The kernel allows all processes of one user in a recording the same engines. So the first process
 * that chooses an engine leaves the engine's letter to the processes that it starts, in the value
 * of a variable. '.': no process of this user has chosen yet. */
enum { PT_SHARED_ENGINE_BYTES = 10 };
char pt_environment_engine(void);
void pt_environment_share_engine(char engine);
/* May a debugger trace this process? Returns false if the recorder is not traced and no program of
 * the recording has requested a tracer. */
bool pt_environment_may_be_traced(void);
/* Notes in envp, the environment of a new program, that the program will be traced. */
void pt_environment_note_tracer(char *const envp[]);
/* Starts the profile that the environment variables request. Called once, by the constructor. */
void pt_environment_begin(void);

/* ---- toggle.c ---- */

/* From now on the signal of that number starts and stops profiles name.0, name.1, ...; those of
 * children of fork are base_PID.0, ... Prints a message if the signal cannot be used. */
void pt_toggle_start(const char *signal_text, const char *name, const char *base);
/* Ends the thread of the signal's profiles, until pt_toggle_go_on. Returns false if there is no
 * such thread. The caller does not hold the lock. */
bool pt_toggle_rest(void);
void pt_toggle_go_on(void);
/* Called in a child of fork, under the lock. */
void pt_toggle_after_fork(void);

/* ---- listen*.c; among themselves: listen.h ---- */

/* Serves profiles of this process at `where` (PITOT_LISTEN) from a thread of the library. first:
 * this process was not started by a process that serves; only then errors and, for TCP, the address
 * are printed.
 */
void pt_listen_start(const char *where, bool first);
/* Called at the end of the process: removes the socket's file. */
void pt_listen_stop(void);
/* pt_listen_rest ends the serving thread and closes its socket; it returns false if there is no
 * such thread or the thread cannot be ended. pt_listen_go_on begins a new thread at the same
 * address, and prints a message if the program may no longer use that address. The caller does not
 * hold the lock. */
bool pt_listen_rest(void);
void pt_listen_go_on(void);
/* The number of the serving thread; 0 = there is none. */
pid_t pt_listen_tid(void);
/* Called in a child of fork, which has no listener. */
void pt_listen_after_fork(void);
/* The answer to a POST of "0xA+0xB", in memory of *ret_map_bytes that the caller unmaps. NULL if
 * there is no memory. */
char *pt_listen_names(const char *addresses, size_t *ret_bytes, size_t *ret_map_bytes);
void pt_agent_unmap(void *at, size_t bytes); /* accepts NULL */

/* ---- signals.c ---- */

/* Looks up libc's sigaction and signal. Called once, by the constructor. */
void pt_signals_init(void);
/* Looks up functions of libc that few programs call (find_rest in interpose.c). */
void pt_signals_find_rest(void);
/* Installs the library's handler for the signal, pt_tick.signo or SIGTRAP. Returns false if the
 * host has a handler for it. */
bool pt_signal_take(int signo);
/* Has the host no handler for the signal? */
bool pt_signal_is_free(int signo);
/* Has this process taken the signal for ticks? */
bool pt_signal_is_ours(int signo);
typedef int pt_sigaction_fn(int signo, const struct sigaction *act, struct sigaction *old);
/* sigaction as the host calls it: the caller sees and sets only the host's handlers, as if the
 * library did not exist. */
int pt_signal_set(int signo, const struct sigaction *act, struct sigaction *old,
                  pt_sigaction_fn *real);
/* libc's own sigaction, which also shows the library's handler. */
int pt_real_sigaction(int signo, const struct sigaction *act, struct sigaction *old);
/* Puts the library's handler back if the host replaced it by a call that the library does not see;
 * the handler that the host installed counts as the host's from then on. */
void pt_signals_keep(void);
/* Unblocks the signals that the library has taken, in the calling thread. */
void pt_signals_allow(void);
/* From now on no handler of the host blocks ticks, although sigaction reports the host's own masks.
 */
void pt_signals_free_ticks(void);
void pt_signals_after_fork(void);
/* Discards pending signals that the library has taken. */
void pt_signals_forget_pending(void);
/* find_rest (interpose.c) for spawn.c and epoll.c, which the static library does not have. */
void pt_spawn_find_rest(void) __attribute__((weak));
void pt_epoll_find_rest(void) __attribute__((weak));

/* ---- interpose.c ---- */

/* Declares the variable that PT_NEXT needs for a function. text: glibc's second name for its own
 * function of that name. In a static program no library comes after this one: there the library's
 * function replaces glibc's, and only the second name leads to glibc's own. */
#define PT_SECOND_NAME(name, text)                                                                 \
    static _Atomic(name##_fn *) next_##name;                                                       \
    extern name##_fn second_##name __asm__(text) __attribute__((weak))
/* The function of that name in the libraries after this one. The library's constructor looks the
 * function up; the constructor of another library, which runs earlier, may need the function before
 * that. */
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
/* Called when the process ends without destructors: writes the result so far. The caller does not
 * hold the lock. */
void pt_last_words(void);
/* Notes that the calling process, which may be a child of vfork, has requested a tracer. The next
 * exec sets a variable for the new program, so that the new program does not take ticks by
 * SIGTRAP. */
void pt_exec_will_be_traced(void);
/* pt_exec_begins is called before exec: if a session runs, it stops the thread's ticks, writes the
 * journal and returns true. pt_exec_failed is called when exec has returned, with that value as
 * `paused`: it resumes the ticks if paused is true, and returns `result`. */
bool pt_exec_begins(void);
int pt_exec_failed(bool paused, int result);
/* Do the host's calls go through the library? They do not if the library was loaded by dlopen. */
bool pt_interposes(void);
