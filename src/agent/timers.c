/* timers.c: which engine makes the ticks, and how often.
 *
 * The first engine in the table `ladder` that works is used: events that see the kernel, by SIGTRAP
 * where that is harmless; above HZ, and in a recording, events for user mode; above HZ a thread
 * that sends signals; else POSIX timers on CPU clocks. CPUPROFILE_PER_THREAD_TIMERS and
 * CPUPROFILE_TIMER_SIGNAL select POSIX timers at any rate, CPUPROFILE_REALTIME the wall clock.
 * Where there are no POSIX timers either, one interval timer serves the process.
 *
 * Events are also used below HZ: a timer that waits for the kernel's own tick never samples a
 * thread that begins just after the tick, which has ended another thread's turn, and ends before
 * the next tick. On a busy machine half of all short threads do so (docs/libprofiler.md). */
#include "agent/agent.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

enum {
    USUAL_HZ = 100,    /* gperftools' default */
    ENV_MAX_HZ = 4000, /* gperftools' limit for CPUPROFILE_FREQUENCY */
    RECORD_MAX_HZ = 20000,
};

uint32_t pt_timers_tick_hz(void)
{
    struct timespec tick;
    if (clock_getres(CLOCK_MONOTONIC_COARSE, &tick) != 0 || tick.tv_sec != 0 || tick.tv_nsec == 0)
        return 0;
    return (uint32_t)(1000000000 / tick.tv_nsec);
}

PT_NEAR clockid_t pt_timer_cpu_clock(int tid)
{
    return (clockid_t)(~(unsigned)tid << 3 | 6);
}

/* Sets the clock back, so that the first tick has the weight of one period, like the others. */
PT_NEAR void pt_timer_begin_clock(pt_thread *thread, uint64_t period_ns, uint64_t first_ns)
{
    const int tid = atomic_load_explicit(&thread->tid, memory_order_relaxed);
    thread->begun_ns = pt_agent_clock_ns(pt_timer_cpu_clock(tid));
    thread->ticked_ns = thread->clock_seen_ns = (int64_t)(thread->begun_ns + first_ns - period_ns);
    thread->event_ticks = 0;
    thread->has_changed = false;
    thread->random = pt_agent_random(UINT64_MAX);
}

/* ---- the signal ---- */

/* May a timer raise the signal? It may not raise a signal that the kernel raises for faults, nor a
 * signal that cannot be handled. */
static bool is_usable(long signo)
{
    static const int not_these[] = {SIGKILL, SIGSTOP, SIGSEGV, SIGBUS, SIGILL, SIGFPE, SIGTRAP};
    for (size_t i = 0; i < sizeof not_these / sizeof not_these[0]; i++)
        if (signo == not_these[i]) return false;
    return signo > 0 && signo <= SIGRTMAX;
}

/* CPUPROFILE_TIMER_SIGNAL, read as gperftools reads it: strtol with base 0. */
static int signal_asked_for(void)
{
    const char *const text = pt_environment(PT_ENV_CPUPROFILE_TIMER_SIGNAL);
    char *end = NULL;
    if (text == NULL) return SIGPROF;
    const long signo = strtol(text, &end, 0);
    if (*end == '\0' && is_usable(signo)) return (int)signo;
    pt_agent_say("CPUPROFILE_TIMER_SIGNAL=%s: not the number of a signal that a timer may raise; "
                 "taking %d",
                 text, SIGPROF);
    return SIGPROF;
}

bool pt_timers_take_signal(void)
{
    if (pt_tick.signo == 0) pt_tick.signo = signal_asked_for();
    if (pt_signal_take(pt_tick.signo)) return true;
    if (pt_tick.signo == SIGPROF)
        pt_agent_say("the program has its own handler for SIGPROF; not profiling");
    else
        pt_agent_say("the program has its own handler for signal %d; not profiling", pt_tick.signo);
    return false;
}

/* ---- the rate ---- */

static uint64_t rate_asked_for(void)
{
    const char *const record_hz =
        pt_agent.recording ? pt_environment(PT_ENV_PITOT_RECORD_HZ) : NULL;
    const char *const text =
        record_hz != NULL ? record_hz : pt_environment(PT_ENV_CPUPROFILE_FREQUENCY);
    const uint64_t hz = pt_agent_number(text, 0);
    const uint64_t most = pt_agent.recording ? RECORD_MAX_HZ : ENV_MAX_HZ;
    if (hz == 0 && text != NULL)
        pt_agent_say("%s=%s: not a whole number of samples a second, 1 to %llu; sampling at %d",
                     record_hz != NULL ? "PITOT_RECORD_HZ" : "CPUPROFILE_FREQUENCY", text,
                     (unsigned long long)most, USUAL_HZ);
    if (hz <= most) return hz == 0 ? USUAL_HZ : hz;
    pt_agent_say("%llu samples a second are too many: taking %llu, the most here",
                 (unsigned long long)hz, (unsigned long long)most);
    return most;
}

/* ---- the engine ---- */

/* The process id of the tracer of this process, 0 = none: "TracerPid:\t0" in /proc/self/status
 * (proc(5)). */
static int tracer_pid(void)
{
    char text[1024];
    const int fd = open("/proc/self/status", O_RDONLY | O_CLOEXEC);
    const ssize_t got = fd >= 0 ? read(fd, text, sizeof text - 1) : 0;
    if (fd >= 0) close(fd);
    text[got > 0 ? got : 0] = '\0';
    const char *const line = strstr(text, "\nTracerPid:");
    return line != NULL ? atoi(line + strlen("\nTracerPid:")) : 0;
}

static const struct {
    const pt_timer_engine *engine;
    char letter; /* see pt_environment_engine */
    bool traps, is_for_high_rates;
} ladder[] = {
    {&pt_timer_trap, 'T', true, false},     {&pt_timer_perf, 'S', false, false},
    {&pt_timer_mode_trap, 'U', true, true}, {&pt_timer_mode, 'V', false, true},
    {&pt_timer_ticker, 'W', false, true},
};

/* The first engine in the table that works in this process. traps: engines that use SIGTRAP are
 * allowed, since no debugger, which would stop at each tick, traces this process. */
static const pt_timer_engine *first_of(bool traps)
{
    const bool is_high = pt_agent.period_ns < pt_tick.look_ns;
    for (size_t i = 0; i < sizeof ladder / sizeof ladder[0]; i++) {
        const bool is_for_this =
            is_high || !ladder[i].is_for_high_rates ||
            (pt_agent.recording && ladder[i].engine->id == PT_JOURNAL_ENGINE_MODE);
        if ((traps || !ladder[i].traps) && is_for_this &&
            ladder[i].engine->probe(pt_agent.period_ns))
            return ladder[i].engine;
    }
    return NULL;
}

/* The engine that an earlier process of the recording has chosen. NULL if no process has chosen
 * yet, or if the engine uses SIGTRAP and this process is traced or handles SIGTRAP itself. */
static const pt_timer_engine *shared_engine(void)
{
    const char letter = pt_agent.recording ? pt_environment_engine() : '.';
    for (size_t i = 0; i < sizeof ladder / sizeof ladder[0]; i++) {
        if (ladder[i].letter != letter) continue;
        const bool is_traced =
            ladder[i].traps && pt_environment_may_be_traced() && tracer_pid() != 0;
        if (is_traced || (ladder[i].traps && !pt_signal_take(SIGTRAP))) return NULL;
        pt_tick.events_trap = ladder[i].traps;
        pt_tick.events_skip_kernel = ladder[i].engine->id == PT_JOURNAL_ENGINE_MODE;
        return ladder[i].engine;
    }
    return NULL;
}

static void share_engine(const pt_timer_engine *engine)
{
    for (size_t i = 0; pt_agent.recording && i < sizeof ladder / sizeof ladder[0]; i++)
        if (ladder[i].engine == engine) pt_environment_share_engine(ladder[i].letter);
}

/* The wanted engine or, if threads of this process can have no timers, the interval timer of the
 * process. If the interval timer does not work either, the wanted engine stays, and no thread gets
 * ticks. */
static const pt_timer_engine *or_last_rung(const pt_timer_engine *wanted)
{
    const bool has_timers = wanted->probe(pt_agent.period_ns);
    return has_timers || !pt_timer_itimer.probe(pt_agent.period_ns) ? wanted : &pt_timer_itimer;
}

static bool wants_wall_time(void)
{
    return pt_environment(pt_agent.recording ? PT_ENV_PITOT_RECORD_WALL
                                             : PT_ENV_CPUPROFILE_REALTIME) != NULL;
}

static const pt_timer_engine *choose_engine(void)
{
    if (wants_wall_time()) return or_last_rung(&pt_timer_real);
    const bool by_timers = pt_environment(PT_ENV_CPUPROFILE_PER_THREAD_TIMERS) != NULL ||
                           pt_environment(PT_ENV_CPUPROFILE_TIMER_SIGNAL) != NULL;
    const pt_timer_engine *const shared = by_timers ? NULL : shared_engine();
    if (shared != NULL) return shared;
    const bool is_traced = !by_timers && tracer_pid() != 0;
    const pt_timer_engine *const first = by_timers ? NULL : first_of(!is_traced);
    if (first != NULL && !is_traced) share_engine(first);
    return first != NULL ? first : or_last_rung(&pt_timer_posix);
}

/* Warns that one timer serves the whole process, at most at the rate of the kernel's tick. The file
 * also states this. */
static void say_last_rung(uint64_t hz)
{
    static bool is_said; /* children of fork do not print it again */
    const bool is_too_fast = pt_agent.period_ns < pt_tick.look_ns;
    if (is_too_fast) pt_agent.period_ns = pt_tick.period_ns = pt_tick.look_ns / 1000 * 1000;
    if (is_said) return;
    is_said = true;
    if (wants_wall_time())
        pt_agent_say("the system refuses timers of threads: samples count CPU time, not wall time; "
                     "allow timer_create, or raise ulimit -i");
    else if (is_too_fast)
        pt_agent_say("neither perf events nor timers of threads are allowed here: taking %llu "
                     "samples a second instead of %llu",
                     (unsigned long long)(1000000000 / pt_agent.period_ns), (unsigned long long)hz);
}

uint32_t pt_timers_choose(void)
{
    const uint64_t hz = rate_asked_for();
    const uint32_t tick_hz = pt_timers_tick_hz();
    pt_agent.period_ns = pt_journal_period_ns(hz);
    pt_tick.period_ns = pt_agent.period_ns;
    pt_tick.look_ns = tick_hz > 0 ? 1000000000 / tick_hz : 0;
    pt_tick.page_bytes = (size_t)sysconf(_SC_PAGESIZE);
    pt_agent.engine = choose_engine();
    if (pt_agent.engine == &pt_timer_itimer) say_last_rung(hz);
    return (uint32_t)hz;
}

PT_NEAR void pt_timers_start(void)
{
    if (pt_agent.engine->start != NULL && !pt_agent.engine->start())
        pt_agent.engine = &pt_timer_posix;
}

PT_NEAR void pt_timers_stop(bool is_last)
{
    if (pt_agent.engine->stop != NULL) pt_agent.engine->stop(is_last);
}

void pt_timers_stop_threads(void)
{
    if (pt_agent.engine == &pt_timer_ticker) pt_timer_ticker.stop(false);
}

void pt_timers_start_threads(void)
{
    if (pt_agent.engine == &pt_timer_ticker) pt_timer_ticker.start();
}

void pt_timers_pause(void)
{
    if (pt_agent.engine->is_for_all) pt_agent.engine->stop(false);
}

void pt_timers_resume(void)
{
    if (pt_agent.engine->is_for_all) pt_agent.engine->start();
}

static bool engine_traps(void)
{
    return pt_agent.engine == &pt_timer_trap || pt_agent.engine == &pt_timer_mode_trap;
}

void pt_timers_review(void)
{
    if (engine_traps() && tracer_pid() != 0) pt_timers_leave_traps();
}

void pt_timers_leave_traps(void)
{
    if (!engine_traps()) return;
    pt_threads_detach_all();
    const pt_timer_engine *const other = first_of(false);
    pt_agent.engine = other != NULL ? other : &pt_timer_posix;
    pt_timers_start();
    pt_agent.journal.header->engine = pt_agent.engine->id;
    pt_threads_attach_all();
}
