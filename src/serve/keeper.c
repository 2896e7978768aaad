/* keeper.c: see keeper.h.
 *
 * A message to a keeper is one packet: `message`, then the request's texts, each with its NUL; the
 * descriptors come with it. An answer is a file in memory: `written`, its texts, its body. The
 * status in `written` is put into the file last, so the answer is incomplete while it is 0.
 */
#include "serve/keeper.h"

#include <errno.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/grow.h"

enum { MESSAGE_BYTES = 64 << 10, END_COUNT = 4, TEXT_COUNT = 6 };

typedef struct {
    uint32_t id;
    bool ends; /* the answer is to end; nothing follows */
    bool by_token, from_elsewhere, posts;
    bool has[END_COUNT]; /* which descriptors there are */
    uint32_t parameter_count;
} message;

typedef struct {
    uint32_t status; /* 0: incomplete */
    uint32_t process_stay;
    uint32_t lasts;
    uint32_t text_bytes[TEXT_COUNT]; /* with the NUL; 0: absent */
} written;

/* An answer that is being made. */
typedef struct {
    uint32_t id;
    pid_t pid;
} child;

static const pt_keeper_ends NO_ENDS = {-1, -1, -1, -1};

typedef struct {
    int socket;
    pt_serve_fn *answer;
    void *context;
    PT_VECTOR(child) children;
} keeping;

/* ---- The answer ---- */

static pt_status write_answer(int fd, const pt_serve_answer *answer)
{
    const char *const text[TEXT_COUNT] = {answer->type,       answer->policy,   answer->place,
                                          answer->attachment, answer->location, answer->note};
    written head = {.process_stay = answer->process_stay, .lasts = answer->lasts};
    pt_out out;
    for (size_t i = 0; i < TEXT_COUNT; i++)
        head.text_bytes[i] = text[i] != NULL ? (uint32_t)strlen(text[i]) + 1 : 0;
    pt_out_to_fd(&out, fd);
    pt_out_put(&out, &head, sizeof head);
    for (size_t i = 0; i < TEXT_COUNT; i++)
        pt_out_put(&out, text[i], head.text_bytes[i]);
    pt_out_put(&out, answer->body.data, answer->body.size);
    const pt_status status = pt_out_done(&out, NULL);
    head.status = answer->status;
    if (status == PT_OK && pwrite(fd, &head, sizeof head, 0) != (ssize_t)sizeof head)
        return PT_ERR_SYSTEM;
    return status;
}

bool pt_keeper_read(int memory, pt_answered *ret)
{
    written head;
    struct stat status;
    uint64_t text_bytes = 0;
    if (fstat(memory, &status) != 0 ||
        pread(memory, &head, sizeof head, 0) != (ssize_t)sizeof head || head.status == 0)
        return false;
    for (size_t i = 0; i < TEXT_COUNT; i++)
        text_bytes += head.text_bytes[i];
    const uint64_t body_at = sizeof head + text_bytes;
    if ((uint64_t)status.st_size < body_at) return false;
    char *texts = pt_alloc(text_bytes + 1, 1);
    if (pread(memory, texts, text_bytes, sizeof head) != (ssize_t)text_bytes) {
        free(texts);
        return false;
    }
    *ret = (pt_answered){.status = head.status,
                         .process_stay = head.process_stay,
                         .lasts = head.lasts != 0,
                         .memory = texts,
                         .fd = memory};
    const char **const text[TEXT_COUNT] = {&ret->type,       &ret->policy,   &ret->place,
                                           &ret->attachment, &ret->location, &ret->note};
    ret->body_at = body_at;
    ret->body_bytes = (uint64_t)status.st_size - body_at;
    for (size_t i = 0; i < TEXT_COUNT; texts += head.text_bytes[i], i++)
        *text[i] = head.text_bytes[i] > 0 ? texts : NULL;
    return true;
}

/* ---- The keeper ---- */

/* Closes all descriptors from 3 on except those of `kept`, so that sockets which the server closes
 * do not stay open here. */
static void close_others(const int *kept, size_t count)
{
    unsigned from = 3;
    for (;;) {
        unsigned next = ~0u;
        for (size_t i = 0; i < count; i++)
            if (kept[i] >= (int)from && (unsigned)kept[i] < next) next = (unsigned)kept[i];
        if (next == ~0u) break;
        if (next > from) close_range(from, next - 1, 0);
        from = next + 1;
    }
    close_range(from, ~0u, 0);
}

/* Makes an answer in this process, which was forked for it, and ends. If the answer stays, it forks
 * another process before and returns there: the new keeper. (The old keeper still ends this
 * process.) */
static void make_answer(keeping *k, pt_serve_request *request, const pt_keeper_ends *ends,
                        pid_t keeper)
{
    prctl(PR_SET_PDEATHSIG, SIGKILL);
    if (getppid() != keeper) _exit(1);
    setpgid(0, 0);
    close_others((const int[]){ends->memory, ends->pipe, ends->successor, ends->body}, END_COUNT);
    pt_serve_answer answer = {.status = 200};
    request->body = ends->body;
    k->answer(k->context, request, &answer);
    if (ends->successor < 0) answer.process_stay = PT_STAY_NOT;
    if (write_answer(ends->memory, &answer) != PT_OK) _exit(1);
    if (answer.process_stay == PT_STAY_NOT || fork() != 0) _exit(0);
    setpgid(0, 0);
    close_others(&ends->successor, 1);
    k->socket = ends->successor;
    k->context = answer.stay_context;
    k->children.count = 0;
    free(answer.memory);
    pt_buf_done(&answer.body);
}

/* Parses the request in a packet, whose texts *ret borrows. False: the packet has no request. */
static bool parse_request(char *packet, size_t bytes, pt_serve_request *ret,
                          pt_serve_parameter **ret_parameters)
{
    const message *const m = (const message *)packet;
    const char *at = packet + sizeof *m;
    const char *const end = packet + bytes;
    if (bytes <= sizeof *m || end[-1] != '\0') return false;
    pt_serve_parameter *parameters = pt_alloc((size_t)m->parameter_count + 1, sizeof *parameters);
    const char *text[3] = {0}; /* path, root, new_root */
    for (size_t i = 0; i < 3 && at < end; i++, at += strlen(at) + 1)
        text[i] = at;
    for (size_t i = 0; i < m->parameter_count && at < end; i++) {
        parameters[i].name = at;
        at += strlen(at) + 1;
        parameters[i].value = at < end ? at : "";
        if (at < end) at += strlen(at) + 1;
    }
    *ret = (pt_serve_request){.path = text[0],
                              .root = text[1],
                              .new_root = text[2],
                              .parameter = parameters,
                              .parameter_count = m->parameter_count,
                              .by_token = m->by_token,
                              .from_elsewhere = m->from_elsewhere,
                              .posts = m->posts,
                              .body = -1};
    *ret_parameters = parameters;
    return true;
}

/* Starts the process of an answer. Returns in this keeper, and also in a new keeper if the answer
 * stays; there *ends are closed. */
static void start_answer(keeping *k, char *packet, size_t bytes, pt_keeper_ends *ends)
{
    const pid_t self = getpid();
    pt_serve_request request;
    pt_serve_parameter *parameters = NULL;
    if (!parse_request(packet, bytes, &request, &parameters)) return;
    const pid_t pid = fork();
    if (pid == 0) {
        make_answer(k, &request, ends, self);
        *ends = NO_ENDS;
    }
    if (pid > 0) {
        setpgid(pid, pid);
        PT_PUSH(k->children, (child){((const message *)packet)->id, pid});
    }
    free(parameters);
}

static void end_answer(keeping *k, uint32_t id)
{
    for (size_t i = 0; i < k->children.count; i++) {
        const pid_t pid = k->children.items[i].pid;
        if (k->children.items[i].id != id) continue;
        kill(-pid, SIGKILL);
        kill(pid, SIGKILL);
        while (waitpid(pid, NULL, 0) < 0 && errno == EINTR) {
        }
        kill(-pid, SIGKILL); /* the processes that the answer has started */
        k->children.items[i] = k->children.items[--k->children.count];
        return;
    }
}

/* Reads a packet with its descriptors. Returns its size; 0: the server has ended. */
static size_t receive_packet(int socket, char *packet, pt_keeper_ends *ret_ends)
{
    union {
        char bytes[CMSG_SPACE(END_COUNT * sizeof(int))];
        struct cmsghdr aligned;
    } control;
    struct iovec part = {packet, MESSAGE_BYTES};
    struct msghdr head = {.msg_iov = &part,
                          .msg_iovlen = 1,
                          .msg_control = control.bytes,
                          .msg_controllen = sizeof control.bytes};
    ssize_t got;
    int fds[END_COUNT] = {-1, -1, -1, -1}, *at = fds;
    *ret_ends = NO_ENDS;
    while ((got = recvmsg(socket, &head, MSG_CMSG_CLOEXEC)) < 0 && errno == EINTR) {
    }
    if (got < (ssize_t)sizeof(message)) return 0;
    const struct cmsghdr *const c = CMSG_FIRSTHDR(&head);
    if (c != NULL && c->cmsg_type == SCM_RIGHTS)
        memcpy(fds, CMSG_DATA(c), c->cmsg_len - CMSG_LEN(0));
    const message *const m = (const message *)packet;
    int *const ends[END_COUNT] = {&ret_ends->memory, &ret_ends->pipe, &ret_ends->successor,
                                  &ret_ends->body};
    for (size_t i = 0; i < END_COUNT; i++)
        if (m->has[i]) *ends[i] = *at++;
    return (size_t)got;
}

static _Noreturn void run_keeper(int socket, pt_serve_fn *answer, void *context)
{
    keeping k = {.socket = socket, .answer = answer, .context = context};
    char *packet = pt_alloc(MESSAGE_BYTES, 1);
    pt_keeper_ends ends;
    size_t bytes;
    signal(SIGINT, SIG_DFL);
    signal(SIGTERM, SIG_DFL);
    while ((bytes = receive_packet(k.socket, packet, &ends)) > 0) {
        const message *const m = (const message *)packet;
        if (m->ends)
            end_answer(&k, m->id);
        else
            start_answer(&k, packet, bytes, &ends);
        const int all[END_COUNT] = {ends.memory, ends.pipe, ends.successor, ends.body};
        for (size_t i = 0; i < END_COUNT; i++)
            if (all[i] >= 0) close(all[i]);
    }
    while (k.children.count > 0)
        end_answer(&k, k.children.items[0].id);
    _exit(0);
}

/* ---- The server's side ---- */

pt_status pt_keeper_start(pt_serve_fn *answer, void *context, pt_keeper *ret_keeper,
                          pt_error *reterr)
{
    int ends[2];
    if (socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, ends) != 0)
        return pt_error_errno(reterr, errno, "a socket for the process that answers");
    const pid_t pid = fork();
    if (pid == 0) {
        setpgid(0, 0);
        close_others(&ends[1], 1);
        run_keeper(ends[1], answer, context);
    }
    const int why = errno;
    close(ends[1]);
    if (pid < 0) {
        close(ends[0]);
        return pt_error_errno(reterr, why, "the process that answers");
    }
    setpgid(pid, pid);
    *ret_keeper = (pt_keeper){.pid = pid, .socket = ends[0]};
    return PT_OK;
}

static void put_text(pt_buf *to, const char *text)
{
    pt_put(to, text, strlen(text) + 1);
}

static bool send_packet(const pt_keeper *keeper, const pt_buf *packet, const int *fds, size_t count)
{
    union {
        char bytes[CMSG_SPACE(END_COUNT * sizeof(int))];
        struct cmsghdr aligned;
    } control = {0};
    struct iovec part = {packet->data, packet->size};
    struct msghdr head = {.msg_iov = &part, .msg_iovlen = 1};
    if (packet->size > MESSAGE_BYTES) return false;
    if (count > 0) {
        head.msg_control = control.bytes;
        head.msg_controllen = CMSG_SPACE(count * sizeof(int));
        struct cmsghdr *const c = CMSG_FIRSTHDR(&head);
        *c = (struct cmsghdr){.cmsg_level = SOL_SOCKET,
                              .cmsg_type = SCM_RIGHTS,
                              .cmsg_len = CMSG_LEN(count * sizeof(int))};
        memcpy(CMSG_DATA(c), fds, count * sizeof(int));
    }
    ssize_t sent;
    while ((sent = sendmsg(keeper->socket, &head, MSG_NOSIGNAL)) < 0 && errno == EINTR) {
    }
    return sent == (ssize_t)packet->size;
}

bool pt_keeper_ask(const pt_keeper *keeper, uint32_t id, const pt_serve_request *request,
                   const pt_keeper_ends *ends)
{
    const int all[END_COUNT] = {ends->memory, ends->pipe, ends->successor, ends->body};
    int fds[END_COUNT];
    size_t count = 0;
    PT_AUTO(pt_buf) packet = PT_BUF_INIT;
    message m = {.id = id,
                 .by_token = request->by_token,
                 .from_elsewhere = request->from_elsewhere,
                 .posts = request->posts,
                 .parameter_count = (uint32_t)request->parameter_count};
    for (size_t i = 0; i < END_COUNT; i++)
        if ((m.has[i] = all[i] >= 0)) fds[count++] = all[i];
    pt_put(&packet, &m, sizeof m);
    put_text(&packet, request->path);
    put_text(&packet, request->root);
    put_text(&packet, request->new_root);
    for (size_t i = 0; i < request->parameter_count; i++) {
        put_text(&packet, request->parameter[i].name);
        put_text(&packet, request->parameter[i].value);
    }
    return send_packet(keeper, &packet, fds, count);
}

void pt_keeper_end_answer(const pt_keeper *keeper, uint32_t id)
{
    const message m = {.id = id, .ends = true};
    PT_AUTO(pt_buf) packet = PT_BUF_INIT;
    pt_put(&packet, &m, sizeof m);
    send_packet(keeper, &packet, NULL, 0);
}

void pt_keeper_leave(pt_keeper *keeper)
{
    if (keeper->socket >= 0) close(keeper->socket);
    if (keeper->pid > 0)
        while (waitpid(keeper->pid, NULL, 0) < 0 && errno == EINTR) {
        }
    *keeper = (pt_keeper){.socket = -1};
}
