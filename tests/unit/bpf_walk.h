/* bpf_walk.h: the walk of native stacks of src/bpf, compiled for user space. Include it after the
 * functions and PT_BPF_MACHINE that walk.bpf.h needs. */
#pragma once

#include "bpf_memory.h"

#include "bpf/walk.bpf.h"

static pt_bpf_cpu *cpu;

int pt_bpf_search_mapping(uint32_t number, uint64_t addr)
{
    (void)number;
    return search_mapping(cpu, addr);
}

int pt_bpf_search_rule(uint32_t number, uint64_t addr)
{
    (void)number;
    return (int)search_rule(cpu, addr);
}
