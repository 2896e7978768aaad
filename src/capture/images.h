/* images.h: the files that processes have mapped: their unwind tables and build ids.
 *
 *   mapping of a process ---> image (by build id, else by device, inode and path) ---> table,
 *                                                                                      segments
 *
 * A file is opened where the process sees it: as the mapping itself (/proc/PID/map_files), below
 * the process's root (/proc/PID/root: containers), or by the file's path. The file must have the
 * build id, or the inode, that the kernel reported. Each image is read once, however many processes
 * map it.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/grow.h"
#include "base/index.h"
#include "capture/interp_image.h"
#include "capture/tables.h"
#include "elf/image.h"
#include "process/image.h"

enum { PT_IMAGE_ID_MAX = 32 };

/* The identity of a mapped file. */
typedef struct pt_image_key {
    const char *path; /* as the kernel reports it; may end in " (deleted)" */
    uint32_t major, minor;
    uint64_t inode; /* 0: unknown */
    uint8_t build_id[PT_IMAGE_ID_MAX];
    uint32_t build_id_bytes; /* 0: unknown */
} pt_image_key;

/* A mapped file and its unwind tables. */
typedef struct pt_image {
    char *path;
    uint32_t major, minor;
    uint64_t inode;
    bool is_looked_at, is_found;       /* the file was searched; it was found */
    uint8_t tries;                     /* attempts to read the file after the processes that mapped
                                        * it had ended */
    uint8_t build_id[PT_IMAGE_ID_MAX]; /* as in the key; once the file was read, the build id of the
                                        * file */
    uint32_t build_id_bytes;
    uint64_t entry_addr; /* as linked: where the kernel starts the program */
    pt_mapped_image mapped;
    pt_interp_image interp;
    bool has_interp; /* interp was read */
    /* The image that owns the tables: another image of the same file, with another path or key.
     * NULL if this image owns its tables. */
    struct pt_image *owner;
    bool is_listed;     /* in pt_images.of_id */
    struct stat status; /* of the file that was read; zeros: the vDSO, or none */
    bool is_compiled;   /* the table was compiled now instead of read from disk */
    bool is_mapped;     /* found by the present sweep: a process has it mapped */
} pt_image;

typedef struct pt_images {
    pt_table_cache cache;      /* folder NULL: tables are not kept on disk */
    bool wants_interp;         /* files are read for facts about interpreters (for Java always) */
    bool wants_locks;          /* see pt_interp_image.lock_waits */
    PT_VECTOR(pt_image *) all; /* one allocation each, since modules point to their tables */
    pt_index index;
    pt_index of_id;    /* build id -> the images with that build id that had tables of their own */
    size_t read_count; /* files that were read since the last sweep */
} pt_images;

enum { PT_IMAGES_SWEEP = 64 }; /* number of files that are read before a sweep */

void pt_images_init(pt_images *images);
void pt_images_done(pt_images *images);

/* Finds or adds the image of a key; returns its number. */
uint32_t pt_images_add(pt_images *images, const pt_image_key *key);

/* Reads an image's file, once: build id, segments, table; facts of interpreters once they are
 * wanted. Process pid has it mapped at [start, limit); pid 0: no process has it any more. */
void pt_images_look(pt_images *images, uint32_t image, uint32_t pid, uint64_t start,
                    uint64_t limit);

/* Are two images one file, with the same path and build id? a: the image of an older mapping at the
 * same place, b: the image of the present mapping. If the paths are equal, reads the files of both
 * images like pt_images_look, but not the file of `a` if its inode shows that it is another
 * file. */
bool pt_images_are_same(pt_images *images, uint32_t a, uint32_t b, uint32_t pid, uint64_t start,
                        uint64_t limit);

/* Writes newly compiled tables to disk, for the next recording. */
void pt_images_keep(const pt_images *images);

/* Frees the tables of images that are not marked as mapped, since in a recording without end
 * programs come and go. The image itself stays, and its file is read again at the next mapping.
 * Calls `forget` for each table before it frees the table. Clears all marks. */
void pt_images_sweep(pt_images *images, void (*forget)(void *arg, const pt_unwind_table *table),
                     void *arg);

/* The load bias of a mapping at `start` of the file from file_offset on. False: no segment contains
 * that offset. */
bool pt_image_bias(const pt_image *image, uint64_t start, uint64_t file_offset, uint64_t *ret_bias);

/* True if pc lies in the code at the program's entry point, which has no caller and often no rules.
 * start, file_offset: of the mapping that contains pc. */
bool pt_image_is_entry(const pt_image *image, uint64_t start, uint64_t file_offset, uint64_t pc);
