/* engine.h: loads the BPF program that walks stacks in the kernel, and provides its data.
 *
 *   pt_bpf_engine_new      loads it (libbpf, the kernel's BTF, its verifier)
 *   pt_bpf_engine_program  to be attached to sampling events: PERF_EVENT_IOC_SET_BPF
 *   pt_bpf_engine_put      gives it a process's mappings and their tables
 *
 * The kernel frees everything when the last descriptor is closed, however this process ends.
 */
#ifndef PT_BPF_ENGINE_H
#define PT_BPF_ENGINE_H

#include "base/error.h"
#include "bpf/layout.h"

typedef struct pt_bpf_engine pt_bpf_engine;

/* Loads the program for cpus below cpu_limit. PT_ERR_SYSTEM with the reason if the kernel refuses
 * or libbpf is missing. The caller frees *ret_engine. */
pt_status pt_bpf_engine_new(uint32_t cpu_limit, pt_bpf_engine **ret_engine, pt_error *reterr);
void pt_bpf_engine_free(pt_bpf_engine *engine); /* accepts NULL */

/* The program's descriptor; owned by the engine. */
int pt_bpf_engine_program(const pt_bpf_engine *engine);
/* Sets the event (PERF_COUNT_SW_BPF_OUTPUT) that receives the stacks sampled on a cpu. False with
 * errno. */
bool pt_bpf_engine_output(pt_bpf_engine *engine, uint32_t cpu, int event_fd);

/* Sets the modules by which the program walks samples of process pid; their tables must stay in
 * place. modules NULL: the program drops the samples of pid. interp: the interpreter of pid, whose
 * frames the program then reads, or NULL. False: no room; nothing changes for the process. */
bool pt_bpf_engine_put(pt_bpf_engine *engine, uint32_t pid, const pt_unwind_modules *modules,
                       const pt_bpf_interp *interp);
/* Removes a process. */
void pt_bpf_engine_forget(pt_bpf_engine *engine, uint32_t pid);

/* The number of files whose tables had no room in the pool: stacks through them are copied. */
uint32_t pt_bpf_engine_left_out(const pt_bpf_engine *engine);

#endif
