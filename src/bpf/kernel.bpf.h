/* SPDX-License-Identifier: GPL-2.0 OR Apache-2.0 */
/* kernel.bpf.h: declarations of the kernel for the program: helpers by number (uapi/linux/bpf.h),
 * and the few fields of kernel types that it reads. The loader fills in their offsets from the
 * kernel's BTF. x86_64.bpf.h and aarch64.bpf.h have the differences between machines. */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define SECTION(name) __attribute__((section(name), used))

/* A map's type, key and value; the loader reads them from the object's BTF. */
#define MAP_NUMBER(name, value) int(*name)[value]
#define MAP_TYPE(name, type)    __typeof__(type) *name

enum {
    BPF_MAP_TYPE_HASH = 1,
    BPF_MAP_TYPE_ARRAY = 2,
    BPF_MAP_TYPE_PROG_ARRAY = 3,
    BPF_MAP_TYPE_PERF_EVENT_ARRAY = 4,
    BPF_MAP_TYPE_ARRAY_OF_MAPS = 12,
    BPF_F_MMAPABLE = 1 << 10,
};

static void *(*const bpf_map_lookup_elem)(void *map, const void *key) = (void *)1;
static long (*const bpf_map_update_elem)(void *map, const void *key, const void *value,
                                         uint64_t flags) = (void *)2;
static long (*const bpf_map_delete_elem)(void *map, const void *key) = (void *)3;
static uint64_t (*const bpf_ktime_get_ns)(void) = (void *)5;
static uint32_t (*const bpf_get_smp_processor_id)(void) = (void *)8;
static long (*const bpf_tail_call)(void *context, void *programs, uint32_t number) = (void *)12;
static uint64_t (*const bpf_get_current_pid_tgid)(void) = (void *)14;
static long (*const bpf_perf_event_output)(void *context, void *map, uint64_t flags,
                                           const void *data, uint64_t bytes) = (void *)25;
static const void *(*const bpf_get_current_task)(void) = (void *)35;
static long (*const bpf_seq_write)(void *file, const void *data, uint32_t bytes) = (void *)127;
static long (*const bpf_get_task_stack)(const void *task, void *to, uint32_t bytes,
                                        uint64_t flags) = (void *)141;
static long (*const bpf_get_stack)(void *context, void *to, uint32_t bytes,
                                   uint64_t flags) = (void *)67;
static long (*const bpf_probe_read_user)(void *to, uint32_t bytes, uint64_t from) = (void *)112;
static long (*const bpf_probe_read_user_str)(void *to, uint32_t bytes, uint64_t from) = (void *)114;
static long (*const bpf_probe_read_kernel)(void *to, uint32_t bytes,
                                           const void *from) = (void *)113;
static const void *(*const bpf_get_current_task_btf)(void) = (void *)158;
static const void *(*const bpf_task_pt_regs)(const void *task) = (void *)175;

#define BPF_F_CURRENT_CPU 0xffffffffULL

/* ---- types of the kernel ---- */

#define OF_KERNEL __attribute__((preserve_access_index))

#if defined(__x86_64__)
#include "bpf/x86_64.bpf.h"
#elif defined(__aarch64__)
#include "bpf/aarch64.bpf.h"
#else
#error "the program has no file for this machine yet"
#endif

struct mm_struct;

struct inode {
    uint16_t i_mode;
} OF_KERNEL;

struct file {
    struct inode *f_inode;
} OF_KERNEL;

struct fdtable {
    unsigned max_fds;
    struct file **fd;
} OF_KERNEL;

struct files_struct {
    struct fdtable *fdt;
} OF_KERNEL;

struct sched_entity {
    uint64_t sum_exec_runtime;
} OF_KERNEL;

struct sched_info {
    unsigned long pcount;
} OF_KERNEL;

struct task_struct {
    unsigned __state;
    struct mm_struct *mm;
    void *stack;
    int pid, tgid;
    unsigned in_iowait : 1;
    struct files_struct *files;
    struct thread_struct thread;
    struct sched_entity se;
    struct sched_info sched_info;
} OF_KERNEL;

/* Before Linux 5.14. */
struct task_struct___old {
    long state;
} OF_KERNEL;

/* Linux 5.15 added a helper for the registers of user space. */
enum bpf_func_id { BPF_FUNC_task_pt_regs = 175 };
enum {
    CORE_ENUM_EXISTS = 0,
    CORE_FIELD_BYTE_OFFSET = 0,
    CORE_FIELD_BYTE_SIZE = 1,
    CORE_FIELD_EXISTS = 2,
    CORE_FIELD_LEFT_SHIFT = 4,
    CORE_FIELD_RIGHT_SHIFT = 5,
    CORE_TYPE_SIZE = 1,
};
#define HAS_TASK_PT_REGS                                                                           \
    __builtin_preserve_enum_value(*(__typeof__(enum bpf_func_id) *)BPF_FUNC_task_pt_regs,          \
                                  CORE_ENUM_EXISTS)

/* Reads a field of a kernel structure. */
#define KERNEL_FIELD(to, from, field)                                                              \
    bpf_probe_read_kernel(&(to), sizeof(to), __builtin_preserve_access_index(&(from)->field))

#define HAS_FIELD(from, field) __builtin_preserve_field_info((from)->field, CORE_FIELD_EXISTS)

/* The argument of a program that the kernel calls for each thread. */
struct seq_file;

struct bpf_iter_meta {
    struct seq_file *seq;
} OF_KERNEL;

struct bpf_iter__task {
    struct bpf_iter_meta *meta;
    struct task_struct *task;
} OF_KERNEL;

/* The arguments of a raw tracepoint. */
struct tracepoint_args {
    uint64_t at[3];
};

struct bpf_perf_event_data {
    context_regs regs;
    uint64_t sample_period;
};

enum { KERNEL_STACK_BYTES = 16384 };
