/* listen.c: a profile of this process for whoever asks: PITOT_LISTEN=unix:PATH or 127.0.0.1:PORT.
 *
 *   GET  /pprof/profile?seconds=N   /debug/pprof/profile?seconds=N     a gperftools file
 *   GET  /pprof/symbol              /debug/pprof/symbol                "num_symbols: 1"
 *   POST /pprof/symbol              0x40156a+0x401600                  "0x40156a<tab>name" lines
 *   GET  /pprof/cmdline             /debug/pprof/cmdline               as /proc/self/cmdline
 *
 * as gperftools' pprof_remote_servers.html and Go's net/http/pprof have them.
 *
 * Who may ask: over a Unix socket (mode 0600) this user and root, by the kernel's word for it; over
 * TCP, on loopback only, who knows the token that begins every path: http://127.0.0.1:PORT/TOKEN.
 * It is the text behind PORT/ in PITOT_LISTEN, or made by chance and printed once.
 *
 * One thread serves, one connection after the other, and while a profile is collected says so to
 * others who want one. The host must not notice:
 * - the thread has a table of descriptors of its own (close_range with CLOSE_RANGE_UNSHARE): the
 *   host cannot close or find ours, children of fork do not get them, and we hold none of the
 * host's;
 * - all signals are blocked in it; it never calls malloc, the loader, or anything of the host's;
 * - requests are bounded in bytes and time; the profile's file is a temporary one without a name
 *   while it is collected.
 */
#include "agent/agent.h"

#include <arpa/inet.h>
#include <errno.h>
#include <fcntl.h>
#include <linux/close_range.h>
#include <netinet/in.h>
#include <poll.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/random.h>
#include <sys/signalfd.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/un.h>
#include <time.h>
#include <unistd.h>

enum {
    STACK_BYTES = 256 << 10,
    HEAD_MAX_BYTES = 8 << 10, /* of a request, up to its empty line */
    BODY_MAX_BYTES = 1 << 20, /* of the addresses in a POST */
    TOKEN_MIN_BYTES = 16,     /* one that is shorter can be guessed */
    TOKEN_MAX_BYTES = 64,
    SECONDS_USUAL = 30,
    SECONDS_MAX = 3600,
    REQUEST_MS = 5000,      /* for all of a request to arrive */
    BUSY_REQUEST_MS = 1000, /* the same while a profile is collected */
    SEND_MS = 30000,        /* for an answer to be taken */
    DULL_MS = 100,
    WAKE_SIGNAL = SIGURG, /* rare, and by default ends nobody */
    READY_MS = 60000,     /* for the thread to say whether it listens: on a machine that is full */
};

/* Of a thread: whoever changes it must know which thread's it is, so its number is in it, too. */
enum { STARTS, LISTENS, IS_REFUSED, IS_TO_END, STATES };

static struct {
    char where[PATH_MAX];            /* what PITOT_LISTEN says */
    char token[TOKEN_MAX_BYTES + 1]; /* "": a Unix socket */
    char message[PATH_MAX + 128];
    atomic_uint state; /* STATES * the thread's number, which is 1 or more, + one of them */
    int fd;
    atomic_int is_over; /* the thread is to end */
    int wake_fd;        /* readable when the thread is to end; -1 = there is none */
    uint16_t port;      /* for TCP, once it is known */
    pt_own_thread thread;
    _Atomic(pid_t) tid; /* 0 = there is none */
    char head[HEAD_MAX_BYTES + 1];
    char path[PATH_MAX]; /* of the socket; "" if none */
} listener;

static uint64_t now_ms(void)
{
    return pt_agent_clock_ns(CLOCK_MONOTONIC) / 1000000;
}

static bool is_to_end(void)
{
    return atomic_load(&listener.is_over);
}

/* As poll, of at most two; 0, too, when the thread is to end. While the program itself has the
 * waking signal pending it is no news: then that is looked for now and then. */
static int wait_for(struct pollfd *wanted, nfds_t count, int ms)
{
    struct pollfd wait[3] = {{.fd = listener.wake_fd, .events = POLLIN}};
    memcpy(&wait[1], wanted, count * sizeof wait[0]);
    int found = poll(wait, count + 1, ms);
    if (found > 0 && wait[0].revents != 0 && !is_to_end())
        found = poll(&wait[1], count, ms < 0 || ms > DULL_MS ? DULL_MS : ms);
    memcpy(wanted, &wait[1], count * sizeof wait[0]);
    return is_to_end() ? 0 : found;
}

/* ---- answers ---- */

/* All of it, or false when the other side does not take it in time. */
static bool send_all(int fd, const void *bytes, size_t size, uint64_t until_ms)
{
    const char *at = bytes;
    while (size > 0) {
        const uint64_t now = now_ms();
        struct pollfd wait = {.fd = fd, .events = POLLOUT};
        if (now >= until_ms || wait_for(&wait, 1, (int)(until_ms - now)) <= 0) return false;
        const ssize_t done = send(fd, at, size, MSG_NOSIGNAL | MSG_DONTWAIT);
        if (done < 0 && (errno == EINTR || errno == EAGAIN)) continue;
        if (done <= 0) return false;
        at += done;
        size -= (size_t)done;
    }
    return true;
}

static bool send_head(int fd, const char *status, const char *type, uint64_t bytes)
{
    char head[512];
    const int length = snprintf(head, sizeof head,
                                "HTTP/1.1 %s\r\nContent-Type: %s\r\nContent-Length: %llu\r\n"
                                "X-Content-Type-Options: nosniff\r\nConnection: close\r\n\r\n",
                                status, type, (unsigned long long)bytes);
    return send_all(fd, head, (size_t)length, now_ms() + SEND_MS);
}

static void answer_text(int fd, const char *status, const char *text)
{
    if (send_head(fd, status, "text/plain; charset=utf-8", strlen(text)))
        send_all(fd, text, strlen(text), now_ms() + SEND_MS);
}

static void send_file(int fd, int file)
{
    static char bytes[32 << 10];
    struct stat st;
    const uint64_t until = now_ms() + SEND_MS;
    if (fstat(file, &st) != 0 ||
        !send_head(fd, "200 OK", "application/octet-stream", (uint64_t)st.st_size))
        return;
    for (;;) {
        const ssize_t got = read(file, bytes, sizeof bytes);
        if (got < 0 && errno == EINTR) continue;
        if (got <= 0 || !send_all(fd, bytes, (size_t)got, until)) return;
    }
}

/* ---- requests ---- */

typedef struct {
    int fd;
    bool is_post;
    char *path;        /* terminated, without the query */
    const char *query; /* terminated; "" if none */
    size_t body_bytes; /* that the head promises */
    const char *body;  /* what has come of it with the head */
    size_t body_held;
} request;

/* What has come, at most size bytes; 0 or less at the end, and when nothing comes in time. */
static ssize_t receive(int fd, char *to, size_t size, uint64_t until_ms)
{
    for (;;) {
        const uint64_t now = now_ms();
        struct pollfd wait = {.fd = fd, .events = POLLIN};
        if (now >= until_ms || wait_for(&wait, 1, (int)(until_ms - now)) <= 0) return 0;
        const ssize_t got = recv(fd, to, size, MSG_DONTWAIT);
        if (got >= 0 || (errno != EINTR && errno != EAGAIN)) return got;
    }
}

/* Up to the empty line; false if it does not come, or is too much. */
static bool read_head(int fd, uint64_t until_ms, size_t *ret_held)
{
    size_t held = 0;
    while (held < HEAD_MAX_BYTES) {
        const ssize_t got = receive(fd, listener.head + held, HEAD_MAX_BYTES - held, until_ms);
        if (got <= 0) return false;
        held += (size_t)got;
        listener.head[held] = '\0';
        if (memmem(listener.head, held, "\r\n\r\n", 4) != NULL) {
            *ret_held = held;
            return true;
        }
    }
    return false;
}

static size_t content_length(const char *head)
{
    static const char name[] = "\r\nContent-Length:";
    const char *const at = strcasestr(head, name);
    if (at == NULL) return 0;
    const char *digit = at + sizeof name - 1;
    uint64_t value = 0;
    while (*digit == ' ')
        digit++;
    for (; *digit >= '0' && *digit <= '9'; digit++) {
        if (value <= BODY_MAX_BYTES) value = value * 10 + (uint64_t)(*digit - '0');
    }
    return (size_t)value;
}

/* Takes the head apart in place. */
static bool parse_head(request *r, size_t held)
{
    char *const end = memmem(listener.head, held, "\r\n\r\n", 4);
    r->body = end + 4;
    r->body_held = held - (size_t)(end + 4 - listener.head);
    *end = '\0';
    if (strlen(listener.head) != (size_t)(end - listener.head)) return false; /* a zero byte */
    r->body_bytes = content_length(listener.head);
    char *const line_end = strstr(listener.head, "\r\n");
    if (line_end != NULL) *line_end = '\0';
    char *const path = strchr(listener.head, ' ');
    char *const version = path != NULL ? strchr(path + 1, ' ') : NULL;
    if (version == NULL || strncmp(version + 1, "HTTP/1.", 7) != 0) return false;
    *path = *version = '\0';
    r->is_post = strcmp(listener.head, "POST") == 0;
    if (!r->is_post && strcmp(listener.head, "GET") != 0) return false;
    r->path = path + 1;
    char *const mark = strchr(r->path, '?');
    r->query = mark != NULL ? mark + 1 : "";
    if (mark != NULL) *mark = '\0';
    return true;
}

/* Takes as long for a wrong token as for the right one. */
static bool take_token(request *r)
{
    const size_t length = strlen(listener.token);
    if (length == 0) return true;
    unsigned wrong = 0;
    const size_t given = strlen(r->path);
    for (size_t i = 0; i < length; i++)
        wrong |=
            (unsigned char)(i + 1 < given ? r->path[i + 1] : 0) ^ (unsigned char)listener.token[i];
    if (wrong != 0 || r->path[0] != '/' || given < length + 2 || r->path[length + 1] != '/')
        return false;
    r->path += length + 1;
    return true;
}

/* The rest of a body, in memory of its own; NULL when it does not come. */
static char *read_body(request *r, uint64_t until_ms)
{
    char *const body = pt_agent_map(r->body_bytes + 1);
    if (body == NULL) return NULL;
    size_t held = r->body_held < r->body_bytes ? r->body_held : r->body_bytes;
    memcpy(body, r->body, held);
    while (held < r->body_bytes) {
        const ssize_t got = receive(r->fd, body + held, r->body_bytes - held, until_ms);
        if (got <= 0) {
            pt_agent_unmap(body, r->body_bytes + 1);
            return NULL;
        }
        held += (size_t)got;
    }
    r->body_held = held;
    return body;
}

/* Closes the connection. What was not read of the body is taken first: closing before it has come
 * would take the answer away from the other side, too. */
static void hang_up(const request *r, int fd, uint64_t until_ms)
{
    static char bytes[32 << 10];
    if (r->body_held < r->body_bytes && shutdown(fd, SHUT_WR) == 0) {
        while (receive(fd, bytes, sizeof bytes, until_ms) > 0)
            continue;
    }
    close(fd);
}

/* ---- what can be asked ---- */

static bool is_page(const request *r, const char *page)
{
    const char *path = r->path;
    if (strncmp(path, "/debug/pprof/", 13) == 0)
        path += 13;
    else if (strncmp(path, "/pprof/", 7) == 0)
        path += 7;
    else
        return false;
    return strcmp(path, page) == 0;
}

static uint64_t asked_seconds(const char *query)
{
    for (const char *at = query; at != NULL && *at != '\0';
         at = strchr(at, '&') != NULL ? strchr(at, '&') + 1 : NULL) {
        char digits[16];
        if (strncmp(at, "seconds=", 8) != 0) continue;
        const size_t length = strcspn(at + 8, "&");
        if (length >= sizeof digits) return 0;
        memcpy(digits, at + 8, length);
        digits[length] = '\0';
        return pt_agent_number(digits, 0);
    }
    return SECONDS_USUAL;
}

static void answer_cmdline(int fd)
{
    static char line[16 << 10];
    size_t held = 0;
    const int file = open("/proc/thread-self/cmdline", O_RDONLY | O_CLOEXEC);
    while (file >= 0 && held < sizeof line) {
        const ssize_t got = read(file, line + held, sizeof line - held);
        if (got <= 0) break;
        held += (size_t)got;
    }
    if (file >= 0) close(file);
    while (held > 0 && line[held - 1] == '\0')
        held--;
    if (send_head(fd, "200 OK", "text/plain; charset=utf-8", held))
        send_all(fd, line, held, now_ms() + SEND_MS);
}

static void answer_symbols(request *r, uint64_t until_ms)
{
    if (!r->is_post) {
        answer_text(r->fd, "200 OK", "num_symbols: 1\n");
        return;
    }
    if (r->body_bytes > BODY_MAX_BYTES) {
        answer_text(r->fd, "413 Content Too Large", "too many addresses at once\n");
        return;
    }
    char *const body = read_body(r, until_ms);
    if (body == NULL) return;
    size_t size = 0, map_bytes = 0;
    char *const names = pt_listen_names(body, &size, &map_bytes);
    pt_agent_unmap(body, r->body_bytes + 1);
    if (names == NULL) {
        answer_text(r->fd, "503 Service Unavailable", "no memory\n");
        return;
    }
    if (send_head(r->fd, "200 OK", "text/plain; charset=utf-8", size))
        send_all(r->fd, names, size, now_ms() + SEND_MS);
    pt_agent_unmap(names, map_bytes);
}

static bool take_request(request *r, int fd, uint64_t until_ms);

/* Waits for the end, answering others meanwhile; ends early when the one who asked has gone. */
static void collect(int fd, uint64_t seconds)
{
    const uint64_t until = now_ms() + seconds * 1000;
    for (uint64_t now; (now = now_ms()) < until && !is_to_end();) {
        struct pollfd wait[2] = {{.fd = fd, .events = POLLRDHUP},
                                 {.fd = listener.fd, .events = POLLIN}};
        const int found = wait_for(wait, 2, (int)(until - now));
        if (found <= 0) continue;
        if (wait[0].revents != 0) return;
        if (wait[1].revents == 0) continue;
        const int other = accept4(listener.fd, NULL, NULL, SOCK_CLOEXEC);
        if (other < 0) continue;
        request r;
        const uint64_t until_ms = now_ms() + BUSY_REQUEST_MS;
        if (take_request(&r, other, until_ms))
            answer_text(other, "503 Service Unavailable", "a profile is being collected already\n");
        hang_up(&r, other, until_ms);
    }
}

/* 32 hex digits by chance; false if the kernel has none to give. */
static bool random_text(char *to)
{
    uint8_t bytes[16];
    if (getrandom(bytes, sizeof bytes, 0) != (ssize_t)sizeof bytes) return false;
    for (size_t i = 0; i < sizeof bytes; i++)
        snprintf(to + 2 * i, 3, "%02x", bytes[i]);
    return true;
}

static bool temporary_name(char *path, size_t size)
{
    char chance[33];
    const char *const folder = getenv("TMPDIR");
    return random_text(chance) &&
           (size_t)snprintf(path, size, "%s/pitot-%s.prof",
                            folder != NULL && folder[0] == '/' ? folder : "/tmp", chance) < size;
}

static void answer_profile(const request *r)
{
    char path[PATH_MAX];
    const uint64_t seconds = asked_seconds(r->query);
    if (seconds == 0 || seconds > SECONDS_MAX) {
        answer_text(r->fd, "400 Bad Request", "seconds: 1 to 3600\n");
        return;
    }
    pt_caller caller;
    const bool named = temporary_name(path, sizeof path);
    pt_agent_lock(&caller);
    const bool started = named && !pt_agent.on && pt_session_start(path, NULL, NULL);
    pt_agent.served = started;
    if (started) pt_journal_grow(&pt_agent.journal, true);
    if (started) unlink(pt_agent.journal.path); /* nothing is left if we are killed */
    pt_agent_unlock(&caller);
    if (!started) {
        answer_text(r->fd, "503 Service Unavailable",
                    "this process is being profiled already, "
                    "or has its own handler for SIGPROF\n");
        return;
    }
    collect(r->fd, seconds);
    pt_agent_lock(&caller);
    pt_session_stop(PT_JOURNAL_STOPPED, &caller);
    const int file = open(path, O_RDONLY | O_CLOEXEC | O_NOFOLLOW);
    unlink(path);
    if (file < 0) {
        answer_text(r->fd, "500 Internal Server Error", "the profile could not be written\n");
        return;
    }
    send_file(r->fd, file);
    close(file);
}

/* One request: answers it, unless it wants a profile, which the caller is told. */
static bool take_request(request *r, int fd, uint64_t until_ms)
{
    size_t held;
    *r = (request){.fd = fd};
    if (listener.token[0] == '\0') {
        struct ucred peer;
        socklen_t length = sizeof peer;
        if (getsockopt(fd, SOL_SOCKET, SO_PEERCRED, &peer, &length) != 0 ||
            (peer.uid != geteuid() && peer.uid != 0))
            return false;
    }
    if (!read_head(fd, until_ms, &held)) return false;
    if (!parse_head(r, held))
        answer_text(fd, "400 Bad Request", "not understood\n");
    else if (!take_token(r))
        answer_text(fd, "404 Not Found", "404 page not found\n");
    else if (is_page(r, "profile"))
        return true;
    else if (is_page(r, "symbol"))
        answer_symbols(r, until_ms);
    else if (is_page(r, "cmdline"))
        answer_cmdline(fd);
    else
        answer_text(fd, "404 Not Found", "404 page not found\n");
    return false;
}

/* ---- the socket ---- */

static bool refuse(const char *what)
{
    snprintf(listener.message, sizeof listener.message, "PITOT_LISTEN=%s: %s", listener.where,
             what);
    return false;
}

static bool bind_unix(struct sockaddr_un *to)
{
    return bind(listener.fd, (struct sockaddr *)to, sizeof *to) == 0;
}

/* A socket of ours that nobody listens to any more. */
static bool is_stale(const struct sockaddr_un *at)
{
    struct stat st;
    if (lstat(at->sun_path, &st) != 0 || !S_ISSOCK(st.st_mode) || st.st_uid != geteuid())
        return false;
    const int fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
    const bool refused = fd >= 0 && connect(fd, (const struct sockaddr *)at, sizeof *at) != 0 &&
                         errno == ECONNREFUSED;
    if (fd >= 0) close(fd);
    return refused;
}

/* Where another process listens at the path already this one adds its process id. */
static bool listen_unix(const char *path)
{
    struct sockaddr_un at = {.sun_family = AF_UNIX};
    if (path[0] != '/' || !pt_agent_join(at.sun_path, sizeof at.sun_path - 12, path, ""))
        return refuse("the path of a socket begins with / and has at most 95 bytes");
    listener.fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);
    /* The mode that the socket's file gets (unix_bind in net/unix/af_unix.c). */
    if (listener.fd < 0 || fchmod(listener.fd, 0600) != 0) return refuse(strerror(errno));
    bool bound = bind_unix(&at);
    if (!bound && errno == EADDRINUSE && is_stale(&at) && unlink(at.sun_path) == 0)
        bound = bind_unix(&at);
    if (!bound && errno == EADDRINUSE) {
        char suffix[24];
        snprintf(suffix, sizeof suffix, ".%d", (int)getpid());
        pt_agent_join(at.sun_path, sizeof at.sun_path, path, suffix);
        if (is_stale(&at)) unlink(at.sun_path);
        bound = bind_unix(&at);
    }
    if (!bound || listen(listener.fd, 16) != 0) return refuse(strerror(errno));
    pt_agent_join(listener.path, sizeof listener.path, at.sun_path, "");
    return true;
}

static bool make_token(const char *given)
{
    if (given == NULL) return random_text(listener.token) || refuse("no random numbers");
    const size_t length = strlen(given);
    if (length < TOKEN_MIN_BYTES || length > TOKEN_MAX_BYTES ||
        strspn(given, "0123456789abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ-_") != length)
        return refuse("a token has 16 to 64 letters, digits, - and _");
    memcpy(listener.token, given, length + 1);
    return true;
}

static bool listen_tcp(const char *text)
{
    char port[8] = "";
    const char *const slash = strchr(text, '/');
    const size_t length = slash != NULL ? (size_t)(slash - text) : strlen(text);
    if (length < sizeof port) memcpy(port, text, length);
    const uint64_t number = listener.port != 0 ? listener.port : pt_agent_number(port, UINT32_MAX);
    if (number > UINT16_MAX) return refuse("no port; unix:PATH or 127.0.0.1:PORT are understood");
    if (listener.port == 0 && !make_token(slash != NULL ? slash + 1 : NULL)) return false;
    struct sockaddr_in at = {.sin_family = AF_INET,
                             .sin_port = htons((uint16_t)number),
                             .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
    socklen_t size = sizeof at;
    const int on = 1;
    listener.fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
    if (listener.fd < 0) return refuse(strerror(errno));
    setsockopt(listener.fd, SOL_SOCKET, SO_REUSEADDR, &on, sizeof on);
    if (bind(listener.fd, (struct sockaddr *)&at, sizeof at) != 0 || listen(listener.fd, 16) != 0 ||
        getsockname(listener.fd, (struct sockaddr *)&at, &size) != 0)
        return refuse(strerror(errno));
    listener.port = ntohs(at.sin_port);
    snprintf(listener.message, sizeof listener.message, "profiles: http://127.0.0.1:%u/%s",
             listener.port, listener.token);
    return true;
}

/* Our own descriptors from here on. 0 to 2 are taken, so that none of ours is one of those. */
static bool leave_the_hosts_descriptors(void)
{
    if (syscall(SYS_close_range, 0, ~0U, CLOSE_RANGE_UNSHARE) != 0)
        return refuse("needs Linux 5.9 (close_range)");
    for (int i = 0; i < 3; i++) {
        if (open("/dev/null", O_RDWR | O_CLOEXEC) != i) return refuse("/dev/null cannot be opened");
    }
    return true;
}

static bool open_socket(void)
{
    static const char local[] = "127.0.0.1:", file[] = "unix:";
    listener.fd = -1; /* what it was could be one of the host's */
    if (!leave_the_hosts_descriptors()) return false;
    if (strncmp(listener.where, file, sizeof file - 1) == 0)
        return listen_unix(listener.where + sizeof file - 1);
    if (strncmp(listener.where, local, sizeof local - 1) == 0)
        return listen_tcp(listener.where + sizeof local - 1);
    return refuse("unix:PATH or 127.0.0.1:PORT are understood");
}

/* Becomes readable by the signal that wakes the thread, which is blocked in it as all are. */
static int open_wake(void)
{
    sigset_t wake;
    sigemptyset(&wake);
    sigaddset(&wake, WAKE_SIGNAL);
    return signalfd(-1, &wake, SFD_CLOEXEC | SFD_NONBLOCK);
}

static void *listen_main(void *arg)
{
    const unsigned starts = (unsigned)(uintptr_t)arg;
    const bool listens = open_socket();
    listener.wake_fd = listens ? open_wake() : -1;
    atomic_store(&listener.state, starts + (listens ? LISTENS : IS_REFUSED));
    while (listens && !is_to_end()) {
        request r;
        struct pollfd wait = {.fd = listener.fd, .events = POLLIN};
        if (wait_for(&wait, 1, -1) <= 0) continue;
        const int fd = accept4(listener.fd, NULL, NULL, SOCK_CLOEXEC);
        if (fd < 0 && errno != EINTR && errno != ECONNABORTED && errno != EAGAIN) {
            const struct timespec pause = {.tv_nsec = 100000000}; /* out of descriptors, memory */
            nanosleep(&pause, NULL);
        }
        if (fd < 0) continue;
        const uint64_t until_ms = now_ms() + REQUEST_MS;
        if (take_request(&r, fd, until_ms)) answer_profile(&r);
        hang_up(&r, fd, until_ms);
        pt_own_exit_if_last();
    }
    /* The rest of its table goes later than pthread_join comes back. */
    if (listener.fd >= 0) close(listener.fd);
    return NULL;
}

/* A filter of system calls may end a thread for one of them, and nothing but it. */
static bool has_ended(void)
{
    const pid_t tid = atomic_load(&listener.tid);
    return tid == 0 || (syscall(SYS_tgkill, getpid(), tid, 0) != 0 && errno == ESRCH);
}

/* False if there is no thread, or it does not listen. */
static bool start_thread(void)
{
    pt_caller caller;
    listener.message[0] = '\0';
    const unsigned starts = (atomic_load(&listener.state) / STATES + 1) * STATES + STARTS;
    atomic_store(&listener.is_over, 0);
    atomic_store(&listener.state, starts);
    pt_agent_lock(&caller);
    const bool runs =
        pt_own_begin(&listener.thread, STACK_BYTES, listen_main, (void *)(uintptr_t)starts);
    atomic_store(&listener.tid, runs ? listener.thread.tid : 0);
    pt_agent_unlock(&caller);
    const uint64_t until = now_ms() + READY_MS;
    while (runs && atomic_load(&listener.state) == starts && now_ms() < until) {
        const struct timespec pause = {.tv_nsec = 200000};
        unsigned still = starts;
        nanosleep(&pause, NULL);
        if (has_ended() &&
            atomic_compare_exchange_strong(&listener.state, &still, starts + IS_REFUSED))
            refuse("its thread was ended, perhaps by a filter of system calls");
    }
    if (!runs || atomic_load(&listener.state) != starts + IS_REFUSED) return runs;
    atomic_store(&listener.tid, 0);
    pt_own_end_begins();
    pt_own_end(&listener.thread);
    return false;
}

void pt_listen_start(const char *where, bool first)
{
    if (!pt_agent_join(listener.where, sizeof listener.where, where, "")) return;
    const bool listens = start_thread();
    if (first && listener.message[0] != '\0') pt_agent_say("%s", listener.message);
    if (first && !listens && listener.message[0] == '\0')
        pt_agent_say("PITOT_LISTEN=%s: no thread could be started", where);
}

bool pt_listen_rest(void)
{
    unsigned listens = atomic_load(&listener.state);
    const unsigned ends = listens - LISTENS + IS_TO_END;
    if (listens % STATES != LISTENS || /* or another thread calls the same */
        !atomic_compare_exchange_strong(&listener.state, &listens, ends))
        return false;
    /* A filter that does not let us wake it refuses this, too. */
    if (listener.wake_fd < 0 || syscall(SYS_tgkill, getpid(), atomic_load(&listener.tid), 0) != 0) {
        atomic_store(&listener.state, listens);
        return false;
    }
    pt_own_end_begins();
    atomic_store(&listener.is_over, 1);
    syscall(SYS_tgkill, getpid(), atomic_load(&listener.tid), WAKE_SIGNAL);
    pt_own_end(&listener.thread);
    atomic_store(&listener.tid, 0);
    pt_listen_stop(); /* its path is free */
    return true;
}

void pt_listen_go_on(void)
{
    if (start_thread()) return;
    if (listener.message[0] != '\0')
        pt_agent_say("%s", listener.message);
    else
        pt_agent_say("PITOT_LISTEN=%s: no thread could be started", listener.where);
}

void pt_listen_stop(void)
{
    struct stat st; /* the host may have another root now, where the path is another file's */
    if (listener.path[0] != '\0' && lstat(listener.path, &st) == 0 && S_ISSOCK(st.st_mode))
        unlink(listener.path);
    listener.path[0] = '\0';
}

pid_t pt_listen_tid(void)
{
    return atomic_load(&listener.tid);
}

void pt_listen_after_fork(void)
{
    listener.path[0] = '\0'; /* the parent's */
    pt_agent.served = false;
    atomic_store(&listener.tid, 0);
    atomic_store(&listener.state, 0);
}
