/* sweep.c: runs a fuzz target on every file that is given, damaged in every simple way.
 *
 * A file of at most 4 KiB is cut at every byte, and each of its bytes in turn is inverted, has its
 * lowest bit changed and its highest bit set (lengths, varints and counts grow by that). A larger
 * one is cut and changed so at 500 places chosen by the seed. The contents of a gzip file are
 * swept, too. Built with the sanitizers; prints TAP, a test a file. The seed is PITOT_SEED, or 1.
 *
 * An input that takes more than 10 s (PITOT_HANG_SECONDS) of CPU time hangs. Whatever ends the
 * program, the input that was being tried is described on stderr and written to the file named
 * there.
 */
#include "files.h"

#include <fcntl.h>
#include <signal.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/time.h>
#include <unistd.h>
#include <zlib.h>

enum {
    WHOLE_SWEEP_BYTES = 4096, /* up to here every byte is visited */
    SAMPLED_PLACES = 500,     /* above, so many */
    MAX_INFLATED_BYTES = 1 << 20,
};

/* The input that is being tried, for the last words. */
static struct {
    const char *path;
    const char *damage; /* "cut at byte", "inverted byte", ... */
    size_t offset;
    const uint8_t *bytes;
    size_t size;
} now;

static struct itimerval hang = {.it_value = {.tv_sec = 10}};
static size_t tests;
static uint64_t random_state;

/* splitmix64 (Steele, Lea, Flood 2014): any seed will do, 0 too. */
static uint64_t next_random(void)
{
    uint64_t z = random_state += 0x9e3779b97f4a7c15u;
    z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9u;
    z = (z ^ (z >> 27)) * 0x94d049bb133111ebu;
    return z ^ (z >> 31);
}

static void last_words(void)
{
    static bool said;
    if (said || now.path == NULL) return;
    said = true;
    char path[64];
    snprintf(path, sizeof path, "sweep-found.%ld", (long)getpid());
    const int fd = open(path, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0666);
    const bool kept = fd >= 0 && write(fd, now.bytes, now.size) == (ssize_t)now.size;
    dprintf(STDERR_FILENO, "sweep: %s, %s %zu (%zu bytes, %s%s)\n", now.path, now.damage,
            now.offset, now.size, kept ? "written to " : "not written", kept ? path : "");
    if (fd >= 0) close(fd);
}

static void on_signal(int number)
{
    dprintf(STDERR_FILENO, "sweep: %s\n", number == SIGPROF ? "the input hangs" : "aborted");
    last_words();
    signal(number == SIGPROF ? SIGABRT : number, SIG_DFL);
    raise(number == SIGPROF ? SIGABRT : number);
}

static void on_exit_inside(void)
{
    if (now.path == NULL) return;
    dprintf(STDERR_FILENO, "sweep: the target ended the program\n");
    last_words();
    _exit(1);
}

#if defined(__SANITIZE_ADDRESS__)
#define WITH_SANITIZERS 1
#elif defined(__has_feature)
#if __has_feature(address_sanitizer)
#define WITH_SANITIZERS 1
#endif
#endif

#ifdef WITH_SANITIZERS
void __sanitizer_set_death_callback(void (*callback)(void));
#endif

static void try_bytes(const char *damage, size_t offset, const uint8_t *bytes, size_t size)
{
    now.damage = damage;
    now.offset = offset;
    now.bytes = bytes;
    now.size = size;
    setitimer(ITIMER_PROF, &hang, NULL);
    LLVMFuzzerTestOneInput(bytes, size);
}

/* The cut is a block of its own size, so that a read past its end is seen. */
static void try_cut(const uint8_t *bytes, size_t size)
{
    uint8_t *cut = malloc(size > 0 ? size : 1);
    if (size > 0) memcpy(cut, bytes, size);
    try_bytes("cut at byte", size, cut, size);
    free(cut);
}

static void damage_at(uint8_t *bytes, size_t size, size_t offset)
{
    const uint8_t was = bytes[offset];
    try_cut(bytes, offset);
    bytes[offset] = was ^ 0xff;
    try_bytes("inverted byte", offset, bytes, size);
    bytes[offset] = was ^ 0x01;
    try_bytes("changed the lowest bit of byte", offset, bytes, size);
    if ((was & 0x80) == 0) {
        bytes[offset] = was | 0x80;
        try_bytes("set the highest bit of byte", offset, bytes, size);
    }
    bytes[offset] = was;
}

static size_t sweep_bytes(uint8_t *bytes, size_t size)
{
    const bool whole = size <= WHOLE_SWEEP_BYTES;
    const size_t places = whole ? size : SAMPLED_PLACES;
    try_bytes("as it is, bytes", size, bytes, size);
    for (size_t i = 0; i < places; i++)
        damage_at(bytes, size, whole ? i : next_random() % size);
    return places;
}

/* The first MAX_INFLATED_BYTES of a gzip file's contents, or NULL if it is none. */
static uint8_t *inflated(uint8_t *bytes, size_t size, size_t *ret_size)
{
    if (size < 18 || bytes[0] != 0x1f || bytes[1] != 0x8b) return NULL;
    uint8_t *contents = malloc(MAX_INFLATED_BYTES);
    z_stream stream = {
        .next_in = bytes,
        .avail_in = (uInt)size,
        .next_out = contents,
        .avail_out = MAX_INFLATED_BYTES,
    };
    if (contents == NULL || inflateInit2(&stream, 15 + 16) != Z_OK) abort();
    inflate(&stream, Z_FINISH);
    *ret_size = stream.total_out;
    inflateEnd(&stream);
    if (*ret_size > 0) return realloc(contents, *ret_size);
    free(contents);
    return NULL;
}

static void sweep_file(const char *path, uint8_t *bytes, size_t size)
{
    now.path = path;
    size_t places = sweep_bytes(bytes, size);
    size_t contents_bytes = 0;
    uint8_t *contents = inflated(bytes, size, &contents_bytes);
    if (contents != NULL) places += sweep_bytes(contents, contents_bytes);
    free(contents);
    now.path = NULL;
    printf("ok %zu - %s damaged at %zu places\n", ++tests, base_name(path), places);
    fflush(stdout);
}

int main(int argc, char **argv)
{
    const char *seed = getenv("PITOT_SEED");
    random_state = seed != NULL ? strtoull(seed, NULL, 0) : 1;
    const char *seconds = getenv("PITOT_HANG_SECONDS");
    if (seconds != NULL && atoi(seconds) > 0) hang.it_value.tv_sec = atoi(seconds);
    signal(SIGPROF, on_signal);
    signal(SIGABRT, on_signal);
    atexit(on_exit_inside);
#ifdef WITH_SANITIZERS
    __sanitizer_set_death_callback(last_words);
#endif
    if (for_each_file(argc - 1, argv + 1, sweep_file) == 0) {
        printf("1..0 # SKIP %s has no inputs yet\n", base_name(argv[0]));
        return 0;
    }
    printf("1..%zu\n", tests);
    return 0;
}
