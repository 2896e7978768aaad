/* kernel.h: the running kernel as a mapping of a profile, its interrupts and functions. */
#pragma once

#include "bpf/layout.h"
#include "model/builder.h"

/* Makes "[kernel.kallsyms]" with the build id of the running kernel. It reaches from the start of
 * the kernel's text (by /proc/kallsyms; else from the lowest kernel address) to the end of memory,
 * modules included. */
pt_mapping pt_kernel_mapping(pt_builder *builder);

/* The ranges of the kernel's functions that begin hard and soft interrupts. Returns false if the
 * kernel hides its addresses. */
bool pt_kernel_interrupts(pt_bpf_wait_settings *ret_settings);

/* Finds the addresses of a function of the kernel. Returns false if the kernel has no function of
 * that name, or hides its addresses. */
bool pt_kernel_function(const char *function, uint64_t *ret_start, uint64_t *ret_limit);
