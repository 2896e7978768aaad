/* fetch_http.c: runs requests with libcurl's multi interface, all on the calling thread. */
#include <curl/curl.h>
#include <inttypes.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/clock.h"
#include "base/lazy_curl.h"
#include "load/fetch_int.h"

#define BYTES_DEFAULT ((uint64_t)1 << 30)
#define FIRST_BYTES   ((size_t)64 << 10)
#define GRACE_S       5 /* time after the timeout until the request fails, under google/pprof's rules */
#define CONNECT_S     30 /* limit of the time to connect */
#define REDIRECTS_MAX 10
#define POLL_MS       200

/* A running transfer. */
typedef struct {
    CURL *easy;
    struct curl_slist *headers;
    const pt_request *request;
    const pt_fetch_options *options;
    pt_fetched *to;
    bool second; /* it uses request->other */
    bool over_limit, no_memory;
    uint64_t max_bytes;
    char status_line[128]; /* "404 Not Found" */
    bool is_text, is_pprof_error;
    char message[CURL_ERROR_SIZE];
} transfer;

static pthread_once_t initialised = PTHREAD_ONCE_INIT;

static void initialise_curl(void)
{
    curl_global_init(CURL_GLOBAL_DEFAULT);
}

const char *pt_fetch_version(void)
{
    return curl_version_info(CURLVERSION_NOW)->version;
}

/* ---- callbacks of curl ---- */

static size_t take_body(char *data, size_t item, size_t size, void *context)
{
    transfer *const t = context;
    pt_blob *const body = &t->to->body;
    (void)item;
    if (size > t->max_bytes - body->size) {
        t->over_limit = true;
        return 0;
    }
    const size_t had = body->size, need = had + size;
    if (body->kind != PT_BLOB_ANONYMOUS) {
        if (pt_blob_new(FIRST_BYTES > need ? FIRST_BYTES : need, body, NULL) != PT_OK)
            t->no_memory = true;
    } else if (need > body->map_bytes &&
               pt_blob_resize(body, need > had * 2 ? need : had * 2, NULL) != PT_OK) {
        t->no_memory = true;
    }
    if (t->no_memory) return 0;
    memcpy(pt_blob_bytes(body) + had, data, size);
    body->size = need; /* capacity is larger */
    return size;
}

static bool header_is(const char *data, size_t size, const char *name)
{
    const size_t length = strlen(name);
    return size > length && strncasecmp(data, name, length) == 0 && data[length] == ':';
}

static size_t take_header(char *data, size_t item, size_t size, void *context)
{
    transfer *const t = context;
    (void)item;
    if (size > 5 && memcmp(data, "HTTP/", 5) == 0) {
        const char *const space = memchr(data, ' ', size);
        size_t length = space != NULL ? size - (size_t)(space + 1 - data) : 0;
        while (length > 0 && (unsigned char)space[length] <= ' ')
            length--;
        snprintf(t->status_line, sizeof t->status_line, "%.*s", (int)length,
                 space != NULL ? space + 1 : "");
        t->is_text = t->is_pprof_error = false;
    }
    if (header_is(data, size, "Content-Type"))
        t->is_text = memmem(data, size, "text/plain", 10) != NULL;
    if (header_is(data, size, "X-Go-Pprof")) t->is_pprof_error = true;
    return size;
}

/* ---- One transfer ---- */

static void set_up_tls(CURL *easy, const pt_fetch_options *o, bool insecure)
{
    if (o->tls_cert != NULL) curl_easy_setopt(easy, CURLOPT_SSLCERT, o->tls_cert);
    if (o->tls_key != NULL) curl_easy_setopt(easy, CURLOPT_SSLKEY, o->tls_key);
    if (o->tls_ca != NULL) curl_easy_setopt(easy, CURLOPT_CAINFO, o->tls_ca);
    if (!insecure) return;
    curl_easy_setopt(easy, CURLOPT_SSL_VERIFYPEER, 0L);
    curl_easy_setopt(easy, CURLOPT_SSL_VERIFYHOST, 0L);
}

/* Sets curl's URL, and the Unix socket if the address has one. */
static bool set_up_address(transfer *t, const char *text)
{
    PT_AUTO(pt_url) url = {0};
    if (!pt_url_parse(text, &url)) return false;
    CURL *const easy = t->easy;
    PT_FREE char *address = NULL;
    const char *const mark = url.query[0] != '\0' ? "?" : "";
    if (strcmp(url.scheme, "unix") == 0) {
        const bool abstract = url.host[0] == '@';
        curl_easy_setopt(easy, abstract ? CURLOPT_ABSTRACT_UNIX_SOCKET : CURLOPT_UNIX_SOCKET_PATH,
                         url.host + (abstract ? 1 : 0));
        address = pt_strf("http://localhost%s%s%s", url.path, mark, url.query);
    } else {
        const bool http = strcmp(url.scheme, "http") == 0;
        address =
            pt_strf("%s://%s%s%s%s", http ? "http" : "https", url.host, url.path, mark, url.query);
    }
    set_up_tls(easy, t->options, strcmp(url.scheme, "https+insecure") == 0);
    curl_easy_setopt(easy, CURLOPT_URL, address);
    return true;
}

static int64_t grace_of(const pt_fetch_options *o)
{
    return o->rule == PT_FETCH_OWN ? 0 : GRACE_S;
}

static void set_up_bounds(const transfer *t)
{
    const long timeout_s = (long)(t->request->timeout_s + grace_of(t->options));
    CURL *const easy = t->easy;
    curl_easy_setopt(easy, CURLOPT_NOSIGNAL, 1L);
    curl_easy_setopt(easy, CURLOPT_TIMEOUT, timeout_s);
    curl_easy_setopt(easy, CURLOPT_CONNECTTIMEOUT, timeout_s < CONNECT_S ? timeout_s : CONNECT_S);
    curl_easy_setopt(easy, CURLOPT_FOLLOWLOCATION, 1L);
    curl_easy_setopt(easy, CURLOPT_MAXREDIRS, (long)REDIRECTS_MAX);
#if LIBCURL_VERSION_NUM >= 0x075500
    curl_easy_setopt(easy, CURLOPT_PROTOCOLS_STR, "http,https");
    curl_easy_setopt(easy, CURLOPT_REDIR_PROTOCOLS_STR, "http,https");
#else
    curl_easy_setopt(easy, CURLOPT_PROTOCOLS, (long)(CURLPROTO_HTTP | CURLPROTO_HTTPS));
    curl_easy_setopt(easy, CURLOPT_REDIR_PROTOCOLS, (long)(CURLPROTO_HTTP | CURLPROTO_HTTPS));
#endif
    curl_easy_setopt(easy, CURLOPT_HTTP_VERSION, (long)CURL_HTTP_VERSION_1_1);
}

/* Sets up a POST. Returns false if there is no memory. */
static bool set_up_post(transfer *t)
{
    const char *const type =
        t->request->content_type != NULL ? t->request->content_type : "application/octet-stream";
    PT_FREE char *line = pt_strf("Content-Type: %s", type);
    t->headers = curl_slist_append(NULL, line);
    if (t->headers == NULL || curl_slist_append(t->headers, "Expect:") == NULL)
        return false; /* so curl does not wait for 100 Continue */
    curl_easy_setopt(t->easy, CURLOPT_HTTPHEADER, t->headers);
    curl_easy_setopt(t->easy, CURLOPT_POST, 1L);
    curl_easy_setopt(t->easy, CURLOPT_POSTFIELDS, t->request->post);
    curl_easy_setopt(t->easy, CURLOPT_POSTFIELDSIZE_LARGE, (curl_off_t)t->request->post_bytes);
    curl_easy_setopt(t->easy, CURLOPT_POSTREDIR, (long)CURL_REDIR_POST_ALL);
    return true;
}

static const char *address_of(const transfer *t)
{
    return t->second ? t->request->other : t->request->url;
}

/* Starts the transfer. Returns false, with the error set, if it cannot start. */
static bool begin_transfer(transfer *t, CURLM *multi)
{
    t->easy = curl_easy_init();
    if (t->easy == NULL) {
        const char *missing = pt_curl_missing();
        pt_error_set(&t->to->error, missing != NULL ? PT_ERR_UNSUPPORTED : PT_ERR_NOMEM, "%s",
                     missing != NULL ? missing : "libcurl has no memory");
        return false;
    }
    t->max_bytes = t->options->max_bytes != 0 ? t->options->max_bytes : BYTES_DEFAULT;
    if (!set_up_address(t, address_of(t))) {
        pt_error_set(&t->to->error, PT_ERR_USAGE, "is not the address of a server");
        return false;
    }
    set_up_bounds(t);
    bool has_memory = multi != NULL && (t->request->post == NULL || set_up_post(t));
    curl_easy_setopt(t->easy, CURLOPT_USERAGENT,
                     t->options->agent != NULL ? t->options->agent : "pitot");
    curl_easy_setopt(t->easy, CURLOPT_WRITEFUNCTION, take_body);
    curl_easy_setopt(t->easy, CURLOPT_WRITEDATA, t);
    curl_easy_setopt(t->easy, CURLOPT_HEADERFUNCTION, take_header);
    curl_easy_setopt(t->easy, CURLOPT_HEADERDATA, t);
    curl_easy_setopt(t->easy, CURLOPT_ERRORBUFFER, t->message);
    curl_easy_setopt(t->easy, CURLOPT_PRIVATE, t);
    has_memory = has_memory && curl_multi_add_handle(multi, t->easy) == CURLM_OK;
    if (!has_memory) pt_error_set(&t->to->error, PT_ERR_NOMEM, "libcurl has no memory");
    return has_memory;
}

/* Copies the beginning of a text, with lines joined by spaces. */
static void one_line(const pt_blob *body, char *to, size_t size)
{
    size_t n = 0;
    for (size_t i = 0; i < body->size && n + 1 < size; i++) {
        const uint8_t c = body->data[i];
        const bool blank = c <= ' ' || c == 0x7f;
        if (blank && (n == 0 || to[n - 1] == ' ')) continue;
        to[n++] = blank ? ' ' : (char)c;
    }
    while (n > 0 && to[n - 1] == ' ')
        n--;
    to[n] = '\0';
}

static void fail_with_status(transfer *t, long code)
{
    char said[256] = "";
    if (t->is_text && (t->is_pprof_error || t->options->rule == PT_FETCH_OWN))
        one_line(&t->to->body, said, sizeof said);
    pt_error_set(&t->to->error, code == 404 ? PT_ERR_NOTFOUND : PT_ERR_SYSTEM,
                 "server response: %s%s%s", t->status_line, said[0] != '\0' ? " - " : "", said);
}

static void fail_with_code(transfer *t, CURLcode code)
{
    pt_error *const error = &t->to->error;
    if (t->over_limit) {
        pt_error_set(error, PT_ERR_LIMIT,
                     "the answer is larger than %" PRIu64 " bytes (--max-memory)", t->max_bytes);
    } else if (t->no_memory) {
        pt_error_set(error, PT_ERR_NOMEM, "there is no memory left for the answer");
    } else if (code == CURLE_OPERATION_TIMEDOUT) {
        pt_error_set(error, PT_ERR_SYSTEM, "no complete answer within %" PRId64 " s (--timeout)",
                     t->request->timeout_s + grace_of(t->options));
    } else {
        const char *const said = t->message[0] != '\0' ? t->message : curl_easy_strerror(code);
        pt_error_set(error, PT_ERR_SYSTEM, "%.400s", said);
        if (error->message[0] >= 'A' && error->message[0] <= 'Z' && error->message[1] >= 'a')
            error->message[0] |= 0x20;
    }
}

static void clean_transfer(transfer *t, CURLM *multi)
{
    if (t->easy == NULL) return;
    curl_multi_remove_handle(multi, t->easy);
    curl_easy_cleanup(t->easy);
    curl_slist_free_all(t->headers);
    t->easy = NULL;
    t->headers = NULL;
}

/* Ends a transfer; true if it now uses its second address. */
static bool settle_transfer(transfer *t, CURLM *multi, CURLcode code)
{
    long status = 0;
    curl_easy_getinfo(t->easy, CURLINFO_RESPONSE_CODE, &status);
    clean_transfer(t, multi);
    free(t->to->url);
    t->to->url = pt_strdup(address_of(t));
    if (code == CURLE_OK && status == 404 && t->request->other != NULL && !t->second) {
        pt_blob_done(&t->to->body);
        t->to->body = PT_BLOB_INIT;
        t->second = true;
        return begin_transfer(t, multi);
    }
    if (code != CURLE_OK)
        fail_with_code(t, code);
    else if (status != 200)
        fail_with_status(t, status);
    if (t->to->error.status != PT_OK) {
        pt_blob_done(&t->to->body);
        t->to->body = PT_BLOB_INIT;
    } else if (t->to->body.kind == PT_BLOB_ANONYMOUS) {
        /* Releases unused capacity. */
        pt_blob_resize(&t->to->body, t->to->body.size, NULL);
    }
    return false;
}

/* ---- All of them ---- */

static double now_s(void)
{
    return (double)pt_clock_ns(CLOCK_MONOTONIC) / 1e9;
}

typedef struct {
    CURLM *multi;
    transfer *transfers;
    size_t count, begun, done, running;
    const pt_fetch_options *options;
    double start_s;
    int64_t seconds;
} run_state;

static void report_progress(const run_state *s, bool over)
{
    if (s->options->progress == NULL) return;
    pt_fetch_progress p = {.count = s->count,
                           .done = s->done,
                           .elapsed_s = now_s() - s->start_s,
                           .seconds = s->seconds,
                           .over = over};
    for (size_t i = 0; i < s->begun; i++)
        p.bytes += s->transfers[i].to->body.size;
    s->options->progress(s->options->context, &p);
}

static void begin_more(run_state *s)
{
    while (s->begun < s->count && s->running < PT_FETCH_AT_ONCE) {
        if (begin_transfer(&s->transfers[s->begun++], s->multi))
            s->running++;
        else
            s->done++;
    }
}

static void take_finished(run_state *s)
{
    int left;
    for (CURLMsg *m; (m = curl_multi_info_read(s->multi, &left)) != NULL;) {
        if (m->msg != CURLMSG_DONE) continue;
        char *private = NULL;
        const CURLcode code = m->data.result;
        curl_easy_getinfo(m->easy_handle, CURLINFO_PRIVATE, &private);
        if (settle_transfer((transfer *)(void *)private, s->multi, code)) continue;
        s->running--;
        s->done++;
    }
}

void pt_http_run(const pt_request *requests, size_t count, const pt_fetch_options *options,
                 pt_fetched *ret)
{
    pthread_once(&initialised, initialise_curl);
    run_state s = {.multi = curl_multi_init(),
                   .transfers = pt_alloc(count, sizeof(transfer)),
                   .count = count,
                   .options = options,
                   .start_s = now_s()};
    for (size_t i = 0; i < count; i++) {
        ret[i] = (pt_fetched){.body = PT_BLOB_INIT, .error = PT_ERROR_INIT};
        s.transfers[i] = (transfer){.request = &requests[i], .options = options, .to = &ret[i]};
        if (requests[i].seconds > s.seconds) s.seconds = requests[i].seconds;
    }
    begin_more(&s);
    while (s.running > 0) {
        int running;
        curl_multi_perform(s.multi, &running);
        take_finished(&s);
        begin_more(&s);
        report_progress(&s, false);
        if (s.running > 0) curl_multi_poll(s.multi, NULL, 0, POLL_MS, NULL);
    }
    report_progress(&s, true);
    for (size_t i = 0; i < count; i++)
        clean_transfer(&s.transfers[i], s.multi);
    curl_multi_cleanup(s.multi);
    free(s.transfers);
}
