/* web.c: see web.h. */
#include "cmd/web.h"

#include <errno.h>
#include <poll.h>
#include <signal.h>
#include <string.h>
#include <sys/eventfd.h>
#include <unistd.h>

#include "base/grow.h"
#include "base/text.h"
#include "base/xml.h"
#include "cmd/input.h"
#include "cmd/options.h"
#include "cmd/web_files.h"
#include "cmd/web_questions.h"
#include "cmd/web_routes.h"
#include "formats/format.h"
#include "model/sums.h"
#include "render/app_html.h"
#include "render/policy.h"
#include "serve/address.h"
#include "serve/serve.h"
#include "terminal/viewer.h"
#include "transform/filter.h"

#define NOTE_BYTES 2000 /* the most bytes of messages that a header holds */
#define TEXT       "text/plain; charset=utf-8"

/* Policies that say where an answer may be shown. A report may be shown alone or in a frame of the
 * page; the sandbox gives it an origin of its own, so that it has no rights on the server. The page
 * may be in no frame. */
#define REPORT_PLACE "sandbox allow-scripts; frame-ancestors 'self'"
#define PAGE_PLACE   "frame-ancestors 'none'"

typedef struct {
    const pt_cmd_context *base; /* without threads: answers are made in copies of the process */
    const pt_web_options *options;
    uint64_t file_bytes; /* the largest file that the page takes; 0 = none */
    pt_web_live live;
} web;

/* Computes the sums with which all reports begin, before the process is copied for each. */
static void prepare_reports(const pt_profile *p)
{
    const uint32_t event = pt_profile_default_event(p);
    for (uint32_t e = 0; e < p->event->t.count; e++)
        pt_profile_magnitude(p, e);
    if (event != PT_NONE) pt_profile_stack_values(p, event);
}

static void answer_text(pt_serve_answer *answer, unsigned status, const char *text)
{
    answer->status = status;
    answer->type = TEXT;
    pt_put_text(&answer->body, text);
}

/* ---- Reports ---- */

/* The HTTP status for a command's exit status. */
static unsigned http_status(int status)
{
    switch (status) {
    case PT_EXIT_OK:
    case PT_EXIT_DAMAGED: return 200;
    case PT_EXIT_USAGE: return 400;
    case PT_EXIT_NO_MATCH: return 404;
    default: return 500;
    }
}

/* Puts the messages that the command line would print on standard error into a header. */
static void note_facts(pt_serve_answer *answer, pt_buf *said)
{
    pt_buf escaped = PT_BUF_INIT;
    if (said->size > NOTE_BYTES) said->size = NOTE_BYTES;
    pt_web_put_escaped(&escaped, pt_buf_text(said));
    answer->memory = pt_buf_take(&escaped, NULL);
    answer->note = answer->memory;
}

static void answer_report(const web *w, const pt_serve_request *request, const pt_web_route *route,
                          pt_serve_answer *answer)
{
    static const pt_look look = {.width = 0};
    pt_web_args args = {0};
    PT_AUTO(pt_buf) said = PT_BUF_INIT;
    pt_out out;
    if (!pt_web_args_of(route, request, w->options, &args, &said)) {
        answer_text(answer, 400, pt_buf_text(&said));
    } else {
        pt_out_to_buf(&out, &answer->body);
        pt_say_into(&said);
        const int status = pt_cmd_run_resident(w->base, route->command, args.words.items,
                                               args.words.count, &out, &look);
        pt_say_into(NULL);
        pt_out_done(&out, NULL);
        answer->status = http_status(status);
        answer->type = args.json ? "application/json" : route->type;
        answer->policy = route->policy;
        answer->place = REPORT_PLACE;
        /* Reports on a function are not kept, since they are quick, and since the source and the
         * code that they read may change. */
        answer->lasts = !(route->command->needs & PT_TAKES_PATTERN);
        if (args.limited) pt_putf(&said, "a page draws at most %d boxes\n", PT_WEB_MOST_NODES);
        if (answer->status != 200) {
            pt_buf_clear(&answer->body);
            answer_text(answer, answer->status, pt_buf_text(&said));
        } else if (said.size > 0) {
            note_facts(answer, &said);
        }
    }
    pt_args_done(&args.words);
}

/* ---- The page and what is around it ---- */

static pt_app app_of(const web *w)
{
    static const char *const states[] = {
        [PT_LIVE_FILES] = "files", [PT_LIVE_RECORDING] = "recording", [PT_LIVE_ENDED] = "ended"};
    return (pt_app){.profile = w->base->profile,
                    .title = w->base->title,
                    .version = PT_VERSION,
                    .before = pt_cmd_before_title(w->base),
                    .has_times = pt_has_times(w->base->profile),
                    .file_bytes = w->file_bytes,
                    .live = states[w->live.state],
                    .seconds = pt_web_live_seconds(&w->live),
                    .growth = w->live.version};
}

static void answer_page(const web *w, pt_serve_answer *answer)
{
    pt_out out;
    pt_out_to_buf(&out, &answer->body);
    const pt_app app = app_of(w);
    pt_render_app_html(&out, &app);
    pt_out_done(&out, NULL);
    answer->type = "text/html; charset=utf-8";
    answer->policy = pt_policy_app;
    answer->place = PAGE_PLACE;
}

static pt_out *open_body(void *context, const char *suffix, pt_error *reterr)
{
    return context;
}

static void answer_download(const web *w, pt_serve_answer *answer)
{
    pt_out out;
    pt_error error = PT_ERROR_INIT;
    pt_out_to_buf(&out, &answer->body);
    const pt_output output = {.context = &out, .open = open_body};
    const pt_write_options options = {.event = PT_NONE, .pool = w->base->pool};
    const pt_status status =
        pt_format_find("pprof")->write(w->base->profile, &output, &options, &error);
    pt_out_done(&out, NULL);
    if (status != PT_OK) {
        pt_buf_clear(&answer->body);
        return answer_text(answer, 500, error.message);
    }
    answer->type = "application/octet-stream";
    answer->attachment = "profile.pb.gz";
}

/* Answers with a page that leads to another path of this server. This request came from another
 * site; the next request comes from this page, which the browser knows as the server's own. */
static void answer_leading_page(pt_serve_answer *answer, const char *path)
{
    pt_out out;
    pt_out_to_buf(&out, &answer->body);
    pt_out_text(&out, "<!DOCTYPE html>\n<meta charset=\"utf-8\">\n<title>pitot</title>\n"
                      "<meta http-equiv=\"refresh\" content=\"0; url=");
    pt_xml_text(&out, path, strlen(path));
    pt_out_text(&out, "\">\n");
    pt_out_done(&out, NULL);
    answer->type = "text/html; charset=utf-8";
    answer->place = PAGE_PLACE;
}

/* Answers with a redirection to a path of this server, with the request's parameters, or, if it has
 * none, with the query of the command line. */
static void redirect_to(const web *w, const pt_serve_request *request, const char *path,
                        pt_serve_answer *answer)
{
    pt_buf to = PT_BUF_INIT;
    pt_put_text(&to, request->root);
    pt_put_text(&to, path);
    if (request->parameter_count > 0)
        pt_web_put_parameters(&to, request);
    else
        pt_web_put_query(&to, &w->options->query);
    answer->memory = pt_buf_take(&to, NULL);
    if (request->from_elsewhere) return answer_leading_page(answer, answer->memory);
    answer->status = 307;
    answer->location = answer->memory;
}

/* ---- Files that are dropped on the page ---- */

/* Answers {"at": "/3/ui/"}: from now on this process, which has read the file, answers all requests
 * below that root. */
static void answer_opened(const web *w, const pt_serve_request *request,
                          const pt_cmd_context *opened, pt_serve_answer *answer)
{
    pt_web_options *options = pt_alloc(1, sizeof *options);
    web *made = pt_alloc(1, sizeof *made);
    *options = *w->options;
    options->query = (pt_query){0};
    *made = (web){.base = opened, .options = options, .file_bytes = w->file_bytes};
    pt_putf(&answer->body, "{\"at\": \"%s/ui/\"}\n", request->new_root);
    answer->type = "application/json";
    prepare_reports(opened->profile);
    answer->process_stay = PT_STAY_NEW;
    answer->stay_context = made;
}

static void answer_file(const web *w, const pt_serve_request *request, pt_serve_answer *answer)
{
    PT_AUTO(pt_buf) said = PT_BUF_INIT;
    pt_say_into(&said);
    const pt_cmd_context *opened = pt_web_open_file(w->base, request);
    pt_say_into(NULL);
    if (opened == NULL) {
        answer_text(answer, 400, pt_buf_text(&said));
    } else {
        answer_opened(w, request, opened, answer);
        if (said.size > 0) note_facts(answer, &said);
    }
}

/* Lists the user's questions. If the request posts a change, makes the change first. */
static void answer_questions(const pt_serve_request *request, pt_serve_answer *answer)
{
    PT_AUTO(pt_buf) said = PT_BUF_INIT;
    pt_say_into(&said);
    const bool is_done = !request->posts || pt_web_keep_question(pt_serve_get(request, "name"),
                                                                 pt_serve_get(request, "at"));
    if (is_done) pt_web_list_questions(&answer->body);
    pt_say_into(NULL);
    answer->type = "application/json";
    if (!is_done)
        answer_text(answer, 400, pt_buf_text(&said));
    else if (said.size > 0)
        note_facts(answer, &said);
}

/* Answers with the facts of the profile as it is now. If the profile has changed, this process
 * replaces the process that answered for the old profile. */
static void answer_again(const web *w, pt_serve_answer *answer)
{
    web *now = pt_alloc(1, sizeof *now);
    pt_out out;
    *now = *w;
    const pt_cmd_context *const read = pt_web_live_look(w->base, &now->live);
    if (read != NULL) now->base = read;
    pt_out_to_buf(&out, &answer->body);
    const pt_app app = app_of(now);
    pt_render_app_facts(&out, &app);
    pt_out_done(&out, NULL);
    answer->type = "application/json";
    if (read == NULL) return;
    prepare_reports(read->profile);
    answer->process_stay = PT_STAY_HERE;
    answer->stay_context = now;
}

static void on_request(void *context, const pt_serve_request *request, pt_serve_answer *answer)
{
    const web *w = context;
    const char *path = request->path;
    if (request->posts && strcmp(path, "/file") == 0) return answer_file(w, request, answer);
    if (request->posts && strcmp(path, "/again") == 0 && w->live.state != PT_LIVE_NOT)
        return answer_again(w, answer);
    if (strcmp(path, "/questions") == 0) return answer_questions(request, answer);
    if (request->posts)
        return answer_text(answer, 404, "Files are taken at /file?name=NAME only.\n");
    if (strcmp(path, "/") == 0 || strcmp(path, "/ui") == 0)
        return redirect_to(w, request, "/ui/", answer);
    if (strcmp(path, "/download") == 0 || strcmp(path, "/ui/download") == 0)
        return answer_download(w, answer);
    if (pt_begins(path, "/ui/") && request->by_token) return redirect_to(w, request, path, answer);
    if (strcmp(path, "/ui/") == 0) return answer_page(w, answer);
    if (pt_begins(path, "/ui/")) {
        if (pt_begins(path + 4, "flamegraph") && path[14] != '\0') /* names of old */
            return redirect_to(w, request, "/ui/flamegraph", answer);
        if (pt_web_route_find(path + 4) != NULL) return answer_page(w, answer);
    }
    const pt_web_route *route = pt_begins(path, "/api/") ? pt_web_route_find(path + 5) : NULL;
    if (route != NULL) return answer_report(w, request, route, answer);
    answer_text(answer, 404, "There is no such page. The pages begin at /ui/\n");
}

/* ---- Until a signal ---- */

static int stopped = -1; /* an eventfd: readable after SIGINT or SIGTERM, in whatever thread */

static void on_stop(int signal_number)
{
    const int before = errno;
    const uint64_t one = 1;
    if (write(stopped, &one, sizeof one) < 0) {
    } /* the write fails only if the descriptor is readable already */
    errno = before;
}

/* Waits for a signal. Removes the file that a browser was given once the browser has opened the
 * page, at the latest at the end. */
static void wait_for_stop(const pt_server *server, char *file)
{
    struct pollfd fds[] = {{.fd = stopped, .events = POLLIN},
                           {.fd = pt_serve_opened_fd(server), .events = POLLIN}};
    while (fds[0].revents == 0) {
        fds[0].revents = fds[1].revents = 0;
        if (poll(fds, file != NULL ? 2 : 1, -1) < 0 || fds[1].revents == 0) continue;
        pt_view_forget(file);
        file = NULL;
    }
    pt_view_forget(file);
}

/* The largest file that the page takes; 0 = no files. A profile names programs, and its reports
 * show the symbols and code of these programs. So only users of this machine may drop files. */
static uint64_t file_bytes_at(const char *address, const pt_web_options *options)
{
    pt_serve_address at;
    const bool is_private =
        pt_serve_parse(address, &at, NULL) == PT_OK && pt_serve_is_loopback(at.host);
    return options->takes_files && is_private ? PT_WEB_FILE_BYTES : 0;
}

int pt_web_serve(const pt_cmd_context *base, const pt_web_options *options,
                 void (*url_said)(const char *url))
{
    const struct sigaction action = {.sa_handler = on_stop, .sa_flags = SA_RESTART};
    struct sigaction before[2];
    pt_cmd_context alone = *base;
    alone.pool = NULL;
    alone.confined = true;
    const char *const address = options->address != NULL ? options->address : "";
    web w = {.base = &alone, .options = options, .file_bytes = file_bytes_at(address, options)};
    if (options->live != NULL) w.live = *options->live;
    pt_server *server = NULL;
    pt_error error = PT_ERROR_INIT;
    prepare_reports(alone.profile);
    stopped = eventfd(0, EFD_CLOEXEC);
    if (stopped < 0) {
        pt_error_errno(&error, errno, "eventfd");
        return pt_fail(&error);
    }
    sigaction(SIGINT, &action, &before[0]);
    sigaction(SIGTERM, &action, &before[1]);
    int status = PT_EXIT_OK;
    if (pt_serve_open(address, options->live != NULL && w.file_bytes == 0 ? 1 : w.file_bytes,
                      on_request, &w, &server, &error) != PT_OK) {
        status = pt_fail(&error);
    } else {
        url_said(pt_serve_url(server));
        if (!pt_serve_is_private(server))
            pt_say("warning: this address is open to the network and not encrypted; the "
                   "profile, its sources and its code can be read on the way");
        wait_for_stop(server, options->no_browser ? NULL : pt_view_address(pt_serve_url(server)));
        pt_serve_close(server);
    }
    sigaction(SIGINT, &before[0], NULL);
    sigaction(SIGTERM, &before[1], NULL);
    close(stopped);
    return status;
}
