/* perf_data_layout.h: constants of perf.data, for its reader and its writer.
 *
 * The kernel's part is the ABI of linux/perf_event.h and perf_event_open(2). It is repeated in this
 * file, since the header of the build machine may be older than the profiles. The other constants
 * are from tools/perf/Documentation/perf.data-file-format.txt of Linux, and from files.
 */
#pragma once

#include <stdint.h>

#define PT_PERF_DATA_MAGIC1         "PERFFILE"
#define PT_PERF_DATA_MAGIC2         "PERFILE2" /* as a little-endian writer stores it */
#define PT_PERF_DATA_MAGIC2_SWAPPED "2ELIFREP"

enum {
    PT_PERF_FILE_HEADER_BYTES = 104,
    PT_PERF_PIPE_HEADER_BYTES = 16,
    PT_PERF_RECORD_HEADER_BYTES = 8,  /* type u32, misc u16, size u16 */
    PT_PERF_ATTR_BYTES_MIN = 64,      /* PERF_ATTR_SIZE_VER0 */
    PT_PERF_FEATURE_SIMPLEPERF = 128, /* the first that Android's simpleperf defines */
    PT_PERF_FEATURE_COUNT = 256,
};

/* Offsets in struct perf_event_attr. */
enum {
    PT_PERF_ATTR_TYPE = 0,
    PT_PERF_ATTR_SIZE = 4,
    PT_PERF_ATTR_CONFIG = 8,
    PT_PERF_ATTR_PERIOD = 16, /* or frequency */
    PT_PERF_ATTR_SAMPLE_TYPE = 24,
    PT_PERF_ATTR_READ_FORMAT = 32,
    PT_PERF_ATTR_FLAGS = 40,
    PT_PERF_ATTR_BRANCH_TYPE = 72,
    PT_PERF_ATTR_REGS_USER = 80,
    PT_PERF_ATTR_STACK_USER = 88,
    PT_PERF_ATTR_REGS_INTR = 96,
    PT_PERF_ATTR_MAX_STACK = 108,
};

/* Bit numbers of the attr's flags, on a little-endian machine. */
enum {
    PT_PERF_FLAG_INHERIT = 1,
    PT_PERF_FLAG_EXCLUDE_USER = 4,
    PT_PERF_FLAG_EXCLUDE_KERNEL = 5,
    PT_PERF_FLAG_EXCLUDE_HV = 6,
    PT_PERF_FLAG_MMAP = 8,
    PT_PERF_FLAG_COMM = 9,
    PT_PERF_FLAG_FREQ = 10,
    PT_PERF_FLAG_TASK = 13,
    PT_PERF_FLAG_SAMPLE_ID_ALL = 18,
    PT_PERF_FLAG_MMAP2 = 23,
    PT_PERF_FLAG_COMM_EXEC = 24,
};

enum { /* attr.type */
       PT_PERF_TYPE_HARDWARE = 0,
       PT_PERF_TYPE_SOFTWARE = 1,
       PT_PERF_TYPE_TRACEPOINT = 2,
       PT_PERF_TYPE_CACHE = 3,
       PT_PERF_TYPE_RAW = 4,
       PT_PERF_TYPE_BREAKPOINT = 5,
};
enum {
    PT_PERF_SOFTWARE_CPU_CLOCK = 0,
    PT_PERF_SOFTWARE_TASK_CLOCK = 1,
    PT_PERF_SOFTWARE_DUMMY = 9
};

/* Bits of attr.sample_type. */
#define PT_PERF_IP           (UINT64_C(1) << 0)
#define PT_PERF_TID          (UINT64_C(1) << 1)
#define PT_PERF_TIME         (UINT64_C(1) << 2)
#define PT_PERF_ADDR         (UINT64_C(1) << 3)
#define PT_PERF_READ         (UINT64_C(1) << 4)
#define PT_PERF_CALLCHAIN    (UINT64_C(1) << 5)
#define PT_PERF_ID           (UINT64_C(1) << 6)
#define PT_PERF_CPU          (UINT64_C(1) << 7)
#define PT_PERF_PERIOD       (UINT64_C(1) << 8)
#define PT_PERF_STREAM_ID    (UINT64_C(1) << 9)
#define PT_PERF_RAW          (UINT64_C(1) << 10)
#define PT_PERF_BRANCHES     (UINT64_C(1) << 11)
#define PT_PERF_REGS_USER    (UINT64_C(1) << 12)
#define PT_PERF_STACK_USER   (UINT64_C(1) << 13)
#define PT_PERF_WEIGHT       (UINT64_C(1) << 14)
#define PT_PERF_DATA_SRC     (UINT64_C(1) << 15)
#define PT_PERF_IDENTIFIER   (UINT64_C(1) << 16)
#define PT_PERF_TRANSACTION  (UINT64_C(1) << 17)
#define PT_PERF_REGS_INTR    (UINT64_C(1) << 18)
#define PT_PERF_PHYS_ADDR    (UINT64_C(1) << 19)
#define PT_PERF_AUX          (UINT64_C(1) << 20)
#define PT_PERF_CGROUP       (UINT64_C(1) << 21)
#define PT_PERF_DATA_PAGE    (UINT64_C(1) << 22)
#define PT_PERF_CODE_PAGE    (UINT64_C(1) << 23)
#define PT_PERF_WEIGHT_PARTS (UINT64_C(1) << 24)

/* attr.read_format. */
enum {
    PT_PERF_READ_ENABLED = 1 << 0,
    PT_PERF_READ_RUNNING = 1 << 1,
    PT_PERF_READ_ID = 1 << 2,
    PT_PERF_READ_GROUP = 1 << 3,
    PT_PERF_READ_LOST = 1 << 4,
};

/* attr.branch_sample_type. */
#define PT_PERF_BRANCH_CALL_STACK (UINT64_C(1) << 11)
#define PT_PERF_BRANCH_HW_INDEX   (UINT64_C(1) << 17)
#define PT_PERF_BRANCH_COUNTERS   (UINT64_C(1) << 19)

enum { /* record types */
       PT_PERF_MMAP = 1,
       PT_PERF_LOST = 2,
       PT_PERF_COMM = 3,
       PT_PERF_EXIT = 4,
       PT_PERF_THROTTLE = 5,
       PT_PERF_UNTHROTTLE = 6,
       PT_PERF_FORK = 7,
       PT_PERF_COUNTER = 8,
       PT_PERF_SAMPLE = 9,
       PT_PERF_MMAP2 = 10,
       PT_PERF_AUX_DATA = 11,
       PT_PERF_LOST_SAMPLES = 13,
       PT_PERF_KSYMBOL = 17,
       PT_PERF_BPF = 18,
       PT_PERF_CGROUP_NAME = 19,
       PT_PERF_CALLCHAIN_DEFERRED = 22,
       PT_PERF_KERNEL_LAST = 63,
       PT_PERF_ATTR = 64,
       PT_PERF_EVENT_TYPE = 65,
       PT_PERF_TRACING_DATA = 66,
       PT_PERF_BUILD_ID = 67,
       PT_PERF_FINISHED_ROUND = 68,
       PT_PERF_AUXTRACE = 71,
       PT_PERF_EVENT_UPDATE = 78,
       PT_PERF_TIME_CONV = 79,
       PT_PERF_FEATURE = 80,
       PT_PERF_COMPRESSED = 81,
       PT_PERF_COMPRESSED2 = 83,
       PT_PERF_LAST = 255,               /* no version of perf has record types above this */
       PT_PERF_SIMPLEPERF_FIRST = 32769, /* Android's simpleperf has records of its own */
       PT_PERF_SIMPLEPERF_LAST = 33023,
};

/* Bits of a record's misc. */
enum {
    PT_PERF_CPUMODE = 7,
    PT_PERF_KERNEL = 1,
    PT_PERF_USER = 2,
    PT_PERF_HYPERVISOR = 3,
    PT_PERF_GUEST_KERNEL = 4,
    PT_PERF_GUEST_USER = 5,
    PT_PERF_MISC_DATA = 1 << 13,      /* MMAP: the mapping is not code */
    PT_PERF_MISC_EXEC = 1 << 13,      /* COMM: the process started another program */
    PT_PERF_MISC_FORK_EXEC = 1 << 13, /* FORK: mmap records of the child follow */
    PT_PERF_MISC_BUILD_ID = 1 << 14,  /* MMAP2: the record has a build id */
    PT_PERF_MISC_ID_SIZE = 1 << 15,   /* BUILD_ID: byte 20 is the id's length */
};

/* Context marks in a call chain. Values from PT_PERF_CONTEXT_MAX on are never addresses. */
#define PT_PERF_CONTEXT_HV            ((uint64_t)-32)
#define PT_PERF_CONTEXT_KERNEL        ((uint64_t)-128)
#define PT_PERF_CONTEXT_USER          ((uint64_t)-512)
#define PT_PERF_CONTEXT_USER_DEFERRED ((uint64_t)-640)
#define PT_PERF_CONTEXT_GUEST         ((uint64_t)-2048)
#define PT_PERF_CONTEXT_GUEST_KERNEL  ((uint64_t)-2176)
#define PT_PERF_CONTEXT_GUEST_USER    ((uint64_t)-2560)
#define PT_PERF_CONTEXT_MAX           ((uint64_t)-4095)

enum { /* features: sections after a file's data, or records of a pipe */
       PT_PERF_FEATURE_BUILD_ID = 2,
       PT_PERF_FEATURE_HOST = 3,
       PT_PERF_FEATURE_RELEASE = 4,
       PT_PERF_FEATURE_VERSION = 5,
       PT_PERF_FEATURE_ARCH = 6,
       PT_PERF_FEATURE_CPU = 8,
       PT_PERF_FEATURE_COMMAND = 11,
       PT_PERF_FEATURE_EVENTS = 12,
       PT_PERF_FEATURE_SAMPLE_TIME = 21,
       PT_PERF_FEATURE_DIR_FORMAT = 24,
       PT_PERF_FEATURE_CLOCK_DATA = 29,
};
