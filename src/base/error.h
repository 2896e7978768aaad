/* error.h: errors and diagnostics of library code.
 *
 * A function that can fail returns a pt_status and fills its last parameter, pt_error *reterr (may
 * be NULL). Outputs are named ret_x and are untouched on failure. Library code never prints, exits
 * or reads the environment.
 *
 * A fact that is not a failure ("17 samples at address 0 kept as [unknown]") goes to a pt_diag,
 * which counts equal facts together. Commands print the summary of a pt_diag, a server returns it,
 * and tests compare it.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

typedef enum {
    PT_OK = 0,
    PT_ERR_SYSTEM,  /* a system call failed; the message ends with errno's text */
    PT_ERR_NOMEM,   /* no memory left, or the memory limit reached */
    PT_ERR_USAGE,   /* an argument or option is invalid */
    PT_ERR_FORMAT,  /* not a file of this format */
    PT_ERR_DAMAGED, /* of this format, but truncated or contradictory; the readable part was kept */
    PT_ERR_UNSUPPORTED, /* a valid request or file that pitot does not support */
    PT_ERR_NOTFOUND,    /* no such file, symbol, event, process */
    PT_ERR_LIMIT, /* a value or size exceeds what pitot can hold (counts of 2^63, ids of 2^32) */
} pt_status;

typedef struct pt_error {
    pt_status status;
    char message[512]; /* the problem and the remedy; lower case, no full stop */
    char path[512];    /* the file concerned, or "" */
    char format[32];   /* the format that was being read or written, or "" */
    int64_t offset;    /* byte offset in that file, or -1 */
} pt_error;

#define PT_ERROR_INIT ((pt_error){.status = PT_OK, .offset = -1})

/* Fills *reterr (which may be NULL) and returns status, so that a caller can
 * `return pt_error_set(reterr, PT_ERR_FORMAT, "...")`. Path, format and offset are cleared. */
pt_status pt_error_set(pt_error *reterr, pt_status status, const char *format, ...)
    __attribute__((format(printf, 3, 4)));

/* pt_error_set with ": " and strerror(errnum) after the message. The status is PT_ERR_NOTFOUND for
 * ENOENT and ESRCH, PT_ERR_NOMEM for ENOMEM, else PT_ERR_SYSTEM. */
pt_status pt_error_errno(pt_error *reterr, int errnum, const char *format, ...)
    __attribute__((format(printf, 3, 4)));

/* Adds the place: path and format are copied when not NULL, offset when >= 0. */
void pt_error_where(pt_error *err, const char *path, const char *format, int64_t offset);

/* "PATH: FORMAT: MESSAGE" with the parts that are set; at most size-1 bytes, always terminated. */
void pt_error_text(const pt_error *err, char *buf, size_t size);

/* A kind of fact and its count. */
typedef struct {
    char *text;     /* e.g. "samples at address 0 kept as [unknown]" */
    uint64_t count; /* printed before the text */
} pt_diag_fact;

/* Facts in the order of their first occurrence. Not thread-safe: each worker has a pt_diag of its
 * own, and these are merged afterwards. */
typedef struct pt_diag {
    pt_diag_fact *facts;
    size_t count, cap;
} pt_diag;

/* An empty list of facts; pt_diag_done frees it. */
void pt_diag_init(pt_diag *diag);
void pt_diag_done(pt_diag *diag);
/* Adds n to the count of the fact with exactly this text. diag may be NULL. */
void pt_diag_add(pt_diag *diag, uint64_t n, const char *format, ...)
    __attribute__((format(printf, 3, 4)));
/* Adds the counts of `from` to `into`. */
void pt_diag_merge(pt_diag *into, const pt_diag *from);

/* Aborts, with file and line, when a function of pitot violated a contract with another. Never for
 * a condition that input can cause. */
#define PT_BUG_IF(cond) ((cond) ? pt_bug(__FILE__, __LINE__, #cond) : (void)0)
_Noreturn void pt_bug(const char *file, int line, const char *condition);

/* Allocators that cannot fail: when the system has no memory left, or the limit is reached
 * (memory.h), these functions print one line and end the process. Callers therefore need no branch
 * for a failure. Callers check sizes that come from a file first. pt_alloc zeroes the memory. */
void *pt_alloc(size_t count, size_t size);
void *pt_realloc(void *ptr, size_t count, size_t size);
/* pt_alloc for tables with random access. Large tables are placed in large pages, which avoids
 * page-table misses on each look-up. */
void *pt_alloc_table(size_t count, size_t size);
/* The numbers 0, 1, ... count - 1: row numbers, which the caller sorts; the caller frees them. */
uint32_t *pt_alloc_numbers(size_t count);
/* pt_realloc for columns that are filled from front to back, nearly to their capacity. Large
 * columns are placed in large pages, which causes fewer page faults. */
void *pt_realloc_large(void *ptr, size_t count, size_t size);
/* Populates the pages of allocated memory that will be written soon with one system call, where the
 * kernel supports it, so that they do not fault one by one. */
void pt_fault_in(void *start, size_t bytes);
/* Copies of texts, and formatted text; the caller frees them. */
char *pt_strdup(const char *text);
char *pt_strndup(const char *text, size_t length);
char *pt_strf(const char *format, ...) __attribute__((format(printf, 1, 2)));

/* PT_FREE_ALL(table->names, table->rows) frees each of the pointers, which may be NULL. */
void pt_free_all(void *const *pointers, size_t count);
#define PT_FREE_ALL(...)                                                                           \
    pt_free_all((void *const[]){__VA_ARGS__}, sizeof((void *const[]){__VA_ARGS__}) / sizeof(void *))

/* Cleanup attributes: the variable is freed or closed when it leaves its scope. "unused" permits a
 * variable that is only cleaned up. PT_AUTO(pt_x) is the type pt_x with pt_x_done as its cleanup:
 * `PT_AUTO(pt_buf) line = PT_BUF_INIT;`. The variable must be initialised
 * before its scope can be left. */
void pt_freep(const void *pointer_to_pointer);
void pt_closep(int *fd);
#define PT_FREE       __attribute__((cleanup(pt_freep), unused))
#define PT_CLOSE      __attribute__((cleanup(pt_closep), unused))
#define PT_AUTO(type) __attribute__((cleanup(type##_done))) type
