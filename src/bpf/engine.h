/* engine.h: the program that walks stacks in the kernel, and what it knows.
 *
 *   pt_bpf_engine_new      loads it (libbpf, the kernel's BTF, its verifier)
 *   pt_bpf_engine_program  is attached to events that sample: PERF_EVENT_IOC_SET_BPF
 *   pt_bpf_engine_put      tells it a process's mappings and their tables
 *
 * All of it goes when the last descriptor is closed, by whatever ends us.
 */
#ifndef PT_BPF_ENGINE_H
#define PT_BPF_ENGINE_H

#include "base/error.h"
#include "bpf/layout.h"

typedef struct pt_bpf_engine pt_bpf_engine;

/* For cpus below cpu_limit. PT_ERR_SYSTEM with the reason if the kernel, or what is installed, does
 * not let us. Frees nothing of the caller's. */
pt_status pt_bpf_engine_new(uint32_t cpu_limit, pt_bpf_engine **ret_engine, pt_error *reterr);
void pt_bpf_engine_free(pt_bpf_engine *engine); /* accepts NULL */

/* A descriptor, the engine's. */
int pt_bpf_engine_program(const pt_bpf_engine *engine);
/* Stacks that are sampled on that cpu are put out by this event (PERF_COUNT_SW_BPF_OUTPUT). False
 * with errno. */
bool pt_bpf_engine_output(pt_bpf_engine *engine, uint32_t cpu, int event_fd);

/* From now on samples of process pid are walked by these modules, whose tables must stay where they
 * are; or dropped, with modules NULL. False: there is no room for it, its samples go on as they
 * did. */
bool pt_bpf_engine_put(pt_bpf_engine *engine, uint32_t pid, const pt_unwind_modules *modules);
/* Of the process nothing is known from now on. */
void pt_bpf_engine_forget(pt_bpf_engine *engine, uint32_t pid);

/* Bytes that the pool takes. */
uint64_t pt_bpf_engine_pool_bytes(const pt_bpf_engine *engine);

#endif
