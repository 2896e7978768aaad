/* fetch.h: fetches profiles from servers: HOST:PORT[/PATH], a URL, or a Unix socket.
 *
 *   name -> address (by the rule of the command) -> GET, many at once -> bytes
 *   addresses without a name -> POST to the server that the profile came from -> function names
 *
 * Accepted names:
 *
 *   localhost:6060                      http; the path by the rule, see pt_fetch_rule
 *   http://host:1234/pprof/heap?x=y     also https, and https+insecure (any certificate)
 *   unix:/run/app.sock                  over a Unix socket; the path by the rule
 *   unix:/run/app.sock:/pprof/heap      over a Unix socket, with a path
 *   host@8/pprof/profile                PERL only: 0.host to 7.host (pt_fetch_expand)
 *
 * Limits: bytes (max_bytes), time (the timeout), redirects (10, http and https only), concurrent
 * requests (PT_FETCH_AT_ONCE). Nothing is written to disk. In a build without libcurl every fetch
 * fails with PT_ERR_UNSUPPORTED.
 */
#pragma once

#include "base/error.h"
#include "base/file.h"
#include "model/profile.h"

#define PT_FETCH_AT_ONCE 128

/* The default path and other conventions of a command. */
typedef enum {
    PT_FETCH_OWN,  /* /debug/pprof/profile, or /pprof/profile if the server lacks that; CPU profiles
                      collect for PT_FETCH_OWN_SECONDS by default */
    PT_FETCH_GO,   /* `go tool pprof`: /debug/pprof/profile; the query is sorted */
    PT_FETCH_PERL, /* google-pprof: /pprof/profile; 30 s; seconds= is always added */
} pt_fetch_rule;

#define PT_FETCH_OWN_SECONDS  10
#define PT_FETCH_PERL_SECONDS 30

/* The progress of the requests of one call. */
typedef struct pt_fetch_progress {
    size_t count, done; /* requests; finished ones, failed or not */
    uint64_t bytes;     /* received so far */
    double elapsed_s;
    int64_t seconds; /* the longest collection time asked of a server; 0: unknown */
    bool over;       /* the last report of this call */
} pt_fetch_progress;

typedef struct pt_fetch_options {
    pt_fetch_rule rule;
    int64_t seconds; /* collection time; 0: by the address, or the rule */
    /* Seconds; 0: GO takes 1.5 times the collection time, OWN 5 s more than that, PERL 1.01 times
     * plus 60 s; all take 60 s without a collection time. The complete answer must arrive in that
     * time (GO and PERL: 5 s later). */
    int64_t timeout_s;
    const char *tls_cert, *tls_key,
        *tls_ca;        /* PEM files; NULL: none; for tls_ca the system's CAs */
    uint64_t max_bytes; /* limit of one answer; 0: 1 GiB */
    const char *agent;  /* User-Agent; NULL: "pitot" */
    /* All may be NULL. say: a line for the user ("Fetching profile over HTTP from ..."), in the
     * rule's words. progress: about five times a second, on the calling thread. */
    void (*say)(void *context, const char *line);
    void (*progress)(void *context, const pt_fetch_progress *progress);
    /* For pt_fetch_symbolize: the readable form of a server's name, which the caller frees; NULL:
     * keep the name. */
    char *(*demangle)(void *context, const char *name);
    void *context;
} pt_fetch_options;

/* The version of libcurl; NULL: the build has none. Static. */
const char *pt_fetch_version(void);

/* True if a name, which is the path of no file, is the address of a server. The rule decides:
 *   OWN    a URL of http or https, unix:PATH, or HOST:PORT with or without a path
 *   GO     the result of net/url, as adjustURL of google/pprof takes it
 *   PERL   every name */
bool pt_fetch_is_remote(pt_fetch_rule rule, const char *name);

/* The number of names in PERL's "host@N/path" (1 for another form; at most 10,000), and the i-th of
 * them, which the caller frees. */
size_t pt_fetch_expand_count(const char *name);
char *pt_fetch_expand(const char *name, size_t i);

/* The first address for a name, which the caller frees; NULL: not an address. *ret_seconds: its
 * collection time (0: none); *ret_timeout_s: its timeout; both may be NULL. */
char *pt_fetch_address(const char *name, const pt_fetch_options *options, int64_t *ret_seconds,
                       int64_t *ret_timeout_s);

/* The result for one name. */
typedef struct pt_fetched {
    char *url;      /* the URL that answered, or failed last; complete, or unix:PATH:/PATH */
    pt_blob body;   /* empty after a failure */
    pt_error error; /* PT_OK, or the reason of failure: PT_ERR_NOTFOUND for status 404,
                       PT_ERR_LIMIT, ... */
} pt_fetched;

/* Frees the URL and the body. */
void pt_fetched_done(pt_fetched *fetched);

/* Fetches all names, at most PT_FETCH_AT_ONCE at a time; fills ret_fetched[0, count). Each result
 * has its own error. */
void pt_fetch_all(const char *const *names, size_t count, const pt_fetch_options *options,
                  pt_fetched *ret_fetched);

/* An address beside a profile's address, which the caller frees; word: "symbol", "cmdline". In a
 * path that contains /debug/pprof/ or ends in a name of gperftools (/pprof/heap, growth, profile,
 * pmuprofile, contention, wall, filteredprofile, censusprofile), replaces the last word; any other
 * path becomes "/symbolz" for symbol (internal/symbolz of google/pprof) or "/cmdline". Drops the
 * query. */
char *pt_fetch_neighbour(const char *profile_url, const char *word);

/* argv[0] of the program that a profile's server runs (GET .../cmdline). The caller frees it. */
pt_status pt_fetch_program(const char *profile_url, const pt_fetch_options *options,
                           char **ret_program, pt_error *reterr);
/* The number of symbols that .../symbol has (GET "num_symbols: N"). Fails if it does not answer. */
pt_status pt_fetch_symbol_count(const char *profile_url, const pt_fetch_options *options,
                                uint64_t *ret_count, pt_error *reterr);

/* Function names for addresses, from one server (POST 0xA+0xB+...). ret_names[i]: as the server has
 * it, to be freed, or NULL without an answer. */
pt_status pt_fetch_names(const char *profile_url, const uint64_t *addresses, size_t count,
                         const pt_fetch_options *options, char **ret_names, pt_error *reterr);

/* The origin of a mapping: the server that can name its addresses. */
typedef struct pt_remote_mapping {
    char *url;      /* of the profile */
    char *key;      /* the mapping's build id, else its file, else "" (also for addresses without a
                       mapping) */
    uint64_t start; /* address of the mapping in that process */
} pt_remote_mapping;

/* Names the locations that pt_symbolize left without names. For each mapping without functions,
 * requests the names of its addresses without lines from a server of its origin; addresses are
 * shifted by the distance that merging moved the mapping. force: also mappings with functions.
 * Returns a new reference, to the same profile if nothing was added. A server that does not answer
 * is reported to diag; it is no failure. */
pt_status pt_fetch_symbolize(const pt_profile *profile, const pt_remote_mapping *mappings,
                             size_t mapping_count, bool force, const pt_fetch_options *options,
                             const pt_profile **ret_profile, pt_diag *diag, pt_error *reterr);
