/* listen_pages.c: the pages of PITOT_LISTEN, which are those of gperftools
 * (pprof_remote_servers.html) and of Go's net/http/pprof.
 *
 *   GET  /pprof/profile?seconds=N   /debug/pprof/profile?seconds=N     a profile
 *   GET  /pprof/symbol              /debug/pprof/symbol                "num_symbols: 1"
 *   POST /pprof/symbol              0x40156a+0x401600                  "0x40156a<tab>name" lines
 *   GET  /pprof/cmdline             /debug/pprof/cmdline               as /proc/PID/cmdline
 *
 * One profile is collected at a time, into a temporary file without a name. */
#include "agent/listen.h"

#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/random.h>
#include <sys/stat.h>
#include <unistd.h>

enum {
    BODY_MAX_BYTES = 1 << 20, /* of the addresses in a POST */
    CMDLINE_MAX_BYTES = 16 << 10,
    SECONDS_USUAL = 30,
    SECONDS_MAX = 3600,
};

static const char plain[] = "text/plain; charset=utf-8";

static PT_FAR struct {
    uint64_t until_ms; /* 0: none is collected */
    char path[PATH_MAX];
} collected;

uint64_t pt_listen_now_ms(void)
{
    return pt_agent_clock_ns(CLOCK_MONOTONIC) / 1000000;
}

bool pt_listen_random_text(char to[33])
{
    uint8_t bytes[16];
    if (!pt_libc_random(bytes, sizeof bytes)) return false;
    for (size_t i = 0; i < sizeof bytes; i++)
        snprintf(to + 2 * i, 3, "%02x", bytes[i]);
    return true;
}

/* ---- answers ---- */

pt_listen_answer pt_listen_text(const char *status, const char *text)
{
    return (pt_listen_answer){
        .status = status, .type = plain, .bytes = text, .size_bytes = strlen(text), .file = -1};
}

void pt_listen_answer_done(pt_listen_answer *answer)
{
    if (answer->map_bytes > 0) pt_agent_unmap((void *)(uintptr_t)answer->bytes, answer->map_bytes);
    if (answer->file >= 0) close(answer->file);
    *answer = (pt_listen_answer){.file = -1};
}

static pt_listen_answer no_memory(void)
{
    return pt_listen_text("503 Service Unavailable", "no memory\n");
}

static pt_listen_answer of_memory(void *bytes, uint64_t size_bytes, size_t map_bytes)
{
    return (pt_listen_answer){.status = "200 OK",
                              .type = plain,
                              .bytes = bytes,
                              .size_bytes = size_bytes,
                              .map_bytes = map_bytes,
                              .file = -1};
}

/* ---- pages ---- */

static bool is_page(const pt_listen_request *r, const char *page)
{
    const char *path = r->path;
    if (strncmp(path, "/debug/pprof/", 13) == 0)
        path += 13;
    else if (strncmp(path, "/pprof/", 7) == 0)
        path += 7;
    else
        return false;
    return strcmp(path, page) == 0;
}

static pt_listen_answer answer_cmdline(void)
{
    char *const line = pt_agent_map(CMDLINE_MAX_BYTES);
    if (line == NULL) return no_memory();
    size_t held = 0;
    const int file = open("/proc/thread-self/cmdline", O_RDONLY | O_CLOEXEC);
    while (file >= 0 && held < CMDLINE_MAX_BYTES) {
        const ssize_t got = read(file, line + held, CMDLINE_MAX_BYTES - held);
        if (got <= 0) break;
        held += (size_t)got;
    }
    if (file >= 0) close(file);
    while (held > 0 && line[held - 1] == '\0')
        held--;
    return of_memory(line, held, CMDLINE_MAX_BYTES);
}

static pt_listen_verdict answer_symbols(const pt_listen_request *r, pt_listen_answer *ret)
{
    size_t size = 0, map_bytes = 0;
    if (!r->is_post) {
        *ret = pt_listen_text("200 OK", "num_symbols: 1\n");
        return PT_LISTEN_ANSWERED;
    }
    if (r->body_bytes > BODY_MAX_BYTES) {
        *ret = pt_listen_text("413 Content Too Large", "too many addresses at once\n");
        return PT_LISTEN_ANSWERED;
    }
    if (r->body == NULL) return PT_LISTEN_WANTS_BODY;
    char *const names = pt_listen_names(r->body, &size, &map_bytes);
    *ret = names != NULL ? of_memory(names, size, map_bytes) : no_memory();
    return PT_LISTEN_ANSWERED;
}

/* ---- the profile ---- */

static uint64_t asked_seconds(const char *query)
{
    for (const char *at = query; at != NULL && *at != '\0';
         at = strchr(at, '&') != NULL ? strchr(at, '&') + 1 : NULL) {
        char digits[16];
        if (strncmp(at, "seconds=", 8) != 0) continue;
        const size_t length = strcspn(at + 8, "&");
        if (length >= sizeof digits) return 0;
        memcpy(digits, at + 8, length);
        digits[length] = '\0';
        return pt_agent_number(digits, 0);
    }
    return SECONDS_USUAL;
}

static bool temporary_name(char *path, size_t size)
{
    char chance[33];
    const char *const folder = getenv("TMPDIR");
    return pt_listen_random_text(chance) &&
           (size_t)snprintf(path, size, "%s/pitot-%s.prof",
                            folder != NULL && folder[0] == '/' ? folder : "/tmp", chance) < size;
}

static bool start_session(void)
{
    pt_caller caller;
    if (!temporary_name(collected.path, sizeof collected.path)) return false;
    pt_agent_lock(&caller);
    bool started = false;
    if (!pt_agent.on) {
        pt_agent.served = true; /* a served session has no journal, so nothing is left behind if the
                                 * process is killed */
        pt_agent.served = started = pt_session_start(collected.path, NULL, NULL);
    }
    pt_agent_unlock(&caller);
    return started;
}

static pt_listen_verdict begin_profile(const pt_listen_request *r, pt_listen_answer *ret)
{
    const uint64_t seconds = asked_seconds(r->query);
    if (seconds == 0 || seconds > SECONDS_MAX) {
        *ret = pt_listen_text("400 Bad Request", "seconds: 1 to 3600\n");
        return PT_LISTEN_ANSWERED;
    }
    if (collected.until_ms != 0) {
        *ret = pt_listen_text("503 Service Unavailable", "a profile is being collected already\n");
        return PT_LISTEN_ANSWERED;
    }
    if (!start_session()) {
        *ret = pt_listen_text("503 Service Unavailable", "this process is being profiled already, "
                                                         "or has its own handler for SIGPROF\n");
        return PT_LISTEN_ANSWERED;
    }
    collected.until_ms = pt_listen_now_ms() + seconds * 1000;
    return PT_LISTEN_COLLECTS;
}

void pt_listen_pages_open(void)
{
    collected.until_ms = 0;
}

uint64_t pt_listen_collects_until_ms(void)
{
    return collected.until_ms;
}

pt_listen_answer pt_listen_collected(void)
{
    pt_caller caller;
    struct stat st;
    collected.until_ms = 0;
    pt_agent_lock(&caller);
    pt_session_stop(PT_JOURNAL_STOPPED, &caller);
    const int file = open(collected.path, O_RDONLY | O_CLOEXEC | O_NOFOLLOW);
    unlink(collected.path);
    if (file < 0 || pt_libc_fstat(file, &st) != 0) {
        if (file >= 0) close(file);
        return pt_listen_text("500 Internal Server Error", "the profile could not be written\n");
    }
    return (pt_listen_answer){.status = "200 OK",
                              .type = "application/octet-stream",
                              .size_bytes = (uint64_t)st.st_size,
                              .file = file};
}

pt_listen_verdict pt_listen_page(const pt_listen_request *r, pt_listen_answer *ret)
{
    if (is_page(r, "profile")) return begin_profile(r, ret);
    if (is_page(r, "symbol")) return answer_symbols(r, ret);
    *ret = is_page(r, "cmdline") ? answer_cmdline()
                                 : pt_listen_text("404 Not Found", "404 page not found\n");
    return PT_LISTEN_ANSWERED;
}
