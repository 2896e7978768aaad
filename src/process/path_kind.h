/* path_kind.h: what is mapped, by the path that the kernel gives the mapping (proc(5),
 * /proc/PID/maps; the same text is in perf's MMAP records, in journals, and in profiles made of any
 * of them).
 *
 *   path                                             kind        what a profile calls the mapping
 *   /usr/lib/libm.so.6, /tmp/prog (deleted)          FILE        the path without " (deleted)"
 *   [vdso], linux-vdso.so.1                          VDSO        the path
 *   "", //anon, [anon:NAME], /dev/zero (deleted)     ANONYMOUS   [anon:jit]
 *   [heap], [stack]                                  HEAP        the path
 *   /memfd:NAME (deleted), /SYSV00000000 (deleted)   SHARED      the path without " (deleted)"
 *   /tmp/jit-123.dump                                JITDUMP     the path
 *   /dev/dri/card0                                   DEVICE      the path
 *   [kernel.kallsyms], [guest.kernel.kallsyms]       KERNEL      the path
 *   [vsyscall], [uprobes], //toolong                 OTHER       the path
 *
 * The name that a process gives its anonymous memory is not kept: the kernel's events do not tell
 * it, and code is called the same whoever recorded it. A place in memory without a file is named by
 * its address, since such a mapping has no beginning that means anything.
 */
#ifndef PT_PROCESS_PATH_KIND_H
#define PT_PROCESS_PATH_KIND_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

typedef enum pt_mapped_kind {
    PT_MAPPED_FILE,
    PT_MAPPED_VDSO,
    PT_MAPPED_ANONYMOUS,
    PT_MAPPED_HEAP,
    PT_MAPPED_SHARED,
    PT_MAPPED_JITDUMP, /* tools map a dump of compiled code to tell perf where it is; the code lies
                          elsewhere */
    PT_MAPPED_DEVICE,
    PT_MAPPED_KERNEL,
    PT_MAPPED_OTHER,
} pt_mapped_kind;

/* What a profile calls the mapping of frames that CPython itself has: no memory, so that they have
 * no addresses. */
#define PT_MAPPED_PYTHON "[python]"

/* The path's bytes without the " (deleted)" that the kernel puts behind the name of a removed file.
 * The path need not be terminated. */
size_t pt_mapped_path_bytes(const char *path, size_t bytes);

/* The path need not be terminated; " (deleted)" behind it does not matter. */
pt_mapped_kind pt_mapped_kind_of(const char *path, size_t bytes);
pt_mapped_kind pt_mapped_kind_of_text(const char *path);

/* There may be an ELF file to look into. */
bool pt_mapped_is_image(pt_mapped_kind kind);
/* Memory that no file holds: code in it was made at run time, by the process itself, and the same
 * place in another process is not the same code. */
bool pt_mapped_is_memory(pt_mapped_kind kind);

/* The process that wrote a dump of that path ("jit-PID.dump"), or 0. */
int64_t pt_mapped_jitdump_pid(const char *path, size_t bytes);

/* What a profile says of a mapping. */
typedef struct pt_mapped {
    pt_mapped_kind kind;
    const char *name; /* in the path, or constant; not terminated */
    size_t name_bytes;
    uint64_t file_offset; /* of the mapping's start */
} pt_mapped;

/* path: as the kernel says it, not terminated. file_offset: as the kernel says it, of start. */
pt_mapped pt_mapped_as(const char *path, size_t bytes, uint64_t start, uint64_t file_offset);

#endif
