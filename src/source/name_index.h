/* name_index.h: a disk cache of the names of an image's addresses.
 *
 *   FOLDER/KEY.VERSION.names      one file an image; KEY is its build id plus facts of the file
 *                                 system that identify the file (pt_kept_key)
 *
 *   header     magic, version, stamp, sizes, CRC-32 of itself and of what follows
 *   checks     CRC-32 of each block of the rest
 *   address    as linked, ascending           \
 *   symbol     address and bytes of the symbol | a row an address
 *   first      its frames [first, next first) /  (none: the address has no name)
 *   frame      function, line, column            innermost inlined one first
 *   function   linkage name, name, file, start line, readable name in each mode
 *   string     bytes, each string terminated; 0 is ""
 *
 * Numbers are in the machine's byte order: the folder belongs to one user on one machine. Opening
 * checks version, stamp and sizes; the first use of a block checks its checksum; each use of an id
 * or offset checks its range. So opening takes the same time for any size. A damaged file yields no
 * further names and is replaced. Files are renamed into place when they are complete, so readers
 * and writers need no locks. Of two writers the later one wins; the other's results are computed
 * again when needed. When the files together exceed the limit, the least recently used ones are
 * removed.
 */
#pragma once

#include "base/buf.h"
#include "base/file.h"
#include "elf/image.h"

#define PT_NAME_MODES 3 /* readable names of each function: the first modes of pt_demangle_mode */

typedef struct pt_name_cache {
    const char *folder; /* made on the first write; NULL: no cache */
    uint64_t max_bytes; /* limit of all files together; 0: PT_NAME_CACHE_BYTES */
    const char *stamp; /* identifies the writing program, at most 31 bytes; files with another stamp
                          are ignored. NULL: "" */
} pt_name_cache;
#define PT_NAME_CACHE_BYTES (UINT64_C(512) << 20)

/* The symbol that covers an address; zeros: none. */
typedef struct pt_name_symbol {
    uint64_t addr, size_bytes;
} pt_name_symbol;

/* A frame; function is a row of the index. */
typedef struct pt_name_frame {
    uint32_t function, line, column;
} pt_name_frame;

/* A function as stored; strings are offsets. */
typedef struct pt_name_function {
    uint32_t linkage_name, name, file, start_line;
    uint32_t readable[PT_NAME_MODES]; /* 0: not computed yet */
} pt_name_function;

/* An open index. */
typedef struct pt_name_index {
    pt_blob blob;
    uint32_t address_count, frame_count, function_count;
    uint64_t string_bytes;
    bool is_broken; /* the file is damaged: no further rows are returned */
    /* Private. */
    const uint8_t *body;
    uint64_t body_bytes;
    const uint32_t *crc; /* one for each block */
    uint8_t *checked;    /* one bit for each block */
    /* Offsets in body. */
    uint64_t address_off, symbol_off, first_off, frame_off, function_off, string_off;
} pt_name_index;

#define PT_NAME_INDEX_INIT ((pt_name_index){.blob = PT_BLOB_INIT})

/* Checks the header of an index in memory. bytes must be aligned to 8 and outlive ret_index; pair
 * with pt_name_index_done. PT_ERR_FORMAT: another kind, version or stamp. PT_ERR_DAMAGED. */
pt_status pt_name_index_parse(const void *bytes, size_t size_bytes, const char *stamp,
                              pt_name_index *ret_index, pt_error *reterr);

/* The row of an address, or PT_NONE. */
uint32_t pt_name_index_find(pt_name_index *index, uint64_t address);

/* A row of the index. */
typedef struct pt_name_row {
    uint64_t address;
    pt_name_symbol symbol;
    const pt_name_frame *frames; /* each with a function below function_count */
    uint32_t frame_count;
} pt_name_row;
/* Reads a row; false: the index is damaged. */
bool pt_name_index_row(pt_name_index *index, uint32_t row, pt_name_row *ret_row);

/* A function with its strings. */
typedef struct pt_name_text {
    const char *linkage_name, *name, *file; /* never NULL */
    uint32_t start_line;
    const char *readable[PT_NAME_MODES]; /* NULL: not computed yet */
} pt_name_text;

/* Reads a function below function_count; strings live as long as the index. False: the index is
 * damaged. */
bool pt_name_index_function(pt_name_index *index, uint32_t function, pt_name_text *ret_text);
/* Checks all blocks that were not checked yet; false: the index is damaged. */
bool pt_name_index_verify(pt_name_index *index);

/* The columns of an index to write. */
typedef struct pt_name_columns {
    size_t address_count, frame_count, function_count; /* each below 2^32 */
    const uint64_t *address;
    const pt_name_symbol *symbol;
    const uint32_t *first;
    const pt_name_frame *frame;
    const pt_name_text *function;
} pt_name_columns;

/* Appends the index as a file. PT_ERR_LIMIT: the strings exceed the range of their offsets. */
pt_status pt_name_index_put(pt_buf *buf, const pt_name_columns *columns, const char *stamp,
                            pt_error *reterr);

/* The cache key of an image: pt_kept_key of its build id in hex and of the file. The caller frees
 * it. NULL: the image has no key, or no file. */
char *pt_name_index_key(const pt_elf *elf, int fd);

/* Opens the index of a key and marks it as used. PT_ERR_NOTFOUND: none; else as
 * pt_name_index_parse. */
pt_status pt_name_index_open(const pt_name_cache *cache, const char *key, pt_name_index *ret_index,
                             pt_error *reterr);
void pt_name_index_done(pt_name_index *index);

/* Writes the columns under the key, replacing an older file, then removes the least recently used
 * files beyond the limit. PT_ERR_LIMIT: larger than a quarter of the limit, so not written. A
 * folder whose owner is neither this user nor root is not used. */
pt_status pt_name_index_save(const pt_name_cache *cache, const char *key,
                             const pt_name_columns *columns, pt_error *reterr);

/* The size of the cache. */
typedef struct pt_name_cache_facts {
    size_t file_count;
    uint64_t file_bytes;
} pt_name_cache_facts;
/* Measures the cache; clear: empties it. Only files with names of the index count. */
void pt_name_cache_look(const pt_name_cache *cache, bool clear, pt_name_cache_facts *ret_facts);
