/* remote.c: profiles and names from servers, as the Perl pprof gets them:
 *
 *   host:80 host@8/pprof/heap  -> addresses -> all fetched at once
 *                              -> $PPROF_TMPDIR/PROGRAM.TIME.HOST[.PAGE], read as local files
 *   a server for a program     -> the program's name from /pprof/cmdline,
 *                                 names of addresses from /pprof/symbol
 *
 * Rule: FetchDynamicProfiles, CheckSymbolPage, FetchProgramName and FetchSymbols of pprof 2.0 of
 * gperftools. The original runs curl and takes a "not found" page for a profile; pitot reports an
 * error for such a page. load/fetch.h fetches.
 */
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "base/file.h"
#include "base/grow.h"
#include "cmd/remote.h"
#include "object/demangle.h"
#include "personality/perl/perl.h"

bool pt_perl_is_remote(const char *name)
{
    if (access(name, F_OK) == 0) return false;
    return pt_fetch_is_remote(PT_FETCH_OWN, name) || pt_fetch_expand_count(name) != 1 ||
           strstr(name, "/pprof/") != NULL;
}

static pt_fetch_options fetch_options(const pt_perl_session *s)
{
    return (pt_fetch_options){.rule = PT_FETCH_PERL,
                              .seconds = s->settings->seconds,
                              .agent = "pitot/" PT_VERSION,
                              .progress = pt_remote_progress};
}

/* ---- Names of files ---- */

/* Replaces slashes and control characters, which a file's name cannot have. */
static void clean_name(char *text)
{
    for (; *text != '\0'; text++) {
        if (*text == '/' || (unsigned char)*text < ' ') *text = '.';
    }
}

static char *host_of(const char *url)
{
    const char *const scheme = strstr(url, "://");
    const char *const host = scheme != NULL ? scheme + 3 : url;
    const bool six = *host == '[';
    return pt_strndup(host, six ? strcspn(host, "]/") : strcspn(host, ":/?"));
}

/* The page of a URL without its query, such as "/pprof/heap". The caller frees. */
static char *page_of(const char *url)
{
    const char *page = strstr(url, "/pprof/");
    for (const char *next; page != NULL && (next = strstr(page + 1, "/pprof/")) != NULL;)
        page = next;
    return page != NULL ? pt_strndup(page, strcspn(page, "?")) : pt_strdup("");
}

static bool is_cpu_page(const char *page)
{
    return strcmp(page, "/pprof/profile") == 0 || strcmp(page, "/pprof/pmuprofile") == 0 ||
           strcmp(page, "/pprof/censusprofile") == 0;
}

/* "FOLDER/PROGRAM.TIME.HOST", followed by ".PAGE" unless the page is that of a CPU profile. The
 * caller frees. */
static char *file_for(const pt_perl_session *s, const char *folder, const char *url, time_t now)
{
    const char *const slash = strrchr(s->program, '/');
    PT_FREE char *host = host_of(url);
    PT_FREE char *page = page_of(url);
    const bool plain =
        strcmp(page, "/pprof/profile") == 0 || strcmp(page, "/pprof/pmuprofile") == 0;
    PT_FREE char *name = pt_strf("%s.%lld.%s%s", slash != NULL ? slash + 1 : s->program,
                                 (long long)now, host, plain ? "" : page);
    clean_name(name);
    return pt_strf("%s/%s", folder, name);
}

/* ---- Profiles ---- */

/* Expands host@N in the names. The result has the last name first, as in the original. */
static size_t expand_names(const char *const *names, size_t count, char ***ret_names)
{
    size_t n = 0, cap = 0;
    char **all = NULL;
    for (size_t i = count; i-- > 0;) {
        const bool local = access(names[i], F_OK) == 0;
        for (size_t k = local ? 1 : pt_fetch_expand_count(names[i]); k-- > 0;) {
            all = pt_grow(all, &cap, n + 1, sizeof *all);
            all[n++] = local ? pt_strdup(names[i]) : pt_fetch_expand(names[i], k);
        }
    }
    *ret_names = all;
    return n;
}

static void announce_fetch(const char *url, const char *file, int64_t seconds, bool alone)
{
    PT_FREE char *page = page_of(url);
    if (!is_cpu_page(page)) {
        pt_perl_say("Fetching %s profile from %s to\n  %s\n", page, url, file);
        return;
    }
    pt_perl_say("Gathering CPU profile from %s for %" PRId64 " seconds to\n  %s\n", url, seconds,
                file);
    if (alone) pt_perl_say("Be patient...\n");
}

static bool write_file(const char *path, const pt_blob *body)
{
    pt_error error = PT_ERROR_INIT;
    if (pt_file_replace(path, body->data, body->size, &error) != PT_OK)
        return pt_fail(&error), false;
    pt_perl_say("Wrote profile to %s\n", path);
    return true;
}

/* Fetches from the servers among names[0, count), and replaces the name of each server by the file
 * of the server's answer. */
static bool fetch_all(pt_perl_session *s, char **names, size_t count)
{
    PT_FREE char *folder = pt_remote_folder();
    const pt_fetch_options options = fetch_options(s);
    PT_FREE size_t *place = pt_alloc(count + 1, sizeof *place);
    PT_FREE const char **asked = pt_alloc(count + 1, sizeof *asked);
    PT_FREE char **files = pt_alloc(count + 1, sizeof *files);
    PT_FREE pt_fetched *answers = pt_alloc(count + 1, sizeof *answers);
    const time_t now = time(NULL);
    size_t n = 0;
    if (folder == NULL) {
        pt_perl_say("Unable to create profile directory; set PPROF_TMPDIR\n");
        return false;
    }
    for (size_t i = 0; i < count; i++) {
        if (access(names[i], F_OK) == 0) continue;
        int64_t seconds = 0;
        PT_FREE char *url = pt_fetch_address(names[i], &options, &seconds, NULL);
        if (url == NULL) continue;
        files[n] = file_for(s, folder, url, now);
        announce_fetch(url, files[n], options.seconds, count == 1);
        place[n] = i;
        asked[n++] = names[i];
    }
    if (n > 1) pt_perl_say("Fetching %zu profiles, Be patient...\n", n);
    if (n > 0) pt_fetch_all(asked, n, &options, answers);
    bool ok = true;
    for (size_t k = 0; k < n; k++) {
        if (answers[k].error.status != PT_OK)
            pt_perl_say("Failed to get profile: %s: %s\n",
                        answers[k].url != NULL ? answers[k].url : asked[k],
                        answers[k].error.message);
        ok = answers[k].error.status == PT_OK && write_file(files[k], &answers[k].body) && ok;
        pt_fetched_done(&answers[k]);
        free(names[place[k]]);
        names[place[k]] = files[k];
    }
    return ok;
}

bool pt_perl_fetch(pt_perl_session *session, const char *const *names, size_t count,
                   char ***ret_files, size_t *ret_count)
{
    *ret_count = expand_names(names, count, ret_files);
    return fetch_all(session, *ret_files, *ret_count);
}

/* ---- The server for a program ---- */

bool pt_perl_ask_program(pt_perl_session *session, const char *const *names, size_t count)
{
    char **all = NULL;
    const size_t n = expand_names(names, count, &all);
    const pt_fetch_options options = fetch_options(session);
    session->server = n > 0 ? pt_fetch_address(all[0], &options, NULL, NULL) : NULL;
    for (size_t i = 0; i < n; i++)
        free(all[i]);
    free(all);
    uint64_t symbols = 0;
    pt_error error = PT_ERROR_INIT;
    if (session->server == NULL) {
        pt_perl_say("The first profile should be a remote form to use /pprof/symbol\n");
        return false;
    }
    if (pt_fetch_symbol_count(session->server, &options, &symbols, &error) != PT_OK)
        return pt_fail(&error), false;
    if (symbols == 0) {
        pt_perl_say("Stripped binary. No symbols available.\n");
        return false;
    }
    free(session->program);
    session->program = NULL;
    if (pt_fetch_program(session->server, &options, &session->program, &error) != PT_OK)
        return pt_fail(&error), false;
    return true;
}

bool pt_perl_ask_names(pt_perl_session *session)
{
    const size_t count = session->addresses.count;
    const pt_fetch_options options = fetch_options(session);
    PT_FREE char **names = pt_alloc(count + 1, sizeof *names);
    pt_error error = PT_ERROR_INIT;
    if (pt_fetch_names(session->server, session->addresses.items, count, &options, names, &error) !=
        PT_OK)
        return pt_fail(&error), false;
    session->given_names = pt_grow(session->given_names, &session->given_names_cap, count + 1,
                                   sizeof *session->given_names);
    for (size_t i = 0; i < count; i++) {
        session->given_names[i] = PT_NONE;
        if (names[i] == NULL) continue;
        PT_FREE char *readable = pt_demangle(names[i], PT_DEMANGLE_BINUTILS);
        session->given_names[i] = pt_perl_wordz(session, readable != NULL ? readable : names[i]);
        free(names[i]);
    }
    session->given_names_count = count;
    return true;
}
