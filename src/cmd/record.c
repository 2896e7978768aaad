/* record.c: `pitot record`: its options, and the choice of the engine that records. See
 * recording/recording.h. */
#include <stdlib.h>

#include "cmd/cmd.h"
#include "cmd/lookup.h"
#include "cmd/output.h"
#include "cmd/record_page.h"
#include "cmd/record_write.h"
#include "recording/recording.h"

/* Default rates. The rate of --wall is low, because each of its samples wakes a waiting thread. */
enum { CPU_HZ = 1000, WALL_HZ = 100 };

static const pt_option record_rows[] = {
    PT_ROW("frequency", INT, pt_record_settings, hz, .letter = 'F', .min = 1,
           .max = PT_RECORD_HZ_MAX, .metavar = "HZ",
           .help = "samples per second of CPU time of each thread (default 1000; with --wall 100 "
                   "per second of wall-clock time)",
           .details =
               "The profile holds the true period: whole microseconds, and where the kernel's "
               "timers tick more slowly than asked each sample stands for several periods."),
    PT_ROW("output", STRING, pt_record_settings, output, .letter = 'o',
           .initial = PT_DEFAULT_PROFILE, .metavar = "FILE",
           .help = "write the profile here; a file that is there becomes FILE.old",
           .details =
               "The format follows from the name; profile.proto, gzipped, unless it says another."),
    PT_MODE_ROW(pt_record_settings, mode),
    PT_ROW("quiet", FLAG, pt_record_settings, quiet, .letter = 'q',
           .help = "leave out the last line; warnings stay",
           .details = "The last line says how many samples there are, how complete they are, and "
                      "what to type next. `pitot info` shows the same facts later."),
    PT_ROW("duration", DURATION, pt_record_settings, duration_ns, .letter = 'd', .min = 1,
           .metavar = "TIME",
           .help = "end the recording after this time (10s, 500ms); COMMAND runs on to its own end",
           .details = "The profile is written then. Ctrl-C ends the recording earlier. Processes "
                      "that are recorded go on, too; pitot record waits for COMMAND."),
    PT_ROW("split", FLAG, pt_record_settings, split,
           .help = "write a profile for each process of COMMAND, with its number in the name",
           .details = "pitot.pb.gz becomes pitot.812.pb.gz. Without it one file holds all "
                      "processes, and its samples carry the labels pid and comm."),
    PT_ROW(
        "repeat", INT, pt_record_settings, repeat, .initial = "1", .min = 1, .max = 1000,
        .metavar = "N", .help = "run and record COMMAND N times, a profile for each run",
        .details =
            "pitot.pb.gz becomes pitot.1.pb.gz, pitot.2.pb.gz, and so on. `pitot diff` of several "
            "runs a side knows how much runs differ. The first run that fails is the last one."),
    PT_ROW("pid", LIST, pt_record_settings, pids, .letter = 'p', .metavar = "PID|NAME[,...]",
           .group = "Running processes",
           .help = "record this process, or all of this name, and what they start from now on",
           .details = "The kernel's perf events do it: nothing is loaded into the process, and "
                      "nothing stops it. The recording ends with Ctrl-C, after --duration, when "
                      "the process ends, or when COMMAND ends. COMMAND is not recorded."),
    PT_ROW("children", FLAG, pt_record_settings, children,
           .help = "with --pid, record the processes that it has started already, too",
           .details = "And those that these have started, and so on. The recording then ends when "
                      "all of them have ended. Without it, a line names those that run."),
    PT_ROW("all", FLAG, pt_record_settings, all, .letter = 'a',
           .help = "record every process of the machine; with COMMAND: until COMMAND ends",
           .details = "Needs root, CAP_PERFMON, or kernel.perf_event_paranoid of 0 or less. What "
                      "is missing is said before anything is recorded."),
    PT_ROW("cgroup", STRING, pt_record_settings, cgroup, .letter = 'G', .metavar = "GROUP",
           .help = "record the processes of a control group and of the groups below it",
           .details =
               "GROUP is a name as in /proc/PID/cgroup (/system.slice/nginx.service), or the "
               "group's folder below /sys/fs/cgroup. Processes that come later are recorded, too. "
               "Needs the rights of --all. COMMAND ends the recording, and is not recorded."),
    PT_ROW("engine", CHOICE, pt_record_settings, engine, .initial = "auto",
           .choices = "auto perf preload bpf", .group = "How",
           .help = "who takes the samples: the kernel (perf, bpf), or the library in the processes "
                   "(preload)",
           .details =
               "auto takes the library (preload) with --wall and --split, and for a COMMAND that "
               "is Python 3.8 to 3.14, Node, PHP 7.4, 8.2 or 8.4, Ruby 2.7, 3.1 or 3.3, Perl 5.32, "
               "5.36 or 5.40, or a script for one of them: the library sees the functions of that "
               "language. Else auto takes perf events if the kernel allows them, else, for a "
               "COMMAND, the library, which sees Java's functions, too. An option that needs perf "
               "events takes them for every "
               "COMMAND. bpf is perf with a program in the kernel that walks the stacks there, up "
               "to 1,024 frames (root, or CAP_BPF and CAP_PERFMON; libbpf); it sees the functions "
               "of Python, Node, PHP, Ruby, Perl and Java. Where auto takes perf and bpf can be "
               "had, it takes bpf. perf always copies stacks, and sees the functions of Java. "
               "`pitot info` shows the engine of a recording and the reason."),
    PT_ROW("event", STRING, pt_record_settings, event, .letter = 'e', .metavar = "EVENT",
           .help = "count this event (cycles, page-faults, ...) instead of CPU time",
           .details = "cpu-clock, task-clock, cycles, instructions, cache-misses, branch-misses, "
                      "page-faults, major-faults, context-switches, cpu-migrations. The second "
                      "value of each sample is then that event's count."),
    PT_ROW("count", INT, pt_record_settings, count, .letter = 'c', .min = 1, .max = INT64_MAX,
           .metavar = "N", .help = "take a sample each N events (of --event)",
           .details = "Instead of a rate: for events that are counted rather than timed, such as "
                      "page-faults."),
    PT_ROW("user", FLAG, pt_record_settings, user, .help = "sample only time in user space",
           .details = "The profile then lacks the program's time in the kernel."),
    PT_ROW("kernel", FLAG, pt_record_settings, kernel,
           .help = "sample only time in the kernel; stacks show who called it",
           .details = "For a program that spends its time in system calls."),
    PT_ROW("off-cpu", FLAG, pt_record_settings, off_cpu,
           .help = "measure waits, too; reports show them with -e off-cpu",
           .details =
               "pitot why -e off-cpu shows the time that threads wait for something, -e ready the "
               "time that they could run and another thread had their CPU, pitot top -e "
               "cpu+off-cpu the CPU time and the waits of each function beside each other. Needs "
               "root, or kernel.perf_event_paranoid of 1 or less. A thread that waits all the "
               "while, and functions of Python, Node, PHP, Ruby and Perl, are seen only where the "
               "kernel allows a BPF program: root, or CAP_BPF and CAP_PERFMON."),
    PT_ROW("wakers", FLAG, pt_record_settings, wakers,
           .help = "with --off-cpu: record what ends the waits; reports show it with -e woken",
           .details =
               "Waits get the label `waker`, the name of the process that ended them, or "
               "interrupt. pitot tree -e woken shows the stacks that woke threads, by the time "
               "that these had waited. Needs a BPF program: root, or CAP_BPF and CAP_PERFMON."),
    PT_ROW("switch-stacks", INT, pt_record_settings, switch_stacks, .initial = "20000", .min = 1,
           .max = 10000000, .metavar = "N",
           .help = "with --off-cpu: take at most about N stacks of waits a second on each CPU",
           .details =
               "Of more waits, the stack of one in n is taken, and counts for n waits; pitot info "
               "shows n. The sums of each process are those of all its waits. A thread without a "
               "stack for a millisecond has its next one taken. With --timeline every stack is "
               "taken."),
    PT_ROW(
        "wall", FLAG, pt_record_settings, wall,
        .help = "sample wall-clock time: each thread of COMMAND, whether it runs or waits",
        .details =
            "The library does it in a COMMAND's processes, and needs no rights: for the waits of "
            "other processes there is --off-cpu. A thread that waits is woken for each sample, and "
            "its system call goes on after it: see the page Recording for calls that end early."),
    PT_ROW("timeline", FLAG, pt_record_settings, timeline,
           .help = "keep each sample with its time, thread and cpu",
           .details = "Without it equal stacks are added up, which takes a tenth of the room."),
    PT_ROW(
        "each-thread", FLAG, pt_record_settings, each_thread,
        .help = "one perf event for each thread, not for each CPU",
        .details =
            "Exact for threads that switch all the time: an event of a CPU counts the switching, "
            "which no interrupt can break, for the thread that runs next. Threads of less than a "
            "millisecond may be missed. Ordinary users always get events of threads."),
    PT_ROW("serve", FLAG, pt_record_settings, serve, .group = "During the recording",
           .help = "show the recording in a browser, and update it each second",
           .details =
               "pitot prints an address, and opens no browser: it would take time from what is "
               "recorded. After the recording the page shows the profile, as `pitot serve` does, "
               "until Ctrl-C. Its process has a low priority and cannot delay the recorder."),
    PT_ROW("http", STRING, pt_record_settings, http, .metavar = "HOST:PORT",
           .help = "with --serve: at this address (default: a free port of localhost)",
           .details = "HOST: or :PORT is enough. Only browsers with the token of the printed "
                      "address may read the profile."),
    PT_ROW("stacks", FLAG, pt_record_settings, stacks, .letter = 'g', .flags = PT_OPT_HIDDEN,
           .help = "changes nothing: whole stacks are always recorded",
           .details = "pitot accepts it for users of perf record."),
    PT_ROW("call-graph", STRING, pt_record_settings, call_graph, .flags = PT_OPT_HIDDEN,
           .metavar = "HOW", .help = "changes nothing: stacks are followed as each program allows",
           .details = "pitot accepts it for users of perf record."),
};
static const pt_option_table record_table = PT_OPTION_TABLE(record_rows);

/* ---- which engine ---- */

static int64_t usual_hz(const pt_record_settings *settings)
{
    return settings->wall ? WALL_HZ : CPU_HZ;
}

/* The command line, without options that have their default. The caller frees. */
static char *typed_text(const pt_record_settings *settings, const char *const *args, size_t count)
{
    pt_record_settings copy = *settings;
    copy.serve = false; /* --serve and --http have no effect on the profile */
    copy.http = NULL;
    if (copy.hz == usual_hz(settings)) copy.hz = 0;
    const pt_option_part part = {.table = &record_table, .into = &copy};
    const pt_options options = {.parts = &part, .part_count = 1};
    PT_FREE char *command = pt_record_command_text(args, count);
    pt_buf options_text = PT_BUF_INIT, text = PT_BUF_INIT;
    pt_options_print(&options, &options_text);
    pt_putf(&text, "pitot record%s%s%s%s", options_text.size > 0 ? " " : "",
            pt_buf_text(&options_text), count > 0 ? " -- " : "", command);
    pt_buf_done(&options_text);
    pt_buf_text(&text);
    return pt_buf_take(&text, NULL);
}

/* The reason why the library cannot be loaded into a program of this kind; NULL if it can be
 * loaded. */
static const char *why_not_preload(pt_target_kind kind)
{
    static const char *const why[] = {
        [PT_TARGET_STATIC] = "is statically linked: no library can be loaded into it",
        [PT_TARGET_PRIVILEGED] = "runs with more rights than you: no library of yours is let in",
        [PT_TARGET_GO] = "is a Go program, whose runtime keeps threads and signals to itself",
        [PT_TARGET_FOREIGN] = "is built for another machine or word size than this pitot",
    };
    return kind != PT_TARGET_OK ? why[kind] : NULL;
}

/* The first given option that only perf events can obey; NULL if there is none. */
static const char *only_perf(const pt_record_settings *s)
{
    if (s->pids.count > 0) return "--pid";
    if (s->all) return "--all";
    if (s->cgroup != NULL) return "--cgroup";
    if (s->event != NULL) return "--event";
    if (s->user) return "--user";
    if (s->kernel) return "--kernel";
    if (s->off_cpu) return "--off-cpu";
    if (s->timeline) return "--timeline";
    if (s->each_thread) return "--each-thread";
    if (s->duration_ns > 0) return "--duration";
    return NULL;
}

static int check_settings(const pt_cmd_context *context, const pt_record_settings *s)
{
    const bool has_command = context->arg_count > 0;
    const char *const perf = only_perf(s);
    const bool is_perf = s->engine == PT_ENGINE_PERF || s->engine == PT_ENGINE_BPF;
    const char *const by_perf = perf != NULL                  ? perf
                                : s->engine == PT_ENGINE_PERF ? "--engine=perf"
                                                              : "--engine=bpf";
    const int whom = (s->pids.count > 0) + s->all + (s->cgroup != NULL);
    if (whom == 0 && !has_command) return pt_cmd_usage(context, "no command to record");
    if (whom > 1) return pt_cmd_usage(context, "use one of --pid, --all and --cgroup");
    if (s->children && s->pids.count == 0)
        return pt_cmd_usage(context,
                            "--children needs --pid; a command, --all and --cgroup record all "
                            "processes anyway");
    if (s->repeat > 1 && !has_command)
        return pt_cmd_usage(context, "--repeat needs a command, which it runs several times");
    if (s->user && s->kernel)
        return pt_cmd_usage(
            context, "use --user or --kernel; without either, both kinds of time are recorded");
    if (has_command && pt_record_to_stdout(s->output))
        return pt_cmd_usage(context, "-o -: standard output is the command's; name a file");
    if (s->each_thread && (s->all || s->cgroup != NULL))
        return pt_cmd_usage(context, "--each-thread needs a command or --pid; --all and --cgroup "
                                     "have one event for each CPU");
    if (s->count > 0 && s->event == NULL)
        return pt_cmd_usage(
            context,
            "--count needs --event, as in -e page-faults -c 100; to set the rate of samples, use "
            "-F HZ");
    if (perf != NULL && s->engine == PT_ENGINE_PRELOAD)
        return pt_cmd_usage(context, "%s needs perf events, not --engine=preload", perf);
    if (s->wakers && (!s->off_cpu || s->engine == PT_ENGINE_PERF || s->each_thread))
        return pt_cmd_usage(context, "--wakers needs --off-cpu and a BPF program: leave out "
                                     "--engine=perf and --each-thread");
    if (s->switch_stacks != PT_RECORD_SWITCH_STACKS &&
        (!s->off_cpu || s->engine == PT_ENGINE_PERF || s->each_thread || s->timeline))
        return pt_cmd_usage(context, "--switch-stacks needs --off-cpu and a BPF program, and no "
                                     "--timeline, which takes all stacks");
    if (s->engine == PT_ENGINE_BPF && s->each_thread)
        return pt_cmd_usage(context,
                            "--each-thread needs --engine=perf: the BPF engine has no such events");
    if (s->wall && (perf != NULL || is_perf))
        return pt_cmd_usage(context,
                            "--wall samples a command by pitot's library, and needs no perf "
                            "events: leave out %s; for waits by perf events, use --off-cpu",
                            by_perf);
    if (s->http != NULL && !s->serve) return pt_cmd_usage(context, "--http needs --serve");
    if (s->serve && (s->repeat > 1 || s->split))
        return pt_cmd_usage(context, "--serve shows one recording with one file: leave out %s",
                            s->split ? "--split" : "--repeat");
    if (s->split && (perf != NULL || is_perf))
        return pt_cmd_usage(context, "--split needs a command and pitot's library: leave out %s",
                            by_perf);
    return PT_EXIT_OK;
}

static pt_recording recording_of(pt_cmd_context *context, const pt_record_settings *settings)
{
    return (pt_recording){
        .settings = settings,
        .args = context->args,
        .arg_count = context->arg_count,
        .typed = typed_text(settings, context->args, context->arg_count),
        .tables = {.folder = pt_user_cache("pitot/tables"), .stamp = pt_cache_stamp()},
        .write = pt_record_write,
        .context = context,
        .begins = settings->page != NULL ? pt_record_page_begins : NULL,
        .begins_context = settings->page,
    };
}

static void free_texts(const pt_recording *recording)
{
    free((char *)(uintptr_t)recording->typed);
    free((char *)(uintptr_t)recording->tables.folder);
}

static int record_by_library(pt_cmd_context *context, const pt_record_settings *settings,
                             const char *library, const char *engine)
{
    const pt_recording recording = recording_of(context, settings);
    const int status = pt_record_preload(&recording, library, engine);
    free_texts(&recording);
    return status;
}

static int record_by_perf(pt_cmd_context *context, const pt_record_settings *settings,
                          const char *why, pt_error *ret_refusal)
{
    pt_recording recording = recording_of(context, settings);
    bool is_chosen;
    int status = pt_cmd_memory_allowed(0, &recording.memory_bytes, &is_chosen);
    recording.memory_bytes /= 2; /* the other half of the memory is for making and writing the
                                  * profile */
    if (status == PT_EXIT_OK) status = pt_record_perf(&recording, why, ret_refusal);
    free_texts(&recording);
    return status;
}

/* Records by the library. refusal: the reason why perf events do not record; NULL if an option
 * chose the library. */
static int run_preload(pt_cmd_context *context, const pt_record_settings *settings,
                       const pt_error *refusal)
{
    pt_target target;
    pt_error error = PT_ERROR_INIT;
    pt_target_look(context->args[0], &target);
    const char *const why = why_not_preload(target.kind);
    PT_FREE char *reason = NULL;
    if (why != NULL)
        reason = pt_strf("%s%s%s %s", context->args[0],
                         target.script != NULL ? ": its interpreter " : "",
                         target.script != NULL ? target.path : "", why);
    pt_target_done(&target);
    PT_FREE char *library = reason == NULL ? pt_record_library(&error) : NULL;
    if (reason == NULL && library == NULL) reason = pt_strdup(error.message);
    if (reason == NULL) {
        PT_FREE char *engine = pt_strf("libprofiler.so.0 in the processes, %s",
                                       refusal != NULL   ? refusal->message
                                       : settings->wall  ? "as --wall takes"
                                       : settings->split ? "as --split takes"
                                                         : "as --engine=preload asks");
        return record_by_library(context, settings, library, engine);
    }
    if (refusal == NULL) {
        pt_say("%s%s", reason, why != NULL ? "; --engine=perf records it from outside" : "");
        return PT_EXIT_FAILED;
    }
    pt_say("%s", reason);
    return pt_fail(refusal);
}

/* Records by the library if the command is an interpreter whose functions the library reads: the
 * names of these functions are worth more than the functions of the kernel, which only perf events
 * show. Else returns PT_RECORD_REFUSED. */
static int run_interpreter(pt_cmd_context *context, const pt_record_settings *settings)
{
    pt_target target;
    pt_target_look(context->args[0], &target);
    PT_FREE char *library = target.interpreter[0] != '\0' ? pt_record_library(NULL) : NULL;
    PT_FREE char *engine =
        pt_strf("libprofiler.so.0 in the processes, as the command is %s, whose "
                "functions the library reads (--engine=perf: from outside, with the "
                "kernel's part)",
                target.interpreter);
    pt_target_done(&target);
    return library != NULL ? record_by_library(context, settings, library, engine)
                           : PT_RECORD_REFUSED;
}

static int record_once(void *cmd_context, pt_record_settings *settings)
{
    pt_cmd_context *const context = cmd_context;
    const char *const option = only_perf(settings);
    pt_error refusal = PT_ERROR_INIT;
    const bool is_bpf = settings->engine == PT_ENGINE_BPF;
    if (option != NULL || is_bpf || settings->engine == PT_ENGINE_PERF) {
        PT_FREE char *why = is_bpf           ? pt_strdup("as --engine=bpf asks")
                            : option != NULL ? pt_strf("as %s takes", option)
                                             : pt_strdup("as --engine=perf asks");
        const int status = record_by_perf(context, settings, why, &refusal);
        return status == PT_RECORD_REFUSED ? pt_fail(&refusal) : status;
    }
    if (settings->engine == PT_ENGINE_PRELOAD || settings->split || settings->wall)
        return run_preload(context, settings, NULL);
    int status = run_interpreter(context, settings);
    if (status == PT_RECORD_REFUSED)
        status = record_by_perf(context, settings, "which the kernel allows", &refusal);
    return status == PT_RECORD_REFUSED ? run_preload(context, settings, &refusal) : status;
}

static int record_with_page(pt_cmd_context *context, pt_record_settings *settings)
{
    pt_record_page page;
    pt_error error = PT_ERROR_INIT;
    if (pt_record_page_start(settings->http, settings->output, &page, &error) != PT_OK)
        return pt_fail(&error);
    settings->page = &page;
    const int status = record_once(context, settings);
    settings->page = NULL;
    pt_record_page_end(&page, settings->output);
    return status;
}

static int record_run(pt_cmd_context *context, void *settings_memory)
{
    pt_record_settings *const settings = settings_memory;
    int checked = check_settings(context, settings);
    if (checked == PT_EXIT_OK) checked = pt_cmd_mode(context, settings->mode, &settings->file_mode);
    if (checked != PT_EXIT_OK) return checked;
    if (settings->stacks || settings->call_graph != NULL)
        pt_say("%s changes nothing: pitot always records whole stacks, by unwind tables or "
               "frame pointers as each program has them",
               settings->stacks ? "-g" : "--call-graph");
    settings->stacks = false;
    settings->call_graph = NULL;
    if (settings->hz == 0) settings->hz = usual_hz(settings);
    pt_record_tell_cut_off(false);
    if (settings->serve) return record_with_page(context, settings);
    if (settings->repeat == 1) return record_once(context, settings);
    pt_out_flush(context->out, NULL);
    return pt_record_repeat(settings, record_once, context);
}

static const char *const record_examples[] = {
    "pitot record ./server --port 8080",
    "a command, until it ends or Ctrl-C ends it",
    "pitot record -p redis-server -d 10s",
    "ten seconds of the running processes of this name",
    "sudo pitot record -a -d 10s",
    "the whole machine",
    "pitot record -F 4000 -o fast.pb.gz make -j4",
    "every process of a build in one file",
    "pitot record --repeat=5 -o old.pb.gz ./test",
    "old.1.pb.gz to old.5.pb.gz, for pitot diff",
    "pitot record --serve -p redis-server",
    "the same in a browser, until Ctrl-C",
    NULL,
};

const pt_command pt_command_record = {
    .name = "record",
    .group = PT_GROUP_COLLECT,
    .summary = "profile a command, running processes, or the machine",
    .arguments = "[-p PID|NAME | -a | --cgroup GROUP] [[--] COMMAND [ARGUMENT...]]",
    .description =
        "Samples the CPU time of COMMAND and of all processes that it starts, of running processes "
        "(-p), of a control group (--cgroup), or of the machine (-a). Programs need no rebuild. "
        "The profile is pitot.pb.gz; `pitot why` reads it. The last line says how many samples "
        "there are, how much of the CPU time they stand for, how many stacks are complete, and "
        "how many more were followed by frame pointers alone, which may skip a caller.\n\n"
        "COMMAND keeps its standard streams and its exit status. Ctrl-C ends COMMAND; the profile "
        "is written all the same, with the samples of processes that were killed. With -p and "
        "--cgroup, COMMAND is not recorded: it is started, and its end ends the recording.\n\n"
        "Rights: to record a COMMAND takes none; -p, -a, --cgroup, and a static COMMAND (most Go "
        "programs) need the kernel's perf events, and so do -d, -e, --user, --kernel, --off-cpu, "
        "--timeline and --each-thread. Without root, the kernel allows perf events of your own "
        "processes if kernel.perf_event_paranoid is 2 or less, --off-cpu and time in the kernel "
        "at 1 or less, -a and --cgroup at 0 or less. Debian and Ubuntu set it to 3 or 4: use "
        "sudo. The profile is then yours if the folder is yours, else root's.\n\n"
        "Languages: without options that need perf events, a COMMAND in Python, Node, PHP, Ruby "
        "or Perl is recorded by pitot's library, with the functions of the language. So is every "
        "COMMAND where the kernel forbids perf events, and with --wall and --split. With options "
        "that need perf events, no functions of these languages are recorded; as root those of "
        "Python, Node, PHP, Ruby and Perl are.",
    .examples = record_examples,
    .max_args = SIZE_MAX,
    .stops_at_argument = true,
    .options = &record_table,
    .settings_bytes = sizeof(pt_record_settings),
    .run = record_run,
};
