/* memory.h: how much memory this process may hold, and who counts it.
 *
 *   pt_memory_limit_set     once, by main: --max-memory, or a quarter of what the machine allows
 *   pt_alloc, pt_realloc    count what they promise; beyond the limit they end the process with one
 *                           line (error.h: no caller has a branch for it)
 *   pt_blob_new, pt_inflate ask first and fail with PT_ERR_NOMEM or PT_ERR_LIMIT
 *
 * What is compared with the limit is what the kernel says that the process has been promised (the
 * private writable mappings of /proc/self/statm, proc(5)), so that memory of libraries counts, too,
 * and what was freed counts no more. Between two looks the bytes that were asked for are summed up:
 * a look is due when they could have reached the limit. Pages of mapped files do not count: the
 * kernel takes them back when it needs them. Without a limit nothing is looked at.
 *
 * The memory that the process held when the limit was set is not counted, nor are
 * PT_MEMORY_PROGRAM_BYTES for the program itself: libraries that are loaded later, buffers.
 */
#ifndef PT_BASE_MEMORY_H
#define PT_BASE_MEMORY_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum {
    PT_MEMORY_PROGRAM_BYTES = 16 << 20,
    PT_MEMORY_SHARE = 4, /* without --max-memory a quarter of what the machine allows */
};

/* From now on no more than `bytes` (UINT64_MAX: any number). is_chosen: by the user, who knows what
 * is in the files. hint: the end of messages about it, as "; --max-memory=SIZE allows more"; it
 * must outlive the process. */
void pt_memory_limit_set(uint64_t bytes, bool is_chosen, const char *hint);
uint64_t pt_memory_limit(void);
bool pt_memory_is_chosen(void);
const char *pt_memory_hint(void); /* "" before one was set */

/* How much may still be asked for; UINT64_MAX without a limit. A look each time. */
uint64_t pt_memory_left(void);

/* Counts bytes that are about to be asked for. False: they are beyond the limit. */
bool pt_memory_take(size_t bytes);

/* Address space that was or is about to be mapped and will not all be used: stacks of threads, the
 * room of what is being inflated. Negative when it is unmapped or used after all. */
void pt_memory_uncount(int64_t bytes);

/* Ends the process with status 1 and one line: `bytes` more were needed, by the limit or because
 * the system has none left. Files that were being written are removed (file.h). */
_Noreturn void pt_memory_exhausted(size_t bytes, bool is_limit);

/* What the machine allows this process: the least of its memory, RLIMIT_AS, RLIMIT_DATA, and the
 * limits of the process's control groups and of all above them, of both versions (cgroups(7):
 * memory.max; memory.limit_in_bytes). root: "" (or where a test has its proc/self/cgroup and
 * proc/self/mountinfo; the folders that those name lie below root, too). */
uint64_t pt_memory_of_machine(const char *root);

#endif
