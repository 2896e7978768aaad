/* maps.h: a line of /proc/PID/maps (proc(5)), and of the lists that are written like it.
 *
 *   55d0c8a00000-55d0c8a15000 r-xp 00002000 fd:01 12845071    /usr/bin/prog
 *   start        limit        prot file_offset dev inode      path
 *
 * Nothing is allocated: the library in the process reads its own map with it.
 */
#ifndef PT_PROCESS_MAPS_H
#define PT_PROCESS_MAPS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

typedef struct pt_maps_line {
    uint64_t start, limit; /* start < limit */
    uint64_t file_offset, inode;
    uint32_t major, minor;
    uint32_t prot;    /* PROT_READ | PROT_WRITE | PROT_EXEC */
    const char *path; /* in the line: the rest of it; not terminated */
    size_t path_bytes;
} pt_maps_line;

/* "START-LIMIT" in hex, with or without 0x, with which brief lists of mappings begin as well.
 * Returns the bytes that it takes; 0: the text does not begin so, or nothing lies in the range. */
size_t pt_maps_range(const char *text, size_t bytes, uint64_t *ret_start, uint64_t *ret_limit);

/* The line, without its end, need not be terminated. Columns may be apart by any blanks. Lists that
 * other programs wrote may have any word for device and inode: these are 0 then. False, and outputs
 * are untouched, if columns are missing. */
bool pt_maps_line_parse(const char *line, size_t bytes, pt_maps_line *ret_line);

#endif
