/* memory_files.h: files that lie in memory, for code that opens its input by name, and standard
 * output into one. */
#pragma once

#include <fcntl.h>
#include <sys/mman.h>
#include <unistd.h>

#include "formats_fuzz.h"

/* A file in memory: the descriptor, and a name to open it by. */
static inline int put_file(const char *name, const uint8_t *data, size_t size, char *ret_path,
                           size_t path_bytes)
{
    const int fd = memfd_create(name, MFD_CLOEXEC);
    if (fd < 0 || pwrite(fd, data, size, 0) != (ssize_t)size) fuzz_fail(name, "no file in memory");
    snprintf(ret_path, path_bytes, "/proc/self/fd/%d", fd);
    return fd;
}

/* An input of two files: the other's bytes, the image's, the image's size in two bytes (the lower
 * first), and one byte to choose a report by. */
typedef struct {
    const uint8_t *image;
    size_t image_bytes, other_bytes; /* the other begins where the input does */
    uint8_t choice;
} two_files;

/* False: the input is too short for its trailer. */
static inline bool split_files(const uint8_t *data, size_t size, two_files *ret)
{
    enum { TRAILER_BYTES = 3 };
    if (size < TRAILER_BYTES) return false;
    const uint8_t *const trailer = data + size - TRAILER_BYTES;
    const size_t rest = size - TRAILER_BYTES;
    size_t image_bytes = trailer[0] | (size_t)trailer[1] << 8;
    if (image_bytes > rest) image_bytes = rest;
    *ret = (two_files){.image = trailer - image_bytes,
                       .image_bytes = image_bytes,
                       .other_bytes = rest - image_bytes,
                       .choice = trailer[2]};
    return true;
}

/* Standard output becomes a file in memory, standard error nothing, until shown again. */
typedef struct {
    int output, kept;
    FILE *kept_error;
} silence;

static inline silence be_silent(void)
{
    static FILE *nothing;
    if (nothing == NULL) nothing = fopen("/dev/null", "we");
    fflush(stdout);
    silence s = {.output = memfd_create("output", MFD_CLOEXEC),
                 .kept = fcntl(STDOUT_FILENO, F_DUPFD_CLOEXEC, 3),
                 .kept_error = stderr};
    if (s.output < 0 || dup2(s.output, STDOUT_FILENO) < 0) fuzz_fail("output", "not redirected");
    stderr = nothing;
    return s;
}

static inline void be_loud(silence *s, pt_buf *ret_printed)
{
    stderr = s->kept_error;
    if (s->kept >= 0) dup2(s->kept, STDOUT_FILENO);
    if (s->kept >= 0) close(s->kept);
    const off_t size = lseek(s->output, 0, SEEK_END);
    uint8_t *const bytes = size > 0 ? pt_buf_extend(ret_printed, (size_t)size) : NULL;
    if (size > 0 && pread(s->output, bytes, (size_t)size, 0) != size) fuzz_fail("output", "lost");
    close(s->output);
}
