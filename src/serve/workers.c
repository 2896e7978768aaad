/* workers.c: see workers.h. */
#include "serve/workers.h"

#include <ctype.h>
#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <stdlib.h>
#include <string.h>
#include <sys/eventfd.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/memory.h"
#include "serve/answers.h"

/* A root, and the keeper that answers requests below it. */
typedef struct {
    pt_kept *kept;
    unsigned root;
    uint64_t asked;      /* number of its last job */
    uint64_t generation; /* the number of the keeper, which no other has had */
} place;

/* Answers that are kept take at most this part of the memory limit. */
enum { ANSWERS_SHARE = 16 };

struct pt_workers {
    void (*done)(pt_job *job);
    pt_connections *connections;
    pthread_t thread;
    int wake; /* an eventfd */
    pthread_mutex_t lock;
    pt_job *waiting, *waiting_last; /* protected by the lock */
    unsigned waiting_count;         /* protected by the lock */
    bool stopped;                   /* protected by the lock */
    /* private to the thread */
    place places[1 + PT_MOST_STAYING]; /* the first is root 0's */
    unsigned place_count;
    unsigned last_root;
    uint32_t last_id;
    uint64_t last_generation;
    pt_answers answers;
    pt_job *running;
    unsigned running_count;
};

/* ---- Jobs ---- */

/* The root that begins a path: 0 without one. *ret_rest is the path below it. */
static unsigned root_of(const char *path, const char **ret_rest)
{
    char *end;
    *ret_rest = path;
    if (path[0] != '/' || !isdigit((unsigned char)path[1])) return 0;
    const unsigned long root = strtoul(path + 1, &end, 10);
    if ((*end != '/' && *end != '\0') || root > UINT32_MAX) return 0;
    *ret_rest = *end == '\0' ? "/" : end;
    return (unsigned)root;
}

static char *root_text(unsigned root)
{
    return root == 0 ? pt_strdup("") : pt_strf("/%u", root);
}

pt_job *pt_job_new(const pt_serve_request *request, int socket, void *context)
{
    pt_job *job = pt_alloc(1, sizeof *job);
    pt_serve_parameter *parameter = pt_alloc(request->parameter_count + 1, sizeof *parameter);
    for (size_t i = 0; i < request->parameter_count; i++) {
        parameter[i].name = pt_strdup(request->parameter[i].name);
        parameter[i].value = pt_strdup(request->parameter[i].value);
    }
    const char *path;
    *job = (pt_job){.request = *request,
                    .socket = socket,
                    .context = context,
                    .root = root_of(request->path, &path),
                    .pipe = -1,
                    .memory = -1,
                    .successor = -1,
                    .answered = {.fd = -1}};
    job->request.path = pt_strdup(path);
    job->request.root = root_text(job->root);
    job->request.new_root = NULL;
    job->request.parameter = parameter;
    return job;
}

void pt_answered_done(pt_answered *answered)
{
    free(answered->memory);
    if (answered->fd >= 0) close(answered->fd);
    *answered = (pt_answered){.fd = -1};
}

static void free_text(const char *text)
{
    free((void *)(uintptr_t)text);
}

void pt_job_free(pt_job *job)
{
    if (job == NULL) return;
    for (size_t i = 0; i < job->request.parameter_count; i++) {
        free_text(job->request.parameter[i].name);
        free_text(job->request.parameter[i].value);
    }
    free((void *)(uintptr_t)job->request.parameter);
    free_text(job->request.path);
    free_text(job->request.root);
    free_text(job->request.new_root);
    pt_answered_done(&job->answered);
    PT_FREE_ALL(job->key, job);
}

/* ---- Keepers ---- */

static pt_kept *new_kept(pt_keeper keeper)
{
    pt_kept *kept = pt_alloc(1, sizeof *kept);
    *kept = (pt_kept){.keeper = keeper, .users = 1};
    return kept;
}

static void leave_kept(pt_kept *kept)
{
    if (kept == NULL || --kept->users > 0) return;
    pt_keeper_leave(&kept->keeper);
    free(kept);
}

static place *find_place(pt_workers *w, unsigned root)
{
    for (unsigned i = 0; i < w->place_count; i++)
        if (w->places[i].root == root) return &w->places[i];
    return NULL;
}

/* Adds a place for a root. If all are taken, it gets the place with the oldest last job, but never
 * the first place. */
static place *add_place(pt_workers *w, unsigned root)
{
    place *oldest = &w->places[1];
    if (w->place_count < 1 + PT_MOST_STAYING) {
        oldest = &w->places[w->place_count++];
    } else {
        for (unsigned i = 2; i < w->place_count; i++)
            if (w->places[i].asked < oldest->asked) oldest = &w->places[i];
        leave_kept(oldest->kept);
    }
    *oldest = (place){.root = root, .asked = w->last_id};
    return oldest;
}

/* The process that made the answer makes others from now on. */
static void put_in_place(pt_workers *w, pt_job *job)
{
    const bool is_new = job->answered.process_stay == PT_STAY_NEW;
    place *p = is_new ? add_place(w, job->new_root) : find_place(w, job->root);
    if (p == NULL) return; /* the keeper that it was to replace has gone */
    leave_kept(p->kept);
    p->kept = new_kept((pt_keeper){.socket = job->successor});
    p->generation = ++w->last_generation;
    job->successor = -1;
}

/* ---- start and end of an answer ---- */

static void close_end(int *fd)
{
    if (*fd >= 0) close(*fd);
    *fd = -1;
}

static void answer_shortly(pt_job *job, unsigned status, const char *why)
{
    pt_answered_done(&job->answered);
    job->answered =
        (pt_answered){.status = status, .fd = -1, .body_text = why, .body_bytes = strlen(why)};
}

/* Starts a job. True if the answer is being made; else the job has an answer that says why not. */
static bool start_job(pt_workers *w, pt_job *job)
{
    place *p = find_place(w, job->root);
    int ends[2] = {-1, -1}, successor[2] = {-1, -1};
    if (p == NULL) {
        answer_shortly(job, 404, "The file is not open any more: drop it on the page again.\n");
        return false;
    }
    job->id = ++w->last_id;
    p->asked = job->id;
    if (!job->request.posts) job->key = pt_answers_key(&job->request, p->generation);
    if (job->key != NULL && pt_answers_find(&w->answers, job->key, &job->answered)) return false;
    job->new_root = job->request.posts ? ++w->last_root : 0;
    job->request.new_root = root_text(job->new_root);
    job->memory = memfd_create("pitot-answer", MFD_CLOEXEC);
    bool starts = job->memory >= 0 && pipe2(ends, O_CLOEXEC) == 0;
    if (starts && job->request.posts)
        starts = socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, successor) == 0;
    const pt_keeper_ends theirs = {job->memory, ends[1], successor[1], job->request.body};
    starts = starts && pt_keeper_ask(&p->kept->keeper, job->id, &job->request, &theirs);
    close_end(&ends[1]);
    close_end(&successor[1]);
    job->pipe = ends[0];
    job->successor = successor[0];
    if (starts) {
        job->kept = p->kept;
        job->kept->users++;
        return true;
    }
    close_end(&job->memory);
    close_end(&job->pipe);
    close_end(&job->successor);
    answer_shortly(job, 503, "No process can be started now; ask again.\n");
    return false;
}

/* Ends the process with all its children, if it still runs, and takes its answer. */
static void end_job(pt_workers *w, pt_job *job, bool is_cancelled)
{
    pt_keeper_end_answer(&job->kept->keeper, job->id);
    leave_kept(job->kept);
    job->kept = NULL;
    if (is_cancelled)
        answer_shortly(job, 503, "The report was cancelled.\n");
    else if (!pt_keeper_read(job->memory, &job->answered))
        answer_shortly(job, 500,
                       "The report could not be made: its process has crashed, or its "
                       "memory was not enough.\n");
    if (job->answered.process_stay != PT_STAY_NOT) put_in_place(w, job);
    if (job->answered.lasts && job->answered.status == 200 && job->key != NULL)
        pt_answers_keep(&w->answers, job->key, job->memory);
    if (job->answered.fd < 0) close_end(&job->memory);
    job->memory = -1;
    close_end(&job->pipe);
    close_end(&job->successor);
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
        end_job(w, job, !over);
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

/* If this is the first process of a container, all processes whose parents have ended become its
 * children: those that stayed (keeper.h), and those that an ended answer has started. Only this
 * process can wait for them. It may so wait for the first keeper, too, which pt_keeper_leave
 * accepts. */
static void reap_orphans(void)
{
    if (getpid() != 1) return;
    while (waitpid(-1, NULL, WNOHANG) > 0) {
    }
}

static void *watch_workers(void *context)
{
    pt_workers *w = context;
    news n;
    while (!is_stopped(w)) {
        start_waiting(w);
        wait_for_news(w, &n);
        reap_orphans();
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
    *w = (pt_workers){.done = done, .connections = connections, .place_count = 1};
    pt_keeper first;
    if (pt_keeper_start(answer, context, &first, reterr) != PT_OK) {
        free(w);
        return PT_ERR_SYSTEM;
    }
    w->places[0].kept = new_kept(first);
    const uint64_t share = pt_memory_limit() / ANSWERS_SHARE;
    pt_answers_init(&w->answers, share < PT_ANSWERS_BYTES ? share : PT_ANSWERS_BYTES);
    w->wake = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
    int error = w->wake < 0 ? errno : 0;
    pthread_mutex_init(&w->lock, NULL);
    if (error == 0) error = pthread_create(&w->thread, NULL, watch_workers, w);
    if (error == 0) {
        *ret_workers = w;
        return PT_OK;
    }
    pt_workers_free(w);
    return pt_error_errno(reterr, error, "cannot start the server's thread");
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
    for (unsigned i = 0; i < w->place_count; i++)
        leave_kept(w->places[i].kept);
    pt_answers_done(&w->answers);
    if (w->wake >= 0) close(w->wake);
    pthread_mutex_destroy(&w->lock);
    free(w);
}
