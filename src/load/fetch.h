/* fetch.h: profiles from servers: HOST:PORT[/PATH], a URL, or a Unix socket become bytes.
 *
 *   name -> address (by the rule of the program that asks) -> GET, many at once -> bytes
 *   addresses without a name -> POST to the server that the profile came from -> function names
 *
 * Names understood:
 *
 *   localhost:6060                      http; the path by the rule, see pt_fetch_rule
 *   http://host:1234/pprof/heap?x=y     https, https+insecure (any certificate), too
 *   unix:/run/app.sock                  over a Unix socket; the path by the rule
 *   unix:/run/app.sock:/pprof/heap      over a Unix socket, with a path
 *   host@8/pprof/profile                PERL only: 0.host to 7.host (pt_fetch_expand)
 *
 * Bounded in every direction: bytes (max_bytes), time (the timeout), redirects (10, http and https
 * only), requests at once (PT_FETCH_AT_ONCE). Nothing is written to disk here. Built without
 * libcurl every fetch fails with PT_ERR_UNSUPPORTED, saying so.
 */
#ifndef PT_LOAD_FETCH_H
#define PT_LOAD_FETCH_H

#include "base/error.h"
#include "base/file.h"
#include "model/profile.h"

#define PT_FETCH_AT_ONCE 128

typedef enum {
    PT_FETCH_OWN,  /* without a path: /debug/pprof/profile, and /pprof/profile if that is not there;
                      CPU profiles are asked for PT_FETCH_OWN_SECONDS unless told otherwise */
    PT_FETCH_GO,   /* `go tool pprof`: without a path /debug/pprof/profile; the query sorted */
    PT_FETCH_PERL, /* google-pprof: without a path /pprof/profile; 30 s; seconds= is always added */
} pt_fetch_rule;

#define PT_FETCH_OWN_SECONDS  10
#define PT_FETCH_PERL_SECONDS 30

/* How far the requests of one call are. */
typedef struct pt_fetch_progress {
    size_t count, done; /* requests; finished ones, well or not */
    uint64_t bytes;     /* received so far */
    double elapsed_s;
    int64_t seconds; /* the longest that a server was asked to collect; 0 = not known */
    bool over;       /* the last report of this call */
} pt_fetch_progress;

typedef struct pt_fetch_options {
    pt_fetch_rule rule;
    int64_t seconds;   /* how long to collect; 0 = what the address says, or the rule */
    int64_t timeout_s; /* 0 = 1.5 times the seconds (OWN: and 5), or 60 without any (PERL: 1.01
                          times and 60). The
                          whole answer must be there then, in GO and PERL 5 s after it */
    const char *tls_cert, *tls_key, *tls_ca; /* PEM files; NULL = none, and the system's CAs */
    uint64_t max_bytes;                      /* of one answer; 0 = 1 GiB */
    const char *agent;                       /* User-Agent; NULL = "pitot" */
    /* May be NULL. say: a line as it happens ("Fetching profile over HTTP from ..."), in the words
     * of the rule. progress: about five times a second, on the calling thread. */
    void (*say)(void *context, const char *line);
    void (*progress)(void *context, const pt_fetch_progress *progress);
    /* For pt_fetch_symbolize: the name to show for one that a server gave, to be freed, or NULL if
     * it is to be shown as it is. */
    char *(*demangle)(void *context, const char *name);
    void *context;
} pt_fetch_options;

/* Is libcurl built in? Its version, or NULL. */
const char *pt_fetch_version(void);

/* Does a name that is no file name a server? OWN: a URL of http or https, unix:PATH, or HOST:PORT
 * with a path or without. GO: whatever net/url takes for one (adjustURL). PERL: anything. */
bool pt_fetch_is_remote(pt_fetch_rule rule, const char *name);

/* PERL's "host@N/path": how many names it stands for (1 if it is not that form, at most 10,000),
 * and the i-th of them, to be freed. */
size_t pt_fetch_expand_count(const char *name);
char *pt_fetch_expand(const char *name, size_t i);

/* The address that a name is first asked at, to be freed; NULL if it is none. The seconds that it
 * asks for (0 = none) and the timeout go to *ret_seconds and *ret_timeout_s (may be NULL). */
char *pt_fetch_address(const char *name, const pt_fetch_options *options, int64_t *ret_seconds,
                       int64_t *ret_timeout_s);

/* What became of one name. */
typedef struct pt_fetched {
    char *url;      /* that answered, or failed last; in the form that pt_fetch_get takes */
    pt_blob body;   /* empty after a failure */
    pt_error error; /* PT_OK, or why not: PT_ERR_NOTFOUND for status 404, PT_ERR_LIMIT, ... */
} pt_fetched;

void pt_fetched_done(pt_fetched *fetched);

/* Fetches all the names at once, at most PT_FETCH_AT_ONCE at a time; fills fetched[0, count). Each
 * has its own error; this function has none. */
void pt_fetch_all(const char *const *names, size_t count, const pt_fetch_options *options,
                  pt_fetched *ret_fetched);

/* One GET of a whole URL (or unix:PATH:/PATH) as it stands. The timeout is options' or 60 s. */
pt_status pt_fetch_get(const char *url, const pt_fetch_options *options, pt_blob *ret_body,
                       pt_error *reterr);
/* One POST; the answer's body. content_type NULL: application/octet-stream. */
pt_status pt_fetch_post(const char *url, const void *body, size_t body_bytes,
                        const char *content_type, const pt_fetch_options *options,
                        pt_blob *ret_body, pt_error *reterr);

/* The address of a neighbour of a profile's address, to be freed: "symbol", "cmdline". For a path
 * with /debug/pprof/ in it, or that ends in a name of gperftools' (/pprof/heap, growth, profile,
 * pmuprofile, contention), the last word is replaced; for any other path it is "/symbolz" for
 * symbol (internal/symbolz of google/pprof) and "/cmdline". The query is dropped. */
char *pt_fetch_neighbour(const char *profile_url, const char *word);

/* argv[0] of the program behind a profile's address (GET .../cmdline), to be freed. */
pt_status pt_fetch_program(const char *profile_url, const pt_fetch_options *options,
                           char **ret_program, pt_error *reterr);
/* Whether .../symbol answers, and how many symbols it knows (GET "num_symbols: N"). */
pt_status pt_fetch_symbol_count(const char *profile_url, const pt_fetch_options *options,
                                uint64_t *ret_count, pt_error *reterr);

/* Names for addresses, asked of one server (POST 0xA+0xB+...). ret_names[i] is a name to be freed,
 * or NULL where the server gave none. Names are as the server has them. */
pt_status pt_fetch_names(const char *profile_url, const uint64_t *addresses, size_t count,
                         const pt_fetch_options *options, char **ret_names, pt_error *reterr);

/* Where a mapping of a loaded profile was: which server can name its addresses. */
typedef struct pt_remote_mapping {
    char *url;      /* of the profile */
    char *key;      /* the mapping's build id, else its file, else "" (also: no mapping at all) */
    uint64_t start; /* of the mapping in that process */
} pt_remote_mapping;

/* Names what is left without one after pt_symbolize: for each mapping that does not have functions,
 * its addresses that have no line are asked of a server that it came from, shifted by how far the
 * mapping was moved when profiles were merged. force: mappings that have functions, too. The same
 * profile with one more reference if there was nothing to add. A server that does not answer is a
 * fact in diag, no failure. */
pt_status pt_fetch_symbolize(const pt_profile *profile, const pt_remote_mapping *mappings,
                             size_t mapping_count, bool force, const pt_fetch_options *options,
                             const pt_profile **ret_profile, pt_diag *diag, pt_error *reterr);

#endif
