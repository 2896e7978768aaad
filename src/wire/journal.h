/* journal.h: the crash journal. A profiled process copies its samples to this file while it
 * runs, from private memory. It never reads the file again.
 *
 *   0      header, 4096 bytes: process, times, sampling parameters, how it ended
 *   4096   areas, one after the other, each a multiple of 4096 bytes:
 *            maps     mappings, each with the time from which and to which it existed
 *            stacks   distinct stacks with their counts
 *            codes    functions of interpreters that frames of stacks name
 *            copies   samples with a copy of the thread's stack, which the reader unwinds
 *
 * Numbers have the writer's byte order, which `byte_order` shows. Each field has the same size
 * and place in 32-bit and 64-bit processes. Nothing moves once it is written. The fields that
 * make data valid are written after the data:
 *
 *   of the file   magic                      written last when the file is new
 *   of an area    magic, kind, size_bytes,   written after the area's records; no record crosses
 *                 used_bytes                 used_bytes, and the file may end there
 *
 * So the file is a complete profile whenever the process is killed. It lacks only samples that
 * were not copied yet: those of the last PT_JOURNAL_INTERVAL_MS at most (the first copies follow
 * each other faster). No sample is in it twice. An exit, exec or fork that the library
 * intercepts copies all samples. The reader is formats/journal.c.
 *
 * A recorded process that ends before its first sample leaves no journal. It appends one record
 * (pt_journal_brief) to the file PT_JOURNAL_BRIEF, which the recorder made.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define PT_JOURNAL_MAGIC      "PITOTJNL"  /* the file's first 8 bytes */
#define PT_JOURNAL_BYTE_ORDER 0x01020304u /* as the writer stores it */

enum {
    /* Version 1 had the threads' rings in the file, mapped shared. Version 2 had neither frames
     * of Python nor copies of stacks; it is read as well. */
    PT_JOURNAL_VERSION = 3,
    PT_JOURNAL_VERSION_LEAST = 2,
    PT_JOURNAL_HEADER_BYTES = 4096,
    PT_JOURNAL_ALIGN_BYTES = 4096, /* of areas, independent of the machine's page size */
    PT_JOURNAL_COMM_BYTES = 16,
    PT_JOURNAL_EXE_BYTES = 1024,
    PT_JOURNAL_COMMAND_BYTES = 2048,
    PT_JOURNAL_INTERVAL_MS = 100, /* between two copies */
    /* Native frames a sample; deeper stacks end as PT_JOURNAL_END_TRUNCATED. */
    PT_JOURNAL_DEPTH_MAX = 512,
    PT_JOURNAL_CODES_MAX = 1 << 16, /* functions of interpreters in one journal */
    PT_JOURNAL_CHAIN_MAX = 1024,    /* words of a stack, frames of the interpreter included */
};

/* Why a stack has no further frame. */
enum {
    PT_JOURNAL_END_ROOT = 0,  /* complete: the stack reached where the thread began */
    PT_JOURNAL_END_TRUNCATED, /* more frames than fit */
    PT_JOURNAL_END_NO_RULE, /* no rule gives the caller of this code (and it keeps no frame pointer)
                             */
    PT_JOURNAL_END_BAD_READ,  /* the next frame would lie outside the thread's known stack */
    PT_JOURNAL_END_UNCHECKED, /* as root, but frame pointers of code without rules (JIT, assembly)
                                 led there: a function that keeps no frame pointer hides its caller
                               */
    PT_JOURNAL_END_COUNT,
};

/* The source of the ticks. */
enum {
    PT_JOURNAL_ENGINE_POSIX = 1, /* a POSIX timer on each thread's CPU clock */
    /* A perf_event cpu-clock for each thread, time in the kernel included. */
    PT_JOURNAL_ENGINE_PERF = 2,
    PT_JOURNAL_ENGINE_REAL = 3,   /* a POSIX timer for each thread, on the monotonic clock */
    PT_JOURNAL_ENGINE_MODE = 4,   /* perf_events for user mode; POSIX timers for the kernel, or
                                     kernel_weight */
    PT_JOURNAL_ENGINE_TICKER = 5, /* a thread that sends signals to running threads */
    PT_JOURNAL_ENGINE_ITIMER = 6, /* ITIMER_PROF, one for the process */
};

/* How the process or its profile ended, as far as the library could see. */
enum {
    PT_JOURNAL_RUNNING = 0, /* no end seen: killed, or still running */
    PT_JOURNAL_STOPPED,     /* ProfilerStop */
    PT_JOURNAL_EXITED,      /* exit, or the return of main */
    PT_JOURNAL_EXITED_FAST, /* _exit or quick_exit */
    PT_JOURNAL_BECAME,      /* exec: the process went on as another program */
};

/* A range of the process's code, [low, limit). */
typedef struct {
    uint64_t low, limit;
} pt_journal_span;

static inline bool pt_journal_is_within(pt_journal_span span, uint64_t pc)
{
    return pc - span.low < span.limit - span.low;
}

/* The code that is cut from stacks of a recording, or that ends them. */
typedef struct {
    pt_journal_span own_code;     /* the library's */
    pt_journal_span passing_code; /* a part of own_code: functions that call the host's code */
    pt_journal_span main_start;   /* libc's code around the call of main */
    pt_journal_span thread_start; /* libc's code around the call of a thread's start routine */
    pt_journal_span own_start;    /* the library's thread function, which libc calls, and which
                                     calls the host's start routine */
    /* A part of own_code: functions that allow signals again after a call of the host's that ran
     * with all signals blocked (fork). The ticks of that call arrive there. */
    pt_journal_span unblocking_code;
} pt_journal_spans;

/* Removes the library's functions that call the host's code from a stack of *depth pcs, leaf first.
 * False: the sample is of the library's own work. */
static inline bool pt_journal_leave_out_own(const pt_journal_spans *spans, uint64_t *pcs,
                                            uint32_t *depth)
{
    uint32_t kept = 0;
    for (uint32_t i = 0; i < *depth; i++) {
        if (!pt_journal_is_within(spans->own_code, pcs[i]))
            pcs[kept++] = pcs[i];
        else if (pt_journal_is_within(spans->unblocking_code, pcs[i]))
            i++; /* removes the caller, too, which is libc's loop over handlers of fork */
        else if (i == 0 || (!pt_journal_is_within(spans->passing_code, pcs[i]) &&
                            !pt_journal_is_within(spans->own_start, pcs[i])))
            return false;
    }
    *depth = kept;
    return true;
}

/* The sampling period of a rate: whole microseconds, since the gperftools file counts those. */
static inline uint64_t pt_journal_period_ns(uint64_t hz)
{
    return (1000000 + hz / 2) / hz * 1000;
}

/* The file's header. */
typedef struct {
    char magic[8];         /* PT_JOURNAL_MAGIC; written last */
    uint32_t byte_order;   /* PT_JOURNAL_BYTE_ORDER */
    uint32_t version;      /* PT_JOURNAL_VERSION; another version has another layout */
    uint32_t header_bytes; /* where the first area starts */
    uint32_t word_bytes;   /* of the process: 4 or 8 */
    uint32_t machine;      /* e_machine of its ELF */
    uint32_t pid, ppid;
    uint32_t sequence;  /* number of the journal among those of the pid; grows at exec */
    uint32_t engine;    /* PT_JOURNAL_ENGINE_X */
    uint32_t end;       /* PT_JOURNAL_RUNNING ... */
    uint32_t asked_hz;  /* requested samples per CPU second */
    uint32_t tick_hz;   /* rate at which the kernel checks CPU-clock timers; 0: the rate does not
                           depend on it */
    uint64_t period_ns; /* CPU time that one unit of weight stands for: the timer's period */
    uint64_t start_realtime_ns, start_monotonic_ns;
    uint64_t last_monotonic_ns; /* when the figures below were last updated */
    uint64_t cpu_before_ns;     /* CPU time of the process before sampling began; in a recording,
                                   before the library began */
    uint64_t cpu_used_ns;       /* CPU time since then, without the library's own threads */
    uint64_t cpu_own_ns;        /* CPU time of the library's own threads */
    uint64_t fold_dropped;      /* weight lost because the stacks area could not grow */
    uint64_t threads_seen;      /* threads that had a timer */
    uint64_t threads_unsampled; /* threads for which no timer could be made */
    uint64_t ticks;             /* ticks that took a sample, found no room or were filtered */
    uint64_t weight;            /* sum of the weights of the samples, in periods */
    uint64_t ring_dropped;      /* weight of ticks lost because the ring was full */
    uint64_t filtered;          /* weight of ticks that the program's filter rejected */
    uint32_t exe_bytes, command_bytes;
    char comm[PT_JOURNAL_COMM_BYTES];       /* zero-terminated */
    char exe[PT_JOURNAL_EXE_BYTES];         /* path of the image; exe_bytes of them */
    char command[PT_JOURNAL_COMMAND_BYTES]; /* argv, each word ended by a zero byte; may be cut */
    uint64_t own_weight; /* the part of `weight` that fell into the library, which is in no stack */
    uint64_t own_ns; /* CPU time of the library in the host's threads while ticks were blocked */
    pt_journal_spans spans; /* the reader cuts unwound copies of stacks by these */
    /* Periods in the kernel, where ticks could not see the threads; in no stack. 0 in files of
     * older writers. */
    uint64_t kernel_weight;
} pt_journal_header;

_Static_assert(sizeof(pt_journal_header) <= PT_JOURNAL_HEADER_BYTES, "header outgrew its page");

#define PT_JOURNAL_AREA_MAGIC 0x61544a50u /* "PJTa" as little-endian bytes */

enum {
    PT_JOURNAL_MAPS = 1,
    PT_JOURNAL_STACKS = 2,
    PT_JOURNAL_CODES = 3,
    PT_JOURNAL_COPIES = 4,
};

/* At the start of each area. */
typedef struct {
    uint32_t magic; /* PT_JOURNAL_AREA_MAGIC; 0: the file ends here */
    uint32_t kind;
    uint64_t size_bytes; /* of the whole area, this header included */
    uint64_t used_bytes; /* bytes of records after this header */
    uint64_t reserved;
} pt_journal_area;

/* A record of a maps area: this struct, the build id, the path, zeros up to a multiple of 8. An
 * address of a stack belongs to the mapping with epoch_from <= the stack's epoch < epoch_to. */
typedef struct {
    uint64_t start, limit, file_offset, inode;
    uint64_t from_ns, to_ns; /* monotonic times when the mapping was first seen and seen gone; to_ns
                                0: until the end */
    uint32_t epoch_from, epoch_to; /* epoch_to is UINT32_MAX while the mapping exists */
    uint32_t device_major, device_minor;
    uint32_t prot; /* bits: read 4, write 2, execute 1 */
    uint16_t build_id_bytes, path_bytes;
} pt_journal_map;

/* A word of a stack that is a frame of an interpreter instead of an address: bit 63 is set; bits 32
 * to 55 are the number of its function (0: the table of functions was full); the low half is 1 +
 * the place in its instructions, in bytes. In V8 the place is always 0; in PHP, Ruby, Perl
 * and Java it is the line, 0: unknown. */
#define PT_JOURNAL_CODE_FRAME        (UINT64_C(1) << 63)
#define PT_JOURNAL_CODE_NUMBER(word) ((uint32_t)((word) >> 32) & 0xffffff)
#define PT_JOURNAL_CODE_PLACE(word)  ((int32_t)((uint32_t)(word)-1))

/* A record of a codes area: this struct, the name, the file, the line table, zeros up to a
 * multiple of 8.
 */
typedef struct {
    uint32_t number;
    uint32_t lines_bytes;
    int32_t first_line;
    uint16_t name_bytes, file_bytes;
    uint16_t minor;    /* of CPython 3.minor, which decides the form of the line table; else 0 */
    uint16_t language; /* PT_JOURNAL_LANGUAGE_X */
    uint16_t reserved[2];
} pt_journal_code;

enum {
    PT_JOURNAL_LANGUAGE_PYTHON = 0,
    PT_JOURNAL_LANGUAGE_JAVASCRIPT,
    PT_JOURNAL_LANGUAGE_PHP,
    PT_JOURNAL_LANGUAGE_RUBY,
    PT_JOURNAL_LANGUAGE_PERL,
    PT_JOURNAL_LANGUAGE_JAVA,
    PT_JOURNAL_LANGUAGES
};

/* How the native and the interpreted frames of a stack were joined: there were none of the latter,
 * the match was certain, or it was not. A frame of V8 follows the native frame that has its frame
 * pointer, and frames of Java stand in place of the native frame of their code, with certainty. */
enum { PT_JOURNAL_NATIVE = 0, PT_JOURNAL_MERGED, PT_JOURNAL_MERGED_UNCERTAIN };

/* A record of a stacks area: this struct, then depth words, leaf first: addresses and
 * frames of interpreters. */
typedef struct {
    uint64_t count; /* sum of weights; the only field that changes */
    uint32_t depth; /* >= 1 */
    uint16_t epoch; /* low bits of an epoch in which the stack's addresses had the same mappings as
                       when it was sampled */
    uint8_t end;    /* PT_JOURNAL_END_X */
    uint8_t merged; /* PT_JOURNAL_NATIVE ... */
} pt_journal_stack;

/* A record of a copies area: this struct, then reg_count registers by DWARF number, then
 * stack_words words of the stack, from the stack pointer on. */
typedef struct {
    uint32_t weight; /* periods that the sample counts for */
    uint32_t stack_words;
    uint16_t reg_count;
    uint16_t epoch;  /* as in pt_journal_stack */
    uint32_t is_cut; /* 1: the stack continues beyond the copied words */
} pt_journal_copy;

#define PT_JOURNAL_BRIEF "brief" /* the file of pt_journal_brief records, in a recording's folder */

/* A file in the same folder, also made by the recorder: a line with the name of each program that
 * the library could not enter. */
#define PT_JOURNAL_NOT_ENTERED "not-entered"

/* A file of journals of processes that ended after a sample or two. The recorder makes it, and each
 * process appends its journal in one write: a pt_journal_short; the fields of pt_journal_header
 * before exe and after command; the used bytes of exe and command; each area with its used bytes;
 * zeros up to a multiple of 8. If two journals have the same pid and start, exec had failed after
 * the first, and the later journal includes the earlier. */
#define PT_JOURNAL_SHORT "short.journal"
/* A symbolic link through which the recorder offers unwind tables. Its text is a pattern for the
 * tables' paths: the last PT_JOURNAL_TABLE_KEY in the text stands for the key of an image's file,
 * which is made from the build id in hexadecimal digits (pt_kept_key_put). */
#define PT_JOURNAL_TABLES      "tables"
#define PT_JOURNAL_TABLE_KEY   '*'
#define PT_JOURNAL_SHORT_MAGIC 0x73544a50u /* "PJTs" as little-endian bytes */

typedef struct {
    uint32_t magic; /* PT_JOURNAL_SHORT_MAGIC */
    uint32_t bytes; /* of all of it, at most PT_JOURNAL_SHORT_MOST_BYTES */
} pt_journal_short;

#define PT_JOURNAL_SHORT_MOST_BYTES (sizeof(pt_journal_short) + ((size_t)64 << 10))

#define PT_JOURNAL_SHORT_FIELDS_BYTES                                                              \
    (offsetof(pt_journal_header, exe) + sizeof(pt_journal_header) -                                \
     offsetof(pt_journal_header, own_weight))

#define PT_JOURNAL_BRIEF_MAGIC 0x62544a50u /* "PJTb" as little-endian bytes */

/* The record of a process that ended before its first sample; the fields are those of
 * pt_journal_header. Complete records may follow a record that was cut short: a reader finds each
 * by its magic. */
typedef struct {
    uint32_t magic; /* PT_JOURNAL_BRIEF_MAGIC */
    uint32_t pid, end, reserved;
    uint64_t start_monotonic_ns;
    uint64_t cpu_before_ns, cpu_used_ns, cpu_own_ns, own_ns;
    char comm[PT_JOURNAL_COMM_BYTES]; /* of the thread that wrote it */
} pt_journal_brief;
