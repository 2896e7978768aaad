/* error.c: errors, counted facts, and allocators that cannot fail. */
#include "base/error.h"

#include "base/memory.h"
#include "base/visible.h"

#include <errno.h>
#include <malloc.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#define HUGE_FROM_BYTES ((size_t)4 << 20)

__attribute__((format(printf, 3, 0))) static pt_status fill(pt_error *err, pt_status status,
                                                            const char *format, va_list args)
{
    if (err != NULL) {
        *err = PT_ERROR_INIT;
        err->status = status;
        vsnprintf(err->message, sizeof err->message, format, args);
    }
    return status;
}

pt_status pt_error_set(pt_error *reterr, pt_status status, const char *format, ...)
{
    va_list args;
    va_start(args, format);
    fill(reterr, status, format, args);
    va_end(args);
    return status;
}

pt_status pt_error_errno(pt_error *reterr, int errnum, const char *format, ...)
{
    const pt_status status = errnum == ENOENT || errnum == ESRCH ? PT_ERR_NOTFOUND
                             : errnum == ENOMEM                  ? PT_ERR_NOMEM
                                                                 : PT_ERR_SYSTEM;
    va_list args;
    va_start(args, format);
    fill(reterr, status, format, args);
    va_end(args);
    if (reterr != NULL) {
        const size_t length = strlen(reterr->message);
        snprintf(reterr->message + length, sizeof reterr->message - length, "%s%s",
                 length > 0 ? ": " : "", strerror(errnum));
    }
    return status;
}

void pt_error_where(pt_error *err, const char *path, const char *format, int64_t offset)
{
    if (err == NULL) return;
    if (path != NULL) snprintf(err->path, sizeof err->path, "%s", path);
    if (format != NULL) snprintf(err->format, sizeof err->format, "%s", format);
    if (offset >= 0) err->offset = offset;
}

void pt_error_text(const pt_error *err, char *buf, size_t size)
{
    snprintf(buf, size, "%s%s%s%s%s", err->path, err->path[0] ? ": " : "", err->format,
             err->format[0] ? ": " : "", err->message);
}

void pt_diag_init(pt_diag *diag)
{
    *diag = (pt_diag){0};
}

void pt_diag_done(pt_diag *diag)
{
    for (size_t i = 0; i < diag->count; i++)
        free(diag->facts[i].text);
    free(diag->facts);
    *diag = (pt_diag){0};
}

/* Limit of distinct facts, since a file can cause any number. All further facts are counted as
 * one. */
enum { FACTS_MAX = 256 };

static void diag_add_text(pt_diag *diag, uint64_t n, const char *text)
{
    for (size_t i = 0; i < diag->count; i++) {
        if (strcmp(diag->facts[i].text, text) == 0 || i + 1 == FACTS_MAX) {
            diag->facts[i].count += n;
            return;
        }
    }
    if (diag->count + 1 == FACTS_MAX) text = "further notes of other kinds";
    if (diag->count == diag->cap) {
        diag->cap = diag->cap ? diag->cap * 2 : 8;
        diag->facts = pt_realloc(diag->facts, diag->cap, sizeof *diag->facts);
    }
    diag->facts[diag->count++] = (pt_diag_fact){pt_strdup(text), n};
}

void pt_diag_add(pt_diag *diag, uint64_t n, const char *format, ...)
{
    if (diag == NULL || n == 0) return;
    char text[512];
    va_list args;
    va_start(args, format);
    vsnprintf(text, sizeof text, format, args);
    va_end(args);
    PT_FREE char *line = pt_on_one_line(text, strlen(text), NULL);
    diag_add_text(diag, n, line);
}

void pt_diag_merge(pt_diag *into, const pt_diag *from)
{
    for (size_t i = 0; into != NULL && i < from->count; i++)
        diag_add_text(into, from->facts[i].count, from->facts[i].text);
}

_Noreturn void pt_bug(const char *file, int line, const char *condition)
{
    fprintf(stderr, "pitot: bug at %s:%d: %s\n", file, line, condition);
    abort();
}

/* Counts an allocation, and malloc's header of it, against the memory limit. Ends the process if
 * the bytes exceed the limit. */
static void count_bytes(size_t bytes)
{
    enum { WORDS_BYTES = 16 };
    if (!pt_memory_take(bytes + WORDS_BYTES)) pt_memory_exhausted(bytes, true);
}

void *pt_alloc(size_t count, size_t size)
{
    count_bytes(count * size);
    void *ptr = calloc(count ? count : 1, size ? size : 1);
    if (ptr == NULL) pt_memory_exhausted(count * size, false);
    return ptr;
}

/* Advises the kernel to use large pages for all of malloc's mapping around a large block. The whole
 * mapping is advised, so that the kernel does not split it. */
static void want_large_pages(void *ptr, size_t bytes)
{
    if (bytes < HUGE_FROM_BYTES) return;
    const uintptr_t page = (uintptr_t)sysconf(_SC_PAGESIZE);
    const uintptr_t start = (uintptr_t)ptr & ~(page - 1);
    const uintptr_t end = ((uintptr_t)ptr + bytes + page - 1) & ~(page - 1);
    madvise((void *)start, end - start, MADV_HUGEPAGE); /* a hint, which may fail */
}

void *pt_alloc_table(size_t count, size_t size)
{
    void *const ptr = pt_alloc(count, size);
    want_large_pages(ptr, count * size);
    return ptr;
}

uint32_t *pt_alloc_numbers(size_t count)
{
    uint32_t *const numbers = pt_alloc(count + 1, sizeof *numbers);
    for (size_t i = 0; i < count; i++)
        numbers[i] = (uint32_t)i;
    return numbers;
}

void *pt_realloc(void *ptr, size_t count, size_t size)
{
    const size_t had = malloc_usable_size(ptr);
    if (count * size > had) count_bytes(count * size - had);
    void *bigger = reallocarray(ptr, count ? count : 1, size ? size : 1);
    if (bigger == NULL) pt_memory_exhausted(count * size, false);
    return bigger;
}

void *pt_realloc_large(void *ptr, size_t count, size_t size)
{
    void *const bigger = pt_realloc(ptr, count, size);
    want_large_pages(bigger, count * size);
    return bigger;
}

void pt_fault_in(void *start, size_t bytes)
{
#ifdef MADV_POPULATE_WRITE /* Linux 5.14 */
    const uintptr_t page = (uintptr_t)sysconf(_SC_PAGESIZE);
    const uintptr_t first = ((uintptr_t)start + page - 1) & ~(page - 1);
    const uintptr_t end = ((uintptr_t)start + bytes) & ~(page - 1);
    if (first < end) madvise((void *)first, end - first, MADV_POPULATE_WRITE); /* may fail */
#else
    (void)start;
    (void)bytes;
#endif
}

char *pt_strdup(const char *text)
{
    return pt_strndup(text, strlen(text));
}

char *pt_strndup(const char *text, size_t length)
{
    char *copy = pt_alloc(length + 1, 1);
    memcpy(copy, text, length);
    return copy;
}

char *pt_strf(const char *format, ...)
{
    char *text = NULL;
    va_list args;
    va_start(args, format);
    const int length = vasprintf(&text, format, args);
    va_end(args);
    if (length < 0) pt_memory_exhausted(0, false);
    count_bytes((size_t)length);
    return text;
}

void pt_free_all(void *const *pointers, size_t count)
{
    for (size_t i = 0; i < count; i++)
        free(pointers[i]);
}

void pt_freep(const void *pointer_to_pointer)
{
    free(*(void **)pointer_to_pointer);
}

void pt_closep(int *fd)
{
    if (*fd >= 0) close(*fd);
}
