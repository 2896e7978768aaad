/* file.h: whole files as bytes, and files that appear at once or not at all.
 *
 * A pt_blob is bytes and the way to give them back: read into anonymous memory, mapped from a file,
 * or inflated by compress.h. A consumer that walks forward calls pt_blob_discard as it goes, so
 * that parsed input and what is made of it are never both in memory.
 *
 * Large regular files are mapped, since pages of a file cost no private memory. A mapped file that
 * another process truncates answers reads past its new end with SIGBUS; so files are mapped only
 * after the command has called pt_file_guard(), whose handler puts zero pages there instead, and
 * pt_blob_intact() tells afterwards. Without the guard every file is read into memory.
 */
#ifndef PT_BASE_FILE_H
#define PT_BASE_FILE_H

#include "base/buf.h"
#include "base/error.h"
#include "base/place.h"
#include "base/temp.h"

typedef enum {
    PT_BLOB_BORROWED,  /* somebody else's memory, or nothing */
    PT_BLOB_ANONYMOUS, /* ours, from mmap */
    PT_BLOB_MAPPED,    /* pages of a file */
} pt_blob_kind;

typedef struct pt_blob {
    const uint8_t *data;
    size_t size;
    pt_blob_kind kind;
    size_t map_bytes; /* what munmap takes; a multiple of the page size */
    size_t discarded; /* bytes from the start that have been given back */
    size_t
        uncounted; /* pt_blob_reserve: of map_bytes, what does not count as memory yet (memory.h) */
    int guard_slot; /* MAPPED: index in the guard's table */
} pt_blob;

#define PT_BLOB_INIT ((pt_blob){.guard_slot = -1})

void pt_blob_done(pt_blob *blob);
/* A blob over memory that stays the caller's. */
pt_blob pt_blob_borrow(const void *data, size_t size);
/* Zeroed anonymous memory that costs nothing until it is touched; its bytes may be written through
 * pt_blob_bytes. PT_ERR_NOMEM if the system has no room, PT_ERR_LIMIT if the limit has none. */
pt_status pt_blob_new(size_t size, pt_blob *ret_blob, pt_error *reterr);
/* The same as room of which an unknown part will be used: the limit is not asked. The caller writes
 * no more than pt_memory_left(), and cuts the blob to what it used, which counts from then on. */
pt_status pt_blob_reserve(size_t size, pt_blob *ret_blob, pt_error *reterr);
/* Cuts or extends an anonymous blob; may move it. Pages that are cut off go back at once. */
pt_status pt_blob_resize(pt_blob *blob, size_t size, pt_error *reterr);
static inline uint8_t *pt_blob_bytes(pt_blob *blob)
{
    PT_BUG_IF(blob->kind != PT_BLOB_ANONYMOUS && blob->size > 0);
    return (uint8_t *)(uintptr_t)blob->data;
}
/* The bytes before upto will not be read again: gives their whole pages back to the system. */
void pt_blob_discard(pt_blob *blob, size_t upto);
/* False if a mapped file has become shorter since, by a page at least; zeros were read in the place
 * of what went. What to say of it then: */
bool pt_blob_intact(const pt_blob *blob);
#define PT_FILE_SHRANK "became shorter while it was read"

/* Installs the SIGBUS handler described above, once a process; for main() of a command, not for a
 * library. Faults outside our mappings get the default action. */
void pt_file_guard(void);

typedef enum {
    PT_FILE_EMPTY_OK = 1,    /* an empty file is no error */
    PT_FILE_MAP = 2,         /* only parts of it will be looked at: map it however small it is */
    PT_FILE_OF_ANY_SIZE = 4, /* if it can be mapped: max_bytes is only of what takes memory */
    PT_FILE_REGULAR = 8, /* a stranger named it: a FIFO or device is not even opened (place.h) */
} pt_file_flags;

/* Reads the file, FIFO or device at path to its end, which may be at max_bytes. Fails with one
 * line, path set: PT_ERR_NOTFOUND; PT_ERR_SYSTEM for no permission, a directory, an I/O error,
 * what is not regular;
 * PT_ERR_FORMAT "is empty"; PT_ERR_LIMIT. */
pt_status pt_file_read(const char *path, pt_file_flags flags, uint64_t max_bytes, pt_blob *ret_blob,
                       pt_error *reterr);
/* The same from an open descriptor (e.g. standard input), from its present position; it stays open.
 * name is for messages. */
pt_status pt_file_read_fd(int fd, const char *name, pt_file_flags flags, uint64_t max_bytes,
                          pt_blob *ret_blob, pt_error *reterr);

/* What follows the last '/' of a path; all of it where nothing does. Within path. */
const char *pt_base_name(const char *path);

/* A file being written: the bytes go to a temporary file in the same folder, which takes the name
 * at commit, so that a reader sees the old file or the whole new one. A symbolic link is followed
 * and stays; base/place.h tells which are refused. What is not a regular file (a FIFO, a device,
 * what /dev/stdout leads to) is written directly. */
typedef struct pt_file_writer {
    pt_out out;     /* put here */
    char *path;     /* as given */
    pt_place place; /* of the file */
    pt_temp temp;   /* its name is NULL when the file is written directly */
    int fd;
    bool is_addition; /* commit fails, with errno EEXIST, if the name was taken meanwhile */
} pt_file_writer;

/* A mode: 0666 less the umask, or that of the file which is replaced if this user owns it. */
#define PT_MODE_USUAL ((mode_t)0)
/* What only this user may read: recordings, caches. */
#define PT_MODE_PRIVATE ((mode_t)0600)

/* mode: PT_MODE_USUAL, or the permission bits of the new file whatever the umask. */
pt_status pt_file_create(const char *path, mode_t mode, pt_file_writer *ret_writer,
                         pt_error *reterr);
/* Whether pt_file_create may replace what lies there, asked before work is done for it: it creates
 * nothing. */
pt_status pt_file_may_create(const char *path, pt_error *reterr);
/* Flushes, gives the file its name and frees the writer; on any failure (an earlier one of out too)
 * removes the temporary file instead and leaves the old one. sync: the bytes are on the disk before
 * the name is; only what can be made again, as caches can, does without. */
pt_status pt_file_commit(pt_file_writer *writer, bool sync, pt_error *reterr);
/* Removes the temporary file and frees the writer. */
void pt_file_abandon(pt_file_writer *writer);
/* The three in one, for an output whose bytes are there. */
pt_status pt_file_replace(const char *path, const void *bytes, size_t size, pt_error *reterr);

/* The same for a name that nothing has yet. ret_taken: something has it; then the status is
 * PT_ERR_SYSTEM and it stays as it is. */
pt_status pt_file_add(const char *path, mode_t mode, const void *bytes, size_t size,
                      bool *ret_taken, pt_error *reterr);

/* Keeps the file that the writer will replace as PATH.old (replacing an older one), in place until
 * then. No file there is no error; ret_kept (may be NULL) tells whether there was one. */
pt_status pt_file_keep_old(pt_file_writer *writer, bool *ret_kept, pt_error *reterr);

#endif
