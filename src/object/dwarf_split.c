/* dwarf_split.c: finds the entries of units that were split off (section 3.1.2): in the package of
 * the image, or in one file for each unit.
 *
 *   skeleton in the image      addresses, ranges, the line table, the name of the file, an id
 *   split unit, elsewhere      functions and inlined calls, with indices into the image's addresses
 */
#include <elf.h>
#include <stdlib.h>

#include "base/grow.h"
#include "base/plain/ascending.h"
#include "object/dwarf_int.h"

void pt_dwarf_splits_done(pt_dwarf_splits *splits)
{
    for (size_t i = 0; i < splits->files.count; i++) {
        pt_dwarf_file_done(splits->files.items[i]);
        free(splits->files.items[i]);
    }
    free(splits->files.items);
}

/* Finds the file and lists its units. Returns NULL if the file is not found or unreadable. */
static pt_dwarf_file *open_split_file(pt_dwarf_splits *splits, const pt_companion *wanted,
                                      uint64_t *budget)
{
    pt_image_file image = PT_IMAGE_FILE_INIT;
    pt_elf elf;
    if (splits->find == NULL || !splits->find(splits->find_context, wanted, &image)) return NULL;
    pt_dwarf_file *file = pt_alloc(1, sizeof *file);
    file->is_split = true;
    file->image = image;
    PT_PUSH(splits->files, file);
    if (pt_elf_open(image.blob.data, image.blob.size, &elf) != PT_ELF_OK ||
        pt_dwarf_file_init(file, &elf, NULL, NULL) != PT_OK)
        return NULL;
    pt_dwarf_list_units(file, budget);
    return file;
}

static pt_dwarf_unit *unit_of_id(const pt_dwarf_file *file, uint64_t dwo_id)
{
    const size_t at = PT_FIRST_WHERE(i, file->by_id.count, file->by_id.items[i]->dwo_id >= dwo_id);
    const bool found = at < file->by_id.count && file->by_id.items[at]->dwo_id == dwo_id;
    return found ? file->by_id.items[at] : NULL;
}

enum { RECENT_FILES = 16 };

static pt_dwarf_unit *find_unit(pt_dwarf_splits *splits, const pt_dwarf_unit *skeleton,
                                uint64_t *budget)
{
    if (!splits->package_sought) {
        splits->package_sought = true;
        const pt_companion wanted = {.kind = PT_COMPANION_DWP, .image_path = splits->image_path};
        splits->package = open_split_file(splits, &wanted, budget);
    }
    pt_dwarf_unit *unit =
        splits->package != NULL ? unit_of_id(splits->package, skeleton->dwo_id) : NULL;
    /* One file may hold several units. */
    const size_t n = splits->files.count, oldest = n > RECENT_FILES ? n - RECENT_FILES : 0;
    for (size_t i = n; unit == NULL && i > oldest; i--)
        unit = unit_of_id(splits->files.items[i - 1], skeleton->dwo_id);
    if (unit != NULL) return unit;
    const pt_companion wanted = {.kind = PT_COMPANION_DWO,
                                 .image_path = splits->image_path,
                                 .link_name = skeleton->dwo_name,
                                 .folder = skeleton->folder,
                                 .dwo_id = skeleton->dwo_id};
    const pt_dwarf_file *file = open_split_file(splits, &wanted, budget);
    return file != NULL ? unit_of_id(file, skeleton->dwo_id) : NULL;
}

void pt_dwarf_find_split(pt_dwarf_splits *splits, pt_dwarf_unit *unit, uint64_t *budget)
{
    if (unit->split_sought || unit->dwo_name == NULL || !unit->has_dwo_id) return;
    unit->split_sought = true;
    pt_dwarf_unit *split = find_unit(splits, unit, budget);
    /* A unit with another address size cannot belong to the skeleton's tables. */
    if (split == NULL || split->skeleton != NULL || split->addr_bytes != unit->addr_bytes) {
        splits->missing_count++;
        return;
    }
    split->skeleton = unit;
    split->ranges_base = unit->ranges_base;
    split->low_addr = unit->low_addr;
    split->folder = unit->folder;
    unit->split = split;
}
