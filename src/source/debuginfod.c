/* debuginfod.c: see debuginfod.h. */
#include "source/debuginfod.h"

#include <curl/curl.h>
#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include "base/buf.h"
#include "base/clock.h"
#include "base/grow.h"
#include "base/lazy_curl.h"
#include "base/place.h"

#define TIMEOUT_S      90
#define TIMEOUT_BYTES  102400 /* bytes that must arrive within the timeout */
#define CONNECT_S      10
#define CACHE_MISS_S   600
#define SAY_EVERY_MS   100
#define REDIRECTS_MAX  10
#define NAME_BYTES_MAX 255
#define ID_BYTES_MIN   4

typedef struct {
    char *url; /* without trailing "/" */
    bool is_dead;
} server;

struct pt_debuginfod {
    PT_VECTOR(server) servers;
    char *folder, *agent;
    pt_debuginfod_options options; /* its strings are unused */
    pthread_mutex_t lock;          /* protects is_dead, and serialises the callback */
};

/* ---- making ---- */

pt_debuginfod *pt_debuginfod_new(const pt_debuginfod_options *options)
{
    if (options->urls == NULL || options->folder == NULL || options->folder[0] != '/') return NULL;
    pt_debuginfod *client = pt_alloc(1, sizeof *client);
    PT_FREE char *urls = pt_strdup(options->urls);
    char *state = NULL;
    for (char *url = strtok_r(urls, " \t\n", &state); url != NULL;
         url = strtok_r(NULL, " \t\n", &state)) {
        if (strstr(url, "://") == NULL) continue; /* elfutils' keywords, such as ima:permissive */
        for (size_t n = strlen(url); n > 0 && url[n - 1] == '/'; n--)
            url[n - 1] = '\0';
        PT_PUSH(client->servers, (server){.url = pt_strdup(url)});
    }
    client->folder = pt_strdup(options->folder);
    client->agent = pt_strdup(options->agent != NULL ? options->agent : "pitot");
    client->options = *options;
    pthread_mutex_init(&client->lock, NULL);
    if (client->servers.count > 0) return client;
    pt_debuginfod_free(client);
    return NULL;
}

void pt_debuginfod_free(pt_debuginfod *client)
{
    if (client == NULL) return;
    for (size_t i = 0; i < client->servers.count; i++)
        free(client->servers.items[i].url);
    PT_FREE_ALL(client->servers.items, client->folder, client->agent);
    pthread_mutex_destroy(&client->lock);
    free(client);
}

/* ---- the cache ---- */

static const char *kind_name(pt_debuginfod_kind kind)
{
    static const char *const names[] = {"executable", "debuginfo", "source"};
    return names[kind];
}

/* Writes a path as one file name, as elfutils does. */
static void put_escaped(pt_buf *name, const char *path)
{
    for (const char *c = path; *c != '\0'; c++) {
        if (*c == '/')
            pt_put_text(name, "##");
        else if (*c == '#')
            pt_put_text(name, "#_");
        else
            pt_put_u8(name, (uint8_t)*c);
    }
}

/* The time in seconds for which an empty file in the cache means that no server has the file. */
static int64_t cache_miss_s(const pt_debuginfod *client)
{
    PT_FREE char *path = pt_strf("%s/cache_miss_s", client->folder);
    FILE *file = fopen(path, "re");
    long long seconds;
    const bool has_seconds = file != NULL && fscanf(file, "%lld", &seconds) == 1 && seconds >= 0;
    if (file != NULL) fclose(file);
    return has_seconds ? seconds : CACHE_MISS_S;
}

typedef enum { KEPT_NOTHING, KEPT_FILE, KEPT_NO } kept;

static kept find_kept(const pt_debuginfod *client, const char *path)
{
    struct stat st;
    if (stat(path, &st) != 0 || !S_ISREG(st.st_mode) || !pt_owner_is_trusted(st.st_uid))
        return KEPT_NOTHING;
    if (st.st_size > 0) return access(path, R_OK) == 0 ? KEPT_FILE : KEPT_NOTHING;
    if (time(NULL) - st.st_mtim.tv_sec <= cache_miss_s(client)) return KEPT_NO;
    unlink(path);
    return KEPT_NOTHING;
}

/* ---- one download ---- */

typedef struct {
    pt_debuginfod *client;
    pt_debuginfod_progress progress;
    int64_t start_ms;
    uint64_t said_ms, announced_bytes;
    int fd;
    bool is_too_large;
    int write_errno;
} download;

static uint64_t elapsed_ms(const download *d)
{
    return (uint64_t)(pt_now_ms() - d->start_ms);
}

static void report_progress(download *d, bool is_over)
{
    pt_debuginfod *client = d->client;
    if (client->options.say == NULL) return;
    d->progress.elapsed_ms = d->said_ms = elapsed_ms(d);
    d->progress.is_over = is_over;
    pthread_mutex_lock(&client->lock);
    client->options.say(client->options.context, &d->progress);
    pthread_mutex_unlock(&client->lock);
}

static size_t take_bytes(char *data, size_t item, size_t size, void *context)
{
    download *d = context;
    (void)item;
    d->progress.done_bytes += size;
    const uint64_t max = d->client->options.max_bytes;
    d->is_too_large = max != 0 && d->progress.done_bytes > max;
    if (d->is_too_large) return 0;
    for (size_t done = 0; done < size;) {
        const ssize_t n = write(d->fd, data + done, size - done);
        if (n < 0 && errno == EINTR) continue;
        if (n <= 0) {
            d->write_errno = n < 0 ? errno : EIO;
            return 0;
        }
        done += (size_t)n;
    }
    return size;
}

/* Reads the size of the decompressed file from the server's own header. */
static size_t take_header(char *data, size_t item, size_t size, void *context)
{
    static const char name[] = "x-debuginfod-size:";
    download *d = context;
    (void)item;
    if (size > sizeof name && strncasecmp(data, name, sizeof name - 1) == 0) {
        PT_FREE char *text = pt_strndup(data + sizeof name - 1, size - (sizeof name - 1));
        d->announced_bytes = strtoull(text, NULL, 10);
    }
    return size;
}

static int check_time(void *context, curl_off_t total, curl_off_t now, curl_off_t up_total,
                      curl_off_t up_now)
{
    download *d = context;
    (void)now;
    (void)up_total;
    (void)up_now;
    d->progress.total_bytes = d->announced_bytes != 0 ? d->announced_bytes
                              : total > 0             ? (uint64_t)total
                                                      : 0;
    const uint64_t max = d->client->options.max_bytes;
    d->is_too_large |= max != 0 && d->progress.total_bytes > max;
    if (elapsed_ms(d) >= d->said_ms + SAY_EVERY_MS) report_progress(d, false);
    return d->is_too_large ? 1 : 0;
}

static void set_up(CURL *easy, const download *d, const char *url, char *message)
{
    const pt_debuginfod *client = d->client;
    const long timeout_s =
        client->options.timeout_s > 0 ? (long)client->options.timeout_s : TIMEOUT_S;
    curl_easy_setopt(easy, CURLOPT_URL, url);
#if LIBCURL_VERSION_NUM >= 0x075500
    curl_easy_setopt(easy, CURLOPT_PROTOCOLS_STR, "http,https,file");
    curl_easy_setopt(easy, CURLOPT_REDIR_PROTOCOLS_STR, "http,https");
#else
    curl_easy_setopt(easy, CURLOPT_PROTOCOLS,
                     (long)(CURLPROTO_HTTP | CURLPROTO_HTTPS | CURLPROTO_FILE));
    curl_easy_setopt(easy, CURLOPT_REDIR_PROTOCOLS, (long)(CURLPROTO_HTTP | CURLPROTO_HTTPS));
#endif
    curl_easy_setopt(easy, CURLOPT_FOLLOWLOCATION, 1L);
    curl_easy_setopt(easy, CURLOPT_MAXREDIRS, (long)REDIRECTS_MAX);
    curl_easy_setopt(easy, CURLOPT_FAILONERROR, 1L);
    curl_easy_setopt(easy, CURLOPT_NOSIGNAL, 1L);
    curl_easy_setopt(easy, CURLOPT_USERAGENT, client->agent);
    curl_easy_setopt(easy, CURLOPT_ACCEPT_ENCODING, "");
    curl_easy_setopt(easy, CURLOPT_CONNECTTIMEOUT,
                     timeout_s < CONNECT_S ? timeout_s : (long)CONNECT_S);
    curl_easy_setopt(easy, CURLOPT_LOW_SPEED_TIME, timeout_s);
    curl_easy_setopt(easy, CURLOPT_LOW_SPEED_LIMIT, TIMEOUT_BYTES / timeout_s);
    curl_easy_setopt(easy, CURLOPT_TIMEOUT, (long)client->options.max_seconds);
    curl_easy_setopt(easy, CURLOPT_ERRORBUFFER, message);
    curl_easy_setopt(easy, CURLOPT_WRITEFUNCTION, take_bytes);
    curl_easy_setopt(easy, CURLOPT_WRITEDATA, d);
    curl_easy_setopt(easy, CURLOPT_HEADERFUNCTION, take_header);
    curl_easy_setopt(easy, CURLOPT_HEADERDATA, d);
    curl_easy_setopt(easy, CURLOPT_NOPROGRESS, 0L);
    curl_easy_setopt(easy, CURLOPT_XFERINFOFUNCTION, check_time);
    curl_easy_setopt(easy, CURLOPT_XFERINFODATA, d);
}

static bool means_there_is_none(CURLcode code, long response)
{
    return (code == CURLE_HTTP_RETURNED_ERROR && (response == 404 || response == 410)) ||
           code == CURLE_FILE_COULDNT_READ_FILE;
}

/* Fetches url into d->fd. PT_ERR_NOTFOUND, or PT_ERR_SYSTEM with the reason. */
static pt_status fetch_url(download *d, const char *url, pt_error *reterr)
{
    char message[CURL_ERROR_SIZE] = "";
    CURL *easy = curl_easy_init();
    if (easy == NULL) {
        const char *missing = pt_curl_missing();
        return pt_error_set(reterr, PT_ERR_SYSTEM, "%s",
                            missing != NULL ? missing : "libcurl has no memory");
    }
    set_up(easy, d, url, message);
    report_progress(d, false);
    const CURLcode code = curl_easy_perform(easy);
    long response = 0;
    curl_easy_getinfo(easy, CURLINFO_RESPONSE_CODE, &response);
    curl_easy_cleanup(easy);
    report_progress(d, true);
    if (code == CURLE_OK && d->progress.done_bytes > 0) return PT_OK;
    if (d->is_too_large)
        return pt_error_set(reterr, PT_ERR_SYSTEM,
                            "the file exceeds the size limit (DEBUGINFOD_MAXSIZE)");
    if (d->write_errno != 0)
        return pt_error_errno(reterr, d->write_errno, "cannot write to %s", d->client->folder);
    if (code == CURLE_OK || means_there_is_none(code, response))
        return pt_error_set(reterr, PT_ERR_NOTFOUND, "the server does not have it");
    return pt_error_set(reterr, PT_ERR_SYSTEM, "%s",
                        message[0] != '\0' ? message : curl_easy_strerror(code));
}

/* Marks a server as unusable for this process. */
static void mark_dead(pt_debuginfod *client, server *s)
{
    pthread_mutex_lock(&client->lock);
    s->is_dead = true;
    pthread_mutex_unlock(&client->lock);
}

static bool is_dead(pt_debuginfod *client, const server *s)
{
    pthread_mutex_lock(&client->lock);
    const bool dead = s->is_dead;
    pthread_mutex_unlock(&client->lock);
    return dead;
}

/* Fetches from one server and renames the file into place. */
static pt_status fetch_from_server(pt_debuginfod *client, server *s, const char *request,
                                   const char *description, const char *path, pt_error *reterr)
{
    PT_FREE char *url = pt_strf("%s/%s", s->url, request);
    PT_FREE char *temp = pt_strf("%s.XXXXXX", path);
    download d = {.client = client, .progress = {.what = description, .server = s->url}};
    d.start_ms = pt_now_ms();
    d.fd = mkostemp(temp, O_CLOEXEC);
    if (d.fd < 0) return pt_error_errno(reterr, errno, "cannot write to %s", client->folder);
    pt_status status = fetch_url(&d, url, reterr);
    if (status == PT_OK && (fchmod(d.fd, 0400) != 0 || rename(temp, path) != 0))
        status = pt_error_errno(reterr, errno, "cannot write to %s", client->folder);
    else if (status == PT_ERR_SYSTEM && !d.is_too_large && d.write_errno == 0)
        mark_dead(client, s);
    close(d.fd);
    if (status != PT_OK) unlink(temp);
    return status;
}

static char *request_of(pt_debuginfod_kind kind, const char *build_id, const char *source)
{
    pt_buf text = PT_BUF_INIT;
    pt_putf(&text, "buildid/%s/%s", build_id, kind_name(kind));
    for (const char *c = kind == PT_DEBUGINFOD_SOURCE ? source : ""; *c != '\0'; c++) {
        const bool is_plain = (*c >= 'a' && *c <= 'z') || (*c >= 'A' && *c <= 'Z') ||
                              (*c >= '0' && *c <= '9') || strchr("/._~-", *c) != NULL;
        if (is_plain)
            pt_put_u8(&text, (uint8_t)*c);
        else
            pt_putf(&text, "%%%02X", (unsigned)(unsigned char)*c);
    }
    return pt_buf_take(&text, NULL);
}

/* The path in the cache; NULL when no file can have that name. */
static char *kept_path(const pt_debuginfod *client, pt_debuginfod_kind kind, const char *build_id,
                       const char *source)
{
    PT_AUTO(pt_buf) name = PT_BUF_INIT;
    pt_put_text(&name, kind_name(kind));
    if (kind == PT_DEBUGINFOD_SOURCE) put_escaped(&name, source);
    return name.size <= NAME_BYTES_MAX - 7
               ? pt_strf("%s/%s/%s", client->folder, build_id, pt_buf_text(&name))
               : NULL;
}

static pt_status fetch_from_all(pt_debuginfod *client, const char *request, const char *description,
                                const char *path, pt_error *reterr)
{
    pt_error why = PT_ERROR_INIT;
    bool all_missed = true;
    for (size_t i = 0; i < client->servers.count; i++) {
        server *s = &client->servers.items[i];
        pt_error error = PT_ERROR_INIT;
        if (is_dead(client, s)) {
            all_missed = false;
            continue;
        }
        const pt_status status = fetch_from_server(client, s, request, description, path, &error);
        if (status == PT_OK) return PT_OK;
        if (status == PT_ERR_NOTFOUND) continue;
        all_missed = false;
        why = error;
        pt_error_where(&why, s->url, NULL, -1);
    }
    if (all_missed) {
        const int fd = open(path, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0400);
        if (fd >= 0) close(fd);
        return pt_error_set(reterr, PT_ERR_NOTFOUND, "no debuginfod server has %s", description);
    }
    if (why.status == PT_OK)
        return pt_error_set(reterr, PT_ERR_NOTFOUND, "no debuginfod server can be reached");
    if (reterr != NULL) *reterr = why;
    return why.status;
}

pt_status pt_debuginfod_find(pt_debuginfod *client, pt_debuginfod_kind kind, const char *build_id,
                             const char *source, const char *program, char **ret_path,
                             pt_error *reterr)
{
    const size_t n = strlen(build_id);
    if (client == NULL || n < 2 * ID_BYTES_MIN || strspn(build_id, "0123456789abcdef") != n ||
        (kind == PT_DEBUGINFOD_SOURCE && (source == NULL || source[0] != '/')))
        return pt_error_set(reterr, PT_ERR_NOTFOUND, "no debuginfod server is configured");
    PT_FREE char *path = kept_path(client, kind, build_id, source);
    if (path == NULL)
        return pt_error_set(reterr, PT_ERR_NOTFOUND, "its name is too long for the cache");
    switch (find_kept(client, path)) {
    case KEPT_NO:
        return pt_error_set(reterr, PT_ERR_NOTFOUND, "no debuginfod server had it recently");
    case KEPT_FILE: *ret_path = pt_strdup(path); return PT_OK;
    case KEPT_NOTHING: break;
    }
    PT_FREE char *folder = pt_strf("%s/%s", client->folder, build_id);
    PT_FREE char *request = request_of(kind, build_id, source);
    PT_FREE char *description =
        kind == PT_DEBUGINFOD_SOURCE
            ? pt_strdup(source)
            : pt_strf("%s of %s", kind_name(kind), program != NULL ? program : build_id);
    /* A folder of another user (HOME under sudo) is not used as a cache; then no server is used. */
    if (!pt_make_folder(folder, 0700))
        return pt_error_set(reterr, PT_ERR_NOTFOUND, "you own no folder for the cache");
    const pt_status status = fetch_from_all(client, request, description, path, reterr);
    if (status == PT_OK) *ret_path = pt_strdup(path);
    return status;
}
