/* target_memory.h: reads the memory of other processes, in bounded time.
 *
 * A page of a process may be one that the process itself, or a server of its files, has to fill
 * first (userfaultfd(2), FUSE). process_vm_readv waits until the page is filled, however long that
 * takes, and only SIGKILL ends the call. So a task (a process made by clone(2)) makes the call. The
 * task shares the recorder's memory but is no thread of it, so that it can be killed alone. The
 * task is started by the first read.
 *
 * A process whose memory does not answer in time is not read again.
 *
 * A request to the task takes longer than most reads, since the kernel switches tasks twice. On a
 * busy machine, functions would be freed before their names are read. So the recorder itself reads
 * the memory of processes of its own user, and waits: a user hinders only that user.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

struct pt_proc;
typedef struct pt_target_memory pt_target_memory;

/* How long the reads of a process waited. All zeros when the process starts. */
typedef struct pt_memory_patience {
    bool is_over;       /* its memory is not read any more */
    bool is_own;        /* the recorder reads it itself */
    int64_t decided_ns; /* when is_own was set; 0: not yet */
    int64_t waited_ns;  /* time that its reads slept, less a quarter of the time that passed
                         * since */
    int64_t counted_ns; /* when that was computed */
} pt_memory_patience;

pt_target_memory *pt_target_memory_new(void);
/* Ends the task; accepts NULL. */
void pt_target_memory_free(pt_target_memory *memory);

/* Reads memory of a process (its fields pid, comm, patience). Returns the number of bytes, which is
 * less than size if only the first pages can be read; -1 with errno if none can. ETIMEDOUT: the
 * memory does not answer. memory: NULL is an error, too. */
ssize_t pt_target_memory_read(pt_target_memory *memory, struct pt_proc *proc, uint64_t addr,
                              void *to, size_t size);

/* Is pid the task that reads the memory? Accepts NULL. */
bool pt_target_memory_is_task(const pt_target_memory *memory, uint32_t pid);
/* CPU time of all tasks. Accepts NULL. */
uint64_t pt_target_memory_used_ns(const pt_target_memory *memory);
/* A line for each process whose memory does not answer. Valid until the next call. */
const char *pt_target_memory_said(pt_target_memory *memory);
