/* SPDX-License-Identifier: GPL-2.0 OR Apache-2.0 */
/* layout.h: the data shared by the program in the kernel (sample.bpf.c) and user space (engine.c).
 *
 *   processes   pid -> pt_bpf_process ---> its mappings, a run of the pool, ascending
 *                                          mapping ---> its file's table, in the pool
 *   pool        chunks of 4 MB, which user space writes through a shared mapping:
 *               | mappings | pages | rows | rules | mappings | ...
 *   cpus        state of a walk, one a cpu, and a cache of rules; with waits a second one a cpu,
 *               since a sample may interrupt the walk at a switch
 *   output      one event a cpu: bytes written to it appear in the ring of that cpu's samples
 *
 * and with waits (wait.bpf.h):
 *   waiting     tid -> pt_bpf_wait, the thread's wait
 *   counts      stack and waker -> pt_bpf_count, sums of the waits that are over
 *   sent        numbers of the stacks that were sent
 *   owed        pid -> pt_bpf_count, what the sums of the process lack where stacks are not taken
 *               at every wait
 *   plain       as output, without the kernel's stack: pt_bpf_wait_end
 *   copies      as output, with registers and a copy of the stack
 *
 * Places in the pool are word numbers (4 bytes) from the beginning of the first chunk.
 */
#pragma once

#include "interp/perl.h"
#include "interp/php.h"
#include "interp/python.h"
#include "interp/ruby.h"
#include "interp/v8.h"
#include "unwind/unwind.h"

enum {
    PT_BPF_CHUNK_BYTES = 4 << 20, /* limit of an array element before Linux 5.11 */
    PT_BPF_CHUNK_WORDS = PT_BPF_CHUNK_BYTES / 4,
    PT_BPF_CHUNK_BITS = 20, /* the low bits of a place: word in its chunk */
    PT_BPF_CHUNKS_MAX = 128,
    PT_BPF_PROCESSES_MAX = 8192,
    PT_BPF_ADOPTING_MAX = 32768, /* processes, if the program itself adds each new child */
    PT_BPF_MAPPINGS_MAX = 32768, /* of one process */
    PT_BPF_DEPTH_MAX = 1024,
    PT_BPF_KERNEL_DEPTH_MAX = 64,
    PT_BPF_WINDOW_BYTES = 1024, /* bytes of the stack per read */
    PT_BPF_ENTRY_WORDS = 36,    /* words for the user-space registers in the kernel's form */
    PT_BPF_THREADS_MAX = 32768, /* that wait at a time */
    PT_BPF_STACKS_MAX = 65536,  /* different stacks of waits that are counted in the kernel */
    PT_BPF_FRAMES_MAX = 512,    /* frames of an interpreter */
    PT_BPF_FRAMES_BAD = 0xffff, /* as a number of frames: memory does not fit the layout */
};

_Static_assert(PT_BPF_CHUNK_WORDS == 1 << PT_BPF_CHUNK_BITS, "a word's number has so many bits");

/* The kind of a mapping. */
enum {
    PT_BPF_TABLE,
    PT_BPF_NO_TABLE, /* its file has no rules: walk by frame pointers */
    PT_BPF_LATER, /* no room for its table in the pool, or it is of a runtime that the kernel does
                     not know: user space must walk */
};

/* A mapping, its pages and its rules each lie in one chunk; rows may span chunks. */
typedef struct pt_bpf_mapping {
    uint64_t start, limit;
    uint64_t base; /* run-time address of the table's page 0 */
    uint32_t kind; /* PT_BPF_TABLE, ... */
    uint32_t pages, page_count;
    uint32_t rows, row_count;
    uint32_t rules, rule_count;
    /* The number of another pt_bpf_mapping, which follows those of the process: it has no
     * addresses, but this file's table of the base register (unwind/table.h); 0: none. */
    uint32_t base_table;
} pt_bpf_mapping;

enum {
    PT_BPF_NO_LANGUAGE,
    PT_BPF_PYTHON,
    PT_BPF_PHP,
    PT_BPF_PERL,
    PT_BPF_RUBY,
    PT_BPF_JAVASCRIPT,
    PT_BPF_LANGUAGES
};

/* The interpreter of a process whose frames are to be read. */
typedef struct pt_bpf_interp {
    uint32_t language;    /* PT_BPF_PYTHON, ... */
    uint32_t thread_keys; /* of libc's thread structure: the offset of its blocks of values; 0:
                             unknown */
    uint64_t state;       /* address of _PyRuntime, executor_globals, PL_thr_key; of Ruby: of the
                           * number of the module whose thread-local variables include the context,
                           * or of the only context; of V8: a number for its file */
    union {
        struct {
            uint64_t code_type, text_type, bytes_type; /* addresses of PyCode_Type, ... */
            pt_python_layout layout;
        } python;
        struct {
            uint64_t generator_class; /* address of zend_ce_generator */
            pt_php_layout layout;
        } php;
        struct {
            pt_perl_layout layout;
        } perl;
        struct {
            uint64_t context;        /* the place of ruby_current_ec among the variables */
            uint64_t object, string; /* addresses of rb_cObject, rb_cString; 0: unknown */
            pt_ruby_layout layout;
        } ruby;
        struct {
            pt_v8_layout layout;
        } v8;
    };
} pt_bpf_interp;

/* What is known about `processes`; not 0: true. */
typedef enum pt_bpf_fact {
    PT_BPF_ALL_KNOWN, /* user space has put all processes there that are recorded */
    PT_BPF_MISSED,    /* but there was no room for one */
    PT_BPF_FACTS,
} pt_bpf_fact;

/* In place of an address space: user space does not know the process's mappings yet. */
#define PT_BPF_NO_MAPPINGS UINT64_MAX

/* A process. */
typedef struct pt_bpf_process {
    /* Address space of the mappings, set by the first sample; 0: before; PT_BPF_NO_MAPPINGS */
    uint64_t mm;
    uint32_t generation; /* of the mappings; pt_unwind_modules.generation */
    uint32_t mappings, mapping_count;
    uint32_t is_wanted; /* 0: drop its samples */
    uint32_t program; /* a number for the program that it runs: exec may reuse the address space */
    /* The last period in which code was copied, and the number of these copies. */
    uint32_t copy_period, copy_count;
    uint32_t unused;
    pt_bpf_interp interp;
} pt_bpf_process;

/* A stack as it arrives in PERF_SAMPLE_RAW. The kernel sets bytes: the number of bytes that follow.
 */
typedef struct pt_bpf_stack {
    uint32_t bytes;
    uint32_t generation; /* of the mappings used for the walk */
    uint32_t count;
    uint8_t end; /* pt_unwind_end */
    uint8_t is_unchecked;
    uint16_t frame_count; /* of the interpreter's frames, or PT_BPF_FRAMES_BAD */
    uint64_t period;      /* the event's period at this sample */
    uint64_t key;         /* a number for the process, the stack and the call */
    /* Of a sample: the thread's CPU time, which is late by up to a tick, and the number of times
     * that it was given a cpu; 0: unknown */
    uint64_t ran_ns, turns;
    int32_t call;  /* of a wait: the system call, or PT_BPF_CALL_X */
    uint8_t role;  /* PT_BPF_SAMPLE, ... */
    uint8_t is_io; /* the kernel counts the wait as one for a disk */
    uint16_t mode; /* st_mode of the file that the call reads or writes; 0: unknown */
    /* `count` pcs, then two words for each frame of the interpreter: PT_BPF_FRAME_X. */
    uint64_t pcs[PT_BPF_DEPTH_MAX + 2 * PT_BPF_FRAMES_MAX];
} pt_bpf_stack;

enum {
    PT_BPF_STACK_HEAD_BYTES = 52, /* from generation to pcs */
};

/* The role of a stack: the thread that is sampled, waits, or wakes another. */
enum {
    PT_BPF_SAMPLE,
    PT_BPF_WAITER,
    PT_BPF_WAKER,
    PT_BPF_RESTING, /* a wait that began before the recording */
};

/* In place of a system call: user code was interrupted by a fault or an interrupt, or (PREEMPTED)
 * the thread could have continued. */
enum { PT_BPF_CALL_FAULT = -1, PT_BPF_CALL_PREEMPTED = -2 };

enum {
    /* The record is the head of a stack only: this cpu has sent the stack with that key before */
    PT_BPF_KNOWN_END = 0xfc,
    PT_BPF_COPIED_END = 0xfd, /* in place of a stack's end: the sample has a copy of the stack */
    PT_BPF_WAIT_END = 0xfe,   /* the record is the end of a wait */
};

/* A thread's wait. */
typedef struct pt_bpf_wait {
    uint64_t since_ns;     /* monotonic; 0: the thread runs */
    uint64_t woken_ns;     /* 0: not woken yet; equal to since_ns if it was preempted */
    uint64_t stack, waker; /* keys of stacks; waker 0: unknown, or PT_BPF_INTERRUPT */
    uint64_t taken_ns;     /* when the last stack of the thread was taken */
    uint32_t pid;
    uint16_t weight; /* the number of waits that this one stands for; 0: none, its stack was not
                      * taken */
    uint8_t is_preempted, is_single; /* single: only this wait has the stack's key */
} pt_bpf_wait;

/* The waits with one stack and one waker, and their sums. If stacks are not taken at every wait, a
 * wait with a stack counts by its weight, and `owed` has the difference to all waits. */
typedef struct pt_bpf_count {
    uint64_t stack, waker;
    uint64_t off_ns, ready_ns, waits, preemptions;
} pt_bpf_count;

/* The end of a wait, as it arrives in PERF_SAMPLE_RAW, if it is not counted in the kernel. */
typedef struct pt_bpf_wait_end {
    uint32_t bytes; /* as in pt_bpf_stack, and so are the next two */
    uint32_t generation, count;
    uint8_t end; /* PT_BPF_WAIT_END */
    uint8_t unused[3];
    uint32_t tid, cpu;
    uint32_t unused_too[2];
    uint64_t since_ns;
    pt_bpf_count one; /* the wait */
} pt_bpf_wait_end;

enum { PT_BPF_WAIT_END_BYTES = sizeof(pt_bpf_wait_end) - 4 };

/* In place of the key of a waker's stack: an interrupt, and no thread, woke the thread. */
enum { PT_BPF_INTERRUPT = 2 };

/* A thread that waits when the recording begins. */
typedef struct pt_bpf_resting {
    uint32_t pid, tid;
    uint64_t key;
    int32_t call; /* these three: as in pt_bpf_stack */
    uint16_t mode;
    uint8_t is_io, unused;
    uint32_t kernel_count, unused_too;
    uint64_t pc, sp, fp;
    uint64_t regs[PT_MACHINE_REGS_MAX]; /* by DWARF number */
    uint64_t kernel[PT_BPF_KERNEL_DEPTH_MAX];
} pt_bpf_resting;

typedef struct pt_bpf_wait_settings {
    uint32_t cpu_limit;  /* the place in cpus of the first state for waits */
    uint32_t is_each;    /* send the end of each wait; else the waits of a stack are summed */
    uint32_t has_wakers; /* walk the stacks of wakers */
    uint32_t stacks_max; /* about how many stacks a cpu takes in 2^23 ns of switches; 0: all */
    uint32_t only_known; /* do not record processes that are not in `processes` */
    struct {
        uint64_t start, bytes;
    } hard, soft;      /* with wakers: the kernel's functions that begin interrupts of both kinds */
    uint64_t begin_ns; /* monotonic time from which on the programs count all switches */
    uint64_t lost;     /* counted by the program: waits that are in no sum, and were not sent */
    /* Also counted by the program: waits whose stacks were not taken, and the largest weight of a
     * wait whose stack was taken. */
    uint64_t passed, weight_max;
    pt_bpf_process adopted; /* a new child of a recorded process */
} pt_bpf_wait_settings;

/* A frame of an interpreter has two words.
 *
 * The first word
 *   address   of its code: CPython: the code object; PHP: the first instruction, or the function if
 *             it is written in C; Perl: pt_perl_key; Ruby: pt_ruby_key; V8: the shared function
 *             info; 0: an evaluator without frames
 *   bit 62    the frame is the outermost of those that one call of the evaluator runs
 *   bit 61    a register of the thread holds the frame (PHP)
 *   bits 61, 62  of the innermost frame of V8: its tier (pt_v8_tier)
 *   bit 60    no frames are outside this one (all but V8)
 * The second word
 *   low half  1 + the place: CPython: in the code; V8: the number of its native frame; else the
 *             line
 *   high half a check, which distinguishes code that lies at the same address at different times
 */
#define PT_BPF_FRAME_ENTRY (UINT64_C(1) << 62)
#define PT_BPF_FRAME_HELD  (UINT64_C(1) << 61)
#define PT_BPF_FRAME_LAST  (UINT64_C(1) << 60)
#define PT_BPF_FRAME_CODE(first)                                                                   \
    ((first) & ~(PT_BPF_FRAME_ENTRY | PT_BPF_FRAME_HELD | PT_BPF_FRAME_LAST))
#define PT_BPF_FRAME_TIER_SHIFT    61
#define PT_BPF_FRAME_TIER(first)   ((unsigned)((first) >> PT_BPF_FRAME_TIER_SHIFT & 3))
#define PT_BPF_FRAME_PLACE(second) ((int32_t)((uint32_t)(second)-1))
#define PT_BPF_FRAME_CHECK(second) ((uint32_t)((second) >> 32))

_Static_assert(offsetof(pt_bpf_stack, pcs) == 4 + PT_BPF_STACK_HEAD_BYTES, "the record's layout");

enum {
    PT_BPF_CODE_END = 0xff, /* in place of a stack's end: the record is a code object */
    PT_BPF_NAME_BYTES = 256,
    PT_BPF_FILE_BYTES = 512,
    PT_BPF_MORE_BYTES = 2048,
};

/* Where a copy was made from. */
typedef struct pt_bpf_origin {
    uint64_t addr;
    uint32_t bytes;    /* of the copy */
    uint32_t is_ended; /* the copy is a text with its end */
} pt_bpf_origin;

enum {
    PT_BPF_V8_HEAD_WORDS = 8,
    PT_BPF_V8_WORDS = 16,
    PT_BPF_V8_TAIL_WORDS = 8,
    PT_BPF_V8_PARTS = 8,
};

/* The beginning of an object of V8, and the type that its map has. */
typedef struct pt_bpf_v8_object {
    uint64_t object; /* its tagged address; 0: it was not read */
    uint64_t type;
    uint64_t head[PT_BPF_V8_HEAD_WORDS];
} pt_bpf_v8_object;

/* Words of an object of V8. */
typedef struct pt_bpf_v8_words {
    uint64_t addr; /* 0: they were not read */
    uint64_t words[PT_BPF_V8_WORDS];
} pt_bpf_v8_words;

/* The rows of the objects that name a function of V8. */
enum {
    PT_BPF_V8_SHARED,
    PT_BPF_V8_SCRIPT,
    PT_BPF_V8_FILE, /* the script's name */
    PT_BPF_V8_SCOPE,
    PT_BPF_V8_LOCAL, /* the name of the scope's first local, or the table of their names */
    PT_BPF_V8_TAIL,  /* the objects of the scope info's words behind the locals */
    PT_BPF_V8_PART = PT_BPF_V8_TAIL + PT_BPF_V8_TAIL_WORDS - 1, /* parts of strings */
    PT_BPF_V8_OBJECTS = PT_BPF_V8_PART + PT_BPF_V8_PARTS,
};

/* These objects; the fields of the script; the beginning of the scope info, and its words behind
 * the locals. */
typedef struct pt_bpf_v8_copy {
    pt_bpf_v8_words script, scope;
    uint64_t tail_addr; /* 0: it was not read */
    uint64_t tail[PT_BPF_V8_TAIL_WORDS];
    pt_bpf_v8_object objects[PT_BPF_V8_OBJECTS];
} pt_bpf_v8_copy;

/* Code of an interpreter, as it arrives in PERF_SAMPLE_RAW before the first stack of a cpu with
 * that code: copies of the beginnings of its name, its file and a third object, with their headers.
 * The third object is the line table (CPython), the name of the class (PHP, Ruby), or the name of
 * the package (Perl). For Ruby the copies are texts without headers. For V8 the name and the file
 * are strings, in any order, that are longer than the head of an object; in place of the third
 * object is pt_bpf_v8_copy, whose size more_from has. */
typedef struct pt_bpf_code {
    uint32_t bytes; /* as in pt_bpf_stack, and so are the next two */
    uint32_t generation, count;
    uint8_t end; /* PT_BPF_CODE_END */
    uint8_t unused[3];
    uint32_t check, language; /* language: PT_BPF_PYTHON, ... */
    uint64_t code;            /* its address */
    union {
        pt_python_code python;
        pt_php_function php;
        pt_perl_code perl;
        struct {
            pt_ruby_code code;
            pt_ruby_names names;
            pt_ruby_keys keys; /* the keys with which the check was made, */
            uint64_t owner;    /* and the class or module for which; 0: none */
        } ruby;
    };
    pt_bpf_origin name_from, file_from, more_from;
    uint64_t name[PT_BPF_NAME_BYTES / 8], file[PT_BPF_FILE_BYTES / 8];
    union {
        uint64_t more[PT_BPF_MORE_BYTES / 8]; /* as many whole words as more_from.bytes need */
        pt_bpf_v8_copy v8;
    };
} pt_bpf_code;

enum { PT_BPF_CODE_HEAD_BYTES = offsetof(pt_bpf_code, more) - 4 };

_Static_assert(offsetof(pt_bpf_code, end) == offsetof(pt_bpf_stack, end), "it tells them apart");
_Static_assert(offsetof(pt_bpf_code, more) % 8 == 0, "a record has whole words");
_Static_assert(sizeof(pt_bpf_v8_copy) <= PT_BPF_MORE_BYTES, "they fit in the room");
_Static_assert(offsetof(pt_bpf_wait_end, end) == offsetof(pt_bpf_stack, end),
               "it tells them apart");
_Static_assert(sizeof(pt_bpf_wait_end) % 8 == 0, "a record has whole words");

enum { PT_BPF_MET_BITS = 12, PT_BPF_KNOWN_BITS = 10, PT_BPF_SAMPLE_CODE_BITS = 8 };

/* The place of a stack among those that a cpu has sent. A later stack with the same place replaces
 * the former one here and in user space, which reads the records of a cpu in their order. */
#define PT_BPF_KNOWN_PLACE(key) ((key) >> (64 - PT_BPF_KNOWN_BITS))

/* Code that a frame of the sample of that time executes. */
typedef struct pt_bpf_sample_code {
    uint64_t code, now_ns;
    uint32_t check, unused;
} pt_bpf_sample_code;

/* The state of a walk through CPython's frames; for its fields see pt_python_walk. */
typedef struct pt_bpf_python_walk {
    pt_python_layout layout;
    uint64_t code_type, next;
    uint32_t left;
    uint8_t has_ahead, unused[3];
    pt_python_frame ahead;
    uint64_t bytes[PT_PYTHON_BYTES / 8];
    pt_python_code code; /* of the last frame */
} pt_bpf_python_walk;

/* The state of a walk through PHP's frames; for its fields see pt_php_walk. */
typedef struct pt_bpf_php_walk {
    pt_php_layout layout;
    uint32_t cpu; /* its number in cpus */
    uint64_t globals, generator_class, next;
    uint32_t left, delegate_count;
    uint64_t delegates[PT_PHP_DELEGATES_MAX];
    uint64_t generator, parent;
    uint64_t frame_register, instruction_register; /* of the thread, when it was interrupted */
    pt_php_function function;                      /* of the last frame */
} pt_bpf_php_walk;

/* The state of a walk through Perl's frames; for its fields see pt_perl_walk. */
typedef struct pt_bpf_perl_walk {
    pt_perl_layout layout;
    uint64_t statement, outer, contexts;
    int64_t index;
    uint32_t left;
    bool has_main, has_begun;
    uint8_t unused[2];
    pt_perl_code code; /* of the last frame */
} pt_bpf_perl_walk;

/* The state of a walk through Ruby's frames; for its fields see pt_ruby_walk. */
typedef struct pt_bpf_ruby_walk {
    pt_ruby_layout layout;
    uint64_t next, end;
    uint32_t left;
    uint32_t cpu;            /* its number in cpus */
    uint64_t object, string; /* as in pt_bpf_interp */
    uint64_t found;          /* by pt_bpf_find_ruby_variable */
    uint64_t keys_of;        /* a number for the process that the keys are of */
    pt_ruby_keys keys;
    pt_ruby_frame frame; /* the last one, its code, and the owner of its method */
    pt_ruby_code code;
    uint64_t owner;
} pt_bpf_ruby_walk;

/* A native frame that belongs to a function of V8. */
typedef struct pt_bpf_v8_frame {
    uint64_t function; /* the tagged address of its object */
    uint32_t place;    /* the number of the frame's pc */
    uint32_t unused;
} pt_bpf_v8_frame;

/* A function that occurred in the current sample. */
typedef struct pt_bpf_v8_met {
    uint64_t function; /* as in pt_bpf_v8_frame */
    uint64_t shared;   /* 0: no function object is there */
    uint32_t check;    /* pt_interp_short_check of pt_v8_check */
    uint32_t sample;
} pt_bpf_v8_met;

enum { PT_BPF_V8_MET_BITS = 6 };

/* The state of a walk through V8's functions. */
typedef struct pt_bpf_v8_walk {
    pt_v8_layout layout;
    uint32_t is_wanted;                         /* 1: note frames */
    uint32_t count, next;                       /* of the frames */
    uint32_t sample;                            /* a number for the current sample */
    uint32_t is_in_file, unused;                /* 1: the innermost frame's pc is in a file */
    uint64_t bytecode, position;                /* of this frame, or other words in their places */
    uint64_t object[PT_V8_OBJECT_WORDS];        /* the beginning of an object */
    pt_v8_key key;                              /* of the last function that was read */
    pt_bpf_v8_met met[1 << PT_BPF_V8_MET_BITS]; /* by hash */
    pt_bpf_v8_frame frames[PT_BPF_FRAMES_MAX];
} pt_bpf_v8_walk;

/* The state of a walk. */
typedef struct pt_bpf_cpu {
    uint64_t pc, sp, fp, base;
    uint64_t low, limit; /* range of possible stack addresses */
    uint8_t is_return, is_fp_lost, is_fp_walk, is_unchecked;
    uint8_t has_regs; /* it is at the innermost frame */
    /* 1: the walk may follow frame pointers through code without a rule in a file with a table. */
    uint8_t follows_fp;
    uint8_t has_base; /* as in pt_unwind_state, like the fields above */
    uint8_t unused;
    uint32_t generation, mappings, mapping_count;
    uint32_t cpu;        /* its number in cpus */
    uint64_t hash;       /* of the pcs */
    pt_bpf_mapping last; /* mapping of the previous frame */
    uint64_t regs[PT_MACHINE_REGS_MAX];
    uint64_t window_start; /* address of window in the stack; 1: nothing was read yet */
    uint64_t window[PT_BPF_WINDOW_BYTES / 8];
    pt_bpf_python_walk python;
    pt_bpf_php_walk php;
    pt_bpf_perl_walk perl;
    pt_bpf_ruby_walk ruby;
    pt_bpf_v8_walk v8;
    pt_bpf_stack stack;
    uint64_t process; /* a hash of the process and its program */
    uint64_t now_ns;  /* when the current sample's frames are read */
    uint64_t mm;      /* the address space of a thread that is being switched away from */
    /* Registers of user space, in the kernel's form. They are not on the program's stack, which has
     * 512 bytes together with those of its functions. */
    uint64_t entry[PT_BPF_ENTRY_WORDS];
    uint32_t language;    /* of the frames: PT_BPF_PYTHON, ... */
    uint32_t is_code_new; /* 1: this CPU had no sample with the last frame's code object before */
    uint32_t met_slot;    /* the index in met of the last frame's code object */
    uint32_t lacks_code;  /* 1: code of this stack was new, and was not sent */
    uint32_t met[1 << PT_BPF_MET_BITS];                         /* code objects, by hash; 0: none */
    pt_bpf_sample_code of_sample[1 << PT_BPF_SAMPLE_CODE_BITS]; /* by hash of the address */
    uint64_t known[1 << PT_BPF_KNOWN_BITS]; /* keys of stacks of samples, by place; 0: none */
    pt_bpf_code code;
    uint64_t kernel[PT_BPF_KERNEL_DEPTH_MAX]; /* pcs of a waker */
    uint64_t copy_period; /* the last period in which stacks were copied, and their number */
    uint32_t copy_count;
    uint32_t unused_now;
    uint64_t pace_period; /* the last period in which threads were switched, and how often */
    uint32_t pace_count;
    uint32_t pace;    /* a stack is taken at one of this many switches */
    pt_bpf_wait wait; /* of the thread that is switched away from */
    pt_bpf_wait_end ended;
    pt_bpf_count owed;
    pt_unwind_slot slots[PT_UNWIND_CACHE_SLOTS];
} pt_bpf_cpu;
