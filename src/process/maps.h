/* maps.h: parses a line of /proc/PID/maps (proc(5)), or of a list in the same form.
 *
 *   55d0c8a00000-55d0c8a15000 r-xp 00002000 fd:01 12845071    /usr/bin/prog
 *   start        limit        prot file_offset dev inode      path
 *
 * Nothing here allocates: the in-process library reads its own map with it.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

typedef struct pt_maps_line {
    uint64_t start, limit; /* start < limit */
    uint64_t file_offset, inode;
    uint32_t major, minor; /* of the device */
    uint32_t prot;         /* PROT_READ | PROT_WRITE | PROT_EXEC */
    const char *path;      /* points into the line, up to its end; not terminated */
    size_t path_bytes;
} pt_maps_line;

/* Parses "START-LIMIT" in hex, with or without 0x, at the beginning of the text; lines of shorter
 * lists of mappings begin with it, too. Returns the number of bytes that it takes; 0 if the text
 * does not begin with it, or the range is empty. */
size_t pt_maps_range(const char *text, size_t bytes, uint64_t *ret_start, uint64_t *ret_limit);

/* Parses a line, given without its newline; it need not be terminated. Columns may be separated
 * by any blanks. Lists of other programs may have words for device and inode: these become 0.
 * False, with *ret_line unchanged, if columns are missing. */
bool pt_maps_line_parse(const char *line, size_t bytes, pt_maps_line *ret_line);
