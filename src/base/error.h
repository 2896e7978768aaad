/* error.h: how library code says that something failed, and what it noticed without failing.
 *
 * A function that can fail returns a pt_status and fills its last parameter, pt_error *reterr
 * (may be NULL). Outputs are named ret_x and are untouched on failure. Library code never prints,
 * exits or reads the environment.
 *
 * A fact that is no failure ("17 samples at address 0 kept as [unknown]") goes to a pt_diag, which
 * counts equal facts together. The command line prints its summary, a server returns it, tests
 * compare it.
 */
#ifndef PT_BASE_ERROR_H
#define PT_BASE_ERROR_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

typedef enum {
    PT_OK = 0,
    PT_ERR_SYSTEM,  /* the kernel refused; errno text is in the message */
    PT_ERR_NOMEM,   /* memory, or the memory limit that was set */
    PT_ERR_USAGE,   /* the caller asked for something that makes no sense */
    PT_ERR_FORMAT,  /* not a file of this format */
    PT_ERR_DAMAGED, /* of this format, but cut short or contradictory; what could be read was kept
                     */
    PT_ERR_UNSUPPORTED, /* understood, and not something we can do */
    PT_ERR_NOTFOUND,    /* no such file, symbol, event, process */
    PT_ERR_LIMIT,       /* a value or size beyond what we hold (counts of 2^63, ids of 2^32) */
} pt_status;

typedef struct pt_error {
    pt_status status;
    char message[512]; /* what and what to do next; lower case, no full stop */
    char path[512];    /* the file it is about, or "" */
    char format[32];   /* the format that was being read or written, or "" */
    int64_t offset;    /* byte in that file, or -1 */
} pt_error;

#define PT_ERROR_INIT ((pt_error){.status = PT_OK, .offset = -1})

/* Fills *reterr (which may be NULL) and returns status, so that a caller can
 * `return pt_error_set(reterr, PT_ERR_FORMAT, "...")`. Path, format and offset are cleared. */
pt_status pt_error_set(pt_error *reterr, pt_status status, const char *format, ...)
    __attribute__((format(printf, 3, 4)));

/* The same with strerror(errnum) appended after ": ". Status is PT_ERR_NOTFOUND for ENOENT and
 * ESRCH, PT_ERR_NOMEM for ENOMEM, else PT_ERR_SYSTEM. */
pt_status pt_error_errno(pt_error *reterr, int errnum, const char *format, ...)
    __attribute__((format(printf, 3, 4)));

/* Adds where: path and format are copied when not NULL, offset when >= 0. */
void pt_error_where(pt_error *err, const char *path, const char *format, int64_t offset);

/* "PATH: FORMAT: MESSAGE" with the parts that are set; at most size-1 bytes, always terminated. */
void pt_error_text(const pt_error *err, char *buf, size_t size);

/* One kind of fact, counted. */
typedef struct {
    char *text;     /* e.g. "samples at address 0 kept as [unknown]" */
    uint64_t count; /* how many of them; printed before the text */
} pt_diag_fact;

/* Facts in the order in which each was first seen. Not thread-safe: one a worker, then merge. */
typedef struct pt_diag {
    pt_diag_fact *facts;
    size_t count, cap;
} pt_diag;

void pt_diag_init(pt_diag *diag);
void pt_diag_done(pt_diag *diag);
/* Adds n to the fact that reads exactly so. diag may be NULL. */
void pt_diag_add(pt_diag *diag, uint64_t n, const char *format, ...)
    __attribute__((format(printf, 3, 4)));
void pt_diag_merge(pt_diag *into, const pt_diag *from);

/* A broken promise between two of our own functions: prints where and aborts. Never for input. */
#define PT_BUG_IF(cond) ((cond) ? pt_bug(__FILE__, __LINE__, #cond) : (void)0)
_Noreturn void pt_bug(const char *file, int line, const char *what);

/* Memory that must be there: these end the process with one line when the system has none left, so
 * that no caller has an untested branch. Sizes that come from a file are checked before they get
 * here. pt_alloc zeroes. */
void *pt_alloc(size_t count, size_t size);
void *pt_realloc(void *ptr, size_t count, size_t size);
/* pt_alloc for tables that are looked up at random: large ones in large pages, so that a look-up
 * does not wait for page tables, too. */
void *pt_alloc_table(size_t count, size_t size);
/* pt_realloc for columns that will be written from front to back about as far as they reach: large
 * ones in large pages, which come with fewer faults. */
void *pt_realloc_large(void *ptr, size_t count, size_t size);
/* Memory that was allocated and will be written soon: its pages come at once, where the system can
 * do that, and not with a fault each. */
void pt_fault_in(void *start, size_t bytes);
char *pt_strdup(const char *text);
char *pt_strndup(const char *text, size_t length);
char *pt_strf(const char *format, ...) __attribute__((format(printf, 1, 2)));

/* Cleanup attributes; a variable that is only cleaned up is used by that. */
void pt_freep(void *pointer_to_pointer);
void pt_closep(int *fd);
#define PT_FREE  __attribute__((cleanup(pt_freep), unused))
#define PT_CLOSE __attribute__((cleanup(pt_closep), unused))

#endif
