/* name_index.h: what was once found out about the addresses of an image, kept on disk.
 *
 *   FOLDER/KEY.VERSION.names      one file an image; KEY is its build id and what the file system
 *                                 tells the file by (pt_kept_key)
 *
 *   header     what, version, stamp, sizes, CRC-32 of itself and of what follows
 *   checks     CRC-32 of each block of the rest
 *   address    ascending, as linked           \
 *   symbol     address and bytes of the one    | a row an address
 *   first      its frames [first, next first) /  (none: the address has no name)
 *   frame      function, line, column            innermost inlined one first
 *   function   linkage name, name, file, start line, readable name in each mode
 *   string     bytes, each string terminated; 0 is ""
 *
 * Numbers are in the machine's byte order: the folder is one user's on one machine. Version, stamp
 * and sizes are looked at when a file is opened; a block's checksum when something in it is first
 * asked for, and every id and offset whenever it is used. So opening costs nothing, however much is
 * kept. A file that fails is as good as none from there on, and is replaced. Files appear under
 * their names complete (rename), so readers and writers need no locks; of two writers the later one
 * wins, and what the other had found out is found out again some day. The files that were used
 * least recently are removed when all together are larger than allowed.
 */
#ifndef PT_SOURCE_NAME_INDEX_H
#define PT_SOURCE_NAME_INDEX_H

#include "base/buf.h"
#include "base/file.h"
#include "elf/image.h"

#define PT_NAME_MODES 3 /* readable names that are kept: the first of pt_demangle_mode */

typedef struct pt_name_cache {
    const char *folder; /* made when something is kept; NULL: keep nothing */
    uint64_t max_bytes; /* of all files together; 0 = PT_NAME_CACHE_BYTES */
    const char *stamp;  /* who wrote a file, at most 31 bytes: another stamp is another's answers.
                           NULL = "" */
} pt_name_cache;
#define PT_NAME_CACHE_BYTES (UINT64_C(512) << 20)

/* The symbol that covers an address; zeros when none does. */
typedef struct pt_name_symbol {
    uint64_t addr, size_bytes;
} pt_name_symbol;

typedef struct pt_name_frame {
    uint32_t function, line, column;
} pt_name_frame;

/* Strings are offsets. */
typedef struct pt_name_function {
    uint32_t linkage_name, name, file, start_line;
    uint32_t readable[PT_NAME_MODES]; /* 0 = nobody asked yet */
} pt_name_function;

typedef struct pt_name_index {
    pt_blob blob;
    uint32_t address_count, frame_count, function_count;
    uint64_t string_bytes;
    bool is_broken; /* something in it was not as it should be: it answers nothing any more */
    /* Private. */
    const uint8_t *body;
    uint64_t body_bytes;
    const uint32_t *crc; /* one a block */
    uint8_t *checked;    /* a bit a block */
    uint64_t address_off, symbol_off, first_off, frame_off, function_off, string_off; /* in body */
} pt_name_index;

#define PT_NAME_INDEX_INIT ((pt_name_index){.blob = PT_BLOB_INIT})

/* Looks at the header; ret_index then looks into bytes, which must be aligned to 8 and stay. Pair
 * with pt_name_index_done. On failure PT_ERR_FORMAT (another kind, version or stamp) or
 * PT_ERR_DAMAGED. */
pt_status pt_name_index_parse(const void *bytes, size_t size_bytes, const char *stamp,
                              pt_name_index *ret_index, pt_error *reterr);

/* The row of an address, or PT_NONE. */
uint32_t pt_name_index_find(pt_name_index *index, uint64_t address);

/* A row; false when the index is broken. */
typedef struct pt_name_row {
    uint64_t address;
    pt_name_symbol symbol;
    const pt_name_frame *frames; /* each with a function below function_count */
    uint32_t frame_count;
} pt_name_row;
bool pt_name_index_row(pt_name_index *index, uint32_t row, pt_name_row *ret_row);

/* A function with its strings. */
typedef struct pt_name_text {
    const char *linkage_name, *name, *file; /* never NULL */
    uint32_t start_line;
    const char *readable[PT_NAME_MODES]; /* or NULL */
} pt_name_text;

/* A function below function_count, with strings that live as long as the index; false when the
 * index is broken. */
bool pt_name_index_function(pt_name_index *index, uint32_t function, pt_name_text *ret_text);
/* Looks at everything that is left to look at; false when the index is broken. */
bool pt_name_index_verify(pt_name_index *index);

/* What to write: the same columns. */
typedef struct pt_name_columns {
    size_t address_count, frame_count, function_count; /* each below 2^32 */
    const uint64_t *address;
    const pt_name_symbol *symbol;
    const uint32_t *first;
    const pt_name_frame *frame;
    const pt_name_text *function;
} pt_name_columns;

/* Appends the file. PT_ERR_LIMIT when the strings are too many for their offsets. */
pt_status pt_name_index_put(pt_buf *buf, const pt_name_columns *columns, const char *stamp,
                            pt_error *reterr);

/* What an image is known by: pt_kept_key of its build id in hex and of the file. NULL (free it
 * otherwise) where that is, or when it comes from no file. */
char *pt_name_index_key(const pt_elf *elf, int fd);

/* Opens what is kept under a key and notes that it was used. PT_ERR_NOTFOUND when nothing is;
 * otherwise as pt_name_index_parse. */
pt_status pt_name_index_open(const pt_name_cache *cache, const char *key, pt_name_index *ret_index,
                             pt_error *reterr);
void pt_name_index_done(pt_name_index *index);

/* Keeps the columns under the key, in place of what was there, and removes the least recently used
 * files beyond the limit. Something larger than a quarter of the limit is not kept: PT_ERR_LIMIT.
 * A folder that belongs to somebody else is not used. */
pt_status pt_name_index_save(const pt_name_cache *cache, const char *key,
                             const pt_name_columns *columns, pt_error *reterr);

/* How much is kept; clear: removes it. Only files that are named as ours count. */
typedef struct pt_name_cache_facts {
    size_t file_count;
    uint64_t file_bytes;
} pt_name_cache_facts;
void pt_name_cache_look(const pt_name_cache *cache, bool clear, pt_name_cache_facts *ret_facts);

#endif
