/* small_files.c: every report on many small files, measured: no file of a kilobyte may take more
 * than so much CPU time and memory, whatever is in it.
 *
 *   small_files [--seed=N] [--from=N] [--count=N] [--format=NAME] [--report=WORD]
 *               [--cpu-ms=N] [--peak-mb=N] [--keep=FOLDER] SEEDS...
 *   small_files --list          names the formats
 *
 * SEEDS are files and folders. Case i of a format is made of the seed and i alone, so that it can
 * be made again by itself (--from=i --count=1). Reports run in a child of the program, one after
 * the other. Those of pitot and of pprof work on what was loaded once, as their shells do, and each
 * counts as if it had loaded the file itself; others are runs of the program's own main. What is
 * measured is the process's CPU clock, and the most memory that it ever had, less what it had
 * before. What seems to be too much is loaded and run again alone, TRIES times, and the best
 * counts. A child that ends or runs for ten seconds is a failure, and another goes on.
 *
 * The limits hold for what inflates to at most WORTH_BYTES, and grow with what it inflates to
 * beyond.
 *
 * Prints a line a format: cases, runs, the slowest and the largest; exits 1 if anything failed.
 */
#include "small_files.h"

#include "base/compress.h"
#include "base/file.h"
#include "base/grow.h"
#include "base/memory.h"
#include "cmd/cmd.h"
#include "formats/format.h"

#include <errno.h>
#include <fcntl.h>
#include <fts.h>
#include <libgen.h>
#include <malloc.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/time.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

enum {
    ARGS_MAX = 12,
    HANG_SECONDS = 10,
    TRIES = 6,
    SEED_FILE_MAX = 64 << 10,
    RECORD_BYTES = 1 << 20
};
enum { WORTH_BYTES = 16 << 10, INFLATED_MAX = 16 << 20 };

static struct {
    uint64_t seed;
    size_t from, count;
    const char *format, *report, *keep;
    uint64_t cpu_ns, peak_bytes;
} asked = {.seed = 1, .count = 100, .cpu_ns = 100000000, .peak_bytes = 50 << 20};

/* What the child tells its parent. */
typedef struct {
    uint64_t value;
    size_t case_number;
    char report[96];
} record;

typedef struct {
    size_t case_number, report_number; /* being run */
    double worth;                      /* of the case: see worth_of */
    uint64_t runs, failures;
    uint64_t above; /* the limits of a small file, and allowed since it inflates to more */
    record slowest, largest;
} shared;

static size_t report_count;
static char folder[32];
static FILE *answer; /* where this program's own lines go */

/* ---- seeds ---- */

static pt_seeds *seeds; /* one a format */

static size_t format_of(const uint8_t *data, size_t size)
{
    uint8_t head[65536] = {0};
    size_t bytes;
    const pt_format *format;
    if (pt_peel_head(data, size, head, sizeof head, &bytes, NULL) != PT_OK) return pt_format_count;
    const pt_probe_input input = {
        .head = head, .head_bytes = bytes, .file_bytes = bytes, .name = ""};
    if (pt_format_probe(&input, &format, NULL) != PT_OK) return pt_format_count;
    for (size_t i = 0; i < pt_format_count; i++)
        if (pt_formats[i] == format) return i;
    return pt_format_count;
}

/* What is longer than a small file is cut; some of its beginnings are seeds, too. */
static void add_seed(const char *path)
{
    pt_blob blob = PT_BLOB_INIT;
    if (pt_file_read(path, 0, SEED_FILE_MAX, &blob, NULL) != PT_OK) return;
    const size_t index = format_of(blob.data, blob.size);
    if (index < pt_format_count) {
        pt_seeds *const list = &seeds[index];
        PT_GROW(*list, list->count + 1);
        pt_buf *const item = &list->items[list->count++];
        *item = PT_BUF_INIT;
        pt_peel(&blob, 1 << 20, NULL, NULL, NULL);
        pt_put(item, blob.data,
               blob.size < PT_SMALL_BYTES_MAX ? blob.size : (size_t)PT_SMALL_BYTES_MAX);
    }
    pt_blob_done(&blob);
}

static int by_name(const FTSENT **a, const FTSENT **b)
{
    return strcmp((*a)->fts_name, (*b)->fts_name);
}

static void add_seeds(char **paths)
{
    FTS *const tree = fts_open(paths, FTS_LOGICAL | FTS_NOCHDIR, by_name);
    if (tree == NULL) return;
    for (FTSENT *entry; (entry = fts_read(tree)) != NULL;)
        if (entry->fts_info == FTS_F) add_seed(entry->fts_path);
    fts_close(tree);
}

/* ---- one run ---- */

static uint64_t cpu_ns(void)
{
    struct timespec t;
    clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &t);
    return (uint64_t)t.tv_sec * 1000000000 + (uint64_t)t.tv_nsec;
}

/* The number of a line of /proc/self/status, in bytes. */
static uint64_t status_bytes(const char *name)
{
    char text[4096];
    const int fd = open("/proc/self/status", O_RDONLY | O_CLOEXEC);
    const ssize_t size = fd >= 0 ? read(fd, text, sizeof text - 1) : -1;
    if (fd >= 0) close(fd);
    if (size <= 0) return 0;
    text[size] = '\0';
    const char *const at = strstr(text, name);
    return at != NULL ? strtoull(at + strlen(name), NULL, 10) * 1024 : 0;
}

static void forget_peak(void)
{
    const int fd = open("/proc/self/clear_refs", O_WRONLY | O_CLOEXEC);
    if (fd < 0) return;
    const ssize_t written = write(fd, "5", 1); /* the peak becomes what there is: proc(5) */
    (void)written;
    close(fd);
}

typedef struct {
    uint64_t ns, bytes;
} cost;

/* What a child knows of its memory. */
static struct {
    uint64_t begun_bytes;   /* what it held before its first report */
    uint64_t reached_bytes; /* the most that any report so far can have taken */
} memory;

static uint64_t peak_bytes(void)
{
    struct rusage usage;
    getrusage(RUSAGE_SELF, &usage);
    return (uint64_t)usage.ru_maxrss * 1024;
}

/* From now on HANG_SECONDS of CPU time end the child. */
static void watch(void)
{
    const struct itimerval hang = {.it_value.tv_sec = HANG_SECONDS};
    setitimer(ITIMER_PROF, &hang, NULL);
}

/* What the process has done since began_ns. bytes is an upper bound: what earlier reports have
 * freed and the allocator has kept counts. */
static cost cost_since(uint64_t began_ns)
{
    const uint64_t ns = cpu_ns() - began_ns, peak = peak_bytes();
    return (cost){ns, peak > memory.begun_bytes ? peak - memory.begun_bytes : 0};
}

/* Loads and runs with nothing kept from before, which takes several system calls more. */
static cost run_alone(size_t index, pt_small_kind kind)
{
    malloc_trim(0);
    forget_peak();
    watch();
    const uint64_t had = status_bytes("VmRSS:"), began = cpu_ns();
    const bool is_open = pt_small_open(kind);
    if (is_open) pt_small_run(index);
    cost c = cost_since(began);
    const uint64_t peak = peak_bytes();
    c.bytes = peak > had ? peak - had : 0;
    pt_small_close(kind, is_open);
    return c;
}

/* A case, and what a report on it may cost. */
typedef struct {
    const char *format, *path;
    size_t number;
    cost most;
} subject;

static void keep_case(const char *path, const char *format, size_t number)
{
    if (asked.keep == NULL) return;
    PT_FREE char *command = pt_strf("cp '%s' '%s/%s-%zu'", path, asked.keep, format, number);
    if (system(command) != 0) fprintf(answer, "# cannot keep it\n"); /* NOLINT(cert-env33-c) */
}

static void note(record *best, uint64_t value, size_t case_number, const char *line)
{
    if (value <= best->value) return;
    best->value = value;
    best->case_number = case_number;
    snprintf(best->report, sizeof best->report, "%s", line);
}

/* How many times WORTH_BYTES the file inflates to; at least 1. */
static double worth_of(const pt_buf *file)
{
    pt_blob blob = pt_blob_borrow(file->data, file->size);
    pt_peel(&blob, INFLATED_MAX, NULL, NULL, NULL);
    const double times = (double)blob.size / WORTH_BYTES;
    pt_blob_done(&blob);
    return times > 1 ? times : 1;
}

static void count_excess(shared *s, const subject *of, const char *line, const cost *c)
{
    s->above += c->ns > asked.cpu_ns || c->bytes > asked.peak_bytes;
    if (c->ns <= of->most.ns && c->bytes <= of->most.bytes) return;
    s->failures++;
    fprintf(answer,
            "# %s case %zu: %s: %.0f ms, %.0f MB; may take %.0f times as much as a small file\n",
            of->format, of->number, line, (double)c->ns / 1e6, (double)c->bytes / 1048576,
            s->worth);
    fflush(answer);
    keep_case(of->path, of->format, of->number);
}

/* Runs a report for which `load` was spent. Returns false if it may have taken more memory than any
 * before it, or more than it may of anything, so that it has to run alone. */
static bool measure(shared *s, const subject *of, size_t index, const cost *load)
{
    watch();
    const uint64_t began = cpu_ns();
    s->report_number = index;
    pt_small_run(index);
    cost c = cost_since(began);
    c.ns += load->ns;
    s->runs++;
    if (c.ns > asked.cpu_ns || c.bytes > asked.peak_bytes) return false;
    note(&s->slowest, c.ns, of->number, pt_small_line(index));
    if (c.bytes <= memory.reached_bytes + RECORD_BYTES) return true;
    memory.reached_bytes = c.bytes;
    return false;
}

static void measure_alone(shared *s, const subject *of, size_t index, pt_small_kind kind)
{
    cost best = {UINT64_MAX, UINT64_MAX};
    s->report_number = index;
    for (int i = 0; i < TRIES && (best.ns > asked.cpu_ns || best.bytes > asked.peak_bytes); i++) {
        const cost again = run_alone(index, kind);
        if (again.ns < best.ns) best.ns = again.ns;
        if (again.bytes < best.bytes) best.bytes = again.bytes;
    }
    const char *const line = pt_small_line(index);
    note(&s->slowest, best.ns, of->number, line);
    note(&s->largest, best.bytes, of->number, line);
    count_excess(s, of, line, &best);
}

/* The first report of the kind and the format at or behind number i; report_count if there is none.
 */
static size_t next_report(size_t i, pt_small_kind kind, const char *format)
{
    while (i < report_count && !pt_small_is_for(i, kind, format))
        i++;
    return i;
}

/* All reports of a kind, from number `from`. */
static void measure_kind(shared *s, const subject *of, pt_small_kind kind, size_t from)
{
    const size_t first = next_report(from, kind, of->format);
    if (first == report_count) return;
    s->report_number = first;
    bool *const is_suspect = pt_alloc(report_count, sizeof *is_suspect);
    watch();
    const uint64_t began = cpu_ns();
    const bool is_open = pt_small_open(kind);
    const cost load = cost_since(began);
    for (size_t i = first; i < report_count; i = next_report(i + 1, kind, of->format)) {
        if (is_open) {
            is_suspect[i] = !measure(s, of, i, &load);
        } else { /* all fail as the first one does */
            s->runs++;
            note(&s->slowest, load.ns, of->number, pt_small_line(i));
            is_suspect[i] = load.ns > asked.cpu_ns || load.bytes > asked.peak_bytes;
        }
    }
    pt_small_close(kind, is_open);
    for (size_t i = first; i < report_count; i = next_report(i + 1, kind, of->format))
        if (is_suspect[i]) measure_alone(s, of, i, kind);
    free(is_suspect);
}

/* ---- all cases of a format ---- */

/* Returns what the case is worth. */
static double write_case(size_t format, size_t number, const char *path)
{
    pt_random random = {.state = asked.seed * 1000003 + format * 7919 + number * 104729};
    pt_buf file;
    pt_small_file(&random, &seeds[format], strcmp(pt_formats[format]->name, "pprof") == 0, &file);
    const int fd = open(path, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0600);
    if (fd < 0 || write(fd, file.data, file.size) != (ssize_t)file.size) abort();
    close(fd);
    const double worth = worth_of(&file);
    pt_buf_done(&file);
    return worth;
}

/* tests/small_program, which lies beside this program; the caller frees. */
static char *program_path(void)
{
    char self[4096];
    const ssize_t size = readlink("/proc/self/exe", self, sizeof self - 1);
    if (size < 0) abort();
    self[size] = '\0';
    return pt_strf("%s/small_program", dirname(self));
}

static void child(shared *s, size_t format, size_t from, size_t report_from)
{
    const char *const name = pt_formats[format]->name;
    PT_FREE char *path = pt_strf("%s/case", folder);
    PT_FREE char *out = pt_strf("%s/out", folder);
    const int nothing = open("/dev/null", O_RDWR | O_CLOEXEC);
    dup2(nothing, STDIN_FILENO);
    dup2(nothing, STDOUT_FILENO);
    if (getenv("SMALL_FILES_SAY") == NULL) dup2(nothing, STDERR_FILENO);
    PT_FREE char *program = program_path();
    pt_small_use(path, program, out);
    malloc_trim(0);
    forget_peak();
    memory.begun_bytes = status_bytes("VmRSS:");
    for (size_t i = from; i < asked.from + asked.count; i++) {
        s->case_number = i;
        s->worth = write_case(format, i, path);
        const subject of = {.format = name,
                            .path = path,
                            .number = i,
                            .most = {.ns = (uint64_t)((double)asked.cpu_ns * s->worth),
                                     .bytes = (uint64_t)((double)asked.peak_bytes * s->worth)}};
        for (pt_small_kind kind = 0; kind < PT_SMALL_KINDS; kind++)
            measure_kind(s, &of, kind, i == from ? report_from : 0);
    }
    s->case_number = asked.from + asked.count;
}

static void run_format(shared *s, size_t format)
{
    const char *const name = pt_formats[format]->name;
    *s = (shared){.case_number = asked.from};
    size_t report_from = 0;
    while (s->case_number < asked.from + asked.count) {
        const size_t from = s->case_number;
        fflush(answer);
        const pid_t pid = fork();
        if (pid == 0) {
            prctl(PR_SET_PDEATHSIG, SIGKILL);
            child(s, format, from, report_from);
            _exit(0);
        }
        int status;
        if (pid < 0 || waitpid(pid, &status, 0) != pid) abort();
        if (WIFEXITED(status) && s->case_number == asked.from + asked.count) break;
        s->failures++, s->above++;
        fprintf(answer, "# %s case %zu: %s: the program ended by itself (status %d, signal %d)\n",
                name, s->case_number, pt_small_line(s->report_number),
                WIFEXITED(status) ? WEXITSTATUS(status) : -1,
                WIFSIGNALED(status) ? WTERMSIG(status) : 0);
        PT_FREE char *path = pt_strf("%s/case", folder);
        keep_case(path, name, s->case_number);
        report_from = s->report_number + 1;
    }
    fprintf(
        answer,
        "%s: %zu seeds, %zu cases, %llu runs, %llu failures, %llu above the limits that inflate to "
        "more than %d KB; slowest %.1f ms (case %zu, %s); largest %.1f MB (case %zu, %s)\n",
        name, seeds[format].count, asked.count, (unsigned long long)s->runs,
        (unsigned long long)s->failures, (unsigned long long)(s->above - s->failures),
        WORTH_BYTES / 1024, (double)s->slowest.value / 1e6, s->slowest.case_number,
        s->slowest.report, (double)s->largest.value / 1048576, s->largest.case_number,
        s->largest.report);
    fflush(answer);
}

static int parse(int argc, char **argv)
{
    int i = 1;
    for (; i < argc && strncmp(argv[i], "--", 2) == 0; i++) {
        const char *const value = strchr(argv[i], '=');
        if (value == NULL) break;
        const uint64_t number = strtoull(value + 1, NULL, 10);
        if (strncmp(argv[i], "--seed=", 7) == 0) asked.seed = number;
        if (strncmp(argv[i], "--from=", 7) == 0) asked.from = number;
        if (strncmp(argv[i], "--count=", 8) == 0) asked.count = number;
        if (strncmp(argv[i], "--format=", 9) == 0) asked.format = value + 1;
        if (strncmp(argv[i], "--report=", 9) == 0) asked.report = value + 1;
        if (strncmp(argv[i], "--keep=", 7) == 0) asked.keep = value + 1;
        if (strncmp(argv[i], "--cpu-ms=", 9) == 0) asked.cpu_ns = number * 1000000;
        if (strncmp(argv[i], "--peak-mb=", 10) == 0) asked.peak_bytes = number << 20;
    }
    return i;
}

/* Begins a process that removes the folder when this one and its child have ended, in whatever way:
 * a test that takes too long is killed. They have the other end of the pipe. */
static bool guard_folder(void)
{
    int ends[2];
    if (pipe2(ends, O_CLOEXEC) != 0) return false;
    const pid_t pid = fork();
    if (pid < 0) return false;
    if (pid != 0) return close(ends[0]) == 0;
    char byte;
    const int nothing = open("/dev/null", O_RDWR | O_CLOEXEC);
    for (int fd = 0; fd <= 2; fd++)
        dup2(nothing, fd);
    close(ends[1]);
    setsid();
    while (read(ends[0], &byte, 1) < 0 && errno == EINTR) {
    }
    execlp("rm", "rm", "-rf", "--", folder, NULL);
    _exit(127);
}

/* In memory where that can be: files are written by the hundred thousand. */
static bool make_folder(void)
{
    snprintf(folder, sizeof folder, "/dev/shm/pitot-small-XXXXXX");
    if (mkdtemp(folder) != NULL) return guard_folder();
    snprintf(folder, sizeof folder, "/tmp/pitot-small-XXXXXX");
    return mkdtemp(folder) != NULL && guard_folder();
}

/* The default limit as a number, so that not every report reads it out of /proc. */
static void settle_memory_limit(void)
{
    PT_FREE char *limit =
        pt_strf("%llu", (unsigned long long)(pt_memory_of_machine("") / PT_MEMORY_SHARE));
    setenv(PT_MEMORY_VARIABLE, limit, 0);
}

int main(int argc, char **argv)
{
    const int first = parse(argc, argv);
    for (size_t i = 0; argc == 2 && strcmp(argv[1], "--list") == 0 && i < pt_format_count; i++)
        puts(pt_formats[i]->name);
    if (argc == 2) return 0;
    answer = fdopen(fcntl(STDOUT_FILENO, F_DUPFD_CLOEXEC, 100), "w");
    shared *const s =
        mmap(NULL, sizeof *s, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    if (answer == NULL || s == MAP_FAILED || !make_folder() || first >= argc) return 2;
    settle_memory_limit();
    setenv("HOME", folder, 1);
    setenv("XDG_CACHE_HOME", folder, 1);
    unsetenv("DEBUGINFOD_URLS");
    seeds = pt_alloc(pt_format_count, sizeof *seeds);
    report_count = pt_small_choose(asked.report);
    add_seeds(argv + first);
    uint64_t failures = 0;
    for (size_t i = 0; i < pt_format_count; i++) {
        if (asked.format != NULL && strcmp(asked.format, pt_formats[i]->name) != 0) continue;
        if (seeds[i].count == 0) {
            fprintf(answer, "%s: no seeds\n", pt_formats[i]->name);
            failures++;
            continue;
        }
        run_format(s, i);
        failures += s->failures;
    }
    fprintf(answer, "%llu failures\n", (unsigned long long)failures);
    fclose(answer);
    return failures > 0;
}
