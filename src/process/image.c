/* image.c: see image.h. */
#include "process/image.h"

#include <stdlib.h>

#include "unwind/heap.h"

void pt_mapped_image_done(pt_mapped_image *image)
{
    free(image->segments);
    free(image->blob);
    free(image->base_blob);
    *image = (pt_mapped_image){0};
}

bool pt_mapped_image_take_segments(pt_mapped_image *image, const pt_elf *elf)
{
    pt_elf_segment *const segments =
        calloc((size_t)elf->segment_count + 1, sizeof *image->segments);
    if (segments == NULL) return false;
    free(image->segments);
    image->segments = segments;
    image->segment_count = 0;
    while (image->segment_count < elf->segment_count &&
           pt_elf_segment_at(elf, (uint32_t)image->segment_count, &segments[image->segment_count]))
        image->segment_count++;
    return true;
}

bool pt_mapped_image_compile(pt_mapped_image *image, const pt_elf *elf, const uint8_t *id,
                             size_t id_bytes)
{
    void *blob;
    size_t blob_bytes;
    if (pt_unwind_compile_elf(elf, id, id_bytes, &pt_unwind_heap, &blob, &blob_bytes) !=
        PT_UNWIND_OK)
        return false;
    if (pt_unwind_table_open(blob, blob_bytes, &image->table) != PT_UNWIND_OK) {
        free(blob);
        return false;
    }
    image->blob = blob;
    image->blob_bytes = blob_bytes;
    return true;
}

void pt_mapped_image_compile_base(pt_mapped_image *image, const pt_elf *elf)
{
    pt_unwind_frames frames;
    size_t blob_bytes;
    if (pt_unwind_needs_base(&image->table) && pt_unwind_frames_of_elf(elf, &frames))
        pt_unwind_compile_base(&frames, &pt_unwind_heap, &image->base_blob, &blob_bytes,
                               &image->base_table);
}

pt_unwind_module pt_mapped_image_module(const pt_mapped_image *image, const pt_map_range *range)
{
    pt_unwind_module module = {.start = range->start, .limit = range->limit};
    if (image->blob == NULL || !pt_elf_bias(image->segments, image->segment_count, range->start,
                                            range->file_offset, &module.bias))
        return module;
    module.table = &image->table;
    module.base_table = image->base_blob != NULL ? &image->base_table : NULL;
    return module;
}
