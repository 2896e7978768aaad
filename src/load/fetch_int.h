/* fetch_int.h: what the parts of fetching share: addresses taken apart, and requests. */
#ifndef PT_LOAD_FETCH_INT_H
#define PT_LOAD_FETCH_INT_H

#include "load/fetch.h"

/* An address in its parts; texts are never NULL. */
typedef struct pt_url {
    char *scheme; /* "http", "https", "https+insecure", or "unix" */
    char *host;   /* with port and user; unix: the socket's path, "@name" for an abstract one */
    char *path;   /* as written, percent signs and all; "" or begins with / */
    char *query;  /* without the question mark; "" if none */
} pt_url;

void pt_url_done(pt_url *url);
/* An absolute URL of one of the schemes above. False, with nothing to free, if it is none. */
bool pt_url_parse(const char *text, pt_url *ret_url);
/* To be freed. */
char *pt_url_text(const pt_url *url);

/* A name by the rule. In OWN, *ret_other is the address to try when the first is not there, or
 * NULL; to be freed. */
char *pt_fetch_addresses(const char *name, const pt_fetch_options *options, int64_t *ret_seconds,
                         int64_t *ret_timeout_s, char **ret_other);

typedef struct pt_request {
    const char *url;   /* as pt_url_parse takes it */
    const char *other; /* tried when url answers 404; or NULL */
    const void *post;  /* NULL: GET */
    size_t post_bytes;
    const char *content_type; /* of post */
    int64_t timeout_s;
    int64_t seconds; /* what it asks the server to collect; 0 = not known */
} pt_request;

/* Runs requests at once; see pt_fetch_all for what it promises. */
void pt_http_run(const pt_request *requests, size_t count, const pt_fetch_options *options,
                 pt_fetched *ret_fetched);

#endif
