/* java.h: the frames of a Java virtual machine (HotSpot), read from the process's memory by a
 * callback.
 *
 *   pc in the code cache ---> blob: an nmethod (the code of a method), the interpreter, or a stub
 *   pc in an nmethod     ---> scopes: the method and the methods inlined into it
 *   frame                ---> its caller's frame (java_walk.c)
 *
 * libjvm.so exports tables of its types and fields (gHotSpotVMStructs), which debuggers read. All
 * offsets come from these tables. The tables lack the form of compressed numbers, the places in a
 * frame of the interpreter, and the address of a method's lines: these depend on the version.
 *
 * The memory may contain anything: each function makes a limited number of reads, all through the
 * callback. Freestanding: no allocation, no lock, no system call, no recursion. */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "interp/text.h"

/* The symbols of libjvm.so that give the places of the tables and the form of their rows. */
enum {
    PT_JAVA_FIELDS,
    PT_JAVA_FIELD_STRIDE,
    PT_JAVA_FIELD_TYPE,
    PT_JAVA_FIELD_NAME,
    PT_JAVA_FIELD_OFFSET,
    PT_JAVA_FIELD_ADDRESS,
    PT_JAVA_TYPES,
    PT_JAVA_TYPE_STRIDE,
    PT_JAVA_TYPE_NAME,
    PT_JAVA_TYPE_SIZE,
    PT_JAVA_SYMBOLS
};
extern const char *const pt_java_symbols[PT_JAVA_SYMBOLS];

/* The reasons why frames of a virtual machine cannot be read. The user sees the line REASON:
 * PT_JAVA_MISSING. The first reason has the version as argument, or 0 if it is unknown. */
#define PT_JAVA_UNKNOWN                                                                            \
    "Java %u, whose frames this pitot does not know (it knows HotSpot 11 to 22, and 25, on "       \
    "x86-64)"
#define PT_JAVA_LIES    "pitot cannot read the methods of this Java"
#define PT_JAVA_MISSING "names of its methods will be missing"

/* Is it the path of the virtual machine's library, libjvm.so? */
bool pt_java_is_file(const char *path);

enum { PT_JAVA_HEAPS_MAX = 8 };

/* A part of the code cache. */
typedef struct {
    uint64_t low, limit; /* the reserved addresses of the part */
    uint64_t segments;   /* a byte for each segment: 0 if a blob begins in that segment, n if the
                          * blob begins n segments earlier */
    uint32_t log2_segment;
} pt_java_heap;

/* Offsets in bytes of fields, sizes of types, and addresses of variables. */
typedef struct {
    /* variables */
    uint64_t heaps_at, major_at;
    /* the code cache */
    uint16_t array_count, array_items;
    uint16_t heap_memory, heap_segments, heap_log2;
    uint16_t space_low_boundary, space_high_boundary, space_low;
    uint16_t block_used, block_bytes;
    /* blobs and nmethods */
    uint16_t blob_name, blob_bytes, blob_complete, blob_frame_words, blob_data;
    uint16_t blob_code, blob_code_limit;                      /* addresses, to version 22 */
    uint16_t blob_code_offset, blob_mutable, blob_relocation; /* since version 25 */
    uint16_t nmethod_method, nmethod_compile, nmethod_original_pc;
    uint16_t nmethod_pcs, nmethod_scopes, nmethod_deopt, nmethod_deopt_handle;
    uint16_t nmethod_metadata, nmethod_pcs_limit; /* to version 22 */
    uint16_t nmethod_immutable;                   /* since version 25 */
    /* methods */
    uint16_t method_const, const_constants, const_flags, const_code_bytes, const_name, const_words,
        const_bytes;
    uint16_t pool_holder, pool_length, pool_file, pool_bytes;
    uint16_t class_name, class_file, symbol_length, symbol_text;
    bool has_pool_file; /* the index of the file's name is in the pool, else in the class */
} pt_java_layout;

/* The virtual machine of a process. */
typedef struct {
    pt_java_layout layout;
    uint32_t major;      /* version */
    bool is_split;       /* an nmethod has parts outside its blob (since 25) */
    uint8_t least_byte;  /* of a compressed number */
    uint32_t heap_count; /* 0 if the virtual machine has not started yet */
    pt_java_heap heap[PT_JAVA_HEAPS_MAX];
} pt_java_vm;

typedef enum {
    PT_JAVA_READY,
    PT_JAVA_NOT_YET, /* the virtual machine has not made its code cache yet */
    PT_JAVA_PARTIAL, /* fields are missing: another build, or the loader has not finished */
    PT_JAVA_REFUSED, /* an unknown version; *ret_vm has `major` */
} pt_java_state;

/* Reads the tables. symbols: run-time addresses, in the order of pt_java_symbols. */
pt_java_state pt_java_vm_read(const uint64_t symbols[PT_JAVA_SYMBOLS], pt_interp_read *read,
                              void *arg, pt_java_vm *ret_vm);

/* Is it an address in the code cache? */
bool pt_java_has_code(const pt_java_vm *vm, uint64_t pc);

/* ---- blobs ---- */

enum { PT_JAVA_BLOB_NAME_BYTES = 64 };

typedef enum {
    PT_JAVA_NMETHOD,
    PT_JAVA_INTERPRETER,
    PT_JAVA_STUB, /* code that belongs to no method */
} pt_java_kind;

typedef struct {
    uint64_t addr;        /* identifies the blob, with `method` and `compile` */
    uint64_t code, limit; /* its instructions */
    uint32_t frame_bytes; /* with the return address; 0: unknown */
    uint32_t complete;    /* offset in the code at which the frame is complete */
    uint8_t kind;         /* pt_java_kind */
    bool is_native;       /* of an nmethod: its code calls a function in C */
    char name[PT_JAVA_BLOB_NAME_BYTES];
    /* of an nmethod */
    uint64_t method;
    uint32_t compile;        /* number of the compilation */
    uint32_t original_pc;    /* offset in the frame of its pc from before it was deoptimized */
    uint64_t deopt[2];       /* the pcs that a deoptimized frame has in place of its own; 0 if
                              * none */
    uint64_t pcs, pcs_limit; /* descriptions of places, ascending */
    uint64_t scopes;         /* the stream of scopes */
    uint64_t metadata;       /* addresses of methods */
} pt_java_blob;

/* Finds the blob of an address. Returns false if there is none, or the memory does not fit the
 * layout. */
bool pt_java_blob_at(const pt_java_vm *vm, pt_interp_read *read, void *arg, uint64_t pc,
                     pt_java_blob *ret);
/* Is the blob `known` still there? */
bool pt_java_blob_is(const pt_java_vm *vm, pt_interp_read *read, void *arg,
                     const pt_java_blob *known);

/* A method at a place in its bytecode. */
typedef struct {
    uint64_t method;
    int32_t bci; /* -1: unknown */
} pt_java_scope;

enum { PT_JAVA_SCOPES_MAX = 96 };

/* Is pc the return address of a call that the nmethod describes? */
bool pt_java_is_return(pt_interp_read *read, void *arg, const pt_java_blob *nmethod, uint64_t pc);
/* The methods at a pc of an nmethod, innermost first. If pc is between two described places, the
 * later place is used. Returns the number of methods; 0 if the memory does not fit the layout. */
uint32_t pt_java_scopes_at(const pt_java_vm *vm, pt_interp_read *read, void *arg,
                           const pt_java_blob *nmethod, uint64_t pc,
                           pt_java_scope ret[PT_JAVA_SCOPES_MAX]);

/* ---- methods ---- */

typedef struct {
    uint64_t method, body; /* body: its ConstMethod */
    uint64_t code;         /* bytecode */
    uint32_t code_bytes;
    uint64_t lines, lines_limit;     /* compressed; equal: none */
    uint64_t class_name, name, file; /* symbols; file 0: unknown */
} pt_java_method;

/* Reads a method. Returns false if the memory does not fit the layout. */
bool pt_java_method_at(const pt_java_vm *vm, pt_interp_read *read, void *arg, uint64_t method,
                       pt_java_method *ret);
/* The line of a place; 0: unknown. */
int32_t pt_java_line(const pt_java_vm *vm, pt_interp_read *read, void *arg,
                     const pt_java_method *method, int32_t bci);
/* Copies "package.Class.method", cut at cap bytes. Returns false if the name is unreadable. */
bool pt_java_name(const pt_java_vm *vm, pt_interp_read *read, void *arg,
                  const pt_java_method *method, char *to, size_t cap, size_t *ret_bytes);
/* Copies "package/File.java" likewise; nothing if the file is unknown. */
bool pt_java_file(const pt_java_vm *vm, pt_interp_read *read, void *arg,
                  const pt_java_method *method, char *to, size_t cap, size_t *ret_bytes);

/* ---- frames (java_walk.c) ---- */

/* The callbacks of a walk. `arg` is the first parameter of all. */
typedef struct {
    const pt_java_vm *vm;
    void *arg;
    pt_interp_read *read; /* the process's memory */
    bool (*read_stack)(void *arg, uint64_t addr, uint64_t *ret_word);
    const pt_java_blob *(*blob_at)(void *arg, uint64_t pc);         /* NULL: none */
    const pt_java_method *(*method_at)(void *arg, uint64_t method); /* NULL: none */
    bool (*is_code)(void *arg, uint64_t pc);                        /* of any kind */
} pt_java_reader;

typedef struct {
    uint64_t pc, sp, fp;
    bool is_return;                    /* pc is a return address */
    uint64_t bytecode, result, method; /* registers r13, rax and rbx of x86-64; 0 if unknown */
} pt_java_frame;

typedef struct {
    uint64_t pc; /* of an nmethod: the place in its code, also if the frame was deoptimized */
    /* Of a frame of the interpreter: its method and place; method is 0 if the frame is between two
     * methods. Of an nmethod's innermost frame that is being made or removed: the compiled method,
     * since no inlined method runs then. Of other frames of an nmethod: method 0, and
     * pt_java_scopes_at has the methods. */
    pt_java_scope scope;
} pt_java_found;

/* Steps from a frame in the blob to its caller. Returns false, with *frame unchanged, if the caller
 * cannot be found. */
bool pt_java_step(const pt_java_reader *r, const pt_java_blob *blob, pt_java_frame *frame,
                  pt_java_found *ret_found);
