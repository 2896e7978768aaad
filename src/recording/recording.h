/* recording.h: how a recording is made, from the settings of `pitot record` to its file and the
 * last line on the terminal.
 *
 *   target.c    what would a command run, and can the library be loaded into it?
 *   preload.c   the engine "preload": the library in the processes of a command
 *     run.c       the folder for journals, the environment, the command, its end
 *     collect.c   journals -> one profile, and the facts of the whole process tree
 *     counted.c   CPU time without samples -> rows of their own
 *   perf.c      the engines "perf" and "bpf": running processes, the whole machine, or a command
 *   output.c    the command as text, the name of the file
 *   summary.c   the last line, and warnings of incomplete stacks
 *   repeat.c    one recording after the other
 *
 * Options are parsed, the engine is chosen and the file is written by cmd/record.c and
 * cmd/record_write.c. The kernel's events and all that needs no message are in capture.
 */
#pragma once

#include <sys/resource.h>
#include <sys/types.h>
#include <time.h>

#include "base/error.h"
#include "base/file.h"
#include "base/options.h"
#include "capture/folder.h"
#include "capture/tables.h"
#include "formats/journal.h"
#include "model/builder.h"
#include "model/profile.h"

/* ---- settings ---- */

/* In the order of the choices of --engine. */
typedef enum { PT_ENGINE_AUTO, PT_ENGINE_PERF, PT_ENGINE_PRELOAD, PT_ENGINE_BPF } pt_record_engine;

#define PT_RECORD_HZ_MAX 20000            /* the limit of -F */
enum { PT_RECORD_SWITCH_STACKS = 20000 }; /* the default of --switch-stacks */

typedef struct pt_record_settings {
    int64_t hz, count, duration_ns, repeat;
    int64_t switch_stacks; /* as in pt_capture_options */
    const char *output, *cgroup, *event, *mode;
    mode_t file_mode; /* the file mode that `mode` stands for */
    pt_option_list pids;
    int engine; /* pt_record_engine */
    bool split, children, all, user, kernel, off_cpu, wakers, wall, timeline, each_thread, quiet;
    bool serve;                  /* a page shows the recording while it goes on, */
    const char *http;            /* at this HOST:PORT; NULL if any address will do */
    struct pt_record_page *page; /* made for --serve; else NULL */
    /* -g and --call-graph of perf, which change nothing. */
    bool stacks;
    const char *call_graph;
} pt_record_settings;

/* One recording, from its settings to its file. All pointers are borrowed. */
typedef struct pt_recording {
    const pt_record_settings *settings;
    const char *const *args; /* the command and its arguments; there is no command if arg_count is
                              * 0 */
    size_t arg_count;
    /* The command line of pitot record without options that have their default, for the profile:
     * "pitot record --frequency=4000 -- make -j4". */
    const char *typed;
    pt_table_cache tables; /* where unwind tables of earlier recordings are kept */
    uint64_t memory_bytes; /* the most that samples may take (perf, bpf) */
    /* Writes the profile to a new file, in the format of its name, or to standard output ("-").
     * mode: as in pt_file_create. An older file of that name becomes .old. */
    pt_status (*write)(void *context, const pt_profile *profile, const char *path, mode_t mode,
                       pt_error *reterr);
    void *context; /* of write */
    /* Called with the folder of the samples (capture/folder.h) just before the recording begins;
     * may be NULL. */
    void (*begins)(void *begins_context, const char *folder);
    void *begins_context;
} pt_recording;

/* ---- the engines: they record, write the file, print the summary ---- */

/* The perf events could not be opened, and the command was not started. */
#define PT_RECORD_REFUSED (-1)
/* why: the reason for this engine, for the profile. Returns the exit status of pitot record; or
 * PT_RECORD_REFUSED, with the reason in *ret_refusal. */
int pt_record_perf(const pt_recording *recording, const char *why, pt_error *ret_refusal);
/* library: the path of libprofiler.so.0. engine: its name and the reason for it, for the profile.
 * Returns the exit status of pitot record. */
int pt_record_preload(const pt_recording *recording, const char *library, const char *engine);
/* The exit status of a command, in the form that shells use: 128 + N if signal N has ended the
 * command; then also prints a message. wait_status: of waitpid. */
int pt_record_status_of(const char *command, int wait_status);

/* ---- output.c ---- */

/* The words as a shell takes them, separated by spaces. Caller frees. */
char *pt_record_command_text(const char *const *args, size_t count);
/* pitot.pb.gz -> pitot.812.pb.gz: the part goes before the first dot of the name. Caller frees. */
char *pt_record_name_part(const char *output, const char *part);
/* Is the path "-", which means standard output? */
bool pt_record_to_stdout(const char *path);
/* Fails if the file cannot be written. Called before the command runs, because a recording that
 * cannot be written is lost. */
pt_status pt_record_can_write(const char *path, pt_error *reterr);

/* ---- repeat.c ---- */

/* Records settings->repeat times, each time in a process of its own, into files with the number of
 * the run in their names. Stops at the first run whose status is not 0, and returns that status.
 * The child processes also return from this function, so the caller flushes standard output before
 * the call. */
int pt_record_repeat(pt_record_settings *settings,
                     int (*record)(void *context, pt_record_settings *settings), void *context);

/* ---- summary.c ---- */

typedef struct pt_record_summary {
    const char *files;            /* the name of the file; with --split of the first */
    const char *event;            /* the sampled event; NULL: CPU time */
    uint64_t events_seen, events; /* the event's count in samples, and its total count; events is 0
                                   * if the total is not known */
    uint64_t weight;              /* the sum of the stacks' weights, in periods */
    /* Stacks that reach the start of their thread: `complete` with every step checked, `unchecked`
     * by frame pointers that nothing checks. */
    uint64_t complete, unchecked;
    uint64_t lost;                   /* samples that are not in the recording */
    const pt_journal_frames *frames; /* of the stacks, by PT_JOURNAL_LANGUAGE_X; NULL if there are
                                      * none */
    uint64_t period_ns;              /* 0: the period is not a time */
    uint64_t seen_ns, used_ns;       /* CPU time: in samples, and used by the processes */
    uint64_t off_cpu_ns, ready_ns;   /* time that threads waited, and waited for a CPU */
    uint64_t own_ns;                 /* CPU time of recording itself, not in used_ns */
    uint64_t counted_ns;             /* part of used_ns that has rows, but no samples */
    size_t processes;
    bool is_wall; /* seen_ns is wall time, and used_ns is 0 */
} pt_record_summary;

/* Prints the last line of a recording: its samples, how complete they are, and the next command. */
void pt_record_say_summary(const pt_record_summary *summary);
/* Is this number of stacks worth a warning? It is if it is at least eight, and more than a
 * twentieth of all. */
bool pt_record_is_worth_a_line(uint64_t stacks, uint64_t all);
/* Warns of stacks that end before the start of their thread, if there are enough of them. weight:
 * all stacks; reached: those that reach the start, checked or not; dead_ends: the files in which
 * most of the other stacks end, or "". */
void pt_record_say_incomplete(uint64_t weight, uint64_t reached, const char *dead_ends);

/* ---- target.c ---- */

typedef enum {
    PT_TARGET_OK,
    PT_TARGET_STATIC,     /* no dynamic linker reads LD_PRELOAD */
    PT_TARGET_PRIVILEGED, /* setuid, setgid or file capabilities: the linker ignores LD_PRELOAD */
    PT_TARGET_GO,         /* Go's runtime handles the signal and creates threads without libc */
    PT_TARGET_FOREIGN,    /* for another word size or machine than this program */
} pt_target_kind;

typedef struct pt_target {
    pt_target_kind kind;
    char *path;   /* the image that would run; for a script its interpreter */
    char *script; /* the script, or NULL */
    /* The interpreter whose functions the library reads: "Python 3.11", "Node", "a script for
     * Ruby"; "" if there is none. */
    char interpreter[24];
} pt_target;

/* Finds a command as execvp does. A command that does not exist or cannot be read is PT_TARGET_OK:
 * the attempt to run it gives the message. The caller ends with pt_target_done. */
void pt_target_look(const char *command, pt_target *ret_target);
void pt_target_done(pt_target *target);

/* The path of this program's libprofiler.so.0: in the folder of the program, in ../lib, or where
 * the library was installed. The caller frees the path. Returns NULL and an error if there is no
 * such library. */
char *pt_record_library(pt_error *reterr);

/* ---- run.c ---- */

typedef struct pt_record_run {
    char *folder;        /* where the journals are */
    int lock_fd;         /* locks the outer folder while this recorder lives */
    pid_t pid;           /* of the command */
    int wait_status;     /* of wait4 */
    struct rusage usage; /* of the command and all processes that it waited for */
    int64_t start_ns;    /* Unix time */
    int64_t duration_ns;
    uint64_t period_ns; /* of the rate that was asked for; 0 = unknown */
} pt_record_run;

/* Makes the folder for journals, in memory if possible, and locks it while this recorder lives.
 * is_shared: processes that change their user may leave files in the folder. The caller calls
 * pt_record_run_done also after an error.
 */
pt_status pt_record_run_folder(bool is_shared, pt_record_run *ret_run, pt_error *reterr);
/* Calls recording->begins, and notes the name of the recording's file in the run's folder. */
void pt_record_run_begins(const pt_recording *recording, const pt_record_run *run);
/* Makes the folder, runs the command with the library preloaded, and waits for its end. The command
 * gets this process's standard streams. Fails with PT_ERR_NOTFOUND or PT_ERR_SYSTEM if the command
 * could not be started. The caller calls pt_record_run_done, which removes the folder, also after
 * an error. */
pt_status pt_record_run_command(const pt_recording *recording, const char *library,
                                pt_record_run *ret_run, pt_error *reterr);
void pt_record_run_done(pt_record_run *run);
/* Makes pt_record_run_done leave the folder with the journals, for pitot recover. */
void pt_record_run_keep(pt_record_run *run);
/* Prints the recordings whose recorder was killed, and the command that recovers their samples.
 * Unless is_again, leaves out recordings that were named before. Returns the number of all such
 * recordings.
 */
size_t pt_record_tell_cut_off(bool is_again);

/* ---- collect.c ---- */

/* sum += value, at most UINT64_MAX: a journal's counters may have any value. */
static inline void pt_recorded_add(uint64_t *sum, uint64_t value)
{
    if (__builtin_add_overflow(*sum, value, sum)) *sum = UINT64_MAX;
}
void pt_recorded_add_frames(pt_journal_frames sum[PT_JOURNAL_LANGUAGES],
                            const pt_journal_frames frames[PT_JOURNAL_LANGUAGES]);
/* Adds comments to the profile: how many samples have functions of each language, and how many of
 * these were joined with native frames for certain. */
void pt_record_tell_languages(pt_builder *builder,
                              const pt_journal_frames frames[PT_JOURNAL_LANGUAGES]);

/* weight * period_ns, at most INT64_MAX, the largest value of a profile. */
static inline uint64_t pt_recorded_time_ns(uint64_t weight, uint64_t period_ns)
{
    uint64_t time_ns;
    const bool is_beyond = __builtin_mul_overflow(weight, period_ns, &time_ns);
    return is_beyond || time_ns > INT64_MAX ? INT64_MAX : time_ns;
}

/* ---- counted.c ---- */

/* The CPU time of a program before the library was loaded into it. */
typedef struct pt_counted_start {
    char comm[PT_JOURNAL_COMM_BYTES];
    uint64_t ns;
} pt_counted_start;

typedef struct pt_counted {
    pt_counted_start *items;
    size_t count, cap;
    uint64_t sampled_ns; /* the time that samples stand for, by the clocks of the processes */
} pt_counted;

/* Adds a program that a process ran. earlier_ns: the CPU time of the process in the programs that
 * it ran before (exec). */
void pt_counted_add_image(pt_counted *counted, const pt_journal_brief *image, uint64_t earlier_ns);
void pt_counted_done(pt_counted *counted);
/* Adds rows to b for the part of used_ns that no sample stands for, if that part is more than 2 %.
 * Returns the time of these rows. */
uint64_t pt_counted_put(pt_counted *counted, uint64_t used_ns, pt_builder *b);

/* ---- collect.c: results ---- */

typedef struct pt_recorded_process {
    char *path; /* of the file with the process's journal */
    /* The place of the journal in a file that holds several; in.record is NULL if the file is one
     * journal. */
    pt_journal_short_at in;
    uint32_t user; /* the user of the process */
    pt_journal_facts facts;
    pt_error error; /* if its status is not PT_OK: why the journal could not be read */
} pt_recorded_process;

/* The whole process tree. */
typedef struct pt_recorded {
    pt_recorded_process *processes; /* sorted: the process with the most samples first */
    size_t count;
    pt_blob shorts;    /* the bytes of PT_JOURNAL_SHORT */
    char *messages;    /* the library's messages from the processes, a line each; or NULL */
    char *not_entered; /* names of programs that the library could not enter, a line a process */
    uint64_t weight, complete, unchecked, truncated, ticks, lost;
    pt_journal_frames frames[PT_JOURNAL_LANGUAGES]; /* weights of samples with frames of each
                                                     * language */
    uint64_t period_ns;
    uint64_t seen_ns;    /* CPU time that the samples stand for */
    uint64_t used_ns;    /* CPU time of all processes, sampled or not */
    uint64_t own_ns;     /* CPU time of the library in the processes; used_ns excludes it */
    uint64_t reached_ns; /* CPU time of the processes that the library was in */
    pt_counted counted;
    uint64_t counted_ns; /* part of used_ns that has a row and no samples; known with the profile */
    uint64_t unsampled_threads;
    size_t impossible;   /* processes whose journal claims more CPU time than is possible */
    size_t images;       /* distinct processes */
    size_t running;      /* of these, the ones that still run */
    bool tick_bound;     /* timers ticked more slowly than requested, and their samples were
                          * weighted */
    bool is_wall;        /* samples count wall time */
    char dead_ends[256]; /* of the heaviest profile: pt_recorded_dead_ends */
} pt_recorded;

/* Reads the facts of all journals in the run's folder, without their stacks. Pair with
 * pt_recorded_done. */
void pt_recorded_init(pt_recorded *recorded, const pt_record_run *run);
/* Notes that the samples count wall time, so that CPU time is no measure of their completeness. */
void pt_recorded_count_wall(pt_recorded *recorded);
void pt_recorded_done(pt_recorded *recorded);

/* The facts about a recording for the provenance and comments of its profile. */
typedef struct pt_record_story {
    const char *command;   /* as typed */
    const char *typed;     /* as in pt_recording */
    pt_table_cache tables; /* as in pt_recording */
    const char *engine;    /* its name, and the reason for it */
    const pt_record_run *run;
    pt_recorded *recorded; /* reading copied stacks corrects own_ns and used_ns */
    uint32_t hz;
    mode_t mode; /* of the files */
} pt_record_story;

/* The profile of processes [first, first + count). Caller unrefs. */
pt_status pt_recorded_profile(const pt_record_story *story, size_t first, size_t count,
                              const pt_profile **ret_profile, pt_error *reterr);

/* The profile of the journals of a recording whose recorder was killed. Caller unrefs. */
pt_status pt_recorded_left(const pt_folder_journals *left, const pt_table_cache *tables,
                           const pt_profile **ret_profile, pt_error *reterr);

/* Names of the two files in which most incomplete stacks end, "libc.so.6 and prog"; "" if none. */
void pt_recorded_dead_ends(const pt_profile *profile, char *buf, size_t size);
/* The number of mapped files with samples that are no longer on the disk. */
size_t pt_recorded_gone(const pt_profile *profile);
/* For each mapping: does a stack have an address in it? The caller frees the result. */
bool *pt_recorded_mappings(const pt_profile *profile);
/* Makes the unwind tables that the next recording will need and the cache does not have. */
void pt_recorded_keep_tables(const pt_profile *profile, const pt_table_cache *cache);
