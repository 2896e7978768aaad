/* images.h: the files that processes have mapped: their unwind tables and build ids.
 *
 *   mapping of a process ---> image (by build id, else by device, inode and path) ---> table,
 * segments
 *
 * A file is looked for where the process sees it: as the very mapping (/proc/PID/map_files), below
 * its root (/proc/PID/root: containers), by its path. What is found must have the build id, or the
 * inode, that the kernel reported. Each image is looked at once, however many processes map it.
 */
#ifndef PT_CAPTURE_IMAGES_H
#define PT_CAPTURE_IMAGES_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/grow.h"
#include "base/index.h"
#include "capture/tables.h"
#include "elf/image.h"
#include "process/image.h"

enum { PT_IMAGE_ID_MAX = 32 };

/* What is known of a file that is mapped. */
typedef struct pt_image_key {
    const char *path; /* as the kernel says it, maybe with " (deleted)" */
    uint32_t major, minor;
    uint64_t inode; /* 0: unknown */
    uint8_t build_id[PT_IMAGE_ID_MAX];
    uint32_t build_id_bytes; /* 0: unknown */
} pt_image_key;

typedef struct pt_image {
    char *path;
    uint32_t major, minor;
    uint64_t inode;
    bool is_looked_at, is_found;
    uint8_t build_id[PT_IMAGE_ID_MAX]; /* of the key, or of the file once it is looked at */
    uint32_t build_id_bytes;
    uint64_t entry_addr; /* as linked: where the kernel starts it */
    pt_mapped_image mapped;
    bool is_shared; /* the tables are another image's, of the same file under another name or key */
    struct stat status; /* of the file that was looked at; zeros: the vDSO, or none */
    bool is_compiled;   /* the table was made now, and not found on disk */
} pt_image;

typedef struct pt_images {
    pt_table_cache cache; /* folder NULL: tables are not kept on disk */
    struct {
        pt_image **items; /* one allocation each: tables are pointed at */
        size_t count, cap;
    } all;
    pt_index index;
} pt_images;

void pt_images_init(pt_images *images);
void pt_images_done(pt_images *images);

/* The image's number. */
uint32_t pt_images_add(pt_images *images, const pt_image_key *key);

/* Reads the file, once: build id, segments, table. Process pid has it mapped at [start, limit);
 * pid 0: no process is left. */
void pt_images_look(pt_images *images, uint32_t image, uint32_t pid, uint64_t start,
                    uint64_t limit);

/* Keeps on disk the tables that were compiled, for the next recording. */
void pt_images_keep(const pt_images *images);

/* What the loader added to addresses as linked, for a mapping at start of the file from file_offset
 * on. False if no segment holds that. */
bool pt_image_bias(const pt_image *image, uint64_t start, uint64_t file_offset, uint64_t *ret_bias);

/* Is that address of the process in the code that the kernel starts, which nothing called and which
 * often has no rules? map: the mapping it lies in. */
bool pt_image_is_entry(const pt_image *image, uint64_t start, uint64_t file_offset, uint64_t pc);

#endif
