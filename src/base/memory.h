/* memory.h: the memory limit of this process and its accounting.
 *
 *   pt_memory_limit_set     called once by main: --max-memory, or a quarter of the machine's memory
 *   pt_alloc, pt_realloc    count the bytes they return; beyond the limit they end the process with
 *                           one line (error.h), so callers need no branch
 *   pt_blob_new, pt_inflate check first and fail with PT_ERR_NOMEM or PT_ERR_LIMIT
 *
 * The limit is compared with the memory that the kernel has promised to the process: the private
 * writable mappings in /proc/self/statm (proc(5)). So memory of libraries counts, and freed memory
 * does not. Requested bytes are summed up between two readings of statm; the next reading is due
 * when this sum could reach the limit. Pages of mapped files do not count, since the kernel can
 * reclaim them. Without a limit statm is never read.
 *
 * Two amounts are exempt: the memory that the process held when the limit was set, and
 * PT_MEMORY_PROGRAM_BYTES for libraries and buffers that come later.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* The environment variable with the limit of commands without --max-memory. */
#define PT_MEMORY_VARIABLE "PITOT_MAX_MEMORY"

enum {
    PT_MEMORY_PROGRAM_BYTES = 16 << 20,
    PT_MEMORY_SHARE = 4, /* divisor: the default limit is a quarter of the machine's memory */
};

/* Sets the limit; UINT64_MAX means none. is_chosen: the user chose the limit, and so accepts large
 * files. hint is the end of messages about the limit, such as "; --max-memory=SIZE allows more". It
 * is borrowed for as long as the process runs. */
void pt_memory_limit_set(uint64_t bytes, bool is_chosen, const char *hint);
/* The limit in bytes, or UINT64_MAX, and the other arguments of pt_memory_limit_set. */
uint64_t pt_memory_limit(void);
bool pt_memory_is_chosen(void);
const char *pt_memory_hint(void); /* "" before a limit was set */

/* The bytes that are compared with the limit, less the exempt bytes; 0 if the kernel does not tell
 * them. */
uint64_t pt_memory_held(void);

/* The number of bytes that may still be allocated; UINT64_MAX without a limit. Each call reads
 * statm. */
uint64_t pt_memory_left(void);

/* Counts the bytes of an allocation that the caller makes next. Returns false if they exceed the
 * limit. */
bool pt_memory_take(size_t bytes);

/* Exempts bytes of address space from the limit, because most of the space will not be used, as in
 * thread stacks or an inflation buffer. Negative bytes end the exemption, when the space is
 * unmapped or is used after all. */
void pt_memory_uncount(int64_t bytes);

/* Ends the process with status 1 and one line, which says that a request for `bytes` more exceeds
 * the limit (is_limit) or the system's memory. Unfinished output files are removed (file.h). */
_Noreturn void pt_memory_exhausted(size_t bytes, bool is_limit);

/* The memory that the machine allows this process: the least of its memory, RLIMIT_AS, RLIMIT_DATA,
 * and the limits of the process's control groups and their ancestors, of both versions (cgroups(7):
 * memory.max; memory.limit_in_bytes). root is "", or a test's folder that stands for /
 * (proc/self/cgroup, proc/self/mountinfo, and the mount points named there). */
uint64_t pt_memory_of_machine(const char *root);
