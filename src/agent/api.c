/* api.c: the ten functions of gperftools/profiler.h. */
#include "agent/agent.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "gperftools/profiler.h"

PT_EXPORT int ProfilerStartWithOptions(const char *fname, const struct ProfilerOptions *options)
{
    if (fname == NULL) return 0;
    pt_caller caller;
    pt_agent_lock(&caller);
    if (pt_agent.on && pt_agent.recording)
        pt_agent_say("%s: not written, since pitot record is profiling this process", fname);
    const bool started = pt_session_start(fname, options != NULL ? options->filter_in_thread : NULL,
                                          options != NULL ? options->filter_in_thread_arg : NULL);
    pt_agent_unlock(&caller);
    return started;
}

PT_EXPORT int ProfilerStart(const char *fname)
{
    return ProfilerStartWithOptions(fname, NULL);
}

PT_EXPORT void ProfilerStop(void)
{
    pt_caller caller;
    pt_agent_lock(&caller);
    if (pt_agent.recording || pt_agent.served)
        pt_agent_unlock(&caller); /* not for the program to stop */
    else
        pt_session_stop(PT_JOURNAL_STOPPED, &caller);
}

PT_EXPORT void ProfilerFlush(void)
{
    pt_caller caller;
    pt_agent_lock(&caller);
    pt_session_flush();
    pt_agent_unlock(&caller);
}

PT_EXPORT void ProfilerRegisterThread(void)
{
    pt_thread_register_self();
}

PT_EXPORT int ProfilingIsEnabledForAllThreads(void)
{
    pt_caller caller;
    pt_agent_lock(&caller);
    const bool on = pt_agent.on;
    pt_agent_unlock(&caller);
    return on;
}

PT_EXPORT void ProfilerGetCurrentState(struct ProfilerState *state)
{
    pt_caller caller;
    memset(state, 0, sizeof *state);
    pt_agent_lock(&caller);
    if (pt_agent.on) {
        const uint64_t samples = pt_session_samples();
        state->enabled = 1;
        state->start_time = pt_agent.start_time;
        state->samples_gathered = samples > INT_MAX ? INT_MAX : (int)samples;
        pt_agent_join(state->profile_name, sizeof state->profile_name, pt_agent.path, "");
    }
    pt_agent_unlock(&caller);
}

/* Safe in a signal handler, as the original's: no lock. */
PT_EXPORT int ProfilerGetStackTrace(void **result, int max_depth, int skip_count, const void *uc)
{
    pt_tick_regs regs = {.pc = (uintptr_t)__builtin_return_address(0),
                         .sp = (uintptr_t)__builtin_frame_address(0),
                         .fp = *(uintptr_t *)__builtin_frame_address(0)};
    const pt_thread *const self = pt_tick_self;
    int depth = 0, step = PT_TICK_FRAME;
    if (uc != NULL) pt_tick_regs_of(uc, &regs);
    for (int frame = 0; depth < max_depth; frame++) {
        if (frame >= skip_count) result[depth++] = (void *)regs.pc;
        if (self == NULL || step != PT_TICK_FRAME) break;
        step = pt_tick_step(&regs, &self->stack);
        if (step >= 0) break;
    }
    return depth;
}

/* Switches for single threads, which gperftools no longer obeys: every thread is always profiled.
 */
PT_EXPORT void ProfilerEnable(void)
{
}

PT_EXPORT void ProfilerDisable(void)
{
}
