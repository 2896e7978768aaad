/* journal.h: the crash journal, a file that a profiled process maps shared and fills as it runs.
 * Whatever ends the process, the file holds every sample but, at worst, the one in flight.
 *
 *   0      header, 4096 bytes: who, when, how sampled, how it ended
 *   4096   areas, one after the other, each a multiple of 4096 bytes:
 *            maps     what was mapped where, from when to when
 *            stacks   distinct stacks with their counts
 *            ring     samples of one thread that are not yet folded into stacks
 *
 * Numbers have the writer's byte order, told by `byte_order`; all have the same size and place in
 * 32-bit and 64-bit processes. Nothing moves once it is written. Whatever a reader trusts is
 * committed by one aligned store with release order after the bytes it covers:
 *
 *   header   magic             after the facts that do not change
 *   area     magic             after kind, size_bytes and the area's own header
 *   maps, stacks   used_bytes  after the record; a record never crosses it
 *   ring     head_words        after the record; tail_words after it was folded
 *
 * A sample that was folded when the process died before tail_words moved is counted twice: that is
 * the one in flight. The reader is formats/journal.c.
 */
#ifndef PT_WIRE_JOURNAL_H
#define PT_WIRE_JOURNAL_H

#include <stddef.h>
#include <stdint.h>

#define PT_JOURNAL_MAGIC      "PITOTJNL"  /* the file's first 8 bytes */
#define PT_JOURNAL_BYTE_ORDER 0x01020304u /* as the writer stores it */

enum {
    PT_JOURNAL_VERSION = 1,
    PT_JOURNAL_HEADER_BYTES = 4096,
    PT_JOURNAL_ALIGN_BYTES = 4096, /* of areas, whatever the machine's page */
    PT_JOURNAL_COMM_BYTES = 16,
    PT_JOURNAL_EXE_BYTES = 1024,
    PT_JOURNAL_COMMAND_BYTES = 2048,
    PT_JOURNAL_DEPTH_MAX = 512, /* frames a sample; deeper stacks end as PT_JOURNAL_END_TRUNCATED */
};

/* Why a stack has no further frame. */
enum {
    PT_JOURNAL_END_ROOT = 0,  /* complete: it reached where the thread began */
    PT_JOURNAL_END_TRUNCATED, /* more frames than fit */
    PT_JOURNAL_END_NO_RULE,   /* nothing says where this code keeps its caller (no frame pointer) */
    PT_JOURNAL_END_BAD_READ,  /* the next frame would lie outside the thread's known stack */
    PT_JOURNAL_END_UNCHECKED, /* as root, but by frame pointers of code without rules (JIT, or
                                 hand-written): a function that keeps none hides its caller */
    PT_JOURNAL_END_COUNT,
};

/* What made the ticks. */
enum {
    PT_JOURNAL_ENGINE_POSIX = 1,  /* a POSIX timer on each thread's CPU clock */
    PT_JOURNAL_ENGINE_PERF = 2,   /* a perf_event cpu-clock for each thread, kernel time included */
    PT_JOURNAL_ENGINE_REAL = 3,   /* a POSIX timer for each thread, on the clock on the wall */
    PT_JOURNAL_ENGINE_MODE = 4,   /* perf_events in user mode; POSIX timers for the kernel */
    PT_JOURNAL_ENGINE_TICKER = 5, /* a thread that sends signals to those that run */
    PT_JOURNAL_ENGINE_ITIMER = 6, /* ITIMER_PROF, one for the process */
};

/* How the process, or its profile, ended, as far as the library was told. */
enum {
    PT_JOURNAL_RUNNING = 0, /* never told: killed, or still running */
    PT_JOURNAL_STOPPED,     /* ProfilerStop */
    PT_JOURNAL_EXITED,      /* exit, or the return of main */
    PT_JOURNAL_EXITED_FAST, /* _exit or quick_exit */
    PT_JOURNAL_BECAME,      /* exec: the process went on as another program */
};

typedef struct {
    char magic[8];         /* PT_JOURNAL_MAGIC, committed last */
    uint32_t byte_order;   /* PT_JOURNAL_BYTE_ORDER */
    uint32_t version;      /* PT_JOURNAL_VERSION; another one has another layout */
    uint32_t header_bytes; /* where the first area starts */
    uint32_t word_bytes;   /* of the process: 4 or 8 */
    uint32_t machine;      /* e_machine of its ELF */
    uint32_t pid, ppid;
    uint32_t sequence;  /* which image of that pid: counts exec */
    uint32_t engine;    /* PT_JOURNAL_ENGINE_X */
    uint32_t end;       /* PT_JOURNAL_RUNNING ... */
    uint32_t asked_hz;  /* samples a CPU second asked for */
    uint32_t tick_hz;   /* how often the kernel looks at CPU-clock timers, 0 = not tick-bound */
    uint64_t period_ns; /* CPU time that one unit of weight stands for: the timer's own truth */
    uint64_t start_realtime_ns, start_monotonic_ns;
    uint64_t last_monotonic_ns; /* when the facts below were last brought up to date */
    uint64_t cpu_before_ns;     /* CPU time of the process when sampling began */
    uint64_t cpu_used_ns;       /* CPU time since then, the library's own thread left out */
    uint64_t cpu_own_ns;        /* CPU time of the library's own thread */
    uint64_t fold_dropped;      /* weight lost because the stacks area could not grow */
    uint64_t threads_seen;      /* threads that had a timer */
    uint64_t threads_unsampled; /* threads that could not be given one */
    uint64_t epoch;             /* the mappings' present epoch, see pt_journal_map */
    uint64_t reserved;
    uint32_t exe_bytes, command_bytes;
    char comm[PT_JOURNAL_COMM_BYTES];       /* zero-terminated */
    char exe[PT_JOURNAL_EXE_BYTES];         /* path of the image; exe_bytes of them */
    char command[PT_JOURNAL_COMMAND_BYTES]; /* argv, each ended by a zero byte, perhaps cut */
} pt_journal_header;

_Static_assert(sizeof(pt_journal_header) <= PT_JOURNAL_HEADER_BYTES, "header outgrew its page");

#define PT_JOURNAL_AREA_MAGIC 0x61544a50u /* "PJTa" as little-endian bytes */

enum { PT_JOURNAL_MAPS = 1, PT_JOURNAL_STACKS = 2, PT_JOURNAL_RING = 3 };

/* At the start of each area. */
typedef struct {
    uint32_t magic; /* PT_JOURNAL_AREA_MAGIC, committed last; 0 = nothing more in the file */
    uint32_t kind;
    uint64_t size_bytes; /* of the whole area, this included */
    uint64_t used_bytes; /* maps, stacks: bytes of records after this header, committed */
    uint64_t reserved;
} pt_journal_area;

/* A record of a maps area: this, the build id, the path, zeros up to a multiple of 8.
 * An address is looked up among the mappings with epoch_from <= the stack's epoch < epoch_to. */
typedef struct {
    uint64_t start, limit, file_offset, inode;
    uint64_t from_ns, to_ns; /* monotonic; to_ns 0 = to the end. When first seen, when seen gone */
    uint32_t epoch_from, epoch_to; /* epoch_to is UINT32_MAX while it lives */
    uint32_t device_major, device_minor;
    uint32_t prot; /* read 4, write 2, execute 1 */
    uint16_t build_id_bytes, path_bytes;
} pt_journal_map;

/* A record of a stacks area: this, then depth addresses, leaf first. */
typedef struct {
    uint64_t count; /* sum of weights; the only field that changes */
    uint32_t depth; /* >= 1 */
    uint16_t epoch; /* low bits of an epoch in which its frames were mapped as when seen */
    uint8_t end;    /* PT_JOURNAL_END_X */
    uint8_t reserved;
} pt_journal_stack;

/* A ring area's own header, after pt_journal_area. One thread's handler writes, the folder reads.
 * Words are counted from the start of time; word n lies at words[n % ring_words]. */
typedef struct {
    uint64_t ring_words; /* a power of two */
    uint64_t tid;        /* of the thread that fills it now; 0 = none */
    uint64_t head_words; /* published */
    uint64_t tail_words; /* folded */
    uint64_t ticks;      /* handler runs */
    uint64_t weight;     /* of the published samples: 1 + timer overruns each */
    uint64_t dropped;    /* weight of ticks that found no room */
    uint64_t filtered;   /* weight of ticks that the program's filter refused */
    uint64_t words[];
} pt_journal_ring;

/* A ring record's first word; depth addresses follow. Weight is at least 1, so it is never 0. */
static inline uint64_t pt_journal_ring_word(uint32_t weight, unsigned depth, unsigned end)
{
    return (uint64_t)weight << 32 | (uint64_t)(depth & 0xffffff) << 8 | (end & 0xff);
}
static inline uint32_t pt_journal_ring_weight(uint64_t word)
{
    return (uint32_t)(word >> 32);
}
static inline uint32_t pt_journal_ring_depth(uint64_t word)
{
    return (uint32_t)(word >> 8) & 0xffffff;
}
static inline unsigned pt_journal_ring_end(uint64_t word)
{
    return (unsigned)(word & 0xff);
}

#endif
