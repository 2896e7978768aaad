/* image.h: a mapped file in the form that the unwinder needs: segments and unwind tables, and
 * from these a module for each mapping of the file.
 *
 *   ELF bytes --segments, tables--> pt_mapped_image --mapping--> pt_unwind_module
 */
#pragma once

#include "elf/image.h"
#include "process/mappings.h"
#include "unwind/unwind.h"

/* All zero: the file is unreadable or not read yet. Modules point into the image, so it must
 * outlive them. */
typedef struct pt_mapped_image {
    pt_elf_segment *segments; /* heap, owned */
    size_t segment_count;
    void *blob; /* compiled unwind table, heap, owned; NULL: the file has no unwind rules, or there
                   is no file */
    size_t blob_bytes;
    pt_unwind_table table; /* points into blob */
    void *base_blob; /* table of the places that hold the base register (unwind/table.h), heap,
                        owned; NULL: not needed */
    pt_unwind_table base_table; /* points into base_blob */
} pt_mapped_image;

/* Frees the image's memory. */
void pt_mapped_image_done(pt_mapped_image *image);

/* Copies the segments of elf, in place of any earlier ones. False, with nothing changed: no
 * memory. */
bool pt_mapped_image_take_segments(pt_mapped_image *image, const pt_elf *elf);

/* Compiles the unwind table. id: the build id to store in the table; id_bytes 0: none. False:
 * the file has no unwind rules. */
bool pt_mapped_image_compile(pt_mapped_image *image, const pt_elf *elf, const uint8_t *id,
                             size_t id_bytes);
/* Compiles the table of the base register, if the unwind table has a rule that needs it. The
 * image must have an unwind table. */
void pt_mapped_image_compile_base(pt_mapped_image *image, const pt_elf *elf);

/* The module of a mapping. Its table is NULL if the image has none, or if no executable segment
 * lies at the mapping's file offset. */
pt_unwind_module pt_mapped_image_module(const pt_mapped_image *image, const pt_map_range *range);
