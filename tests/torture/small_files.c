/* small_files.c: every report on many small files, measured: no file of a kilobyte may take more
 * than so much CPU time and memory, whatever is in it.
 *
 *   small_files [--seed=N] [--from=N] [--count=N] [--format=NAME] [--report=WORD]
 *               [--cpu-ms=N] [--peak-mb=N] [--keep=FOLDER] SEEDS...
 *   small_files --list          names the formats
 *
 * SEEDS are files and folders. Case i of a format is made of the seed and i alone, so that it can
 * be made again by itself (--from=i --count=1). Reports run in a child of the program, one after
 * the other, through the program's own main: what is measured is this process's CPU clock and the
 * most memory that it ever had, less what it had before. What is too slow is run twice more, and
 * the best counts. A child that ends or runs for ten seconds is a failure, and another goes on.
 *
 * The limits hold for what inflates to at most WORTH_BYTES, and grow with what it inflates to
 * beyond.
 *
 * Prints a line a format: cases, runs, the slowest and the largest; exits 1 if anything failed. */
#include "small_files.h"

#include "base/compress.h"
#include "base/file.h"
#include "base/grow.h"
#include "base/memory.h"
#include "cmd/cmd.h"
#include "formats/format.h"

#include <fcntl.h>
#include <fts.h>
#include <malloc.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/time.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

enum { ARGS_MAX = 12, HANG_SECONDS = 10, TRIES = 3, SEED_FILE_MAX = 64 << 10 };
enum { WORTH_BYTES = 16 << 10, INFLATED_MAX = 16 << 20 };

/* {} is the file; {o} a name for output. for_format: of what it is about alone. */
typedef struct {
    const char *line, *for_format;
} report;

static const report reports[] = {
    {"top {}", NULL},
    {"top --json {}", NULL},
    {"top --csv --by=line {}", NULL},
    {"top --by=file --tag-root=key {}", NULL},
    {"tree {}", NULL},
    {"tree --json {}", NULL},
    {"peek . {}", NULL},
    {"traces {}", NULL},
    {"tags {}", NULL},
    {"list . {}", NULL},
    {"weblist -o {o}.html . {}", NULL},
    {"flame -o {o}.html {}", NULL},
    {"flame -o {o}.svg {}", NULL},
    {"flame --invert -o {o}.svg {}", NULL},
    {"graph --engine=own -o {o}.svg {}", NULL},
    {"graph --engine=own --by=line --labels -o {o}.svg {}", NULL},
    {"graph -o {o}.dot {}", NULL},
    {"diff {} {}", NULL},
    {"dump {}", NULL},
    {"dump --json {}", NULL},
    {"info {}", NULL},
    {"info --json {}", NULL},
    {"merge -o {o}.pb.gz {} {}", NULL},
    {"top --focus=(a|b)+c --ignore=x$ --tag-focus=k=1:5 {}", NULL},
    {"pprof -symbolize=none -top {}", NULL},
    {"pprof -symbolize=none -lines -tree {}", NULL},
    {"pprof -symbolize=none -peek=. {}", NULL},
    {"pprof -symbolize=none -traces {}", NULL},
    {"pprof -symbolize=none -tags {}", NULL},
    {"pprof -symbolize=none -raw {}", NULL},
    {"pprof -symbolize=none -dot {}", NULL},
    {"pprof -symbolize=none -call_tree -dot {}", NULL},
    {"pprof -symbolize=none -callgrind -output={o}.callgrind {}", NULL},
    {"pprof -symbolize=none -topproto -output={o}.pb {}", NULL},
    {"pprof -symbolize=none -list=. {}", NULL},
    {"pprof -symbolize=none -comments {}", NULL},
    {"google-pprof --text {}", NULL},
    {"google-pprof --text --lines /bin/true {}", NULL},
    {"google-pprof --dot /bin/true {}", NULL},
    {"google-pprof --callgrind /bin/true {}", NULL},
    {"google-pprof --collapsed /bin/true {}", NULL},
    {"google-pprof --raw /bin/true {}", NULL},
    {"gprof /bin/true {}", "gmon"},
    {"gprof -l /bin/true {}", "gmon"},
    {"gprof /bin/true {}", "gmon_bsd"},
    {"dcpiprof {}", "dcpi"},
    {"dcpicat {}", "dcpi"},
};
enum { REPORTS = sizeof reports / sizeof reports[0], CONVERTS_MAX = 40 };

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
    record slowest, largest;
} shared;

static char lines[REPORTS + CONVERTS_MAX][96];
static const char *line_format[REPORTS + CONVERTS_MAX];
static size_t line_count;
static char folder[] = "/tmp/pitot-small-XXXXXX";
static FILE *answer; /* where this program's own lines go */

static void add_line(const char *line, const char *for_format)
{
    if (asked.report != NULL && strstr(line, asked.report) == NULL) return;
    line_format[line_count] = for_format;
    snprintf(lines[line_count++], sizeof lines[0], "%s", line);
}

static void list_reports(void)
{
    for (size_t i = 0; i < REPORTS; i++)
        add_line(reports[i].line, reports[i].for_format);
    for (size_t i = 0; i < pt_format_count; i++) {
        char line[96];
        if (pt_formats[i]->write == NULL) continue;
        snprintf(line, sizeof line, "convert --to=%s --output={o}.%s {}", pt_formats[i]->name,
                 pt_formats[i]->name);
        add_line(line, NULL);
    }
}

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

/* Splits the line at spaces; {} and {o} become paths. */
static int make_args(char *line, const char *path, const char *out, char **args, char *memory,
                     size_t room)
{
    int count = 0;
    args[count++] = (char *)(uintptr_t) "pitot";
    char *state = NULL;
    for (char *word = strtok_r(line, " ", &state); word != NULL && count + 1 < ARGS_MAX;
         word = strtok_r(NULL, " ", &state)) {
        const char *const hole = strstr(word, "{o}");
        if (strcmp(word, "{}") == 0) {
            args[count++] = (char *)(uintptr_t)path;
        } else if (hole != NULL) {
            const int n =
                snprintf(memory, room, "%.*s%s%s", (int)(hole - word), word, out, hole + 3);
            args[count++] = memory;
            memory += n + 1;
            room -= (size_t)n + 1;
        } else {
            args[count++] = word;
        }
    }
    args[count] = NULL;
    return count;
}

static void run_report(const char *text, const char *path, const char *out, uint64_t *ret_ns,
                       uint64_t *ret_bytes)
{
    char line[96], memory[512], *args[ARGS_MAX];
    snprintf(line, sizeof line, "%s", text);
    const int count = make_args(line, path, out, args, memory, sizeof memory);
    const struct itimerval hang = {.it_value.tv_sec = HANG_SECONDS}, never = {0};
    malloc_trim(0);
    forget_peak();
    const uint64_t had = status_bytes("VmRSS:");
    setitimer(ITIMER_PROF, &hang, NULL); /* SIGPROF ends the child */
    const uint64_t began = cpu_ns();
    pt_cmd_main(count, args);
    *ret_ns = cpu_ns() - began;
    setitimer(ITIMER_PROF, &never, NULL);
    const uint64_t peak = status_bytes("VmHWM:");
    *ret_bytes = peak > had ? peak - had : 0;
}

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

static void measure(shared *s, const char *format, size_t number, size_t index, const char *path,
                    const char *out)
{
    uint64_t ns = UINT64_MAX, bytes = UINT64_MAX;
    const uint64_t most_ns = (uint64_t)((double)asked.cpu_ns * s->worth);
    const uint64_t most_bytes = (uint64_t)((double)asked.peak_bytes * s->worth);
    s->report_number = index;
    for (int i = 0; i < TRIES && (ns > most_ns || bytes > most_bytes); i++) {
        uint64_t this_ns, this_bytes;
        run_report(lines[index], path, out, &this_ns, &this_bytes);
        if (this_ns < ns) ns = this_ns;
        if (this_bytes < bytes) bytes = this_bytes;
    }
    s->runs++;
    note(&s->slowest, ns, number, lines[index]);
    note(&s->largest, bytes, number, lines[index]);
    if (ns <= most_ns && bytes <= most_bytes) return;
    s->failures++;
    fprintf(answer,
            "# %s case %zu: %s: %.0f ms, %.0f MB; may take %.0f times as much as a small file\n",
            format, number, lines[index], (double)ns / 1e6, (double)bytes / 1048576, s->worth);
    fflush(answer);
    keep_case(path, format, number);
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

static void child(shared *s, size_t format, size_t from, size_t report_from)
{
    const char *const name = pt_formats[format]->name;
    PT_FREE char *path = pt_strf("%s/case", folder);
    PT_FREE char *out = pt_strf("%s/out", folder);
    const int nothing = open("/dev/null", O_RDWR | O_CLOEXEC);
    dup2(nothing, STDIN_FILENO);
    dup2(nothing, STDOUT_FILENO);
    if (getenv("SMALL_FILES_SAY") == NULL) dup2(nothing, STDERR_FILENO);
    for (size_t i = from; i < asked.from + asked.count; i++) {
        s->case_number = i;
        s->worth = write_case(format, i, path);
        for (size_t k = i == from ? report_from : 0; k < line_count; k++) {
            if (line_format[k] != NULL && strcmp(line_format[k], name) != 0) continue;
            measure(s, name, i, k, path, out);
        }
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
            child(s, format, from, report_from);
            _exit(0);
        }
        int status;
        if (pid < 0 || waitpid(pid, &status, 0) != pid) abort();
        if (WIFEXITED(status) && s->case_number == asked.from + asked.count) break;
        s->failures++;
        fprintf(answer, "# %s case %zu: %s: the program ended by itself (status %d, signal %d)\n",
                name, s->case_number, lines[s->report_number],
                WIFEXITED(status) ? WEXITSTATUS(status) : -1,
                WIFSIGNALED(status) ? WTERMSIG(status) : 0);
        PT_FREE char *path = pt_strf("%s/case", folder);
        keep_case(path, name, s->case_number);
        report_from = s->report_number + 1;
    }
    fprintf(answer,
            "%s: %zu seeds, %zu cases, %llu runs, %llu failures; slowest %.1f ms (case %zu, %s); "
            "largest %.1f MB (case %zu, %s)\n",
            name, seeds[format].count, asked.count, (unsigned long long)s->runs,
            (unsigned long long)s->failures, (double)s->slowest.value / 1e6, s->slowest.case_number,
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

int main(int argc, char **argv)
{
    const int first = parse(argc, argv);
    for (size_t i = 0; argc == 2 && strcmp(argv[1], "--list") == 0 && i < pt_format_count; i++)
        puts(pt_formats[i]->name);
    if (argc == 2) return 0;
    answer = fdopen(fcntl(STDOUT_FILENO, F_DUPFD_CLOEXEC, 100), "w");
    shared *const s =
        mmap(NULL, sizeof *s, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    if (answer == NULL || s == MAP_FAILED || mkdtemp(folder) == NULL || first >= argc) return 2;
    setenv("HOME", folder, 1);
    setenv("XDG_CACHE_HOME", folder, 1);
    unsetenv("DEBUGINFOD_URLS");
    seeds = pt_alloc(pt_format_count, sizeof *seeds);
    list_reports();
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
    PT_FREE char *command = pt_strf("rm -rf %s", folder);
    if (system(command) != 0) failures++; /* NOLINT(cert-env33-c): a folder of our own */
    fprintf(answer, "%llu failures\n", (unsigned long long)failures);
    fclose(answer);
    return failures > 0;
}
