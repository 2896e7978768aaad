/* workers.c: see workers.h.
 *
 * A process writes its answer to a file in memory: `written`, the texts, the body. It holds the
 * only write end of a pipe, so end of file on the pipe means that it has ended.
 */
#include "serve/workers.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/eventfd.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

enum { TEXT_COUNT = 6 };

typedef struct {
    uint32_t status;
    uint32_t text_bytes[TEXT_COUNT]; /* with the NUL; 0: absent */
} written;

struct pt_workers {
    pt_serve_fn *answer;
    void *context;
    void (*done)(pt_job *job);
    pt_connections *connections;
    pthread_t thread;
    int wake; /* an eventfd */
    pthread_mutex_t lock;
    pt_job *waiting, *waiting_last; /* protected by the lock */
    unsigned waiting_count;         /* protected by the lock */
    bool stopped;                   /* protected by the lock */
    pt_job *running;                /* private to the thread */
    unsigned running_count;
};

/* ---- Jobs ---- */

pt_job *pt_job_new(const pt_serve_request *request, int socket, void *context)
{
    pt_job *job = pt_alloc(1, sizeof *job);
    pt_serve_parameter *parameter = pt_alloc(request->parameter_count + 1, sizeof *parameter);
    for (size_t i = 0; i < request->parameter_count; i++) {
        parameter[i].name = pt_strdup(request->parameter[i].name);
        parameter[i].value = pt_strdup(request->parameter[i].value);
    }
    *job = (pt_job){.request = {pt_strdup(request->path), parameter, request->parameter_count,
                                request->by_token, request->from_elsewhere},
                    .socket = socket,
                    .context = context,
                    .pid = -1,
                    .pipe = -1,
                    .memory = -1,
                    .answered = {.fd = -1}};
    return job;
}

void pt_answered_done(pt_answered *answered)
{
    free(answered->memory);
    if (answered->fd >= 0) close(answered->fd);
    *answered = (pt_answered){.fd = -1};
}

void pt_job_free(pt_job *job)
{
    if (job == NULL) return;
    for (size_t i = 0; i < job->request.parameter_count; i++) {
        free((void *)(uintptr_t)job->request.parameter[i].name);
        free((void *)(uintptr_t)job->request.parameter[i].value);
    }
    free((void *)(uintptr_t)job->request.parameter);
    free((void *)(uintptr_t)job->request.path);
    pt_answered_done(&job->answered);
    free(job);
}

/* ---- in the process ---- */

static pt_status write_answer(int fd, const pt_serve_answer *answer)
{
    const char *const text[TEXT_COUNT] = {answer->type,       answer->policy,   answer->place,
                                          answer->attachment, answer->location, answer->note};
    written head = {.status = answer->status};
    pt_out out;
    for (size_t i = 0; i < TEXT_COUNT; i++)
        head.text_bytes[i] = text[i] != NULL ? (uint32_t)strlen(text[i]) + 1 : 0;
    pt_out_to_fd(&out, fd);
    pt_out_put(&out, &head, sizeof head);
    for (size_t i = 0; i < TEXT_COUNT; i++)
        pt_out_put(&out, text[i], head.text_bytes[i]);
    pt_out_put(&out, answer->body.data, answer->body.size);
    return pt_out_done(&out, NULL);
}

/* Closes all descriptors from 3 on except two, so that sockets which the server closes do not stay
 * open here.
 */
static void close_others(int first_fd, int second_fd)
{
    const unsigned low = (unsigned)(first_fd < second_fd ? first_fd : second_fd);
    const unsigned high = (unsigned)(first_fd < second_fd ? second_fd : first_fd);
    if (low > 3) close_range(3, low - 1, 0);
    if (high > low + 1) close_range(low + 1, high - 1, 0);
    close_range(high + 1, ~0u, 0);
}

static _Noreturn void run_worker(const pt_workers *w, const pt_job *job, int pipe_end, pid_t server)
{
    prctl(PR_SET_PDEATHSIG, SIGKILL);
    if (getppid() != server) _exit(1);
    setpgid(0, 0);
    signal(SIGINT, SIG_DFL);
    signal(SIGTERM, SIG_DFL);
    close_others(pipe_end, job->memory);
    pt_serve_answer answer = {.status = 200};
    w->answer(w->context, &job->request, &answer);
    _exit(write_answer(job->memory, &answer) == PT_OK ? 0 : 1);
}

/* ---- start and end of a process ---- */

static void answer_shortly(pt_job *job, unsigned status, const char *why)
{
    pt_answered_done(&job->answered);
    job->answered =
        (pt_answered){.status = status, .fd = -1, .body_text = why, .body_bytes = strlen(why)};
}

static bool start_job(pt_workers *w, pt_job *job)
{
    int ends[2];
    const pid_t server = getpid();
    job->memory = memfd_create("pitot-answer", MFD_CLOEXEC);
    if (job->memory < 0) return false;
    if (pipe2(ends, O_CLOEXEC) != 0) {
        close(job->memory);
        job->memory = -1;
        return false;
    }
    const pid_t pid = fork();
    if (pid == 0) run_worker(w, job, ends[1], server);
    close(ends[1]);
    if (pid < 0) {
        close(ends[0]);
        close(job->memory);
        job->memory = -1;
        return false;
    }
    setpgid(pid, pid);
    job->pid = pid;
    job->pipe = ends[0];
    return true;
}

/* Reads the answer that the process wrote; false if it is incomplete. */
static bool take_answer(pt_job *job)
{
    written head;
    struct stat status;
    uint64_t text_bytes = 0;
    if (fstat(job->memory, &status) != 0 ||
        pread(job->memory, &head, sizeof head, 0) != (ssize_t)sizeof head)
        return false;
    for (size_t i = 0; i < TEXT_COUNT; i++)
        text_bytes += head.text_bytes[i];
    const uint64_t body_at = sizeof head + text_bytes;
    if ((uint64_t)status.st_size < body_at) return false;
    char *memory = pt_alloc(text_bytes + 1, 1);
    if (pread(job->memory, memory, text_bytes, sizeof head) != (ssize_t)text_bytes) {
        free(memory);
        return false;
    }
    pt_answered *a = &job->answered;
    const char **const text[TEXT_COUNT] = {&a->type,       &a->policy,   &a->place,
                                           &a->attachment, &a->location, &a->note};
    *a = (pt_answered){.status = head.status, .memory = memory, .fd = job->memory};
    a->body_at = body_at;
    a->body_bytes = (uint64_t)status.st_size - body_at;
    for (size_t i = 0; i < TEXT_COUNT; memory += head.text_bytes[i], i++)
        *text[i] = head.text_bytes[i] > 0 ? memory : NULL;
    return true;
}

/* Ends the process with all its children, if it still runs, and reads its answer. */
static void end_job(pt_job *job, bool kill_it)
{
    int code = 0;
    if (kill_it) {
        kill(-job->pid, SIGKILL);
        kill(job->pid, SIGKILL);
    }
    while (waitpid(job->pid, &code, 0) < 0 && errno == EINTR) {
    }
    kill(-job->pid, SIGKILL);
    close(job->pipe);
    if (kill_it)
        answer_shortly(job, 503, "The report was cancelled.\n");
    else if (!WIFEXITED(code) || WEXITSTATUS(code) != 0 || !take_answer(job))
        answer_shortly(job, 500,
                       "The report could not be made: its process has crashed, or its "
                       "memory was not enough.\n");
    if (job->answered.fd < 0) close(job->memory);
    job->memory = job->pipe = job->pid = -1;
}

static void finish_job(pt_workers *w, pt_job *job)
{
    job->finished = true;
    w->done(job);
}

/* ---- the thread ---- */

static pt_job *take_waiting(pt_workers *w)
{
    pthread_mutex_lock(&w->lock);
    pt_job *job = w->waiting;
    if (job != NULL) {
        w->waiting = job->next;
        if (w->waiting == NULL) w->waiting_last = NULL;
        w->waiting_count--;
    }
    pthread_mutex_unlock(&w->lock);
    return job;
}

static void start_waiting(pt_workers *w)
{
    while (w->running_count < PT_MOST_RUNNING) {
        pt_job *job = take_waiting(w);
        if (job == NULL) return;
        if (start_job(w, job)) {
            job->next = w->running;
            w->running = job;
            w->running_count++;
        } else {
            answer_shortly(job, 503, "No process can be started now; ask again.\n");
            finish_job(w, job);
        }
    }
}

static bool is_stopped(pt_workers *w)
{
    pthread_mutex_lock(&w->lock);
    const bool stopped = w->stopped;
    pthread_mutex_unlock(&w->lock);
    return stopped;
}

/* The events that the thread polls for: submissions, the end of each running job and of its client,
 * the clients of waiting jobs. Only this thread removes jobs from the lists, so they stay valid
 * while it waits.
 */
typedef struct {
    struct pollfd fds[1 + 2 * PT_MOST_RUNNING + PT_MOST_WAITING];
    nfds_t count;
} news;

static void add_news(news *n, int fd, short events)
{
    n->fds[n->count++] = (struct pollfd){fd, events, 0};
}

static void wait_for_news(pt_workers *w, news *n)
{
    uint64_t woken;
    n->count = 0;
    add_news(n, w->wake, POLLIN);
    for (const pt_job *job = w->running; job != NULL; job = job->next) {
        add_news(n, job->pipe, POLLIN);
        add_news(n, job->socket, POLLRDHUP);
    }
    pthread_mutex_lock(&w->lock);
    for (const pt_job *job = w->waiting; job != NULL; job = job->next)
        add_news(n, job->socket, POLLRDHUP);
    pthread_mutex_unlock(&w->lock);
    const int wait_ms = w->connections != NULL ? pt_connections_close_late(w->connections) : -1;
    if (poll(n->fds, n->count, wait_ms) <= 0)
        for (nfds_t i = 0; i < n->count; i++)
            n->fds[i].revents = 0;
    if (n->fds[0].revents != 0 && read(w->wake, &woken, sizeof woken) < 0) {
    } /* the loop checks everything anyway */
}

/* Ends the running jobs that finished, lost their client, or (all) every one. Returns the index of
 * the first waiting job's event. */
static nfds_t end_running(pt_workers *w, const news *n, bool all)
{
    nfds_t at = 1;
    for (pt_job **link = &w->running; *link != NULL; at += 2) {
        pt_job *job = *link;
        const bool over = !all && n->fds[at].revents != 0;
        if (!all && !over && n->fds[at + 1].revents == 0) {
            link = &job->next;
            continue;
        }
        *link = job->next;
        w->running_count--;
        end_job(job, !over);
        finish_job(w, job);
    }
    return at;
}

/* Removes waiting jobs without a client. */
static void drop_waiting(pt_workers *w, const news *n, nfds_t at)
{
    pt_job *gone = NULL, *last = NULL;
    pthread_mutex_lock(&w->lock);
    for (pt_job **link = &w->waiting; *link != NULL; at++) {
        pt_job *job = *link;
        if (at >= n->count || n->fds[at].revents == 0) {
            last = job;
            link = &job->next;
            continue;
        }
        *link = job->next;
        job->next = gone;
        gone = job;
        w->waiting_count--;
    }
    w->waiting_last = last;
    pthread_mutex_unlock(&w->lock);
    while (gone != NULL) {
        pt_job *job = gone;
        gone = job->next;
        answer_shortly(job, 503, "The report was cancelled.\n");
        finish_job(w, job);
    }
}

static void *watch_workers(void *context)
{
    pt_workers *w = context;
    news n;
    while (!is_stopped(w)) {
        start_waiting(w);
        wait_for_news(w, &n);
        drop_waiting(w, &n, end_running(w, &n, false));
    }
    end_running(w, &n, true);
    for (pt_job *job = take_waiting(w); job != NULL; job = take_waiting(w)) {
        answer_shortly(job, 503, "The server has ended.\n");
        finish_job(w, job);
    }
    return NULL;
}

/* ---- the interface ---- */

pt_status pt_workers_new(pt_serve_fn *answer, void *context, void (*done)(pt_job *job),
                         pt_connections *connections, pt_workers **ret_workers, pt_error *reterr)
{
    pt_workers *w = pt_alloc(1, sizeof *w);
    *w = (pt_workers){
        .answer = answer, .context = context, .done = done, .connections = connections};
    w->wake = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
    int error = w->wake < 0 ? errno : 0;
    pthread_mutex_init(&w->lock, NULL);
    if (error == 0) error = pthread_create(&w->thread, NULL, watch_workers, w);
    if (error == 0) {
        *ret_workers = w;
        return PT_OK;
    }
    if (w->wake >= 0) close(w->wake);
    pthread_mutex_destroy(&w->lock);
    free(w);
    return pt_error_errno(reterr, error, "the server's thread");
}

void pt_workers_wake(pt_workers *w)
{
    const uint64_t first_fd = 1;
    if (write(w->wake, &first_fd, sizeof first_fd) < 0) {
    } /* then it is readable already */
}

bool pt_workers_submit(pt_workers *w, pt_job *job)
{
    pthread_mutex_lock(&w->lock);
    const bool room = w->waiting_count < PT_MOST_WAITING && !w->stopped;
    if (room) {
        job->next = NULL;
        if (w->waiting_last != NULL)
            w->waiting_last->next = job;
        else
            w->waiting = job;
        w->waiting_last = job;
        w->waiting_count++;
    }
    pthread_mutex_unlock(&w->lock);
    if (room) pt_workers_wake(w);
    return room;
}

void pt_workers_stop(pt_workers *w)
{
    pthread_mutex_lock(&w->lock);
    w->stopped = true;
    pthread_mutex_unlock(&w->lock);
    pt_workers_wake(w);
    pthread_join(w->thread, NULL);
}

void pt_workers_free(pt_workers *w)
{
    if (w == NULL) return;
    close(w->wake);
    pthread_mutex_destroy(&w->lock);
    free(w);
}
