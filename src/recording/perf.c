/* perf.c: records running processes, the whole machine, or a command by the kernel's perf events.
 * See recording.h. */
#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/utsname.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/file.h"
#include "base/memory.h"
#include "base/units.h"
#include "capture/capture.h"
#include "capture/cgroup.h"
#include "capture/child.h"
#include "capture/permission.h"
#include "capture/pids.h"
#include "capture/procs.h"
#include "capture/signals.h"
#include "recording/recording.h"
#include "terminal/message.h"

typedef struct {
    const pt_recording *recording;
    const pt_record_settings *settings; /* of recording */
    const char *why;                    /* the reason for this engine */
    pt_pid_list pids;
    pt_record_child child;
    pt_permission permission;
    pt_capture_facts facts;
    pt_record_run kept; /* the folder that keeps the samples if this process is killed */
    char *command;      /* the recorded command, as typed */
    char *cgroup;       /* the cgroup's name as in /proc/PID/cgroup */
    bool has_ended;     /* the command has, and was waited for */
    bool shows_progress;
    bool counts_waits;         /* waits are counted in the kernel, by a BPF program */
    char why_not_counted[512]; /* the reason if the kernel refused to count waits */
} perf_run;

/* ---- progress ---- */

static void show_progress(void *arg, const pt_capture_facts *f)
{
    (void)arg;
    const double seconds = (double)f->duration_ns / 1e9;
    PT_FREE char *line = pt_strf(
        "pitot: %.1f s, %" PRIu64 " samples, %.0f a second, %" PRIu64 " lost", seconds, f->samples,
        seconds > 0 ? (double)f->samples / seconds : 0, pt_capture_lost(f, f->used_ns));
    pt_show_progress(line);
}

static void end_progress(const perf_run *run)
{
    if (run->shows_progress) pt_show_progress(NULL);
}

/* ---- facts about the recording in its profile ---- */

/* Does the recording include processes other than the command, so that the command only decides
 * when it ends? */
static bool is_of_others(const pt_record_settings *s)
{
    return s->pids.count > 0 || s->all || s->cgroup != NULL;
}

/* Waits for the command if it has ended, and returns its CPU time; returns 0 if it still runs. */
static uint64_t end_command(void *arg)
{
    perf_run *const run = arg;
    run->has_ended = pt_record_child_has_ended(&run->child);
    return run->has_ended ? pt_record_child_used_ns(&run->child) : 0;
}

static void add_comment(pt_builder *b, char *text)
{
    pt_builder_comment(b, pt_builder_text(b, text));
    free(text);
}

/* The reason for copied stacks, if no BPF program walked them. The caller frees the text. */
static char *why_copied_text(const perf_run *run, const pt_capture_facts *f)
{
    const pt_record_settings *const s = run->settings;
    if (s->engine == PT_ENGINE_PERF) return pt_strdup("as --engine=perf asks");
    if (run->why_not_counted[0] != '\0') return pt_strdup(run->why_not_counted);
    if (f->is_each_thread) return pt_strdup("a BPF program needs events of cpus");
    return pt_strdup(f->why_copied[0] != '\0'
                         ? f->why_copied
                         : "the recording ended before the BPF program was loaded");
}

/* The numbers of samples with functions of each language, in the struct that journals use. */
static void frames_of(const pt_capture_facts *f, pt_journal_frames ret_frames[PT_JOURNAL_LANGUAGES])
{
    for (int i = 0; i < PT_JOURNAL_LANGUAGES; i++)
        ret_frames[i] =
            (pt_journal_frames){.all = f->frames[i].all, .uncertain = f->frames[i].uncertain};
}

static void describe_recording(void *arg, pt_builder *b, const pt_capture_facts *f)
{
    enum { MISSED_PART = 50 }; /* fewer missed ticks are not worth a line */
    const perf_run *const run = arg;
    struct utsname host = {0};
    uname(&host);
    pt_provenance *const p = pt_builder_provenance(b);
    p->tool = pt_builder_text(b, "pitot record").v;
    p->host = pt_builder_text(b, host.nodename).v;
    p->command_line = pt_builder_text(b, run->command).v;
    p->cpu_used_ns = (int64_t)f->used_ns;
    p->lost = pt_capture_lost(f, f->used_ns);
    add_comment(b, pt_strf("recorded with: %s", run->recording->typed));
    PT_FREE char *walked = f->has_walker ? pt_strf(", %" PRIu64 " of %" PRIu64
                                                   " stacks walked in the kernel by a BPF program",
                                                   f->walked, f->stacks)
                                         : pt_strdup("");
    add_comment(b, pt_strf("engine: perf events of %s%s, %s",
                           f->is_each_thread ? "threads" : "cpus", walked, run->why));
    PT_FREE char *why_copied = why_copied_text(run, f);
    const uint64_t due = f->period_ns != 0 ? f->seen_ns / f->period_ns : 0;
    if (due > f->samples + f->samples / MISSED_PART)
        add_comment(b, pt_strf("ticks: %" PRIu64 " of %" PRIu64 " that were due came; the others "
                               "were lost to a late timer%s, and their time is in other samples "
                               "of the same threads",
                               f->samples, due,
                               f->has_walker ? " or to another use of BPF at that moment" : ""));
    if (f->passed_waits > 0)
        add_comment(b, pt_strf("waits: the stacks of %" PRIu64 " were not taken, where a cpu had "
                               "more than %" PRId64 " switches a second: a stack that was taken "
                               "stands for up to %" PRIu64 " waits; the totals of each process "
                               "are exact",
                               f->passed_waits, run->recording->settings->switch_stacks,
                               f->wait_weight));
    if (!f->has_walker)
        add_comment(b, pt_strf("stacks: copied, not walked in the kernel: %s", why_copied));
    add_comment(
        b, pt_strf("host: %s, %s %s %s", host.nodename, host.sysname, host.release, host.machine));
    pt_journal_frames frames[PT_JOURNAL_LANGUAGES];
    frames_of(f, frames);
    pt_record_tell_languages(b, frames);
    if (f->named_gone > 0)
        add_comment(b, pt_strf("interpreters: %" PRIu64
                               " frames have no name: their function was freed, "
                               "or its process had ended, before its name was read",
                               f->named_gone));
    if (p->cpu_used_ns > 0 && f->period_ns != 0)
        add_comment(b, pt_strf("cpu: %.3f s used, %.3f s sampled in %.3f s",
                               (double)p->cpu_used_ns / 1e9, (double)f->seen_ns / 1e9,
                               (double)f->duration_ns / 1e9));
}

/* The error for an unknown event, with the events that exist. perf's names may end with modifiers
 * (cycles:u), be a list, or name tracepoints (sched:sched_switch) and raw events (r1a8). */
static pt_status no_event(const char *name, pt_error *reterr)
{
    const size_t length = strcspn(name, ":,");
    PT_FREE char *first = pt_strndup(name, length);
    const bool is_known = pt_event_source_named(first) != NULL;
    const char *const rest = name + length;
    if (is_known && rest[0] == ',')
        return pt_error_set(reterr, PT_ERR_USAGE, "-e %s: a recording has one event; -e %s", name,
                            first);
    if (is_known && (strcmp(rest, ":u") == 0 || strcmp(rest, ":k") == 0))
        return pt_error_set(reterr, PT_ERR_USAGE, "there is no event %s; -e %s %s", name, first,
                            rest[1] == 'u' ? "--user leaves the kernel out"
                                           : "--kernel leaves user space out");
    if (!is_known && length > 0 && rest[0] == ':' && rest[1] != '\0')
        return pt_error_set(reterr, PT_ERR_USAGE,
                            "%s is a tracepoint, which pitot does not record%s; sudo perf record "
                            "-g -e %s does, and pitot top perf.data reads it",
                            name, strcmp(first, "sched") == 0 ? " (waits: --off-cpu)" : "", name);
    if (strcmp(name, "gil") == 0)
        return pt_error_set(reterr, PT_ERR_USAGE,
                            "waits for Python's lock are recorded by --off-cpu, and shown by pitot "
                            "top -e gil");
    pt_buf names = PT_BUF_INIT;
    for (const pt_event_source *source = pt_event_sources; source->name != NULL; source++)
        pt_putf(&names, "%s%s", names.size > 0 ? ", " : "", source->name);
    const pt_status status = pt_error_set(
        reterr, PT_ERR_USAGE,
        "there is no event %s; there are %s; for others: perf record -e, then pitot top perf.data",
        name, pt_buf_text(&names));
    pt_buf_done(&names);
    return status;
}

/* The recorded target: "-p 812,813", "-a", or the command. */
static char *command_of(const perf_run *run)
{
    const pt_record_settings *const s = run->settings;
    if (run->recording->arg_count > 0 && s->pids.count == 0)
        return pt_record_command_text(run->recording->args, run->recording->arg_count);
    if (s->cgroup != NULL) return pt_strf("--cgroup %s", s->cgroup);
    if (s->all) return pt_strdup("-a");
    pt_buf text = PT_BUF_INIT;
    for (size_t i = 0; i < s->pids.count; i++)
        pt_putf(&text, "%s-p %s", i > 0 ? " " : "", s->pids.items[i]);
    pt_buf_text(&text);
    return pt_buf_take(&text, NULL);
}

/* ---- messages ---- */

/* Names the processes that the targets started before the recording, which are not recorded without
 * --children: a shell script, for example, waits for a process that it started. */
static void say_started(const perf_run *run)
{
    enum { SHOWN = 8 };
    pt_pid_list started;
    pt_buf list = PT_BUF_INIT;
    pt_record_descendants("/proc", &run->pids, &started);
    for (size_t i = 0; i < started.count && i < SHOWN; i++) {
        char name[64];
        PT_FREE char *who = pt_strf("%d", started.items[i]);
        pt_proc_status("/proc", who, "Name", name, sizeof name);
        pt_putf(&list, "%s%s (%s)", i > 0 ? ", " : "", who, name);
    }
    if (started.count > 0)
        pt_say("%s that %s started earlier %s not recorded: %s%s; --children records "
               "%s, too",
               pt_count_noun(started.count, "processes").text,
               run->pids.count > 1 ? "the recorded ones" : "the recorded one",
               started.count > 1 ? "are" : "is", pt_buf_text(&list),
               started.count > SHOWN ? ", ..." : "", started.count > 1 ? "them" : "it");
    pt_buf_done(&list);
    free(started.items);
}

/* Explains why there are no samples. */
static void say_nothing(const perf_run *run)
{
    enum { PERIODS_MIN = 10 }; /* in a shorter recording, CPU time may have no sample by chance */
    if (run->facts.stacks > 0 || run->pids.count == 0 || run->facts.period_ns == 0) return;
    for (size_t i = 0; i < run->pids.count; i++) {
        char state[32];
        PT_FREE char *pid = pt_strf("%d", run->pids.items[i]);
        pt_proc_status("/proc", pid, "State", state, sizeof state);
        if (state[0] == 'T')
            pt_say("process %s is still stopped; to continue it: kill -CONT %s", pid, pid);
        if (state[0] == 't') pt_say("process %s is stopped by a debugger", pid);
        if (state[0] == 'T' || state[0] == 't') return;
    }
    if (run->facts.used_ns >= run->facts.period_ns) return;
    if (run->facts.duration_ns < PERIODS_MIN * (int64_t)run->facts.period_ns) {
        pt_say("the recording lasted only %.1f ms, which is too short for a sample",
               (double)run->facts.duration_ns / 1e6);
        return;
    }
    pt_say("the process used no CPU time while it was recorded%s",
           run->settings->off_cpu ? "" : "; --off-cpu shows where its threads wait");
}

static void say_doubts(const perf_run *run)
{
    enum { BEYOND_CHANCE = 8 }; /* fewer missing samples may be chance */
    const pt_capture_facts *const f = &run->facts;
    say_nothing(run);
    PT_FREE char *refused = pt_strdup(f->refused);
    for (char *rest = refused, *line; (line = strsep(&rest, "\n")) != NULL;)
        if (line[0] != '\0') pt_say("%s", line);
    if (f->is_full)
        pt_say("the recording ended after %.1f s: it had filled %" PRIu64 " MB, half of the limit "
               "of memory (the other half is for writing the profile); " PT_MEMORY_VARIABLE
               "=SIZE in the environment allows more",
               (double)f->duration_ns / 1e9, run->recording->memory_bytes >> 20);
    if (f->throttled > 0)
        pt_say("the kernel throttled sampling %s; use a lower -F, or raise "
               "kernel.perf_cpu_time_max_percent",
               pt_count_noun(f->throttled, "times").text);
    if (f->lost_waits > 0)
        pt_say("%" PRIu64 " wait%s not in the values: %s lost, or more threads waited at a time "
               "than the kernel's table holds",
               f->lost_waits, f->lost_waits == 1 ? " is" : "s are",
               f->lost_waits == 1 ? "its record was" : "their records were");
    if (f->left_out > 0)
        pt_say("the unwind tables of %s have no room in the kernel; stacks "
               "through %s were copied",
               pt_count_noun(f->left_out, "files").text, f->left_out == 1 ? "it" : "them");
    if (f->not_walked > 0)
        pt_say("the kernel's table had no room for %s for a while; stacks of %s were copied, and "
               "have no functions of interpreters",
               pt_count_noun(f->not_walked, "processes").text, f->not_walked == 1 ? "it" : "them");
    if (f->unreadable > 0)
        pt_say("the mappings of %s could not be read; stacks there "
               "are one frame deep",
               pt_count_noun(f->unreadable, "processes").text);
    if (f->denied > 0)
        pt_say("%s that the recorded ones started earlier could not be recorded "
               "with your rights; run with sudo",
               pt_count_noun(f->denied, "processes").text);
    const uint64_t used = f->used_ns;
    if (!f->is_each_thread && run->pids.count > 0 && f->lost == 0 && f->stacks >= 200 &&
        f->seen_ns < used - used / 10)
        pt_say("%.0f %% of the process's CPU time was counted for other threads on the same "
               "CPU; --each-thread counts each thread by its own clock",
               100.0 * (double)(used - f->seen_ns) / (double)used);
    if (f->missed_threads > 0 && f->is_out_of_descriptors)
        pt_say("the recording lacks %s: pitot ran out of file descriptors; raise ulimit -n and "
               "record again",
               pt_count_noun(f->missed_threads, "threads").text);
    else if (f->missed_threads > 0)
        pt_say(
            "the recording lacks %s: ended before their events were open, or denied by the kernel",
            pt_count_noun(f->missed_threads, "threads").text);
    if (f->unwritten > 0)
        pt_say("up to %" PRIu64 " samples are missing: the disk of /dev/shm, TMPDIR or /tmp was "
               "full",
               f->unwritten);
    const uint64_t lost = pt_capture_lost(f, used);
    if (lost >= BEYOND_CHANCE && lost > f->stacks / 100)
        pt_say("%s were lost: they came faster than pitot reads them; use a %s",
               pt_count_noun(lost, "samples").text,
               f->period_ns == 0 ? "larger -c"
                                 : "lower -F, or allow more locked memory (ulimit -l, "
                                   "kernel.perf_event_mlock_kb)");
}

/* Writes the profile to another folder after an error such as a full disk, so that the samples are
 * not lost. */
static void save_elsewhere(perf_run *run, const pt_profile *profile)
{
    const char *const places[] = {"/dev/shm", getenv("TMPDIR"), "/tmp"};
    for (size_t i = 0; i < sizeof places / sizeof places[0]; i++) {
        if (places[i] == NULL || places[i][0] != '/') continue;
        pt_error error = PT_ERROR_INIT;
        PT_FREE char *path = pt_strf("%s/pitot.%d.pb.gz", places[i], (int)getpid());
        if (access(path, F_OK) == 0 || run->recording->write(run->recording->context, profile, path,
                                                             PT_MODE_PRIVATE, &error) != PT_OK)
            continue;
        pt_say("the samples are not lost: %s", path);
        return;
    }
    pt_say("the samples are lost: they could be written neither to /dev/shm nor to TMPDIR nor to "
           "/tmp");
}

static int write_and_say(perf_run *run, const pt_profile *profile)
{
    const pt_record_settings *const s = run->settings;
    const pt_capture_facts *const f = &run->facts;
    pt_error error = PT_ERROR_INIT;
    char dead_ends[256];
    if (run->recording->write(run->recording->context, profile, s->output, s->file_mode, &error) !=
        PT_OK) {
        const int failed = pt_fail(&error);
        save_elsewhere(run, profile);
        return failed;
    }
    say_doubts(run);
    pt_recorded_dead_ends(profile, dead_ends, sizeof dead_ends);
    const uint64_t reached = f->complete + f->unchecked, others = f->samples - reached;
    const uint64_t cut = f->short_copy < others ? f->short_copy : others;
    const bool is_copied = !f->has_walker && s->engine != PT_ENGINE_PERF;
    PT_FREE char *why_copied = why_copied_text(run, f);
    if (pt_record_is_worth_a_line(cut, f->samples))
        pt_say("%" PRIu64 " stacks are deeper than their copies (%" PRIu32
               " KB at the end): their own time is right, their outermost callers are missing%s%s",
               cut, (f->stack_bytes + 1023) / 1024,
               is_copied ? "; no BPF program walked them: " : "", is_copied ? why_copied : "");
    pt_record_say_incomplete(f->samples, reached + cut, dead_ends);
    pt_journal_frames frames[PT_JOURNAL_LANGUAGES];
    frames_of(f, frames);
    const pt_record_summary summary = {.files = s->output,
                                       .frames = frames,
                                       .event = f->period_ns == 0 ? s->event : NULL,
                                       .events_seen = f->events_seen,
                                       .events = f->events,
                                       .weight = f->samples,
                                       .complete = f->complete,
                                       .unchecked = f->unchecked,
                                       .lost = pt_capture_lost(f, f->used_ns),
                                       .period_ns = f->period_ns,
                                       .seen_ns = f->seen_ns,
                                       .used_ns = f->used_ns,
                                       .own_ns = f->own_ns,
                                       .counted_ns = f->not_sampled_ns,
                                       .off_cpu_ns = f->off_cpu_ns,
                                       .ready_ns = f->ready_ns,
                                       .processes = f->processes};
    if (!s->quiet) pt_record_say_summary(&summary);
    return PT_EXIT_OK;
}

/* ---- before it begins ---- */

/* Are events of threads to be used? For --off-cpu such events report the context switches of the
 * recorded threads only; events of CPUs would report the switches of all programs. */
static bool by_threads(const perf_run *run)
{
    const pt_record_settings *const s = run->settings;
    return s->each_thread || (s->off_cpu && !run->counts_waits && !s->all && s->cgroup == NULL);
}

/* Does the command get more rights than this process has? Then the kernel ends the events of its
 * threads. */
static bool is_privileged(const char *command)
{
    pt_target target;
    pt_target_look(command, &target);
    const bool is_it = target.kind == PT_TARGET_PRIVILEGED;
    pt_target_done(&target);
    return is_it;
}

static bool is_interpreter(const char *command)
{
    pt_target target;
    pt_target_look(command, &target);
    const bool is_it = target.interpreter[0] != '\0';
    pt_target_done(&target);
    return is_it;
}

static pt_status ask_kernel(perf_run *run, pt_error *reterr)
{
    const pt_record_settings *const s = run->settings;
    const char *const name = s->event != NULL ? s->event : "cpu-clock";
    const pid_t self = getpid();
    const bool has_command = run->recording->arg_count > 0 && !is_of_others(s);
    const pt_event_plan plan = {.source = pt_event_source_named(name),
                                .hz = (uint64_t)s->hz,
                                .period = 1000000,
                                .user = !s->kernel,
                                .kernel = !s->user,
                                .is_each_thread = by_threads(run),
                                .has_user_stack = true,
                                .stack_bytes = PT_STACK_BYTES_FIRST};
    char program[4096];
    const ssize_t length = readlink("/proc/self/exe", program, sizeof program - 1);
    program[length > 0 ? length : 0] = '\0';
    if (plan.source == NULL) return no_event(name, reterr);
    const pt_status status =
        pt_permission_ask(&pt_permission_running, &plan, has_command ? &self : run->pids.items,
                          has_command ? 1 : run->pids.count, program, &run->permission, reterr);
    if (status != PT_OK) return status;
    if ((s->engine == PT_ENGINE_BPF || run->counts_waits) && run->permission.is_each_thread)
        return pt_error_set(reterr, PT_ERR_SYSTEM,
                            "--engine=bpf needs root, or a pitot with capabilities: run with sudo, "
                            "or once: " PT_PERMISSION_SETCAP "%s",
                            program);
    if (s->off_cpu && !run->permission.has_kernel)
        return pt_error_set(reterr, PT_ERR_SYSTEM,
                            "--off-cpu must see the kernel switch threads, which "
                            "kernel.perf_event_paranoid forbids; run with sudo, or: sudo sysctl "
                            "kernel.perf_event_paranoid=1%s",
                            has_command ? "; without rights: --wall in place of --off-cpu" : "");
    if (has_command && run->permission.is_each_thread && is_privileged(run->recording->args[0]))
        return pt_error_set(reterr, PT_ERR_SYSTEM,
                            "the kernel does not let you sample this command either, because it "
                            "changes its rights: run pitot with sudo, or as the user whose rights "
                            "the command takes");
    return PT_OK;
}

/* May this recording use events of context switches for the waits, if the kernel cannot count
 * waits? */
static bool may_use_switches(const perf_run *run)
{
    const pt_record_settings *const s = run->settings;
    return run->counts_waits && s->engine != PT_ENGINE_BPF && !s->wakers &&
           s->switch_stacks == PT_RECORD_SWITCH_STACKS;
}

/* Records waits by events of context switches. *error holds the reason why the kernel does not
 * count waits; if the kernel also refuses these events, *error becomes the reason of that
 * refusal. */
static pt_status use_switches(perf_run *run, pt_error *error)
{
    snprintf(run->why_not_counted, sizeof run->why_not_counted, "%s", error->message);
    run->counts_waits = false;
    return ask_kernel(run, error);
}

static void say_line(const char *line)
{
    pt_say("%s", line);
}

static pt_status prepare_capture(perf_run *run, pt_error *reterr)
{
    const pt_record_settings *const s = run->settings;
    pt_status status = PT_OK;
    if (s->pids.count > 0)
        status =
            pt_record_pids("/proc", s->pids.items, s->pids.count, say_line, &run->pids, reterr);
    if (s->cgroup != NULL) status = pt_cgroup_find("/proc", s->cgroup, &run->cgroup, reterr);
    if (status == PT_OK) status = pt_record_can_write(s->output, reterr);
    if (status != PT_OK) return status;
    run->counts_waits = s->off_cpu && s->engine != PT_ENGINE_PERF && !s->each_thread;
    status = ask_kernel(run, reterr);
    return status != PT_OK && may_use_switches(run) ? use_switches(run, reterr) : status;
}

/* Whether the start of the recording waits for the BPF program. A command must not wait until the
 * program is loaded. */
static pt_walk_wish wish_of(const perf_run *run)
{
    const pt_record_settings *const s = run->settings;
    if (s->engine == PT_ENGINE_BPF || run->counts_waits) return PT_WALK_OR_FAIL;
    if (s->engine == PT_ENGINE_PERF || s->off_cpu || run->permission.is_each_thread)
        return PT_WALK_NEVER;
    return is_of_others(s) ? PT_WALK_FIRST : PT_WALK_SOON;
}

static pt_capture_options options_of(perf_run *run)
{
    const pt_record_settings *const s = run->settings;
    const bool has_command = run->recording->arg_count > 0;
    const bool is_child = has_command && !is_of_others(s);
    return (pt_capture_options){
        .targets = {.pids = is_child ? &run->child.pid : run->pids.items,
                    .pid_count = is_child ? 1 : run->pids.count,
                    .with_started = s->children,
                    .all = s->all,
                    .cgroup = run->cgroup},
        .event = s->event != NULL ? s->event : "cpu-clock",
        .hz = (uint64_t)s->hz,
        .period = (uint64_t)s->count,
        .user = !s->kernel,
        .kernel = run->permission.has_kernel,
        .off_cpu = s->off_cpu,
        .wakers = s->wakers,
        .switch_stacks = (uint64_t)s->switch_stacks,
        .expects_frames = is_child && is_interpreter(run->recording->args[0]),
        .timeline = s->timeline,
        .walks = wish_of(run),
        .each_thread = run->permission.is_each_thread,
        .duration_ns = s->duration_ns,
        .until = has_command ? run->child.pid : 0,
        .awaits_exec = is_child,
        .memory_bytes = run->recording->memory_bytes,
        .tables = run->recording->tables,
        .keep_folder = run->kept.folder,
        .typed = run->recording->typed,
        .stop = &pt_record_stop,
        .progress = run->shows_progress ? show_progress : NULL,
        .describe = describe_recording,
        .describe_arg = run,
        .reported_ns = is_child ? end_command : NULL,
        .reported_arg = run,
    };
}

/* ---- the command ---- */

/* Takes samples until the recording ends. If there is a command, starts it and waits for its end.
 */
static int take_samples(perf_run *run, pt_capture *capture)
{
    pt_error error = PT_ERROR_INIT;
    PT_UNREF_PROFILE const pt_profile *profile = NULL;
    pt_record_run_begins(run->recording, &run->kept);
    pt_capture_start(capture);
    if (run->child.pid > 0) {
        const pt_status began = pt_record_child_go(&run->child, run->recording->args[0], &error);
        if (began != PT_OK) {
            pt_fail(&error);
            return began == PT_ERR_NOTFOUND ? 127 : 126;
        }
    }
    pt_capture_run(capture);
    end_progress(run);
    if (pt_capture_finish(capture, &run->facts, &profile, &error) != PT_OK) return pt_fail(&error);
    const int written = write_and_say(run, profile);
    if (run->child.pid <= 0) return written;
    if (!run->has_ended) pt_record_child_wait(&run->child);
    const int status = pt_record_status_of(run->recording->args[0], run->child.wait_status);
    return status != 0 ? status : written;
}

static pt_status make_capture(perf_run *run, pt_capture **ret_capture, pt_error *reterr)
{
    pt_capture_options options = options_of(run);
    pt_status status = pt_capture_new(&options, ret_capture, reterr);
    if (status == PT_OK || !may_use_switches(run)) return status;
    status = use_switches(run, reterr);
    if (status != PT_OK) return status;
    options = options_of(run);
    return pt_capture_new(&options, ret_capture, reterr);
}

static int run_capture(perf_run *run, pt_error *ret_refusal)
{
    pt_capture *capture = NULL;
    const bool has_command = run->recording->arg_count > 0;
    pt_record_signals before;
    if (has_command) {
        const char **const command = pt_alloc(run->recording->arg_count + 1, sizeof *command);
        memcpy(command, run->recording->args, run->recording->arg_count * sizeof *command);
        const pt_status started = pt_record_child_start(command, &run->child, ret_refusal);
        free(command);
        if (started != PT_OK) return PT_RECORD_REFUSED;
        pt_record_signals_pass_to(run->child.pid);
    }
    pt_record_signals_take(has_command, &before);
    int status = PT_RECORD_REFUSED;
    if (make_capture(run, &capture, ret_refusal) == PT_OK)
        status = take_samples(run, capture);
    else if (has_command)
        pt_record_child_refuse(&run->child);
    pt_capture_free(capture);
    pt_record_signals_pass_to(0);
    pt_record_signals_give_back(&before);
    return status;
}

int pt_record_perf(const pt_recording *recording, const char *why, pt_error *ret_refusal)
{
    perf_run run = {.recording = recording,
                    .settings = recording->settings,
                    .why = why,
                    .child = {.pid = -1},
                    .kept = {.lock_fd = -1},
                    .shows_progress = isatty(STDERR_FILENO) != 0 && recording->arg_count == 0};
    int status = PT_RECORD_REFUSED;
    if (prepare_capture(&run, ret_refusal) == PT_OK) {
        if (run.permission.note[0] != '\0') pt_say("%s", run.permission.note);
        pt_error error = PT_ERROR_INIT;
        run.command = command_of(&run);
        if (run.pids.count > 0 && !run.settings->children) say_started(&run);
        pt_record_run_folder(false, &run.kept, &error); /* needed only if this process is killed */
        status = run_capture(&run, ret_refusal);
    }
    pt_record_run_done(&run.kept);
    free(run.command);
    free(run.cgroup);
    free(run.pids.items);
    return status;
}
