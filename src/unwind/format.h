/* format.h: the header of a blob (table.h draws the layout). For use inside the layer. */
#pragma once

#include "unwind/table.h"

#define PT_UNWIND_MAGIC "pitotUT"
enum { PT_UNWIND_VERSION = 4 };

typedef struct {
    char magic[8];
    uint32_t version;
    uint16_t machine, id_bytes;
    uint64_t size_bytes; /* of the blob, header included */
    uint64_t checksum;   /* of the whole blob, with this word as 0 */
    uint64_t base_addr;  /* linked address of the first page; page-aligned */
    uint32_t page_count, rule_count, row_count, reserved;
    uint8_t id[PT_UNWIND_ID_MAX]; /* zeros after id_bytes */
} pt_unwind_header;

_Static_assert(sizeof(pt_unwind_header) == 88, "the file's layout");
_Static_assert(sizeof(pt_unwind_rule) == 12, "the file's layout");

/* Detects accidental damage; it is no protection against intent. rest: the bytes after the
 * header. */
uint64_t pt_unwind_checksum(const pt_unwind_header *header, const uint8_t *rest, size_t rest_bytes);
