/* SPDX-License-Identifier: GPL-2.0 OR Apache-2.0 */
/* php.h: the frames of PHP 7.4, 8.2 and 8.4, read from the process's memory by a callback.
 *
 *   executor_globals ---> frame ---> the caller's frame ---> ...
 *                           |- function: name, class, file, first line
 *                           `- instruction ---> line
 *
 * A native call of the evaluator (execute_ex) executes a run of frames. The outermost frame of a
 * run is marked as called from C, and is no function of C itself.
 *
 * A generator that delegates (yield from) has no frame in this chain while the innermost generator
 * runs. A frame without a function stands for all these generators but the innermost:
 *
 *   running generator ---> placeholder in generator G ---> caller of G
 *   frames   running  (child of the running one)  ...  G*  caller     (* entry)
 *
 * The offsets are those of builds without threads (NTS) and without debugging, on 64-bit machines.
 * The memory may hold anything: each function makes a limited number of reads, all through the
 * callback.
 *
 * Freestanding, async-signal-safe: no allocation, no lock, no system call, no recursion.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "interp/text.h"

/* A symbol that only programs with PHP have. */
#define PT_PHP_MARK "zend_ce_generator"
/* The function that executes frames. */
#define PT_PHP_EVALUATOR "execute_ex"

/* The reasons why frames of a PHP cannot be read. The user sees the line REASON: PT_PHP_MISSING. */
#define PT_PHP_UNKNOWN                                                                             \
    "a PHP that is not 7.4, 8.2 or 8.4, or has threads (ZTS) or debugging built in"
#define PT_PHP_LIES    "this PHP keeps its frames in another way than the builds that pitot knows"
#define PT_PHP_MISSING "names of its functions will be missing"

/* Is path the name of PHP's program or library, with or without folders? php, php8.2, php-fpm8.2,
 * php-cgi, libphp.so, libphp8.2.so. */
bool pt_php_is_file(const char *path);

/* Offsets in bytes of fields, by version. */
typedef struct {
    uint32_t api;              /* the number of the version in texts of builds: 20220829 */
    uint16_t before_exception; /* in executor_globals: the instruction that threw */
    uint16_t generator_frame, generator_placeholder;
    uint16_t generator_parent;               /* the generator to which this generator delegates */
    uint16_t function_count, function_first; /* of instructions; address of the first */
    uint16_t function_file;                  /* the next field is the first line */
    uint16_t unused;
} pt_php_layout;

/* The layout of a version; NULL if the version is not known. */
const pt_php_layout *pt_php_layout_of(uint32_t api);
/* The same, by the text of a build in the bytes ("API20220829,NTS", followed by a zero), which each
 * module of that build has. Builds with threads and debug builds have other texts. */
const pt_php_layout *pt_php_layout_in(const void *bytes, size_t size);
enum { PT_PHP_BUILD_BYTES = sizeof "API20220829,NTS" };

/* The registers, by DWARF number, in which the evaluator keeps its frame and its instruction
 * (Zend/zend_execute.c). */
#if defined(__x86_64__)
enum { PT_PHP_REG_FRAME = 14, PT_PHP_REG_INSTRUCTION = 15 }; /* r14, r15 */
#else
enum { PT_PHP_REG_FRAME = 27, PT_PHP_REG_INSTRUCTION = 28 }; /* x27, x28 */
#endif

typedef struct {
    uint64_t addr, function; /* of the frame, and of its function; never 0 */
    uint64_t instruction;    /* the saved instruction; 0 if none */
    bool is_entry; /* the evaluator was called for this frame, which is the outermost of its run */
} pt_php_frame;

enum { PT_PHP_DELEGATES_MAX = 512 /* generators between a running one and its caller */ };

/* The state of a walk; its fields are private. */
typedef struct {
    const pt_php_layout *layout;
    pt_interp_read *read;
    void *arg;
    uint64_t globals, generator_class;
    uint64_t next; /* address of the next frame to read; 0 if none */
    uint32_t left; /* frames that may still be read */
    uint32_t delegate_count;
    uint64_t delegates[PT_PHP_DELEGATES_MAX]; /* collected frames of generators; the last is given
                                               * next */
    uint64_t generator, parent; /* the generator whose frame is collected next, and its parent */
} pt_php_walk;

/* Is `frame` the address of the innermost frame? globals: address of executor_globals. */
bool pt_php_is_innermost(pt_interp_read *read, void *arg, uint64_t globals, uint64_t frame);

/* Starts a walk at the innermost frame. globals: address of executor_globals. generator_class:
 * zend_ce_generator's value. most: number of frames to read. */
pt_interp_step pt_php_walk_begin(pt_php_walk *walk, const pt_php_layout *layout,
                                 pt_interp_read *read, void *arg, uint64_t globals,
                                 uint64_t generator_class, uint32_t most);
/* Steps outwards. Sets *ret_frame with PT_INTERP_FRAME_READ only. */
pt_interp_step pt_php_walk_next(pt_php_walk *walk, pt_php_frame *ret_frame);

/* ---- functions ---- */

typedef enum {
    PT_PHP_INTERNAL = 1, /* written in C: without file, line and instructions */
    PT_PHP_USER = 2,     /* a function, or a file's code outside functions, which has no name */
    PT_PHP_EVAL = 4,     /* the code of an eval outside functions */
} pt_php_kind;

typedef struct {
    pt_php_kind kind;
    uint64_t name, class_name, file; /* addresses of strings; 0: none */
    uint64_t first;                  /* address of the first instruction */
    uint32_t count;                  /* of instructions */
    int32_t first_line;
} pt_php_function;

/* Reads a function. Returns false if the memory does not fit the layout. */
bool pt_php_function_at(const pt_php_layout *layout, pt_interp_read *read, void *arg,
                        uint64_t function, pt_php_function *ret);

/* Is `instruction` the address of an instruction of the function? */
static inline bool pt_php_has_instruction(const pt_php_function *f, uint64_t instruction)
{
    enum { BYTES = 32 };
    return f->kind != PT_PHP_INTERNAL && instruction >= f->first &&
           (instruction - f->first) / BYTES < f->count && (instruction - f->first) % BYTES == 0;
}

/* The line of a frame; 0 if the function has no lines. globals: the address of executor_globals,
 * which hold the instruction while an exception is being handled. */
int32_t pt_php_line(const pt_php_layout *layout, pt_interp_read *read, void *arg, uint64_t globals,
                    const pt_php_function *f, uint64_t instruction);

/* Copies a string up to its first zero, cut between two characters at cap bytes, not terminated.
 * Returns false if the string is unreadable; `to` is then undefined. */
bool pt_php_text(pt_interp_read *read, void *arg, uint64_t string, char *to, size_t cap,
                 size_t *ret_bytes);

/* Copies the name that reports show: NAME, CLASS::NAME, {main}, eval. As pt_php_text. */
bool pt_php_name(pt_interp_read *read, void *arg, const pt_php_function *f, char *to, size_t cap,
                 size_t *ret_bytes);

/* A check that distinguishes functions that lie at the same address at different times, from parts
 * of name, class and file that can be read at once. Returns false if these parts are unreadable. */
bool pt_php_check(pt_interp_read *read, void *arg, const pt_php_function *f, uint64_t *ret_check);
