/* environment.c: does what the environment variables request when a program begins, unless the
 * program forbids it.
 *
 * environment.def has the variables. The process that was given CPUPROFILE=NAME writes NAME; the
 * processes that it starts write NAME_PID. In a job of a batch system the number of the process in
 * the job stands before the PID.
 *
 * The library's variable PITOT_CPUPROFILE_FIRST names the first process for all others: it holds
 * the process id and the time when the process began. exec keeps both, and no later process with
 * that id has the same time. CPUPROFILE itself is never changed. gperftools marks its children by
 * the high bit of CPUPROFILE's first byte (2.x) or by CPUPROFILE_USE_PID; the library obeys both
 * marks. */
#include "agent/agent.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/auxv.h>
#include <unistd.h>

#include "gperftools/profiler.h"

#pragma weak pitot_default_options /* the program's; NULL if it has none */

static bool forbidden; /* the program forbids the library to read the environment */

static const char *const env_names[PT_ENV_COUNT] = {
#define X(name, usage, meaning) [PT_ENV_##name] = #name,
#include "agent/environment.def"
#undef X
};

const char *pt_environment(pt_env variable)
{
    const char *const value = forbidden ? NULL : getenv(env_names[variable]);
    return value != NULL && value[0] != '\0' ? value : NULL;
}

/* ---- what the processes of a recording share ---- */

/* The value of PITOT_RECORD_ENGINE: the engine's letter, a letter if a program will be traced, the
 * user for whom the engine works. The recorder fills the value with dots. Processes overwrite its
 * characters, so that `environ` and its strings stay where they are. NULL: the variable is not set.
 */
static char *shared_text(void)
{
    const char *const text = pt_environment(PT_ENV_PITOT_RECORD_ENGINE);
    return text != NULL && strlen(text) == PT_SHARED_ENGINE_BYTES ? (char *)(uintptr_t)text : NULL;
}

/* Writes the user id as 8 hexadecimal digits, the lowest digit first. */
static void put_user(char *to, uint32_t user)
{
    for (int i = 0; i < 8; i++)
        to[i] = "0123456789abcdef"[user >> 4 * i & 15];
}

char pt_environment_engine(void)
{
    char user[8];
    const char *const text = shared_text();
    put_user(user, geteuid());
    return text == NULL || memcmp(text + 2, user, sizeof user) != 0 ? '.' : text[0];
}

void pt_environment_share_engine(char engine)
{
    char *const text = shared_text();
    if (text == NULL) return;
    put_user(text + 2, geteuid());
    text[0] = engine;
}

bool pt_environment_may_be_traced(void)
{
    const char *const text = shared_text();
    return text == NULL || text[1] != '.';
}

void pt_environment_note_tracer(char *const envp[])
{
    const char *const name = env_names[PT_ENV_PITOT_RECORD_ENGINE];
    const size_t length = strlen(name);
    for (; envp != NULL && *envp != NULL; envp++) {
        char *const text = *envp + length + 1;
        if (strncmp(*envp, name, length) == 0 && (*envp)[length] == '=' &&
            strlen(text) == PT_SHARED_ENGINE_BYTES)
            text[1] = 't';
    }
}

/* ---- what the program allows ---- */

/* Has the program more rights than its caller? It must not trust the environment variables, which
 * come from the caller. */
static bool is_privileged(void)
{
    return getauxval(AT_SECURE) != 0 || getuid() != geteuid() || getgid() != getegid();
}

static bool is_word(const char *text, size_t length, const char *word)
{
    return strlen(word) == length && memcmp(text, word, length) == 0;
}

static void take_default_options(void)
{
    const char *at = pitot_default_options != NULL ? pitot_default_options() : NULL;
    while (at != NULL && *at != '\0') {
        const size_t length = strcspn(at, ": ");
        if (is_word(at, length, "environment=off"))
            forbidden = true;
        else if (length > 0 && !is_word(at, length, "environment=on"))
            pt_agent_say("pitot_default_options: %.*s: not understood; known are environment=on "
                         "and environment=off",
                         (int)length, at);
        at += length + (at[length] != '\0');
    }
}

/* ---- the first process ---- */

/* When this process began, in clock ticks since boot: field 22 of /proc/PID/stat (proc(5)), the
 * 20th after the program's name, which may hold any character. */
static const char *begin_of(char *stat)
{
    char *at = strrchr(stat, ')');
    for (int field = 2; at != NULL && field < 22; field++)
        at = strchr(at + 1, ' ');
    if (at == NULL) return "0";
    at[1 + strcspn(at + 1, " ")] = '\0';
    return at + 1;
}

static void own_mark(char *to, size_t size)
{
    char stat[1024];
    const int fd = open("/proc/self/stat", O_RDONLY | O_CLOEXEC);
    const ssize_t got = fd >= 0 ? read(fd, stat, sizeof stat - 1) : 0;
    if (fd >= 0) close(fd);
    stat[got > 0 ? got : 0] = '\0';
    snprintf(to, size, "%d.%s", (int)pt_tick_getpid(), begin_of(stat));
}

/* Is the mark in the variable this process's own? A variable that is not set gets this process's
 * mark. The process keeps its mark at exec; its children find the mark of another process. */
static bool is_first(pt_env variable)
{
    char own[64];
    own_mark(own, sizeof own);
    const char *const first = getenv(env_names[variable]);
    if (first == NULL) setenv(env_names[variable], own, 1);
    return first == NULL || strcmp(first, own) == 0;
}

/* ---- names ---- */

/* Parallel jobs, by the first variable `sign` that is set. The number of the process in the job is
 * in `rank`, and stands after `prefix` in the name of the profile, as in gperftools (sysinfo.cc).
 * rank PT_ENV_NONE: no variable has the number, so the process id distinguishes the processes. */
static const struct {
    pt_env sign, rank;
    const char *prefix;
} jobs[] = {
    {PT_ENV_PMIX_RANK, PT_ENV_PMIX_RANK, ".rank-"},
    {PT_ENV_SLURM_JOB_ID, PT_ENV_SLURM_PROCID, ".slurmid-"},
    {PT_ENV_OMPI_HOME, PT_ENV_NONE, ""},
    {PT_ENV_PMI_RANK, PT_ENV_PMI_RANK, ".rank-"},
};

/* Adds the number in a parallel job to the name. Returns true if the process id must also be
 * added.
 */
static bool add_rank(char *name)
{
    for (size_t i = 0; i < sizeof jobs / sizeof jobs[0]; i++) {
        if (pt_environment(jobs[i].sign) == NULL) continue;
        const char *const rank = jobs[i].rank != PT_ENV_NONE ? pt_environment(jobs[i].rank) : NULL;
        return rank == NULL || strchr(rank, '/') != NULL ||
               !pt_agent_join(name, PATH_MAX, name, jobs[i].prefix) ||
               !pt_agent_join(name, PATH_MAX, name, rank);
    }
    return false;
}

/* gperftools 2.x sets the high bit of the name's first byte. A name may also begin with a letter
 * that is not ASCII: if the first two bytes are UTF-8, nothing was set, since the second byte of an
 * ASCII name never continues a UTF-8 letter. */
static bool is_marked(const char *name)
{
    const unsigned char first = (unsigned char)name[0], second = (unsigned char)name[1];
    const bool is_letter = first >= 0xc2 && first <= 0xf4 && (second & 0xc0) == 0x80;
    return first >= 0x80 && !is_letter;
}

/* Finds the name for this process, and in base the name to which its children append their process
 * ids. */
static bool name_profile(const char *asked, char *name, char *base)
{
    const bool other_says_child =
        is_marked(asked) || pt_environment(PT_ENV_CPUPROFILE_USE_PID) != NULL;
    const bool was_told = pt_environment(PT_ENV_PITOT_CPUPROFILE_FIRST) != NULL;
    const bool is_child =
        !is_first(PT_ENV_PITOT_CPUPROFILE_FIRST) || (!was_told && other_says_child);
    if (!pt_agent_absolute(asked, base)) return false;
    if (is_marked(asked)) {
        char plain[PATH_MAX];
        pt_agent_join(plain, sizeof plain, asked, "");
        plain[0] &= 0x7f;
        if (!pt_agent_absolute(plain, base)) return false;
    }
    const bool needs_pid = add_rank(base) || is_child;
    pt_agent_join(name, PATH_MAX, base, "");
    if (needs_pid) pt_name_add_pid(name);
    return name[0] != '\0';
}

/* ---- what the variables request ---- */

static void start_recording(const char *folder)
{
    pt_caller caller;
    pt_agent_lock(&caller);
    if (pt_agent_join(pt_agent.base_path, sizeof pt_agent.base_path, folder, ""))
        pt_session_start(NULL, NULL, NULL);
    pt_agent_unlock(&caller);
}

/* Warns if the program has used CPU time before the library was loaded: CPUPROFILE requests a
 * profile of the whole run, and that time is not in the profile. */
static void say_if_late(void)
{
    enum { WORTH_TELLING_MS = 100 };
    const uint64_t ms = pt_agent_clock_ns(CLOCK_PROCESS_CPUTIME_ID) / 1000000;
    if (ms >= WORTH_TELLING_MS && !pt_interposes())
        pt_agent_say("CPUPROFILE: the library was loaded by dlopen after %llu ms of CPU time, "
                     "which are not in the profile",
                     (unsigned long long)ms);
}

static void start_profile(const char *asked)
{
    static PT_FAR char name[PATH_MAX], base[PATH_MAX]; /* the constructor runs once */
    if (!name_profile(asked, name, base)) {
        pt_agent_say("CPUPROFILE=%s: not a file name: %s", asked, strerror(errno));
        return;
    }
    const char *const signal_text = pt_environment(PT_ENV_CPUPROFILESIGNAL);
    if (signal_text != NULL) {
        pt_toggle_start(signal_text, name, base);
        return;
    }
    pt_caller caller;
    pt_agent_lock(&caller);
    say_if_late();
    if (pt_session_start(name, NULL, NULL))
        pt_agent_join(pt_agent.base_path, sizeof pt_agent.base_path, base, "");
    pt_agent_unlock(&caller);
}

void pt_environment_begin(void)
{
    forbidden = is_privileged();
    take_default_options();
    const char *const folder = pt_environment(PT_ENV_PITOT_RECORD_DIR);
    const char *const asked = pt_environment(PT_ENV_CPUPROFILE);
    const char *const where = pt_environment(PT_ENV_PITOT_LISTEN);
    if (folder != NULL && folder[0] == '/')
        start_recording(folder);
    else if (asked != NULL)
        start_profile(asked);
    /* Processes that this process starts are not the first. At a Unix socket they listen at a path
     * with their process id; at a TCP port other than 0, which is taken, they do not listen. */
    if (where != NULL) pt_listen_start(where, is_first(PT_ENV_PITOT_LISTEN_FIRST));
}
