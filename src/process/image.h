/* image.h: a mapped file as pt_unwind needs it: its segments, its tables, the module that a mapping
 * of it is.
 *
 *   ELF bytes --segments, tables--> pt_mapped_image --mapping--> pt_unwind_module
 */
#ifndef PT_PROCESS_IMAGE_H
#define PT_PROCESS_IMAGE_H

#include "elf/image.h"
#include "process/mappings.h"
#include "unwind/unwind.h"

/* Zeros: nothing is known of the file. Modules point into it. */
typedef struct pt_mapped_image {
    pt_elf_segment *segments;
    size_t segment_count;
    void *blob; /* of the heap; NULL: the file has no rules, or there is no file */
    size_t blob_bytes;
    pt_unwind_table table;
    void *base_blob; /* of the heap; NULL, or where the base register is saved (unwind/table.h) */
    pt_unwind_table base_table;
} pt_mapped_image;

void pt_mapped_image_done(pt_mapped_image *image);

/* Takes the segments over, in place of those it had. False: there is no memory. */
bool pt_mapped_image_take_segments(pt_mapped_image *image, const pt_elf *elf);

/* Compiles the table; id: the build id that goes into it, id_bytes 0 = none. False: the file has no
 * rules. */
bool pt_mapped_image_compile(pt_mapped_image *image, const pt_elf *elf, const uint8_t *id,
                             size_t id_bytes);
/* And where the base register is saved, if the table has to know: of an image with a table. */
void pt_mapped_image_compile_base(pt_mapped_image *image, const pt_elf *elf);

/* The mapping as a module: without a table if the image has none, or no segment is mapped there. */
pt_unwind_module pt_mapped_image_module(const pt_mapped_image *image, const pt_map_range *range);

#endif
