/* habits.c: tables of words and options that users of perf and of other profilers type by habit. */
#include "cmd/habits.h"

#include <stdbool.h>
#include <stddef.h>
#include <string.h>

#include "base/text.h"
#include "recording/recording.h"

#define SERVE     "`pitot serve` shows all reports in a browser"
#define PEEK      "`pitot peek FUNCTION` shows the callers and callees of a function"
#define WAITS     "`pitot record --off-cpu COMMAND` shows where threads wait, and for how long"
#define NAMED     "`pitot convert --symbols=full -o named.pb.gz` keeps the names for other machines"
#define ONLY_PERF "pitot samples CPU time and waiting only; use perf"

static const struct {
    const char *words, *answer;
} words[] = {
    {"script", "`pitot dump` prints each sample"},
    {"stat", "pitot counts nothing without stacks; `pitot record -e cycles COMMAND` samples an "
             "event, `pitot info` shows the totals"},
    {"flamegraph", "`pitot flame` draws one"},
    {"stackcollapse collapse", "`pitot convert --to folded` writes folded stacks"},
    {"web", SERVE ", `pitot graph` draws the calls"},
    {"http ui", SERVE},
    {"callers callees", PEEK},
    {"callgraph", "`pitot graph` draws the calls, `pitot tree` prints them"},
    {"attach", "`pitot record -p PID` records a running process"},
    {"profile", "`pitot record COMMAND` records one"},
    {"run", "`pitot record COMMAND` runs and records it"},
    {"compare", "`pitot diff BEFORE AFTER` compares two profiles"},
    {"hotspots", "`pitot top` shows the functions that take most time"},
    {"sched lock", WAITS},
    {"trace", "pitot lists no system calls; `pitot record --kernel COMMAND` shows which functions "
              "spend time in them"},
    {"timechart", "`pitot timeline` shows a recording over time"},
    {"evlist", "`pitot info` lists the events of a profile"},
    {"buildid-list", "`pitot info` lists the mapped files of a profile and their build ids"},
    {"archive", NAMED},
    {"bench c2c ftrace inject iostat kmem kvm kwork mem probe", ONLY_PERF},
};

#define TAG_ROOT   "`pitot tree --tag-root="
#define TEXT_OF(x) #x
#define NUMBER(x)  TEXT_OF(x)
#define BY_TIME    "`pitot record --timeline`, then `pitot top --tag-focus="
#define NAME_FILE  "name the profile without an option: `pitot top FILE`"

/* The answers to options; the first row that fits is used. commands: the commands that give the
 * answer, separated by spaces; NULL means all but record. value: if not NULL, the row fits if the
 * option has this value, or a list that begins with this value. If it is NULL, the row fits if the
 * command does not have the option. */
static const struct {
    const char *commands, *options, *value, *answer;
} options[] = {
    {"record", "-t --tid", NULL, BY_TIME "tid=N` shows one thread"},
    {"record", "-C --cpu", NULL, BY_TIME "cpu=N` shows one CPU"},
    {"record", "-u --uid", NULL, "`-p PID,PID` or `-p NAME` chooses processes, `-a` takes all"},
    {"record", "-D --delay", NULL,
     "`pitot record --timeline`, then `pitot top --time=0.5,` leaves out the first half second"},
    {"record", "-T --timestamp -s --stat -P --period", NULL,
     "`--timeline` keeps the time, thread and CPU of each sample"},
    {"record", "-i --no-inherit", NULL,
     "children are always recorded; `pitot top --tag-focus=pid=N` shows one process"},
    {"record", "-b -j --branch-any --branch-filter", NULL,
     "pitot records whole stacks instead of branches"},
    {"record", "-m --mmap-pages -N --no-buildid -B --no-buildid-cache -k --clockid --no-buffering",
     NULL, "pitot needs no such setting"},
    {"record", "-z --compression-level", NULL, "profiles are always compressed"},
    {"record", "-v --verbose", NULL, "`pitot info` shows the facts about a recording"},
    {"record", "--all-user", NULL, "`--user` samples time in user space only"},
    {"record", "--all-kernel", NULL, "`--kernel` samples time in the kernel only"},
    {"record", "--per-thread", NULL, "`--each-thread` opens an event for each thread"},
    {"record", "-F --rate", "max", "the highest rate is -F " NUMBER(PT_RECORD_HZ_MAX)},
    {"report", "--stdio --stdio2 --tui --no-children", NULL,
     "`pitot report` writes a page; `pitot top` prints what `perf report` does"},
    {"report", "--children", NULL, "`pitot top -s total` prints what `perf report` does"},
    {NULL, "--stdio --stdio2 --tui --gtk", NULL, "reports are text anyway"},
    {NULL, "--no-children", NULL, "`pitot top` sorts by a function's own time"},
    {NULL, "--children", NULL, "`pitot top -s total` adds the time in called functions"},
    {NULL, "-g -G --call-graph", NULL, "`pitot tree` shows all calls; " PEEK},
    {NULL, "-s --sort", "sym", "`pitot top` shows functions anyway"},
    {NULL, "-s --sort", "symbol", "`pitot top` shows functions anyway"},
    {NULL, "-s --sort", "dso", "`pitot top --by=mapping` adds up mapped files"},
    {NULL, "-s --sort", "srcline", "`pitot top --by=line` adds up source lines"},
    {NULL, "-s --sort", "srcfile", "`pitot top --by=file` adds up source files"},
    {NULL, "-s --sort", "comm", TAG_ROOT "comm` adds up by the name of the process"},
    {NULL, "-s --sort", "pid", TAG_ROOT "pid` adds up by process"},
    {NULL, "-s --sort", "tid", TAG_ROOT "tid` adds up by thread, of a recording with --timeline"},
    {NULL, "-s --sort", "cpu", TAG_ROOT "cpu` adds up by CPU, of a recording with --timeline"},
    {"list disasm weblist", "-s --symbol", NULL,
     "name the function without an option: `pitot list FUNCTION`"},
    {"list", "-l --print-line", NULL, "`pitot list` shows source lines anyway"},
    {NULL, "-s --sort", NULL,
     "`pitot top --by=mapping` adds up mapped files, " TAG_ROOT "comm,pid` processes"},
    {NULL, "--input", NULL, NAME_FILE},
    {NULL, "--header --header-only", NULL, "`pitot info` shows the facts about a recording"},
    {NULL, "--percent-limit", NULL, "`-n ROWS` limits the rows"},
    {NULL, "--comm --comms", NULL, "`--tag-focus=comm=NAME` takes the samples of a process"},
    {NULL, "--pid", NULL, "`--tag-focus=pid=N` takes the samples of a process"},
    {NULL, "--tid", NULL, "`--tag-focus=tid=N` takes the samples of a thread"},
    {NULL, "--cpu", NULL, "`--tag-focus=cpu=N` takes the samples of a CPU"},
    {NULL, "--dso --dsos", NULL, "`--focus=FILE` takes the samples with a frame of a mapped file"},
    {NULL, "-S --symbol-filter", NULL, "`--focus=FUNCTION` takes the samples with a function"},
    {NULL, "--parent", NULL, "`--show-from=FUNCTION` cuts off its callers"},
    {NULL, "--inline", NULL, "inlined functions are shown anyway; `--no-inlines` leaves them out"},
    {NULL, "--no-inline", NULL, "`--no-inlines` leaves inlined functions out"},
    {NULL, "--no-demangle", NULL, "`--demangle=none` shows names as linkers have them"},
    {NULL, "-D --dump-raw-trace", NULL, "`pitot dump` prints each sample"},
    {NULL, "-v --verbose", NULL, "`pitot info` shows the facts about a recording"},
    {"top", "-p -a", NULL, "`pitot record -p PID -d 10s` or `-a -d 10s`, then `pitot top`"},
    {"top", "-F --freq", NULL, "the rate is an option of the recording: `pitot record -F HZ`"},
    {"top", "-K --hide_kernel_symbols", NULL, "`pitot record --user` leaves the kernel out"},
    {"top", "-U --hide_user_symbols", NULL, "`pitot record --kernel` leaves user space out"},
};

/* Is the word in the list, whose words are separated by spaces? */
static bool is_among(const char *list, const char *word)
{
    return pt_word_position(list, word, strlen(word)) >= 0;
}

const char *pt_habit_word(const char *word)
{
    for (size_t i = 0; i < PT_COUNT(words); i++)
        if (is_among(words[i].words, word)) return words[i].answer;
    return NULL;
}

const char *pt_habit_option(const char *command, const char *spelling, const char *value)
{
    for (size_t i = 0; i < PT_COUNT(options); i++) {
        if (options[i].commands == NULL ? strcmp(command, "record") == 0
                                        : !is_among(options[i].commands, command))
            continue;
        if (!is_among(options[i].options, spelling)) continue;
        const char *const wanted = options[i].value;
        if ((wanted == NULL) != (value == NULL)) continue;
        const size_t length = wanted != NULL ? strlen(wanted) : 0;
        if (wanted != NULL && (strcspn(value, ",") != length || memcmp(value, wanted, length) != 0))
            continue;
        return options[i].answer;
    }
    return NULL;
}
