/* file.h: reading a whole file into a pt_blob, and writing a file that atomically replaces an
 * existing file.
 *
 * A pt_blob holds bytes and knows how to release them, since they are anonymous memory, a mapped
 * file, or the output of compress.h. A reader that walks forward calls pt_blob_discard as it goes,
 * so that the parsed input and the structures made of it are never in memory together.
 *
 * Large regular files are mapped, since pages of a file cost no private memory. When another
 * process truncates a mapped file, reads past the new end raise SIGBUS. Files are therefore mapped
 * only after the command has called pt_file_guard(): its handler replaces the missing pages by zero
 * pages, and pt_blob_intact() reports the truncation. Without the guard every file is read into
 * memory.
 */
#pragma once

#include "base/buf.h"
#include "base/error.h"
#include "base/place.h"
#include "base/temp.h"

typedef enum {
    PT_BLOB_BORROWED,  /* memory of the caller, or none */
    PT_BLOB_ANONYMOUS, /* from mmap, owned by the blob */
    PT_BLOB_MAPPED,    /* pages of a file */
} pt_blob_kind;

typedef struct pt_blob {
    const uint8_t *data;
    size_t size;
    pt_blob_kind kind;
    size_t map_bytes; /* size of the mapping; a multiple of the page size */
    size_t discarded; /* bytes from the start whose pages were released */
    size_t uncounted; /* pt_blob_reserve: the part of map_bytes that does not count against the
                         memory limit yet (memory.h) */
    int guard_slot;   /* MAPPED: index in the table of the guard; else -1 */
} pt_blob;

#define PT_BLOB_INIT ((pt_blob){.guard_slot = -1})

/* Releases the bytes. */
void pt_blob_done(pt_blob *blob);
/* A blob over memory that stays the caller's and must outlive the blob. */
pt_blob pt_blob_borrow(const void *data, size_t size);
/* Zeroed anonymous memory, which costs nothing until it is touched; write to it by pt_blob_bytes.
 * PT_ERR_NOMEM if the system has no memory left, PT_ERR_LIMIT if the memory limit is reached. */
pt_status pt_blob_new(size_t size, pt_blob *ret_blob, pt_error *reterr);
/* Like pt_blob_new, but does not check the limit, for a buffer of which an unknown part will be
 * used. The caller writes at most pt_memory_left() bytes, then cuts the blob to the used size,
 * which counts from then on. */
pt_status pt_blob_reserve(size_t size, pt_blob *ret_blob, pt_error *reterr);
/* Shortens or extends an anonymous blob; may move it. Pages past the new size are released at once.
 */
pt_status pt_blob_resize(pt_blob *blob, size_t size, pt_error *reterr);
/* The writable bytes of an anonymous blob. */
static inline uint8_t *pt_blob_bytes(pt_blob *blob)
{
    PT_BUG_IF(blob->kind != PT_BLOB_ANONYMOUS && blob->size > 0);
    return (uint8_t *)(uintptr_t)blob->data;
}
/* Releases the whole pages before upto: the caller will not read those bytes again. */
void pt_blob_discard(pt_blob *blob, size_t upto);
/* Returns false if a mapped file was truncated by at least a page since it was mapped; the missing
 * bytes were read as zeros. PT_FILE_SHRANK is the text of the error. */
bool pt_blob_intact(const pt_blob *blob);
#define PT_FILE_SHRANK "became shorter while it was read"

/* Installs the SIGBUS handler described above. Called once, by main() of a command, not by a
 * library. Faults outside the blobs' mappings get the default action. */
void pt_file_guard(void);

typedef enum {
    PT_FILE_EMPTY_OK = 1,    /* an empty file is not an error */
    PT_FILE_MAP = 2,         /* map the file whatever its size: the caller reads only parts of it */
    PT_FILE_OF_ANY_SIZE = 4, /* max_bytes does not apply to a file that is mapped */
    PT_FILE_REGULAR =
        8, /* the path comes from a file: FIFOs and devices are refused unopened (place.h) */
} pt_file_flags;

/* Reads the file, FIFO or device at path to its end. Errors are one line, with the path set:
 * PT_ERR_NOTFOUND; PT_ERR_SYSTEM for no permission, a directory, an I/O error, or (with
 * PT_FILE_REGULAR) a file that is not regular; PT_ERR_FORMAT "is empty"; PT_ERR_LIMIT for more than
 * max_bytes. */
pt_status pt_file_read(const char *path, pt_file_flags flags, uint64_t max_bytes, pt_blob *ret_blob,
                       pt_error *reterr);
/* Reads an open descriptor (e.g. standard input) from its present position to its end. The
 * descriptor stays open. name is the file's name in messages. */
pt_status pt_file_read_fd(int fd, const char *name, pt_file_flags flags, uint64_t max_bytes,
                          pt_blob *ret_blob, pt_error *reterr);

/* The part of path after its last '/', or all of path if it has no '/' or ends in one. Points into
 * path. */
const char *pt_base_name(const char *path);

/* A file being written. The bytes go to a temporary file in the same folder. The commit renames it,
 * so that a reader sees either the old file or the whole new one. A symbolic link is followed and
 * stays; base/place.h defines which links are refused. A path to a FIFO or device (such as
 * /dev/stdout) is written directly. Under sudo, a file in a folder of the user who called sudo
 * belongs to that user. */
typedef struct pt_file_writer {
    pt_out out;     /* the bytes of the file are put here */
    char *path;     /* as the caller gave it */
    pt_place place; /* where the file will be */
    pt_temp temp;   /* its name is NULL when the file is written directly */
    int fd;
    bool is_addition; /* the commit fails with EEXIST if a file has the name */
} pt_file_writer;

/* Mode of a new file: 0666 less the umask, or the mode of the replaced file if this user owns it.
 */
#define PT_MODE_USUAL ((mode_t)0)
/* Mode of a file that only this user may read: recordings, caches. */
#define PT_MODE_PRIVATE ((mode_t)0600)

/* Raises the process's limit of open files as far as the system allows. */
void pt_file_allow_most(void);

/* Begins a file at path. mode: PT_MODE_USUAL, or permission bits that ignore the umask. The caller
 * ends with pt_file_commit or pt_file_abandon. */
pt_status pt_file_create(const char *path, mode_t mode, pt_file_writer *ret_writer,
                         pt_error *reterr);
/* Checks whether pt_file_create may create or replace the file at path, for a command that asks
 * before it does long work. Creates nothing. */
pt_status pt_file_may_create(const char *path, pt_error *reterr);
/* Flushes the bytes and closes the file, which keeps its temporary name until pt_file_commit. For a
 * caller that commits many files together. After a failure the caller abandons the writer. sync: as
 * for pt_file_commit. */
pt_status pt_file_end_bytes(pt_file_writer *writer, bool sync, pt_error *reterr);
/* Flushes the bytes, renames the temporary file and frees the writer. On any failure, including an
 * earlier failure of writer->out, it removes the temporary file and keeps the old file. sync: the
 * bytes reach the disk before the rename; only reproducible files such as caches go without. */
pt_status pt_file_commit(pt_file_writer *writer, bool sync, pt_error *reterr);
/* Removes the temporary file and frees the writer. */
void pt_file_abandon(pt_file_writer *writer);
/* Creates, writes and commits a file whose bytes are in memory. */
pt_status pt_file_replace(const char *path, const void *bytes, size_t size, pt_error *reterr);

/* Creates a file at a path where no file may exist yet. If one exists, *ret_taken is true, the
 * status is PT_ERR_SYSTEM and the existing file is unchanged. */
pt_status pt_file_add(const char *path, mode_t mode, const void *bytes, size_t size,
                      bool *ret_taken, pt_error *reterr);

/* Keeps the file that the writer will replace as PATH.old, replacing an older PATH.old. The file
 * also stays in place until the commit. *ret_kept (may be NULL) is false if no such file exists. */
pt_status pt_file_keep_old(pt_file_writer *writer, bool *ret_kept, pt_error *reterr);
