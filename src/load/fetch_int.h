/* fetch_int.h: shared by the files that fetch: parsed addresses, and requests. */
#pragma once

#include "load/fetch.h"

/* A parsed address; texts are never NULL, and owned. */
typedef struct pt_url {
    char *scheme; /* "http", "https", "https+insecure", or "unix" */
    char *host;  /* with port and user; of unix the socket's path, "@name" for an abstract socket */
    char *path;  /* as written, percent-encoded; "" or begins with / */
    char *query; /* without the question mark; "": none */
} pt_url;

/* Frees the texts. */
void pt_url_done(pt_url *url);
/* Parses an absolute URL of one of these schemes. False, with nothing to free: another text. */
bool pt_url_parse(const char *text, pt_url *ret_url);

/* The address of a name by the rule. With OWN, *ret_other is a second address for servers without
 * the first, or NULL. The caller frees both. */
char *pt_fetch_addresses(const char *name, const pt_fetch_options *options, int64_t *ret_seconds,
                         int64_t *ret_timeout_s, char **ret_other);

/* One request. */
typedef struct pt_request {
    const char *url;   /* in the form that pt_url_parse accepts */
    const char *other; /* second URL, used when url answers 404; or NULL */
    const void *post;  /* NULL: GET */
    size_t post_bytes;
    const char *content_type; /* of the posted bytes */
    int64_t timeout_s;
    int64_t seconds; /* collection time that it asks for; 0: unknown */
} pt_request;

/* Runs all requests concurrently; results as for pt_fetch_all. */
void pt_http_run(const pt_request *requests, size_t count, const pt_fetch_options *options,
                 pt_fetched *ret_fetched);
