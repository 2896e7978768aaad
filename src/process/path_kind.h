/* path_kind.h: classifies a mapping by the path that the kernel gives it (proc(5),
 * /proc/PID/maps). perf's MMAP records, journals, and profiles made of them hold the same text.
 *
 *   path                                             kind        the mapping's name in a profile
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
 * The name that a process gives its anonymous memory is dropped: the kernel's events lack it,
 * and code has the same name whichever engine recorded it. A place in ANONYMOUS or HEAP memory
 * is identified by its address, since an offset from the start of such a mapping has no meaning.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

typedef enum pt_mapped_kind {
    PT_MAPPED_FILE,
    PT_MAPPED_VDSO,
    PT_MAPPED_ANONYMOUS,
    PT_MAPPED_HEAP,
    PT_MAPPED_SHARED,
    PT_MAPPED_JITDUMP, /* a dump of compiled code. The compiler maps it only to show perf its path;
                          the code runs elsewhere */
    PT_MAPPED_DEVICE,
    PT_MAPPED_KERNEL,
    PT_MAPPED_OTHER,
} pt_mapped_kind;

/* A language whose functions are read from an interpreter's memory. */
typedef struct pt_mapped_language {
    const char *name;
    const char *mapping; /* of its frames, which have neither memory nor addresses */
    bool is_counted;     /* its frames are joined with native ones by counting (interp/merge.h) */
    bool has_lines;      /* the place in a frame's word of a journal is the line (0: unknown) */
} pt_mapped_language;

#define PT_MAPPED_PYTHON     "[python]"
#define PT_MAPPED_JAVASCRIPT "[javascript]"
#define PT_MAPPED_PHP        "[php]"
#define PT_MAPPED_RUBY       "[ruby]"
#define PT_MAPPED_PERL       "[perl]"
#define PT_MAPPED_JAVA       "[java]"

enum { PT_MAPPED_LANGUAGES = 6 };
/* In the order of their numbers in journals (PT_JOURNAL_LANGUAGE_X). */
extern const pt_mapped_language pt_mapped_languages[PT_MAPPED_LANGUAGES];
/* Is it the name of a mapping of such frames? */
bool pt_mapped_is_language(const char *name);

/* The length of the path without the " (deleted)" that the kernel appends to the name of a
 * removed file. The path need not be terminated. */
size_t pt_mapped_path_bytes(const char *path, size_t bytes);

/* The kind of a mapping. The path need not be terminated (_of_text takes a terminated one); a "
 * (deleted)" at its end is ignored. */
pt_mapped_kind pt_mapped_kind_of(const char *path, size_t bytes);
pt_mapped_kind pt_mapped_kind_of_text(const char *path);

/* True if the mapping may have an ELF file to read. */
bool pt_mapped_is_image(pt_mapped_kind kind);
/* True for memory that no file backs. The process itself made the code in it at run time, so the
 * same address in another process is other code. */
bool pt_mapped_is_memory(pt_mapped_kind kind);

/* The process that wrote the dump at that path ("jit-PID.dump"), or 0. */
int64_t pt_mapped_jitdump_pid(const char *path, size_t bytes);

/* A mapping as a profile describes it. */
typedef struct pt_mapped {
    pt_mapped_kind kind;
    const char *name; /* points into the path, or is static; not terminated */
    size_t name_bytes;
    /* Of the mapping's start; the start address itself for ANONYMOUS and HEAP. */
    uint64_t file_offset;
} pt_mapped;

/* Describes a mapping. path and file_offset (of start) are those of the kernel; the path need
 * not be terminated. */
pt_mapped pt_mapped_as(const char *path, size_t bytes, uint64_t start, uint64_t file_offset);
