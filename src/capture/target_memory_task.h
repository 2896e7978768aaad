/* target_memory_task.h: the task that reads other processes' memory, and the room that it shares
 * with the recorder; private to target_memory.c.
 *
 *   recorder   request, turn = PT_MEMORY_ASKED ----->   task: process_vm_readv into bytes
 *              answer                          <-----   turn = PT_MEMORY_ANSWERED
 */
#pragma once

#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

enum { PT_MEMORY_ANSWERED, PT_MEMORY_ASKED }; /* of turn */

/* One mapping, which outlives a task that could not be ended. */
typedef struct pt_memory_task {
    pid_t recorder, task;
    _Atomic uint32_t turn; /* a futex, PT_MEMORY_X: which side may write the fields below */
    pid_t pid;             /* the request: process, address, number of bytes */
    uint64_t addr;
    size_t size;
    int64_t result; /* the answer: bytes read; -errno */
    bool has_slept; /* the read did not find all pages in memory */
    _Alignas(16) uint8_t bytes[64 << 10];
    _Alignas(16) uint8_t stack[16 << 10];
} pt_memory_task;

/* The task, for clone(2); arg: the pt_memory_task. Returns if the recorder has ended. */
int pt_memory_task_main(void *arg);
