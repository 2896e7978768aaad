/* inflate.c: decompresses a gzip file and does nothing with it: what a reader of that file cannot
 * avoid, measured beside it. */
#include <errno.h>
#include <fcntl.h>
#include <libdeflate.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>

static int fail(const char *path, const char *why)
{
    fprintf(stderr, "inflate: %s: %s\n", path, why);
    return 1;
}

int main(int argc, char **argv)
{
    const char *const path = argc == 2 ? argv[1] : "FILE";
    if (argc != 2) return fail(path, "one file is wanted");

    struct stat st;
    const int fd = open(path, O_RDONLY | O_CLOEXEC);
    if (fd < 0 || fstat(fd, &st) != 0) return fail(path, strerror(errno));
    const size_t size = (size_t)st.st_size;
    if (size < 18) return fail(path, "too short for gzip");
    const uint8_t *const packed = mmap(NULL, size, PROT_READ, MAP_PRIVATE, fd, 0);
    if (packed == MAP_FAILED) return fail(path, strerror(errno));

    /* The last word is the size before compression; the generator's files are single members. */
    const uint8_t *const end = packed + size - 4;
    const size_t plain_size =
        (size_t)end[0] | (size_t)end[1] << 8 | (size_t)end[2] << 16 | (size_t)end[3] << 24;
    struct libdeflate_decompressor *const d = libdeflate_alloc_decompressor();
    if (!d) return fail(path, "no memory");
    void *const plain = malloc(plain_size ? plain_size : 1);
    if (!plain) {
        libdeflate_free_decompressor(d);
        return fail(path, "no memory");
    }
    const enum libdeflate_result result =
        libdeflate_gzip_decompress(d, packed, size, plain, plain_size, NULL);
    libdeflate_free_decompressor(d);
    free(plain);
    return result == LIBDEFLATE_SUCCESS ? 0 : fail(path, "damaged, or not one gzip member");
}
