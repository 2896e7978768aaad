/* ruby_find.h: finds the evaluator of a Ruby without symbols, and the context of a thread. Since
 * 3.3 Ruby does not export them.
 *
 *   the loop over instructions   the function to which the table of their labels points: the
 *                                longest sequence of addresses in one function, among those that
 *                                the loader relocates
 *   the evaluator                the only function that calls that loop
 *   the context                  the thread-local variable that rb_thread_current reads
 *
 * For x86-64. The memory may contain anything: it is read by the callback, each part once.
 * Freestanding; not for signal handlers. */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "interp/text.h"

/* An image with Ruby: a file, or its memory. Addresses are those of the memory. */
typedef struct {
    pt_interp_read *read;
    void *arg;
    uint64_t bias;        /* run-time address minus linked address */
    uint64_t relocations; /* a table of Elf64_Rela */
    uint64_t relocation_bytes;
    uint64_t code, code_limit; /* of the segment that is executable */
    const uint64_t *starts;    /* addresses of the functions in .eh_frame, ascending */
    uint32_t start_count;
} pt_ruby_image;

/* The exported function that reads the context. */
#define PT_RUBY_READS_CONTEXT "rb_thread_current"

/* Finds the code of the evaluator. Returns false if it differs from the known builds. */
bool pt_ruby_find_evaluator(const pt_ruby_image *image, uint64_t *ret_low, uint64_t *ret_limit);

/* Finds the context among the thread-local variables. reader: address of PT_RUBY_READS_CONTEXT.
 * *ret_module: the address of the number of the module; *ret_place: the place among its variables.
 */
bool pt_ruby_find_context(const pt_ruby_image *image, uint64_t reader, uint64_t *ret_module,
                          uint64_t *ret_place);
