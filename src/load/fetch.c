/* fetch.c: makes requests from names, and results from answers. */
#include "load/fetch_int.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/buf.h"
#include "base/plain/ascending.h"
#include "base/reader.h"
#include "base/text.h"

#define TIMEOUT_S     60
#define NAMES_AT_ONCE 16384 /* addresses in one POST */

void pt_fetched_done(pt_fetched *f)
{
    free(f->url);
    pt_blob_done(&f->body);
    *f = (pt_fetched){.body = PT_BLOB_INIT, .error = PT_ERROR_INIT};
}

/* ---- Profiles ---- */

static pt_status check_tls(const pt_fetch_options *o, pt_error *reterr)
{
    const bool go = o->rule == PT_FETCH_GO;
    if (o->tls_cert != NULL && o->tls_key == NULL)
        return pt_error_set(reterr, PT_ERR_USAGE,
                            go ? "-tls_cert is specified, so -tls_key must also be specified"
                               : "--tls-cert needs --tls-key");
    if (o->tls_cert == NULL && o->tls_key != NULL)
        return pt_error_set(reterr, PT_ERR_USAGE,
                            go ? "-tls_key is specified, so -tls_cert must also be specified"
                               : "--tls-key needs --tls-cert");
    return PT_OK;
}

/* Seconds in the form of Go's time.Duration. */
static char *duration_text(int64_t seconds)
{
    if (seconds >= 3600)
        return pt_strf("%" PRId64 "h%" PRId64 "m%" PRId64 "s", seconds / 3600, seconds / 60 % 60,
                       seconds % 60);
    if (seconds >= 60) return pt_strf("%" PRId64 "m%" PRId64 "s", seconds / 60, seconds % 60);
    return pt_strf("%" PRId64 "s", seconds);
}

static void report_line(const pt_fetch_options *o, const char *line)
{
    if (o->say != NULL) o->say(o->context, line);
}

/* Reports the fetch, in the words of the rule's program. */
static void announce_fetch(const pt_fetch_options *o, const char *url, int64_t seconds)
{
    PT_FREE char *line = NULL;
    if (o->rule == PT_FETCH_GO) {
        line = pt_strf("Fetching profile over HTTP from %s", url);
        report_line(o, line);
        if (o->seconds <= 0) return;
        PT_FREE char *duration = duration_text(o->seconds);
        PT_FREE char *wait = pt_strf("Please wait... (%s)", duration);
        report_line(o, wait);
    } else if (o->rule == PT_FETCH_OWN) {
        line = seconds > 0 ? pt_strf("fetching %s (collects for %" PRId64 " s)", url, seconds)
                           : pt_strf("fetching %s", url);
        report_line(o, line);
    }
}

void pt_fetch_all(const char *const *names, size_t count, const pt_fetch_options *options,
                  pt_fetched *ret)
{
    PT_FREE pt_request *const requests = pt_alloc(count, sizeof *requests);
    char **const urls = pt_alloc(count * 2, sizeof *urls);
    PT_FREE pt_fetched *const answers = pt_alloc(count, sizeof *answers);
    PT_FREE size_t *const place = pt_alloc(count, sizeof *place);
    size_t n = 0;
    pt_error tls = PT_ERROR_INIT;
    check_tls(options, &tls);
    for (size_t i = 0; i < count; i++) {
        ret[i] = (pt_fetched){.body = PT_BLOB_INIT, .error = tls};
        pt_request request = {0};
        char *other = NULL;
        char *const url =
            pt_fetch_addresses(names[i], options, &request.seconds, &request.timeout_s, &other);
        urls[2 * i] = url;
        urls[2 * i + 1] = other;
        if (tls.status != PT_OK) continue;
        if (url == NULL) {
            pt_error_set(&ret[i].error, PT_ERR_USAGE, "is not the address of a server");
            continue;
        }
        request.url = url;
        request.other = other;
        announce_fetch(options, url, request.seconds);
        place[n] = i;
        requests[n++] = request;
    }
    pt_http_run(requests, n, options, answers);
    for (size_t k = 0; k < n; k++)
        ret[place[k]] = answers[k];
    for (size_t i = 0; i < 2 * count; i++)
        free(urls[i]);
    free(urls);
}

/* ---- Single requests ---- */

static pt_status run_one(const pt_request *request, const pt_fetch_options *options,
                         pt_blob *ret_body, pt_error *reterr)
{
    pt_fetched answer;
    const pt_status tls = check_tls(options, reterr);
    if (tls != PT_OK) return tls;
    pt_http_run(request, 1, options, &answer);
    const pt_status status = answer.error.status;
    if (status == PT_OK) {
        *ret_body = answer.body;
        answer.body = PT_BLOB_INIT;
    } else if (reterr != NULL) {
        *reterr = answer.error;
        pt_error_where(reterr, request->url, NULL, -1);
    }
    pt_fetched_done(&answer);
    return status;
}

static int64_t timeout_of(const pt_fetch_options *options)
{
    return options->timeout_s > 0 ? options->timeout_s : TIMEOUT_S;
}

/* POST; *ret_body is the answer's body. */
static pt_status post_body(const char *url, const void *body, size_t body_bytes,
                           const char *content_type, const pt_fetch_options *options,
                           pt_blob *ret_body, pt_error *reterr)
{
    const pt_request request = {.url = url,
                                .post = body,
                                .post_bytes = body_bytes,
                                .content_type = content_type,
                                .timeout_s = timeout_of(options)};
    return run_one(&request, options, ret_body, reterr);
}

/* The first line of the answer at a neighbouring address; the caller frees it. */
static pt_status first_line(const char *profile_url, const char *word,
                            const pt_fetch_options *options, char **ret_line, pt_error *reterr)
{
    PT_FREE char *url = pt_fetch_neighbour(profile_url, word);
    if (url == NULL) {
        pt_error_set(reterr, PT_ERR_USAGE, "is not the address of a server");
        if (reterr != NULL) pt_error_where(reterr, profile_url, NULL, -1);
        return PT_ERR_USAGE;
    }
    pt_fetch_options quiet = *options;
    quiet.progress = NULL;
    pt_blob body;
    const pt_request request = {.url = url, .timeout_s = timeout_of(&quiet)};
    const pt_status status = run_one(&request, &quiet, &body, reterr);
    if (status != PT_OK) return status;
    size_t length = 0;
    while (length < body.size && strchr("\n\r", (char)body.data[length]) == NULL)
        length++;
    *ret_line = pt_strndup((const char *)body.data, length);
    pt_blob_done(&body);
    return PT_OK;
}

pt_status pt_fetch_program(const char *profile_url, const pt_fetch_options *options,
                           char **ret_program, pt_error *reterr)
{
    return first_line(profile_url, "cmdline", options, ret_program, reterr);
}

pt_status pt_fetch_symbol_count(const char *profile_url, const pt_fetch_options *options,
                                uint64_t *ret_count, pt_error *reterr)
{
    char *line = NULL;
    const pt_status status = first_line(profile_url, "symbol", options, &line, reterr);
    if (status != PT_OK) return status;
    unsigned long long count;
    const bool has_count = sscanf(line, "num_symbols: %llu", &count) == 1;
    free(line);
    if (!has_count) {
        pt_error_set(reterr, PT_ERR_FORMAT, "the server does not report its number of symbols");
        if (reterr != NULL) pt_error_where(reterr, profile_url, NULL, -1);
        return PT_ERR_FORMAT;
    }
    *ret_count = count;
    return PT_OK;
}

/* ---- Names ---- */

typedef struct {
    uint64_t address;
    size_t place; /* index in the caller's array */
} wanted;

PT_ORDER(by_address, wanted, PT_UP(address) ?: PT_UP(place));

/* Finds "0xADDR NAME" anywhere in a line, as google/pprof's symbolz does. */
static const char *parse_name(const char *line, size_t length, uint64_t *ret_address,
                              size_t *ret_name_bytes)
{
    const char *const end = line + length;
    for (const char *at = line; (at = memmem(at, (size_t)(end - at), "0x", 2)) != NULL; at++) {
        const char *c = at + 2;
        uint64_t address = 0;
        for (int digit; c < end && c - at <= 2 + 16 && (digit = pt_hex_digit(*c)) >= 0; c++)
            address = address << 4 | (uint64_t)digit;
        if (c == at + 2 || c - at > 2 + 16 || c == end || (*c != ' ' && *c != '\t')) continue;
        while (c < end && (*c == ' ' || *c == '\t'))
            c++;
        *ret_address = address;
        *ret_name_bytes = (size_t)(end - c);
        return c;
    }
    return NULL;
}

static void take_names(const pt_blob *body, const wanted *sorted, size_t count, char **ret_names)
{
    pt_reader r;
    pt_reader_init(&r, body->data, body->size, NULL);
    size_t length;
    for (const char *line; (line = pt_read_line(&r, &length)) != NULL;) {
        uint64_t address;
        size_t bytes;
        const char *const name = parse_name(line, length, &address, &bytes);
        if (name == NULL || bytes == 0) continue;
        size_t i = PT_FIRST_FROM(sorted, count, address, address);
        for (; i < count && sorted[i].address == address; i++) {
            free(ret_names[sorted[i].place]);
            ret_names[sorted[i].place] = pt_strndup(name, bytes);
        }
    }
}

pt_status pt_fetch_names(const char *profile_url, const uint64_t *addresses, size_t count,
                         const pt_fetch_options *options, char **ret_names, pt_error *reterr)
{
    memset(ret_names, 0, count * sizeof *ret_names);
    PT_FREE char *url = pt_fetch_neighbour(profile_url, "symbol");
    if (url == NULL) return pt_error_set(reterr, PT_ERR_USAGE, "is not the address of a server");
    PT_FREE wanted *sorted = pt_alloc(count + 1, sizeof *sorted);
    for (size_t i = 0; i < count; i++)
        sorted[i] = (wanted){addresses[i], i};
    qsort(sorted, count, sizeof *sorted, by_address);
    pt_fetch_options quiet = *options;
    quiet.progress = NULL;
    pt_status status = PT_OK;
    for (size_t i = 0; i < count && status == PT_OK; i += NAMES_AT_ONCE) {
        PT_AUTO(pt_buf) query = PT_BUF_INIT;
        const size_t upto = count - i < NAMES_AT_ONCE ? count : i + NAMES_AT_ONCE;
        for (size_t k = i; k < upto; k++)
            pt_putf(&query, "%s0x%" PRIx64, k > i ? "+" : "", sorted[k].address);
        pt_blob answer;
        status = post_body(url, query.data, query.size, NULL, &quiet, &answer, reterr);
        if (status != PT_OK) break;
        take_names(&answer, sorted + i, upto - i, ret_names);
        pt_blob_done(&answer);
    }
    return status;
}
