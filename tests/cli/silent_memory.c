/* silent_memory.c: burns CPU time in a process, one page of whose memory is never filled, so that
 * a reader waits for ever. It is the first page that a recorder reads of a Java virtual machine: of
 * libjvm.so in the current folder.
 *
 *   silent_memory userfaultfd    the page is to be filled by this process
 *   silent_memory fuse FOLDER    the page is of a file of a file system that it serves in FOLDER
 *
 * The process is nobody's: the recorder reads memory of its own user's processes itself. Prints a
 * line when all is in place. If that cannot be, prints the reason and ends with status 77.
 * Ends when its standard input does. */
#define _GNU_SOURCE
#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <linux/fuse.h>
#include <linux/userfaultfd.h>
#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <sys/mount.h>
#include <sys/prctl.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

enum { PAGE = 4096 };
static char *page;

static void give_up(const char *what)
{
    printf("%s: %s\n", what, strerror(errno));
    exit(77);
}

static void become_nobody(void)
{
    enum { NOBODY = 65534 };
    if (setgid(NOBODY) != 0 || setuid(NOBODY) != 0) give_up("setuid");
}

static void register_page(void)
{
    const int fd = (int)syscall(SYS_userfaultfd, O_CLOEXEC);
    struct uffdio_api api = {.api = UFFD_API};
    struct uffdio_register range = {.range = {.start = (unsigned long)page, .len = PAGE},
                                    .mode = UFFDIO_REGISTER_MODE_MISSING};
    if (fd < 0 || ioctl(fd, UFFDIO_API, &api) != 0 || ioctl(fd, UFFDIO_REGISTER, &range) != 0)
        give_up("userfaultfd");
}

/* ---- a file system with one file, which does not answer reads ---- */

static void answer(int fd, const struct fuse_in_header *request, const void *body, size_t size,
                   int error)
{
    static char out[PAGE];
    const struct fuse_out_header header = {
        .len = (unsigned)(sizeof header + size), .error = error, .unique = request->unique};
    memcpy(out, &header, sizeof header);
    if (size > 0) memcpy(out + sizeof header, body, size);
    if (write(fd, out, sizeof header + size) < 0 && errno != ENOENT && errno != EINTR) _exit(1);
}

static struct fuse_attr attr_of(unsigned long node)
{
    return (struct fuse_attr){.ino = node,
                              .size = PAGE,
                              .blocks = 8,
                              .nlink = 1,
                              .blksize = PAGE,
                              .mode = node == 1 ? S_IFDIR | 0755 : S_IFREG | 0644};
}

static void serve(int fd)
{
    static char in[1 << 20];
    for (;;) {
        const ssize_t got = read(fd, in, sizeof in);
        const struct fuse_in_header *const request = (const void *)in;
        if (got < 0 && errno == ENODEV) _exit(0); /* unmounted */
        if (got < (ssize_t)sizeof *request) continue;
        if (request->opcode == FUSE_INIT) {
            const struct fuse_init_out out = {.major = FUSE_KERNEL_VERSION,
                                              .minor = 31,
                                              .max_readahead = PAGE,
                                              .max_write = PAGE};
            answer(fd, request, &out, sizeof out, 0);
        } else if (request->opcode == FUSE_LOOKUP) {
            const struct fuse_entry_out out = {
                .nodeid = 2, .attr = attr_of(2), .entry_valid = 1000, .attr_valid = 1000};
            answer(fd, request, &out, sizeof out, 0);
        } else if (request->opcode == FUSE_GETATTR) {
            const struct fuse_attr_out out = {.attr_valid = 1000, .attr = attr_of(request->nodeid)};
            answer(fd, request, &out, sizeof out, 0);
        } else if (request->opcode == FUSE_OPEN) {
            const struct fuse_open_out out = {.fh = 1};
            answer(fd, request, &out, sizeof out, 0);
        } else if (request->opcode != FUSE_READ && request->opcode != FUSE_FORGET &&
                   request->opcode != FUSE_INTERRUPT)
            answer(fd, request, NULL, 0, -ENOSYS);
    }
}

static void map_page(const char *folder)
{
    char options[80], path[4096];
    const int fd = open("/dev/fuse", O_RDWR | O_CLOEXEC);
    snprintf(options, sizeof options, "fd=%d,rootmode=40000,user_id=0,group_id=0,allow_other", fd);
    if (fd < 0 || mount("silent", folder, "fuse.silent", MS_NOSUID | MS_NODEV, options) != 0)
        give_up("fuse");
    if (fork() == 0) {
        become_nobody(); /* else the signal of its parent's end, from nobody, would not reach it */
        prctl(PR_SET_PDEATHSIG, SIGKILL);
        serve(fd);
    }
    close(fd);
    snprintf(path, sizeof path, "%s/page", folder);
    const int file = open(path, O_RDONLY);
    if (file < 0 || mmap(page, PAGE, PROT_READ, MAP_PRIVATE | MAP_FIXED, file, 0) == MAP_FAILED)
        give_up("fuse");
}

static void *watch_input(void *arg)
{
    char byte;
    while (read(0, &byte, 1) > 0)
        continue;
    _exit(0);
    return arg;
}

int main(int argc, char **argv)
{
    pthread_t watcher;
    volatile unsigned long burned = 0;
    void *const library = dlopen("./libjvm.so", RTLD_NOW);
    page = library != NULL ? dlsym(library, "gHotSpotVMStructs") : NULL;
    if (page == NULL) give_up("libjvm.so");
    if (argc > 1 && strcmp(argv[1], "userfaultfd") == 0) register_page();
    if (argc > 2 && strcmp(argv[1], "fuse") == 0) map_page(argv[2]);
    become_nobody();
    puts("ready");
    fflush(stdout);
    pthread_create(&watcher, NULL, watch_input, NULL);
    for (;;)
        burned++;
}
