/* gperftools/profiler.h: profile your own process.
 *
 * Link with -lprofiler, or preload libprofiler.so.0, and either
 *
 *   set CPUPROFILE=FILE             profiles the whole run of the program, and of every program it
 *                                   starts (those write FILE_PID)
 *   call ProfilerStart(FILE)        profiles from here to ProfilerStop()
 *
 * then look at FILE with `pitot FILE`. A process that is killed leaves its profile in FILE too.
 *
 * Environment, read when a profile starts:
 *   CPUPROFILE            where to write. Programs that this one starts write FILE_PID, processes
 *                         of a parallel job (PMIx, Slurm, Hydra) FILE.rank-N or FILE.slurmid-N
 *   CPUPROFILE_FREQUENCY  samples per second of CPU time, a whole number, 100 unless set; above
 *                         4000 it is 4000
 *   CPUPROFILESIGNAL      with CPUPROFILE, a signal's number: the first such signal starts FILE.0,
 *                         the second ends it, the third starts FILE.1, ...
 *   PITOT_RECORD_DIR      set by `pitot record`: an absolute directory in which each process leaves
 *                         a journal, PID.N.journal, and nothing else; CPUPROFILE is ignored then
 *   PITOT_RECORD_HZ       set by `pitot record`: the rate, in samples per second of CPU time
 *
 * All are ignored in programs with more rights than their caller (setuid, setgid, capabilities),
 * and in those that forbid it: see pitot_default_options below.
 *
 * All threads are profiled, from their start to their end, without being registered. While a
 * profile is taken the profiler handles the signal SIGPROF: a program that resets it to its default
 * does not notice, and a handler that it installs gets every SIGPROF that is no tick of the
 * profiler.
 *
 * The functions are those of gperftools, with the same meaning, so that programs built against one
 * library run with the other. All are safe to call from any thread.
 */
#ifndef GPERFTOOLS_PROFILER_H
#define GPERFTOOLS_PROFILER_H

#include <time.h>

#ifdef __cplusplus
extern "C" {
#endif

/* Zero it with memset, then set what you need. */
struct ProfilerOptions {
    /* Called at each tick, inside the signal handler, so it must be async-signal-safe; the sample
     * is taken if the function returns nonzero. NULL: all samples are taken. */
    int (*filter_in_thread)(void *arg);
    void *filter_in_thread_arg;
};

/* Begins a profile. The file fname is replaced by a file of mode 0600; a symbolic link fname is not
 * followed. Returns nonzero if this call has begun a profile. Returns 0 if a profile runs already,
 * if the file cannot be written, or if the program handles SIGPROF itself. */
int ProfilerStart(const char *fname);

/* Like ProfilerStart, with options, which may be NULL. */
int ProfilerStartWithOptions(const char *fname, const struct ProfilerOptions *options);

/* Ends the profile and writes the file. Does nothing when none runs. */
void ProfilerStop(void);

/* Writes the file as it is now, complete, and goes on profiling. */
void ProfilerFlush(void);

/* Nonzero while a profile runs. */
int ProfilingIsEnabledForAllThreads(void);

/* Needed only in threads that were made without pthread_create; all other threads are known. */
void ProfilerRegisterThread(void);

struct ProfilerState {
    int enabled;             /* a profile runs */
    time_t start_time;       /* since when */
    char profile_name[1024]; /* into which file, or "" */
    int samples_gathered;    /* number of samples so far */
};
void ProfilerGetCurrentState(struct ProfilerState *state);

/* The stack at uc (the third argument of a signal handler) or, if uc is NULL, the stack of the
 * caller: addresses from the innermost frame outwards, without the first skip_count. result has
 * room for max_depth addresses. Returns the number of addresses. May be called in a signal
 * handler. */
int ProfilerGetStackTrace(void **result, int max_depth, int skip_count, const void *uc);

/* Do nothing; all threads are profiled. */
void ProfilerEnable(void);
void ProfilerDisable(void);

/* Not a function of the library: a program may define it, to limit the effect of environment
 * variables. The library calls it once, before main. It returns words separated by spaces or
 * colons. If one of the words is "environment=off", the library reads no environment variable, and
 * does nothing unless the program calls it. */
const char *pitot_default_options(void);

#ifdef __cplusplus
}
#endif

#endif
