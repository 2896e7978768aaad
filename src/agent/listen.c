/* listen.c: serves a profile of this process: PITOT_LISTEN=unix:PATH or 127.0.0.1:PORT.
 *
 * Permitted clients: over a Unix socket (mode 0600), this user and root, as the kernel reports the
 * client's user; over TCP, on loopback only, clients that know the token with which every path
 * begins: http://127.0.0.1:PORT/TOKEN. The token is the text after PORT/ in PITOT_LISTEN, or is
 * random and printed once.
 *
 * One thread serves all connections at once. The host must not notice:
 * - the thread has a table of descriptors of its own (close_range with CLOSE_RANGE_UNSHARE): the
 *   host cannot close or find the thread's descriptors, children of fork do not inherit them, and
 *   the thread keeps no descriptor of the host open;
 * - all signals are blocked in the thread; it never calls malloc, the loader, or any function of
 *   the host;
 * - requests are bounded in number, bytes and time. */
#include "agent/listen.h"

#include <arpa/inet.h>
#include <errno.h>
#include <fcntl.h>
#include <netinet/in.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/signalfd.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/un.h>
#include <time.h>
#include <unistd.h>

enum {
    STACK_BYTES = 256 << 10,
    BACKLOG = 128,        /* connections that have not been accepted yet */
    DULL_MS = 100,        /* until a descriptor that poll leaves out is checked again */
    WAKE_SIGNAL = SIGURG, /* few programs use it, and its default action is to ignore it */
    READY_MS = 60000,     /* the wait for the thread to report its state, on a busy machine */
};

/* The states of a listening thread. listener.state also holds the thread's number, so that only a
 * caller that knows the number changes the state. */
enum { STARTS, LISTENS, IS_REFUSED, IS_TO_END, STATES };

static struct {
    atomic_uint state; /* STATES * the thread's number, which is 1 or more, + one of the states */
    int fd;
    atomic_int is_over; /* the thread is to end */
    int wake_fd;        /* readable when the thread is to end; -1 = there is none */
    uint16_t port;      /* for TCP, once it is known */
    pt_own_thread thread;
    _Atomic(pid_t) tid; /* 0 = there is none */
} listener;

static PT_FAR struct {
    char where[PATH_MAX];                      /* the value of PITOT_LISTEN */
    char token[PT_LISTEN_TOKEN_MAX_BYTES + 1]; /* "": a Unix socket */
    char message[PATH_MAX + 128];
    char path[PATH_MAX]; /* of the socket; "" if none */
} address;

static bool is_to_end(void)
{
    return atomic_load(&listener.is_over);
}

/* ---- the socket ---- */

static bool refuse_listening(const char *what)
{
    snprintf(address.message, sizeof address.message, "PITOT_LISTEN=%s: %s", address.where, what);
    return false;
}

static bool bind_unix(struct sockaddr_un *to)
{
    return bind(listener.fd, (struct sockaddr *)to, sizeof *to) == 0;
}

/* Is the path a socket of this user at which no process listens? */
static bool is_stale(const struct sockaddr_un *at)
{
    struct stat st;
    if (pt_libc_lstat_at(AT_FDCWD, at->sun_path, &st) != 0 || !S_ISSOCK(st.st_mode) ||
        st.st_uid != geteuid())
        return false;
    const int fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
    const bool refused = fd >= 0 && connect(fd, (const struct sockaddr *)at, sizeof *at) != 0 &&
                         errno == ECONNREFUSED;
    if (fd >= 0) close(fd);
    return refused;
}

/* Listens at the path; if another process does, at the path with the process id appended. */
static bool listen_unix(const char *path)
{
    struct sockaddr_un at = {.sun_family = AF_UNIX};
    if (path[0] != '/' || !pt_agent_join(at.sun_path, sizeof at.sun_path - 12, path, ""))
        return refuse_listening("the path of a socket begins with / and has at most 95 bytes");
    listener.fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
    /* The socket's file gets this mode (unix_bind in net/unix/af_unix.c). */
    if (listener.fd < 0 || fchmod(listener.fd, 0600) != 0) return refuse_listening(strerror(errno));
    bool bound = bind_unix(&at);
    if (!bound && errno == EADDRINUSE && is_stale(&at) && unlink(at.sun_path) == 0)
        bound = bind_unix(&at);
    if (!bound && errno == EADDRINUSE) {
        char suffix[24];
        snprintf(suffix, sizeof suffix, ".%d", (int)pt_tick_getpid());
        pt_agent_join(at.sun_path, sizeof at.sun_path, path, suffix);
        if (is_stale(&at)) unlink(at.sun_path);
        bound = bind_unix(&at);
    }
    if (!bound || listen(listener.fd, BACKLOG) != 0) return refuse_listening(strerror(errno));
    pt_agent_join(address.path, sizeof address.path, at.sun_path, "");
    return true;
}

static bool make_token(const char *given)
{
    if (given == NULL)
        return pt_listen_random_text(address.token) || refuse_listening("no random numbers");
    const size_t length = strlen(given);
    if (length < PT_LISTEN_TOKEN_MIN_BYTES || length > PT_LISTEN_TOKEN_MAX_BYTES ||
        strspn(given, "0123456789abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ-_") != length)
        return refuse_listening("a token has 16 to 64 letters, digits, - and _");
    memcpy(address.token, given, length + 1);
    return true;
}

static bool listen_tcp(const char *text)
{
    char port[8] = "";
    const char *const slash = strchr(text, '/');
    const size_t length = slash != NULL ? (size_t)(slash - text) : strlen(text);
    if (length < sizeof port) memcpy(port, text, length);
    const uint64_t number = listener.port != 0 ? listener.port : pt_agent_number(port, UINT32_MAX);
    if (number > UINT16_MAX)
        return refuse_listening("it names no port: use unix:PATH or 127.0.0.1:PORT");
    if (listener.port == 0 && !make_token(slash != NULL ? slash + 1 : NULL)) return false;
    struct sockaddr_in at = {.sin_family = AF_INET,
                             .sin_port = htons((uint16_t)number),
                             .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
    socklen_t size = sizeof at;
    const int on = 1;
    listener.fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
    if (listener.fd < 0) return refuse_listening(strerror(errno));
    setsockopt(listener.fd, SOL_SOCKET, SO_REUSEADDR, &on, sizeof on);
    if (bind(listener.fd, (struct sockaddr *)&at, sizeof at) != 0 ||
        listen(listener.fd, BACKLOG) != 0 ||
        getsockname(listener.fd, (struct sockaddr *)&at, &size) != 0)
        return refuse_listening(strerror(errno));
    listener.port = ntohs(at.sin_port);
    snprintf(address.message, sizeof address.message, "profiles: http://127.0.0.1:%u/%s",
             listener.port, address.token);
    return true;
}

/* Gives the thread a table of descriptors of its own, with 0 to 2 taken, so that none of its later
 * descriptors has one of those numbers. */
static bool leave_the_hosts_descriptors(void)
{
    if (syscall(SYS_close_range, 0, ~0U, CLOSE_RANGE_UNSHARE) != 0)
        return refuse_listening("needs Linux 5.9 (close_range)");
    for (int i = 0; i < 3; i++) {
        if (open("/dev/null", O_RDWR | O_CLOEXEC) != i)
            return refuse_listening("/dev/null cannot be opened");
    }
    return true;
}

static bool open_socket(void)
{
    static const char local[] = "127.0.0.1:", file[] = "unix:";
    listener.fd = -1; /* the number may now be a descriptor of the host */
    if (!leave_the_hosts_descriptors()) return false;
    if (strncmp(address.where, file, sizeof file - 1) == 0)
        return listen_unix(address.where + sizeof file - 1);
    if (strncmp(address.where, local, sizeof local - 1) == 0)
        return listen_tcp(address.where + sizeof local - 1);
    return refuse_listening("not an address: use unix:PATH or 127.0.0.1:PORT");
}

/* Returns a descriptor that becomes readable when the wake-up signal arrives. This thread blocks
 * that signal, as it does all signals. */
static int open_wake(void)
{
    sigset_t wake;
    sigemptyset(&wake);
    sigaddset(&wake, WAKE_SIGNAL);
    return signalfd(-1, &wake, SFD_CLOEXEC | SFD_NONBLOCK);
}

/* The descriptors to wait for: the signal to end, the listening socket, the connections. */
enum {
    ROW_WAKE,
    ROW_SOCKET,
    ROWS_OF_CONNECTIONS,
    ROWS = ROWS_OF_CONNECTIONS + PT_LISTEN_CONNECTIONS
};

static int wait_ms(uint64_t until_ms, bool is_dull)
{
    const uint64_t now_ms = pt_listen_now_ms(), day_ms = 86400000;
    if (until_ms == 0) return is_dull ? DULL_MS : -1;
    const uint64_t left_ms = until_ms > now_ms ? until_ms - now_ms : 0;
    if (is_dull && left_ms > DULL_MS) return DULL_MS;
    return (int)(left_ms < day_ms ? left_ms : day_ms);
}

/* Two conditions would make poll return at once, again and again: the program itself has the
 * wake-up signal pending, or the kernel has no memory for a waiting connection. After such a return
 * the loop leaves that descriptor out and checks again after a while. */
static void serve_connections(void)
{
    bool is_woken = false, is_short = false;
    while (!is_to_end()) {
        struct pollfd rows[ROWS];
        const uint64_t until_ms = pt_connections_wanted(&rows[ROWS_OF_CONNECTIONS]);
        const bool accepts = !is_short && pt_connections_have_room();
        rows[ROW_WAKE] = (struct pollfd){.fd = is_woken ? -1 : listener.wake_fd, .events = POLLIN};
        rows[ROW_SOCKET] = (struct pollfd){.fd = accepts ? listener.fd : -1, .events = POLLIN};
        const int found = poll(rows, ROWS, wait_ms(until_ms, is_woken || is_short));
        if (is_to_end()) break;
        is_woken = found > 0 && rows[ROW_WAKE].revents != 0;
        pt_connections_serve(&rows[ROWS_OF_CONNECTIONS]);
        is_short =
            found > 0 && rows[ROW_SOCKET].revents != 0 && !pt_connections_accept(listener.fd);
        pt_own_exit_if_last();
    }
}

static void *listen_main(void *arg)
{
    const unsigned starts = (unsigned)(uintptr_t)arg;
    const bool listens = open_socket();
    listener.wake_fd = listens ? open_wake() : -1;
    pt_listen_pages_open();
    pt_connections_open(address.token);
    atomic_store(&listener.state, starts + (listens ? LISTENS : IS_REFUSED));
    if (listens) serve_connections();
    pt_connections_close();
    /* The kernel closes the other descriptors of the thread's table after pthread_join returns. */
    if (listener.fd >= 0) close(listener.fd);
    return NULL;
}

/* Has the thread ended? A filter of system calls may end one thread alone for a forbidden call. */
static bool has_ended(void)
{
    const pid_t tid = atomic_load(&listener.tid);
    return tid == 0 || (syscall(SYS_tgkill, pt_tick_getpid(), tid, 0) != 0 && errno == ESRCH);
}

/* Starts the serving thread. Returns false if no thread could be started, or if the thread does not
 * listen. */
static bool start_thread(void)
{
    pt_caller caller;
    address.message[0] = '\0';
    const unsigned starts = (atomic_load(&listener.state) / STATES + 1) * STATES + STARTS;
    atomic_store(&listener.is_over, 0);
    atomic_store(&listener.state, starts);
    pt_agent_lock(&caller);
    const bool runs =
        pt_own_begin(&listener.thread, STACK_BYTES, listen_main, (void *)(uintptr_t)starts);
    atomic_store(&listener.tid, runs ? listener.thread.tid : 0);
    pt_agent_unlock(&caller);
    const uint64_t until = pt_listen_now_ms() + READY_MS;
    while (runs && atomic_load(&listener.state) == starts && pt_listen_now_ms() < until) {
        const struct timespec pause = {.tv_nsec = 200000};
        unsigned still = starts;
        nanosleep(&pause, NULL);
        if (has_ended() &&
            atomic_compare_exchange_strong(&listener.state, &still, starts + IS_REFUSED))
            refuse_listening("the library's thread was ended, perhaps by a seccomp filter: no "
                             "profiles are served");
    }
    if (!runs || atomic_load(&listener.state) != starts + IS_REFUSED) return runs;
    atomic_store(&listener.tid, 0);
    pt_own_end_begins();
    pt_own_end(&listener.thread);
    return false;
}

void pt_listen_start(const char *where, bool first)
{
    if (!pt_agent_join(address.where, sizeof address.where, where, "")) return;
    const bool listens = start_thread();
    if (first && address.message[0] != '\0') pt_agent_say("%s", address.message);
    if (first && !listens && address.message[0] == '\0')
        pt_agent_say("PITOT_LISTEN=%s: no thread could be started", where);
}

bool pt_listen_rest(void)
{
    unsigned listens = atomic_load(&listener.state);
    const unsigned ends = listens - LISTENS + IS_TO_END;
    if (listens % STATES != LISTENS || /* or another thread is in this function */
        !atomic_compare_exchange_strong(&listener.state, &listens, ends))
        return false;
    /* A filter that forbids the wake-up signal also forbids this harmless call. */
    if (listener.wake_fd < 0 ||
        syscall(SYS_tgkill, pt_tick_getpid(), atomic_load(&listener.tid), 0) != 0) {
        atomic_store(&listener.state, listens);
        return false;
    }
    pt_own_end_begins();
    atomic_store(&listener.is_over, 1);
    syscall(SYS_tgkill, pt_tick_getpid(), atomic_load(&listener.tid), WAKE_SIGNAL);
    pt_own_end(&listener.thread);
    atomic_store(&listener.tid, 0);
    pt_listen_stop(); /* makes its path free */
    return true;
}

void pt_listen_go_on(void)
{
    if (start_thread()) return;
    if (address.message[0] != '\0')
        pt_agent_say("%s", address.message);
    else
        pt_agent_say("PITOT_LISTEN=%s: no thread could be started", address.where);
}

void pt_listen_stop(void)
{
    struct stat st; /* the host may have changed its root, so that the path leads to another file */
    if (address.path[0] != '\0' && pt_libc_lstat_at(AT_FDCWD, address.path, &st) == 0 &&
        S_ISSOCK(st.st_mode))
        unlink(address.path);
    address.path[0] = '\0';
}

pid_t pt_listen_tid(void)
{
    return atomic_load(&listener.tid);
}

PT_NEAR void pt_listen_after_fork(void)
{
    if (listener.state != 0) address.path[0] = '\0'; /* it is the parent's */
    PT_SET(pt_agent.served, false);
    PT_SET(listener.tid, 0);
    PT_SET(listener.state, 0);
}
