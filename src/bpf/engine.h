/* engine.h: loads the BPF program that walks stacks in the kernel, and provides its data.
 *
 *   pt_bpf_engine_new      loads it (libbpf, the kernel's BTF, its verifier)
 *   pt_bpf_engine_program  to be attached to sampling events: PERF_EVENT_IOC_SET_BPF
 *   pt_bpf_engine_put      provides a process's mappings and their tables
 *   pt_bpf_engine_watch    from now on the programs for waits run at each switch of threads
 *
 * The kernel frees everything when the last descriptor is closed, however this process ends. */
#pragma once

#include "base/error.h"
#include "bpf/layout.h"

typedef struct pt_bpf_engine pt_bpf_engine;

/* Loads the program for cpus below cpu_limit. waits: also loads the programs for waits, with these
 * settings (their cpu_limit is set here); NULL: does not. Fails with PT_ERR_SYSTEM and the reason
 * if the kernel refuses or libbpf is missing. The caller frees *ret_engine. */
pt_status pt_bpf_engine_new(uint32_t cpu_limit, const pt_bpf_wait_settings *waits,
                            pt_bpf_engine **ret_engine, pt_error *reterr);
void pt_bpf_engine_free(pt_bpf_engine *engine); /* accepts NULL */

/* The program's descriptor; owned by the engine. */
int pt_bpf_engine_program(const pt_bpf_engine *engine);
/* The outputs of the programs; layout.h has the maps with these names. */
typedef enum pt_bpf_output {
    PT_BPF_OUTPUT,
    PT_BPF_PLAIN,  /* with waits only */
    PT_BPF_COPIES, /* with waits only, too */
    PT_BPF_OUTPUTS
} pt_bpf_output;
/* Sets the event (PERF_COUNT_SW_BPF_OUTPUT) that receives an output of a cpu. Returns false with
 * errno. */
bool pt_bpf_engine_output(pt_bpf_engine *engine, pt_bpf_output output, uint32_t cpu, int event_fd);

/* Sets the modules by which the program walks samples of process pid; their tables must stay in
 * place. modules NULL: the program drops the samples of pid. program: a number for the program that
 * pid runs, which distinguishes its code from that of pid's earlier program. interp: the
 * interpreter of pid, whose frames are then read, or NULL; for the first one, more of the program
 * is loaded. Returns false if there is no room: the kernel then has no modules of pid, and copies
 * its stacks. */
bool pt_bpf_engine_put(pt_bpf_engine *engine, uint32_t pid, uint32_t program,
                       const pt_unwind_modules *modules, const pt_bpf_interp *interp);
/* Records a process whose modules are not known yet: its waits, and its samples after
 * pt_bpf_engine_drop_unknown. Does nothing to a known process. */
void pt_bpf_engine_adopt(pt_bpf_engine *engine, uint32_t pid);
/* From now on the kernel itself adopts each new child of a recorded process. Returns false if it
 * refuses. */
bool pt_bpf_engine_follow(pt_bpf_engine *engine);
/* After pt_bpf_engine_follow: from now on the program drops the samples of unknown processes. The
 * caller has put or adopted all processes that are to be recorded. */
void pt_bpf_engine_drop_unknown(const pt_bpf_engine *engine);
/* Removes a process. */
void pt_bpf_engine_forget(pt_bpf_engine *engine, uint32_t pid);
/* Frees the pool's copy of a table that no known process has mapped, before the caller frees the
 * table. */
void pt_bpf_engine_forget_table(pt_bpf_engine *engine, const pt_unwind_table *table);

/* Starts and ends the programs for waits. Fails with PT_ERR_SYSTEM if the kernel refuses. */
pt_status pt_bpf_engine_watch(pt_bpf_engine *engine, pt_error *reterr);
void pt_bpf_engine_unwatch(pt_bpf_engine *engine);
typedef enum pt_bpf_sums {
    PT_BPF_COUNTS,  /* uint64_t -> pt_bpf_count, which only grows */
    PT_BPF_WAITING, /* uint32_t tid -> pt_bpf_wait */
    PT_BPF_OWED,    /* uint32_t pid -> pt_bpf_count, whose values may be below 0 */
} pt_bpf_sums;
typedef void (*pt_bpf_each)(void *arg, const void *key, const void *value);
/* Calls `each` with each entry of a map of waits. */
void pt_bpf_engine_each(const pt_bpf_engine *engine, pt_bpf_sums which, pt_bpf_each each,
                        void *arg);

/* Calls `each` for each waiting thread, after the programs were started. */
void pt_bpf_engine_resting(const pt_bpf_engine *engine,
                           void (*each)(void *arg, const pt_bpf_resting *resting), void *arg);

/* With waits: the settings, with the counts that the programs have made. */
pt_bpf_wait_settings pt_bpf_engine_told(const pt_bpf_engine *engine);

/* Loads the programs that read the frames of interpreters, as pt_bpf_engine_put does when the first
 * interpreter comes. */
void pt_bpf_engine_read_frames(pt_bpf_engine *engine);
/* From now on a separate thread loads those programs, since the caller must take samples
 * meanwhile. */
void pt_bpf_engine_load_beside(pt_bpf_engine *engine);
/* The reason why frames of interpreters are not read; "": they are read, or there are none. */
const char *pt_bpf_engine_why_no_frames(const pt_bpf_engine *engine);

/* The number of files whose tables had no room in the pool: stacks through their code are
 * copied. */
uint32_t pt_bpf_engine_left_out(const pt_bpf_engine *engine);
