/* loader.h: loads the kernel's walker (bpf/engine.h) beside a recording that has begun.
 *
 * Loading takes 0.04 s of CPU time, most of it the kernel's check of the program. A recorded
 * command must not wait for the load, nor pay for it if the command ends sooner. So the loader's
 * thread first sleeps, then loads, and may be abandoned at any time.
 */
#pragma once

#include "bpf/engine.h"

typedef struct pt_loader pt_loader;

/* Begins to load after delay_ms. cpu_limit: see pt_bpf_engine_new. The caller frees the loader.
 * Returns NULL if no thread can be started. */
pt_loader *pt_loader_new(uint32_t cpu_limit, unsigned delay_ms);
/* True once loading is over: then *ret_engine is the engine, which the caller frees, or NULL with
 * the reason in *reterr. Call it no more after that. */
bool pt_loader_take(pt_loader *loader, pt_bpf_engine **ret_engine, pt_error *reterr);
/* Does not wait: a thread that still loads frees the loader and the engine when it is done. Accepts
 * NULL. */
void pt_loader_free(pt_loader *loader);
