/* publish.c: copies the image of the journal (journal.c) to its file, again and again.
 *
 *   note        marks the pages of the image that changed, one bit per page
 *   publish     changed pages -> pwrite at the same place: records, then the headers of their
 *               areas, then the file's header. If the process is killed in between, the file is
 *               still consistent
 *
 * The keeper, a thread of the library, copies changes to memory of its own under the library's
 * lock, and writes that memory to the file without the lock: a disk that hangs delays only a thread
 * that needs the file (at exit, exec, flush and stop).
 *
 * Only the keeper has the file open, in a table of descriptors of its own: a host that closes all
 * descriptors, or counts them, does not see this one. Other threads open the file by its name, if
 * the name still leads to the same file, or send a request to the keeper. A file that cannot be
 * written to does not affect the host: the image has everything, and the next attempt copies all
 * that is missing.
 *
 * The file is made under a temporary name and renamed: a file of an earlier run is replaced, never
 * cut while another process reads it. */
#include "agent/agent.h"

#include <errno.h>
#include <fcntl.h>
#include <linux/futex.h>
#include <stdatomic.h>
#include <stdio.h>
#include <string.h>
#include <sys/file.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/un.h>
#include <unistd.h>

enum {
    PAGE_BYTES = 4096, /* the unit of changes, whatever the machine's page size is */
    PAGES = PT_JOURNAL_MAX_BYTES / PAGE_BYTES,
    ANSWER_WITHIN_S = 10, /* a request waits so long for the keeper to begin its answer */
};

/* The keeper's memory: pieces of the image, one after the other, in the order of writing. */
struct pt_publisher {
    char result[PATH_MAX]; /* the file that the profile will become; "" = no name is known */
    bool is_full;          /* more has changed than fits */
    size_t length;         /* the length of the file before this copy is written */
    size_t piece_count, held_bytes;
    struct {
        size_t at, bytes; /* in the image and the file */
    } piece[2048];
    uint8_t bytes[4 << 20]; /* only the used part costs memory; changes of 100 ms are less */
};

/* Is the keeper writing from its memory? A thread with the lock waits until the keeper's write has
 * ended before that thread does anything else with the file. */
static _Atomic(int) is_writing;
/* Did the keeper fail to write all of its copy? */
static _Atomic(bool) is_lost;

/* Used under the lock; also by the keeper while the thread with the lock waits for it. */
static PT_FAR uint8_t changed_pages[PAGES / 8];
static struct {
    size_t first, limit; /* all changed pages lie in [first, limit) */
    size_t length;       /* of the file, as far as it was written or is being written */
    bool is_begun;       /* the header's magic was written or is being written */
} copy;

#define FILE_OF (&pt_agent.file)

/* ---- what has changed ---- */

static bool has_changed(size_t page)
{
    return (changed_pages[page / 8] >> page % 8 & 1) != 0;
}

void pt_publish_note(const void *at, size_t bytes)
{
    const size_t from = (size_t)((const uint8_t *)at - pt_agent.journal.base);
    const size_t first = from / PAGE_BYTES, limit = (from + bytes - 1) / PAGE_BYTES + 1;
    for (size_t page = first; page < limit; page++)
        changed_pages[page / 8] |= (uint8_t)(1u << page % 8);
    if (copy.first >= copy.limit) {
        copy.first = first;
        copy.limit = limit;
    }
    if (first < copy.first) copy.first = first;
    if (limit > copy.limit) copy.limit = limit;
}

static void note_all(void)
{
    pt_publish_note(pt_agent.journal.base, pt_agent.journal.used_bytes);
    copy.is_begun = false;
}

static void forget_changes(void)
{
    if (copy.first < copy.limit)
        memset(changed_pages + copy.first / 8, 0, (copy.limit - 1) / 8 - copy.first / 8 + 1);
    copy.first = copy.limit = 0;
}

/* ---- copying ---- */

/* Where changes are copied to: the keeper's memory, or the file if `memory` is NULL. */
typedef struct {
    int fd;
    pt_publisher *memory;
} target;

/* Marks pages as unchanged. A page in the keeper's memory counts as written; if the write fails,
 * everything is copied again. The page that has `from` within it stays marked, since the header of
 * an area, in the same page, is still to be copied. */
static void forget_pages(size_t from, size_t limit)
{
    for (size_t page = (from + PAGE_BYTES - 1) / PAGE_BYTES; page < limit / PAGE_BYTES; page++)
        changed_pages[page / 8] &= (uint8_t) ~(1u << page % 8);
}

/* Copies bytes [from, limit) of the image to the keeper's memory, as many as fit. Returns true if
 * all fitted. */
static bool hold_bytes(pt_publisher *memory, size_t from, size_t limit)
{
    enum { PIECES = sizeof memory->piece / sizeof memory->piece[0] };
    const size_t room =
        memory->piece_count < PIECES ? sizeof memory->bytes - memory->held_bytes : 0;
    if (limit - from > room) {
        memory->is_full = true;
        limit = (from + room) / PAGE_BYTES * PAGE_BYTES;
        if (limit <= from) return false;
    }
    memcpy(memory->bytes + memory->held_bytes, pt_agent.journal.base + from, limit - from);
    memory->held_bytes += limit - from;
    memory->piece[memory->piece_count].at = from;
    memory->piece[memory->piece_count++].bytes = limit - from;
    if (memory->is_full) forget_pages(from, limit);
    return !memory->is_full;
}

/* Copies bytes [from, limit) of the image to the same place in the file. */
static bool copy_bytes(const target *to, size_t from, size_t limit)
{
    const bool copied = to->memory != NULL ? hold_bytes(to->memory, from, limit)
                                           : pt_agent_write_at(to->fd, pt_agent.journal.base + from,
                                                               limit - from, (off_t)from);
    if (copied && limit > copy.length) copy.length = limit;
    return copied;
}

static size_t clamp_to(size_t value, size_t least, size_t most)
{
    return value < least ? least : value > most ? most : value;
}

/* The changed part of an area: its records, then the header that commits them. */
static bool copy_area(const target *to, size_t at)
{
    const pt_journal_area *const area = (const pt_journal_area *)(pt_agent.journal.base + at);
    const size_t records = at + sizeof *area, end = records + area->used_bytes;
    const size_t limit = (at + area->size_bytes) / PAGE_BYTES;
    size_t page = at / PAGE_BYTES > copy.first ? at / PAGE_BYTES : copy.first;
    while (page < limit && page < copy.limit) {
        size_t after = page;
        while (after < limit && has_changed(after))
            after++;
        const size_t from = clamp_to(page * PAGE_BYTES, records, end);
        const size_t upto = clamp_to(after * PAGE_BYTES, records, end);
        if (from < upto && !copy_bytes(to, from, upto)) return false;
        if (to->memory != NULL) forget_pages(from, after * PAGE_BYTES);
        page = after + 1;
    }
    if (has_changed(at / PAGE_BYTES) && !copy_bytes(to, at, records)) return false;
    if (to->memory != NULL) forget_pages(at, at + area->size_bytes);
    return true;
}

static bool copy_areas(const target *to, uint32_t kind)
{
    const pt_agent_journal *const journal = &pt_agent.journal;
    for (size_t at = PT_JOURNAL_HEADER_BYTES; at < journal->used_bytes;) {
        const pt_journal_area *const area = (const pt_journal_area *)(journal->base + at);
        if (area->kind == kind && !copy_area(to, at)) return false;
        at += area->size_bytes;
    }
    return true;
}

/* Has someone cut the file? Then the part that is missing must be written again. */
static bool is_cut(int fd, size_t length)
{
    struct stat now;
    return pt_libc_fstat(fd, &now) == 0 && (uint64_t)now.st_size < length;
}

static void note_losses(void)
{
    if (!atomic_exchange(&is_lost, false)) return;
    copy.length = 0;
    note_all();
}

/* Copies all changes. Mappings come first, since stacks refer to them. */
static bool copy_changes(const target *to)
{
    enum { MAGIC_BYTES = sizeof pt_agent.journal.header->magic };
    if (!copy_areas(to, PT_JOURNAL_MAPS) || !copy_areas(to, PT_JOURNAL_CODES) ||
        !copy_areas(to, PT_JOURNAL_STACKS) || !copy_areas(to, PT_JOURNAL_COPIES) ||
        !copy_bytes(to, MAGIC_BYTES, PT_JOURNAL_HEADER_BYTES) ||
        (!copy.is_begun && !copy_bytes(to, 0, MAGIC_BYTES)))
        return false;
    copy.is_begun = true;
    forget_changes();
    return true;
}

static bool copy_to(int fd)
{
    if (fd < 0) return false;
    note_losses();
    if (is_cut(fd, copy.length)) note_all();
    return copy_changes(&(target){.fd = fd});
}

/* ---- the file ---- */

static bool is_keeper(void)
{
    return FILE_OF->keeper_tid != 0 && FILE_OF->keeper_tid == pt_tick_gettid();
}

static bool is_the_file(int fd)
{
    struct stat there;
    return pt_libc_fstat(fd, &there) == 0 && S_ISREG(there.st_mode) &&
           there.st_dev == FILE_OF->device && there.st_ino == FILE_OF->inode;
}

static int close_and_keep_errno(int fd)
{
    const int saved_errno = errno;
    if (fd >= 0) close(fd);
    errno = saved_errno;
    return -1;
}

/* A file's folder and its name in that folder, for openat(2). The keeper has the folder open from
 * the start, since the file may have no path any more after the host has changed its root. Other
 * threads have AT_FDCWD and the whole path. */
typedef struct {
    int folder;
    const char *name;
} place;

static place place_of(const char *path)
{
    const char *const slash = strrchr(path, '/');
    const bool has_folder = is_keeper() && FILE_OF->folder_fd >= 0 && slash != NULL;
    return has_folder ? (place){FILE_OF->folder_fd, slash + 1} : (place){AT_FDCWD, path};
}

/* Makes a new file at path, which replaces a file there in one step. Returns the descriptor; -1 and
 * errno if that failed. */
static int make_file(const char *path)
{
    char name[PATH_MAX];
    struct stat there;
    if (snprintf(name, sizeof name, "%s.%d.tmp", path, (int)pt_tick_getpid()) >= (int)sizeof name) {
        errno = ENAMETOOLONG;
        return -1;
    }
    const place file = place_of(path), made = place_of(name);
    if (pt_libc_lstat_at(file.folder, file.name, &there) == 0 && !S_ISREG(there.st_mode)) {
        errno = S_ISLNK(there.st_mode) ? ELOOP : EEXIST;
        return -1;
    }
    unlinkat(made.folder, made.name, 0); /* left by a killed process with this pid */
    const int fd =
        openat(made.folder, made.name, O_RDWR | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, 0600);
    if (fd >= 0 && renameat(made.folder, made.name, file.folder, file.name) != 0) {
        const int saved_errno = errno;
        unlinkat(made.folder, made.name, 0);
        errno = saved_errno;
        return close_and_keep_errno(fd);
    }
    return fd;
}

static bool is_there(const char *path)
{
    const place file = place_of(path);
    return faccessat(file.folder, file.name, F_OK, 0) == 0;
}

/* Names the journal. In a recording the names have numbers: a process has a journal for each
 * program that it becomes. */
static bool name_journal(void)
{
    do {
        if (snprintf(FILE_OF->path, sizeof FILE_OF->path, "%s/%d.%u.journal", pt_agent.base_path,
                     (int)pt_tick_getpid(), pt_agent.sequence) >= (int)sizeof FILE_OF->path) {
            errno = ENAMETOOLONG;
            return false;
        }
    } while (is_there(FILE_OF->path) && ++pt_agent.sequence < 1000000);
    pt_agent.journal.header->sequence = pt_agent.sequence++;
    return true;
}

/* Makes the journal's file. Returns -1 and errno if that failed. */
static int make_journal_file(void)
{
    struct stat made;
    if (pt_agent.recording && !name_journal()) return -1;
    const int fd = make_file(FILE_OF->path);
    if (fd < 0 || pt_libc_fstat(fd, &made) != 0) return close_and_keep_errno(fd);
    FILE_OF->device = made.st_dev;
    FILE_OF->inode = made.st_ino;
    FILE_OF->is_made = true;
    return fd;
}

/* Opens the journal by its path. Returns -1 and errno if that fails or the path leads to another
 * file. Does not wait if the path leads to a FIFO. */
static int open_again(void)
{
    const place file = place_of(FILE_OF->path);
    const int fd =
        openat(file.folder, file.name, O_WRONLY | O_NOFOLLOW | O_NONBLOCK | O_NOCTTY | O_CLOEXEC);
    if (fd < 0 || is_the_file(fd)) return fd;
    close(fd);
    errno = ESTALE;
    return -1;
}

PT_NEAR void pt_publish_begin(const char *path)
{
    if (copy.limit > 0) forget_changes();
    PT_SET(copy.length, 0);
    PT_SET(copy.is_begun, false);
    PT_SET(is_lost, false);
    if (path[0] == '\0') /* in a recording */
        PT_SET(FILE_OF->path[0], '\0');
    else if (strcmp(FILE_OF->path, path) != 0)
        pt_agent_join(FILE_OF->path, sizeof FILE_OF->path, path, "");
    PT_SET(FILE_OF->is_made, false);
    PT_SET(FILE_OF->fd, -1);
    PT_SET(FILE_OF->keeper_fd, -1);
    PT_SET(FILE_OF->folder_fd, -1);
    PT_SET(FILE_OF->keeper_tid, 0);
}

bool pt_publish_make(void)
{
    FILE_OF->fd = make_journal_file();
    return FILE_OF->fd >= 0;
}

void pt_publish_keep_earlier(const char *path)
{
    enum { WORTH_KEEPING_NS = 100000000 }; /* wrappers take a few milliseconds */
    char name[PATH_MAX];
    pt_journal_header header;
    const int fd = open(path, O_RDONLY | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC);
    if (fd < 0) return;
    const bool ours = pread(fd, &header, sizeof header, 0) == (ssize_t)sizeof header &&
                      memcmp(header.magic, PT_JOURNAL_MAGIC, sizeof header.magic) == 0 &&
                      header.version == PT_JOURNAL_VERSION &&
                      header.pid == (uint32_t)pt_tick_getpid() && header.end == PT_JOURNAL_BECAME;
    close(fd);
    if (!ours || header.cpu_used_ns < WORTH_KEEPING_NS ||
        !pt_agent_join(name, sizeof name, path, ""))
        return;
    pt_name_add_pid(name);
    const size_t length = strlen(name);
    for (int n = 2; n < 100 && access(name, F_OK) == 0; n++)
        snprintf(name + length, sizeof name - length, ".%d", n);
    if (name[0] != '\0' && access(name, F_OK) != 0) rename(path, name);
}

/* ---- the keeper ---- */

/* Moves a descriptor above 2: in the keeper's table no file of the library may have the number of a
 * standard stream. */
static int above_standard_ones(int fd)
{
    if (fd < 0 || fd > STDERR_FILENO) return fd;
    const int above = pt_libc_dup_above(fd, STDERR_FILENO + 1);
    close_and_keep_errno(fd);
    return above;
}

/* Opens the folder of a file that does not exist yet. */
static int open_folder(void)
{
    char folder[PATH_MAX];
    pt_agent_join(folder, sizeof folder, pt_agent.recording ? pt_agent.base_path : FILE_OF->path,
                  "");
    char *const slash = strrchr(folder, '/');
    if (!pt_agent.recording && slash != NULL) slash[slash == folder] = '\0';
    return above_standard_ones(open(folder, O_PATH | O_DIRECTORY | O_CLOEXEC));
}

void pt_publish_keep(void)
{
    const unsigned fd = (unsigned)FILE_OF->fd; /* the only descriptor in the keeper's table */
    if (syscall(SYS_close_range, fd + 1, ~0U, CLOSE_RANGE_UNSHARE) != 0) return;
    if (FILE_OF->fd > 0) syscall(SYS_close_range, 0, fd - 1, 0);
    FILE_OF->keeper_fd = above_standard_ones(FILE_OF->fd);
    /* The host may have closed the descriptor before, so that its number now belongs to another
     * file. */
    if (FILE_OF->keeper_fd >= 0 && !is_the_file(FILE_OF->keeper_fd))
        FILE_OF->keeper_fd = close_and_keep_errno(FILE_OF->keeper_fd);
    FILE_OF->folder_fd = FILE_OF->is_made || pt_agent.served ? -1 : open_folder();
    FILE_OF->keeper_tid = pt_tick_gettid();
}

PT_NEAR void pt_publish_handed_over(void)
{
    if (FILE_OF->fd >= 0 && is_the_file(FILE_OF->fd)) close(FILE_OF->fd);
    PT_SET(FILE_OF->fd, -1);
}

/* Returns the file's descriptor in the keeper's table. Makes or opens the file if it is not
 * open. */
static int keepers_file(void)
{
    if (FILE_OF->keeper_fd < 0)
        FILE_OF->keeper_fd =
            above_standard_ones(FILE_OF->is_made ? open_again() : make_journal_file());
    return FILE_OF->keeper_fd;
}

/* ---- asking the keeper ---- */

enum { NOTHING_ASKED, IS_ANSWERED_NOW, COPY_ASKED, FILE_ASKED, NAME_ASKED };

static struct {
    _Atomic(int) what;
    bool answer;
    int error;             /* errno, if the answer is false */
    struct sockaddr_un to; /* FILE_ASKED: where the descriptor is to go */
    socklen_t to_bytes;
} question;

union control { /* cmsg(3): aligned as a header */
    struct cmsghdr header;
    char bytes[CMSG_SPACE(sizeof(int))];
};

static bool send_file(int fd)
{
    char byte = 0;
    union control control = {0};
    struct iovec data = {&byte, 1};
    struct msghdr message = {.msg_name = &question.to,
                             .msg_namelen = question.to_bytes,
                             .msg_iov = &data,
                             .msg_iovlen = 1,
                             .msg_control = control.bytes,
                             .msg_controllen = sizeof control.bytes};
    control.header = (struct cmsghdr){
        .cmsg_len = CMSG_LEN(sizeof fd), .cmsg_level = SOL_SOCKET, .cmsg_type = SCM_RIGHTS};
    memcpy(CMSG_DATA(&control.header), &fd, sizeof fd);
    const int from = socket(AF_UNIX, SOCK_DGRAM | SOCK_CLOEXEC, 0);
    const bool sent = from >= 0 && sendmsg(from, &message, MSG_DONTWAIT | MSG_NOSIGNAL) == 1;
    close_and_keep_errno(from);
    return sent;
}

/* Does any name still lead to the file? */
static bool has_name(int fd)
{
    struct stat there;
    return fd >= 0 && pt_libc_fstat(fd, &there) == 0 && there.st_nlink > 0;
}

void pt_publish_answer(void)
{
    int what = atomic_load(&question.what);
    if (what <= IS_ANSWERED_NOW ||
        !atomic_compare_exchange_strong(&question.what, &what, IS_ANSWERED_NOW))
        return;
    question.answer = what == COPY_ASKED   ? copy_to(keepers_file())
                      : what == FILE_ASKED ? send_file(keepers_file())
                                           : has_name(FILE_OF->keeper_fd);
    question.error = errno;
    atomic_store(&question.what, NOTHING_ASKED);
    syscall(SYS_futex, &question.what, FUTEX_WAKE_PRIVATE, 1, NULL, NULL, 0);
}

/* Sends a request to the keeper and waits for the answer. The caller holds the lock, which the
 * keeper does not need. */
static bool ask_keeper(int what)
{
    if (FILE_OF->keeper_tid == 0 || is_keeper() || !pt_agent.drain_runs) return false;
    int left_s = ANSWER_WITHIN_S, seen;
    question.answer = false;
    atomic_store(&question.what, what);
    pt_agent_wake_drain();
    while ((seen = atomic_load(&question.what)) != NOTHING_ASKED) {
        const struct timespec second = {.tv_sec = 1};
        const long waited =
            syscall(SYS_futex, &question.what, FUTEX_WAIT_PRIVATE, seen, &second, NULL, 0);
        int unheard = what;
        if (waited != 0 && errno == ETIMEDOUT && --left_s <= 0 &&
            atomic_compare_exchange_strong(&question.what, &unheard, NOTHING_ASKED))
            return false;
    }
    errno = question.error;
    return question.answer;
}

/* ---- the file in the host's table, while there is no keeper ---- */

/* Receives the file's descriptor. Any process may send to the address, so only a descriptor of the
 * journal's own file is accepted. */
static int receive_file(int socket)
{
    for (int tries = 0; tries < 8; tries++) {
        char byte;
        union control control = {0};
        struct iovec data = {&byte, 1};
        struct msghdr message = {.msg_iov = &data,
                                 .msg_iovlen = 1,
                                 .msg_control = control.bytes,
                                 .msg_controllen = sizeof control.bytes};
        if (recvmsg(socket, &message, MSG_DONTWAIT | MSG_CMSG_CLOEXEC) < 0) return -1;
        const struct cmsghdr *const header = CMSG_FIRSTHDR(&message);
        int fd;
        if (header == NULL || header->cmsg_type != SCM_RIGHTS ||
            header->cmsg_len != CMSG_LEN(sizeof fd))
            continue;
        memcpy(&fd, CMSG_DATA(header), sizeof fd);
        if (is_the_file(fd)) return fd;
        close(fd);
    }
    return -1;
}

void pt_publish_take_over(void)
{
    const int socket_fd = socket(AF_UNIX, SOCK_DGRAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
    question.to = (struct sockaddr_un){.sun_family = AF_UNIX};
    question.to_bytes = sizeof question.to;
    pt_publish_all();
    /* Binds to an address that the kernel chooses (unix(7), autobind). */
    if (socket_fd >= 0 &&
        bind(socket_fd, (const struct sockaddr *)&question.to, sizeof(sa_family_t)) == 0 &&
        getsockname(socket_fd, (struct sockaddr *)&question.to, &question.to_bytes) == 0 &&
        ask_keeper(FILE_ASKED))
        FILE_OF->fd = receive_file(socket_fd);
    if (socket_fd >= 0) close(socket_fd);
}

PT_NEAR void pt_publish_after_fork(void)
{
    pt_publish_handed_over(); /* the file is open if another thread was changing its user */
    PT_SET(question.what, NOTHING_ASKED);
    PT_SET(is_writing, 0);
    PT_SET(FILE_OF->is_made, false);
    PT_SET(FILE_OF->keeper_tid, 0);
}

/* ---- will anyone read the journal? ---- */

#define RECORDING_PREFIX "pitot-record-" /* of the recorder's outer folder: recording/run.c */

/* Has the recorder ended? As long as the recorder lives, it holds a lock on the outer folder, which
 * contains the folder of the journals. */
static bool has_recorder_gone(void)
{
    char folder[PATH_MAX];
    pt_agent_join(folder, sizeof folder, pt_agent.base_path, "");
    char *const inner = strrchr(folder, '/');
    if (inner == NULL) return false;
    *inner = '\0';
    const char *const outer = strrchr(folder, '/');
    if (outer == NULL || strncmp(outer + 1, RECORDING_PREFIX, strlen(RECORDING_PREFIX)) != 0)
        return false;
    const int fd = open(folder, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
    if (fd < 0) return false;
    const bool is_free = flock(fd, LOCK_SH | LOCK_NB) == 0;
    close(fd);
    return is_free;
}

bool pt_publish_is_in_vain(bool *ret_is_left)
{
    const int fd = FILE_OF->keeper_fd >= 0 ? FILE_OF->keeper_fd : FILE_OF->folder_fd;
    *ret_is_left = has_name(fd);
    if (!is_keeper() || fd < 0) return false;
    return !*ret_is_left || has_recorder_gone();
}

/* ---- publishing ---- */

/* Is the image worth a file? A process that ends after little CPU time and without a tick makes no
 * file. */
static bool has_something_to_tell(void)
{
    enum { WORTH_TELLING_NS = 10000000 };
    const pt_journal_header *const header = pt_agent.journal.header;
    return FILE_OF->is_made || header->ticks > 0 || header->cpu_used_ns >= WORTH_TELLING_NS;
}

static bool is_for_a_file(void)
{
    return pt_agent.journal.header != NULL && !pt_agent.served;
}

/* Is the keeper alive? A filter of system calls that the host installed may have ended the
 * keeper. */
static bool is_keeper_alive(void)
{
    const pid_t tid = FILE_OF->keeper_tid;
    return tid != 0 && tid != pt_tick_gettid() &&
           (syscall(SYS_tgkill, pt_tick_getpid(), tid, 0) == 0 || errno != ESRCH);
}

PT_NEAR void pt_publish_settle(void)
{
    const struct timespec second = {.tv_sec = 1};
    while (atomic_load(&is_writing) != 0 && is_keeper_alive())
        syscall(SYS_futex, &is_writing, FUTEX_WAIT_PRIVATE, 1, &second, NULL, 0);
}

bool pt_publish_all(void)
{
    if (!is_for_a_file()) return true;
    if (!pt_journal_make(&pt_agent.journal)) return false;
    pt_publish_settle();
    if (FILE_OF->fd >= 0) return copy_to(FILE_OF->fd);
    if (is_keeper()) return copy_to(keepers_file());
    const int fd = FILE_OF->is_made ? open_again() : make_journal_file();
    const bool copied = copy_to(fd);
    close_and_keep_errno(fd);
    return copied || ask_keeper(COPY_ASKED);
}

bool pt_publish(void)
{
    return !is_for_a_file() || !has_something_to_tell() || pt_publish_all();
}

static int open_to_add(const char *path)
{
    return (int)PT_KERNEL(SYS_openat, AT_FDCWD, path,
                          O_WRONLY | O_APPEND | O_NOFOLLOW | O_NONBLOCK | O_NOCTTY | O_CLOEXEC, 0);
}

/* Opens a file of the recording whose path may be long. Not inlined: the large buffer is one more
 * page of stack, which few processes need. */
static __attribute__((noinline)) int open_by_long_name(const char *name)
{
    char path[PATH_MAX];
    return pt_agent_join(path, sizeof path, pt_agent.base_path, name) ? open_to_add(path) : -1;
}

PT_NEAR static int open_by_name(const char *name)
{
    char path[128];
    return pt_agent_join(path, sizeof path, pt_agent.base_path, name) ? open_to_add(path)
                                                                      : open_by_long_name(name);
}

/* Appends to a file that all processes of the recording share, in one write. Returns false if there
 * is no such file or the write failed. */
static inline __attribute__((always_inline)) bool add_to(const char *name, const void *bytes,
                                                         size_t size)
{
    char here[32]; /* made by instructions of this function: the text as a constant would lie in
                    * another page */
    strcpy(here, name);
    const int fd = open_by_name(here);
    if (fd < 0) return false;
    const bool added = pt_agent_write(fd, bytes, size);
    PT_KERNEL(SYS_close, fd);
    return added;
}

PT_NEAR static bool add_brief(void)
{
    const pt_journal_header *const header = pt_agent.journal.header;
    pt_journal_brief brief = {.magic = PT_JOURNAL_BRIEF_MAGIC,
                              .pid = header->pid,
                              .end = header->end,
                              .start_monotonic_ns = header->start_monotonic_ns,
                              .cpu_before_ns = header->cpu_before_ns,
                              .cpu_used_ns = header->cpu_used_ns,
                              .cpu_own_ns = header->cpu_own_ns,
                              .own_ns = header->own_ns};
    PT_KERNEL(SYS_prctl, PR_GET_NAME, brief.comm);
    return add_to("/" PT_JOURNAL_BRIEF, &brief, sizeof brief);
}

static uint8_t *put_bytes(uint8_t *to, const void *bytes, size_t size)
{
    memcpy(to, bytes, size);
    return to + size;
}

/* Appends the image of a process with only a few samples to a shared file, as a record of a few
 * kilobytes. Returns false if the image is larger, or there is no such file. */
static bool add_short(void)
{
    enum { ALIGN_BYTES = 8 };
    const pt_agent_journal *const journal = &pt_agent.journal;
    if (!pt_agent.is_asleep || FILE_OF->is_made || !pt_journal_make(&pt_agent.journal) ||
        journal->used_bytes > PT_JOURNAL_SHORT_MOST_BYTES - sizeof(pt_journal_short))
        return false;
    const pt_journal_header *const header = journal->header;
    uint8_t *const record = pt_journal_spare(journal, PT_JOURNAL_SHORT_MOST_BYTES);
    if (record == NULL) return false;
    uint8_t *to = record + sizeof(pt_journal_short);
    to = put_bytes(to, header, offsetof(pt_journal_header, exe));
    to = put_bytes(to, &header->own_weight,
                   sizeof *header - offsetof(pt_journal_header, own_weight));
    to = put_bytes(to, header->exe, header->exe_bytes);
    to = put_bytes(to, header->command, header->command_bytes);
    for (size_t at = PT_JOURNAL_HEADER_BYTES; at < journal->used_bytes;) {
        const pt_journal_area *const area = (const pt_journal_area *)(journal->base + at);
        to = put_bytes(to, area, sizeof *area + area->used_bytes);
        at += area->size_bytes;
    }
    while ((size_t)(to - record) % ALIGN_BYTES != 0)
        *to++ = 0;
    const pt_journal_short head = {.magic = PT_JOURNAL_SHORT_MAGIC,
                                   .bytes = (uint32_t)(to - record)};
    memcpy(record, &head, sizeof head);
    return add_to("/" PT_JOURNAL_SHORT, record, head.bytes);
}

PT_NEAR bool pt_publish_recorded(void)
{
    const bool has_image = pt_agent.journal.base != NULL || FILE_OF->is_made;
    return (!has_image && pt_agent.journal.header->ticks == 0 && add_brief()) || add_short() ||
           pt_publish_all();
}

/* ---- publishing without the lock ---- */

pt_publisher *pt_publisher_new(void)
{
    pt_publisher *const publisher = pt_agent_map(sizeof *publisher);
    const bool is_child = strcmp(pt_agent.path, pt_agent.base_path) != 0;
    if (publisher != NULL && is_for_a_file() && !pt_agent.recording && !is_child)
        pt_agent_join(publisher->result, sizeof publisher->result, pt_agent.path, "");
    return publisher;
}

void pt_publisher_tidy(pt_publisher *publisher)
{
    enum { LIST_BYTES = 256 << 10 };
    if (publisher != NULL && publisher->result[0] != '\0')
        pt_leftovers_remove(publisher->result, publisher->bytes, LIST_BYTES);
    if (publisher != NULL) publisher->result[0] = '\0';
}

void pt_publisher_free(pt_publisher *publisher)
{
    if (publisher != NULL) munmap(publisher, sizeof *publisher);
}

bool pt_publisher_take(pt_publisher *publisher)
{
    if (!is_for_a_file() || !has_something_to_tell() || !pt_journal_make(&pt_agent.journal))
        return false;
    publisher->is_full = false;
    publisher->piece_count = publisher->held_bytes = 0;
    note_losses();
    publisher->length = copy.length;
    copy_changes(&(target){.fd = -1, .memory = publisher});
    atomic_store(&is_writing, 1);
    return true;
}

/* Puts the journal's number into the copy of the header: the number is given when the file is made,
 * which may be after the header was copied. */
static void number_header(pt_publisher *publisher)
{
    const size_t at = offsetof(pt_journal_header, sequence);
    const uint32_t sequence = pt_agent.journal.header->sequence;
    uint8_t *bytes = publisher->bytes;
    for (size_t i = 0; i < publisher->piece_count; i++) {
        const size_t from = publisher->piece[i].at;
        if (from <= at && at + sizeof sequence <= from + publisher->piece[i].bytes)
            memcpy(bytes + (at - from), &sequence, sizeof sequence);
        bytes += publisher->piece[i].bytes;
    }
}

bool pt_publisher_write(pt_publisher *publisher)
{
    const int fd = keepers_file();
    number_header(publisher);
    bool written = fd >= 0 && !is_cut(fd, publisher->length);
    const uint8_t *from = publisher->bytes;
    for (size_t i = 0; fd >= 0 && i < publisher->piece_count; i++) {
        const size_t bytes = publisher->piece[i].bytes;
        if (!pt_agent_write_at(fd, from, bytes, (off_t)publisher->piece[i].at)) {
            written = false;
            break;
        }
        from += bytes;
    }
    if (!written) atomic_store(&is_lost, true);
    atomic_store(&is_writing, 0);
    syscall(SYS_futex, &is_writing, FUTEX_WAKE_PRIVATE, INT_MAX, NULL, NULL, 0);
    return written && publisher->is_full;
}

/* ---- at the end ---- */

bool pt_publish_whole(char *ret_name)
{
    char link[64];
    pt_publish_settle();
    if (!pt_journal_make(&pt_agent.journal)) return false;
    note_all();
    const bool is_named = pt_publish_all() && FILE_OF->is_made;
    const int fd = open_again();
    pt_agent_join(ret_name, PATH_MAX, FILE_OF->path, "");
    if (fd >= 0 || !is_named || FILE_OF->keeper_tid == 0) {
        close_and_keep_errno(fd);
        return is_named && fd >= 0;
    }
    if (!(is_keeper() ? has_name(FILE_OF->keeper_fd) : ask_keeper(NAME_ASKED))) return false;
    /* Someone moved the file or its folder. */
    snprintf(link, sizeof link, "/proc/self/task/%d/fd/%d", (int)FILE_OF->keeper_tid,
             FILE_OF->keeper_fd);
    char now[PATH_MAX];
    const ssize_t length = readlink(link, now, sizeof now - 1);
    now[length > 0 ? length : 0] = '\0';
    /* If the file is outside the present root it has no path: the former name stays. */
    if (now[0] == '/' && access(now, F_OK) == 0) pt_agent_join(ret_name, PATH_MAX, now, "");
    return true;
}
