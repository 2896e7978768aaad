/* unwind.h: unwinds the copied stacks of a profile (perf record --call-graph dwarf) with the images
 * that were mapped. One unwinder serves one input on one thread.
 *
 *   mapping --source: path and build id--> image --> unwind table, compiled once for each image
 */
#pragma once

#include "elf/image.h"
#include "formats/format.h"
#include "process/image.h"
#include "source/images.h"

typedef struct pt_load_unwinder pt_load_unwinder;

/* Tables that were compiled earlier. path: the image's file; id: its build id. find fills in
 * image->blob, blob_bytes and table, or returns false; keep receives an image that was compiled
 * now. */
typedef struct pt_load_tables {
    void *context;
    bool (*find)(void *context, const char *path, pt_elf_id id, pt_mapped_image *image);
    void (*keep)(void *context, const char *path, pt_elf_id id, const pt_mapped_image *image);
} pt_load_tables;

/* Makes an unwinder. source: where to find images; tables: where to find their tables, or NULL.
 * Both must outlive it. */
pt_load_unwinder *pt_load_unwinder_new(const pt_source_options *source,
                                       const pt_load_tables *tables);
void pt_load_unwinder_free(pt_load_unwinder *unwinder); /* accepts NULL */

/* A pt_read_hooks.unwind with a pt_load_unwinder as context. Returns 0 if the stack is of an
 * unsupported machine, or the running code's image is missing. */
size_t pt_load_unwind(void *unwinder, const pt_read_stack *stack, uint64_t *ret_pcs, size_t cap,
                      pt_stack_end *ret_end);
