/* unwind.h: copied stacks of a profile -> addresses, by the images that were mapped (perf record
 * --call-graph dwarf). For one input on one thread.
 *
 *   mapping --source: path and build id--> image --> unwind table, compiled once an image
 */
#ifndef PT_LOAD_UNWIND_H
#define PT_LOAD_UNWIND_H

#include "formats/format.h"
#include "source/images.h"

typedef struct pt_load_unwinder pt_load_unwinder;

/* source: where images may be; lives as long as the unwinder. */
pt_load_unwinder *pt_load_unwinder_new(const pt_source_options *source);
void pt_load_unwinder_free(pt_load_unwinder *unwinder); /* accepts NULL */

/* A pt_read_hooks.unwind, whose context is a pt_load_unwinder. 0 if the stack is another machine's,
 * or there is no image of the code that was running. */
size_t pt_load_unwind(void *unwinder, const pt_read_stack *stack, uint64_t *ret_pcs, size_t cap,
                      pt_stack_end *ret_end);

#endif
