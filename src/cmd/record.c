/* record.c: `pitot record COMMAND...`: run it, profile every process it starts, write one profile,
 * say how much of it to believe.
 */
#include <errno.h>
#include <inttypes.h>
#include <libgen.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/file.h"
#include "base/pool.h"
#include "cmd/cmd.h"
#include "cmd/input.h"
#include "cmd/record_int.h"
#include "formats/format.h"

#define HZ_MAX           20000
#define BIRTH_AND_END_NS UINT64_C(2000000)

typedef struct {
    int64_t hz;
    const char *output;
    bool split;
} record_settings;

static const pt_option record_rows[] = {
    {.name = "frequency",
     .letter = 'F',
     .type = PT_OPT_INT,
     .offset = offsetof(record_settings, hz),
     .initial = "1000",
     .min = 1,
     .max = HZ_MAX,
     .metavar = "HZ",
     .help = "take this many samples a second of CPU time, in each thread",
     .details = "The profile holds the true period: whole microseconds, and where the kernel's "
                "timers tick more slowly than asked each sample stands for several periods."},
    {.name = "output",
     .letter = 'o',
     .type = PT_OPT_STRING,
     .offset = offsetof(record_settings, output),
     .initial = PT_DEFAULT_PROFILE,
     .metavar = "FILE",
     .help = "write the profile here; a file that is there becomes FILE.old",
     .details =
         "The format follows from the name; profile.proto, gzipped, unless it says another."},
    {.name = "split",
     .type = PT_OPT_FLAG,
     .offset = offsetof(record_settings, split),
     .help = "write a profile for each process, with its number in the name",
     .details = "pitot.pb.gz becomes pitot.812.pb.gz. Without it one file holds all processes, and "
                "its samples carry the labels pid and comm."},
};
static const pt_option_table record_table = PT_OPTION_TABLE(record_rows);

/* ---- what was asked ---- */

/* As a person would type it. */
static char *command_text(const char *const *args, size_t count)
{
    pt_buf text = PT_BUF_INIT;
    for (size_t i = 0; i < count; i++) {
        if (i > 0) pt_put_u8(&text, ' ');
        pt_put_quoted(&text, args[i]);
    }
    pt_buf_text(&text);
    return pt_buf_take(&text, NULL);
}

static int refuse(const char *command, const pt_target *target)
{
    static const char *const why[] = {
        [PT_TARGET_STATIC] = "is statically linked: no library can be loaded into it",
        [PT_TARGET_PRIVILEGED] = "runs with more rights than you: no library of yours is let in",
        [PT_TARGET_GO] = "is a Go program, whose runtime keeps threads and signals to itself",
        [PT_TARGET_FOREIGN] = "is built for another machine or word size than this pitot",
    };
    static const char *const next[] = {
        [PT_TARGET_STATIC] = "link it dynamically to record it",
        [PT_TARGET_PRIVILEGED] = "record it as the user it runs as",
        [PT_TARGET_GO] = "use its own runtime/pprof, whose files pitot reads",
        [PT_TARGET_FOREIGN] = "use a pitot built for it",
    };
    const bool is_script = target->script != NULL;
    pt_cmd_say("%s%s%s %s; recording from outside is not there yet: %s", command,
               is_script ? ": its interpreter " : "", is_script ? target->path : "",
               why[target->kind], next[target->kind]);
    return PT_EXIT_FAILED;
}

/* ---- writing ---- */

typedef struct {
    pt_file_writer writer;
    const char *path;
    bool open;
} one_file;

static pt_out *open_one(void *context, const char *suffix, pt_error *reterr)
{
    one_file *const file = context;
    if (file->open || suffix[0] != '\0') {
        pt_error_set(reterr, PT_ERR_UNSUPPORTED, "a recording is written to one file");
        return NULL;
    }
    if (pt_file_create(file->path, &file->writer, reterr) != PT_OK) return NULL;
    file->open = true;
    return &file->writer.out;
}

static const pt_format *format_of(const char *path)
{
    const pt_format *format = pt_format_for_path(path);
    return format == NULL || format->write == NULL ? pt_format_find("pprof") : format;
}

/* The profile that a format can hold, in ->profile: one without addresses gets names now, since
 * nobody can name them later. What is lost is told at the end. */
static int fit_to_format(pt_cmd_context *context, const pt_profile *profile,
                         const pt_format *format)
{
    pt_profile_unref(context->profile);
    context->profile = pt_profile_ref(profile);
    if (!(format->capabilities & PT_CAN_ADDRESSES)) {
        if (context->pool == NULL) context->pool = pt_pool_new(0);
        const int status = pt_cmd_symbolize(context);
        if (status != PT_EXIT_OK) return status;
    }
    pt_diag losses;
    pt_diag_init(&losses);
    pt_format_losses(context->profile, format, &losses);
    for (size_t i = 0; i < losses.count; i++)
        pt_diag_add(&context->diag, losses.facts[i].count, "%s in %s", losses.facts[i].text,
                    format->name);
    pt_diag_done(&losses);
    return PT_EXIT_OK;
}

/* An older file of that name becomes .old only when the new one is whole. */
static pt_status write_profile(pt_cmd_context *context, const pt_profile *profile, const char *path,
                               pt_error *reterr)
{
    const pt_format *format = format_of(path);
    if (fit_to_format(context, profile, format) != PT_EXIT_OK)
        return pt_error_set(reterr, PT_ERR_UNSUPPORTED, "%s: not written", path);
    one_file file = {.path = path};
    const pt_output output = {.context = &file, .open = open_one};
    const pt_write_options options = {.event = PT_NONE, .diag = &context->diag};
    pt_status status = format->write(context->profile, &output, &options, reterr);
    if (status == PT_OK && file.open) status = pt_out_flush(&file.writer.out, reterr);
    if (status == PT_OK) status = pt_file_keep_old(path, NULL, reterr);
    if (status == PT_OK && file.open) return pt_file_commit(&file.writer, false, reterr);
    if (file.open) pt_file_abandon(&file.writer);
    if (status != PT_OK && reterr->path[0] == '\0') pt_error_where(reterr, path, NULL, -1);
    return status;
}

/* Asked before the command runs: it would be a pity to find out after it. */
static pt_status can_write(const char *path, pt_error *reterr)
{
    struct stat is;
    if (stat(path, &is) == 0 && S_ISDIR(is.st_mode))
        return pt_error_set(reterr, PT_ERR_USAGE, "%s is a folder; name a file with -o", path);
    PT_FREE char *copy = pt_strdup(path);
    const char *folder = dirname(copy);
    if (access(folder, W_OK | X_OK) == 0) return PT_OK;
    const int why = errno;
    return pt_error_errno(reterr, why,
                          "%s cannot be written, nothing is recorded; name another "
                          "place with -o: %s",
                          path, folder);
}

/* pitot.pb.gz -> pitot.812.pb.gz: the number goes before the first dot of the name. */
static char *split_name(const char *output, const pt_journal_facts *facts)
{
    const char *const slash = strrchr(output, '/');
    const char *const name = slash != NULL ? slash + 1 : output;
    const size_t stem =
        (size_t)(name - output) + strcspn(name + (name[0] == '.'), ".") + (name[0] == '.');
    if (facts->sequence == 0)
        return pt_strf("%.*s.%" PRIu32 "%s", (int)stem, output, facts->pid, output + stem);
    return pt_strf("%.*s.%" PRIu32 ".%" PRIu32 "%s", (int)stem, output, facts->pid, facts->sequence,
                   output + stem);
}

/* ---- what is said ---- */

static const char *percent(char *buf, size_t size, uint64_t part, uint64_t whole)
{
    const double share = whole == 0 ? 0 : 100.0 * (double)part / (double)whole;
    snprintf(buf, size, share > 99 && share < 99.95 ? "%.1f %%" : "%.0f %%", share);
    return buf;
}

/* "12,345" */
static const char *grouped(char *buf, size_t size, uint64_t value)
{
    char digits[24];
    size_t at = 0;
    const int length = snprintf(digits, sizeof digits, "%" PRIu64, value);
    for (int i = 0; i < length && at + 2 < size; i++) {
        if (i > 0 && (length - i) % 3 == 0) buf[at++] = ',';
        buf[at++] = digits[i];
    }
    buf[at] = '\0';
    return buf;
}

/* The one line by which to judge the recording, and the next command. */
static void say_summary(const record_settings *settings, const pt_recorded *all, const char *files)
{
    char samples[32], complete[32];
    char processes[64] = "", lost[64] = "", next[4200];
    if (all->images > 1) snprintf(processes, sizeof processes, ", %zu processes", all->images);
    if (all->lost > 0) snprintf(lost, sizeof lost, ", %" PRIu64 " samples lost", all->lost);
    const bool usual = strcmp(settings->output, PT_DEFAULT_PROFILE) == 0 && !settings->split;
    snprintf(next, sizeof next, "pitot top%s%s", usual ? "" : " ", usual ? "" : files);
    pt_cmd_say("%s: %s samples, %.0f a second of CPU; %.2f of %.2f CPU seconds seen, %s of the "
               "stacks complete%s%s; next: %s",
               files, grouped(samples, sizeof samples, all->weight),
               all->period_ns != 0 ? 1e9 / (double)all->period_ns : 0.0, (double)all->seen_ns / 1e9,
               (double)all->used_ns / 1e9,
               percent(complete, sizeof complete, all->complete, all->weight), processes, lost,
               next);
}

static void say_incomplete(const pt_recorded *all, const char *dead_ends)
{
    char share[32];
    if (all->weight == 0 || all->weight - all->complete <= all->weight / 20) return;
    pt_cmd_say("%s of the samples do not reach where their thread began: functions of %s have no "
               "unwind tables and keep no frame pointers; their own time is right, their callers "
               "are missing (gcc -fno-omit-frame-pointer)",
               percent(share, sizeof share, all->weight - all->complete, all->weight),
               dead_ends[0] != '\0' ? dead_ends : "the program");
}

static void say_messages(const char *messages)
{
    for (const char *line = messages; line != NULL && *line != '\0';) {
        const size_t length = strcspn(line, "\n");
        pt_cmd_say("%.*s", (int)length, line);
        line += length + (line[length] == '\n');
    }
}

/* What the numbers alone would not tell. */
static void say_doubts(const pt_recorded *all)
{
    /* A process' birth and end belong to the kernel: nobody samples them. */
    uint64_t known_ns = all->reached_ns;
    pt_recorded_add(&known_ns, all->images * BIRTH_AND_END_NS);
    const uint64_t unreached_ns = all->used_ns > known_ns ? all->used_ns - known_ns : 0;
    if (all->tick_bound)
        pt_cmd_say(
            "the kernel's timers tick %.0f times a second of CPU here: each stack stands for "
            "about %.1f samples (perf events would be exact: sysctl "
            "kernel.perf_event_paranoid=1)",
            all->ticks > 0 && all->seen_ns > 0 ? (double)all->ticks * 1e9 / (double)all->seen_ns
                                               : 0,
            all->ticks > 0 ? (double)all->weight / (double)all->ticks : 0);
    if (unreached_ns > 20000000 && unreached_ns > all->used_ns / 50)
        pt_cmd_say("%.2f CPU seconds were used where the library was not: in static, setuid or Go "
                   "programs, behind a cleared environment or chroot, or in the last tenth of a "
                   "second of a process that was killed",
                   (double)unreached_ns / 1e9);
    if (all->unsampled_threads > 0)
        pt_cmd_say("%" PRIu64 " threads could not be given a timer and were not sampled",
                   all->unsampled_threads);
    if (all->running > 0)
        pt_cmd_say("%zu processes still run; their samples up to now are in the profile",
                   all->running);
    for (size_t i = 0; i < all->count; i++) {
        const pt_recorded_process *const process = &all->processes[i];
        if (process->error.status != PT_OK)
            pt_cmd_say("process %" PRIu32 " (%s): %s", process->facts.pid, process->facts.comm,
                       process->error.message);
    }
    say_messages(all->messages);
}

/* ---- the command ---- */

/* Profiles of processes [first, first + count) to the file; adds what is in it to the totals. */
static pt_status write_part(pt_cmd_context *context, const pt_record_story *story, pt_recorded *all,
                            size_t first, size_t count, const char *path, pt_error *reterr)
{
    PT_UNREF_PROFILE const pt_profile *profile = NULL;
    pt_status status = pt_recorded_profile(story, first, count, &profile, reterr);
    if (status == PT_OK) status = write_profile(context, profile, path, reterr);
    if (status != PT_OK) return status;
    for (size_t i = first; i < first + count; i++) {
        pt_recorded_add(&all->weight, all->processes[i].facts.weight);
        pt_recorded_add(&all->complete, all->processes[i].facts.complete);
    }
    if (first == 0) { /* the heaviest process, or all */
        const size_t gone = pt_recorded_gone(profile);
        pt_recorded_dead_ends(profile, all->dead_ends, sizeof all->dead_ends);
        if (gone > 0)
            pt_cmd_say("%zu programs or libraries with samples are gone from the disk; their "
                       "functions will have no names",
                       gone);
    }
    return PT_OK;
}

static pt_status write_all(pt_cmd_context *context, const record_settings *settings,
                           const pt_record_story *story, pt_recorded *all, pt_error *reterr)
{
    if (!settings->split)
        return write_part(context, story, all, 0, all->count, settings->output, reterr);
    pt_status status = PT_OK;
    for (size_t i = 0; i < all->count && status == PT_OK; i++) {
        if (all->processes[i].facts.ticks == 0) continue;
        PT_FREE char *path = split_name(settings->output, &all->processes[i].facts);
        status = write_part(context, story, all, i, 1, path, reterr);
    }
    return status;
}

static int child_status(int wait_status)
{
    return WIFSIGNALED(wait_status) ? 128 + WTERMSIG(wait_status) : WEXITSTATUS(wait_status);
}

static int finish(pt_cmd_context *context, const record_settings *settings, pt_record_run *run,
                  const char *command)
{
    pt_error error = PT_ERROR_INIT;
    pt_recorded all;
    pt_recorded_init(&all, run);
    const pt_record_story story = {
        .command = command, .run = run, .recorded = &all, .hz = (uint32_t)settings->hz};
    int status = child_status(run->wait_status);
    if (WIFSIGNALED(run->wait_status))
        pt_cmd_say("%s was ended by signal %d (%s)", context->args[0], WTERMSIG(run->wait_status),
                   strsignal(WTERMSIG(run->wait_status)));
    if (all.count == 0) {
        pt_cmd_say("no process could be sampled, nothing is written");
        say_doubts(&all);
        status = status != 0 ? status : PT_EXIT_FAILED;
    } else if (write_all(context, settings, &story, &all, &error) != PT_OK) {
        const int failed = pt_cmd_fail(&error);
        pt_cmd_say("the samples are not lost: pitot merge %s/*.journal -o FILE", run->folder);
        pt_record_run_keep(run);
        status = status != 0 ? status : failed;
    } else {
        PT_FREE char *first =
            settings->split ? split_name(settings->output, &all.processes[0].facts) : NULL;
        all.seen_ns = pt_recorded_time_ns(all.weight, all.period_ns);
        say_doubts(&all);
        say_incomplete(&all, all.dead_ends);
        say_summary(settings, &all, first != NULL ? first : settings->output);
    }
    pt_recorded_done(&all);
    return status;
}

static int record_run(pt_cmd_context *context, void *settings_memory)
{
    const record_settings *const settings = settings_memory;
    if (context->arg_count == 0) return pt_cmd_usage(context, "no command to record");
    const char *const *const args = context->args;
    pt_target target;
    pt_target_look(args[0], &target);
    const int refused = target.kind != PT_TARGET_OK ? refuse(args[0], &target) : PT_EXIT_OK;
    pt_target_done(&target);
    if (refused != PT_EXIT_OK) return refused;

    pt_error error = PT_ERROR_INIT;
    if (can_write(settings->output, &error) != PT_OK) return pt_cmd_fail(&error);
    PT_FREE char *library = pt_record_library(&error);
    if (library == NULL) return pt_cmd_fail(&error);
    const char **const command = pt_alloc(context->arg_count + 1, sizeof *command);
    memcpy(command, args, context->arg_count * sizeof *command);
    PT_FREE char *text = command_text(args, context->arg_count);
    pt_record_run run;
    int status;
    const pt_status ran =
        pt_record_run_command(command, library, (uint32_t)settings->hz, &run, &error);
    if (ran == PT_OK) {
        status = finish(context, settings, &run, text);
    } else { /* as shells say it: 127 not found, 126 not to be run */
        pt_cmd_fail(&error);
        status = run.folder == NULL ? PT_EXIT_FAILED : ran == PT_ERR_NOTFOUND ? 127 : 126;
    }
    pt_record_run_done(&run);
    free(command);
    return status;
}

static const char *const record_examples[] = {
    "pitot record ./server --port 8080",
    "until it ends, or Ctrl-C ends it",
    "pitot record -F 4000 -o fast.pb.gz make -j4",
    "every process of a build in one file",
    NULL,
};

const pt_command pt_command_record = {
    .name = "record",
    .group = PT_GROUP_COLLECT,
    .summary = "run a command and profile all processes it starts",
    .arguments = "[--] COMMAND [ARGUMENT...]",
    .description =
        "Samples the CPU time of every thread of every process that the command starts, by loading "
        "libprofiler.so.0 into them. Nothing needs to be rebuilt, but stacks are followed by frame "
        "pointers: code built without them (most distributions' libraries) has its own time right "
        "and its callers missing. The last line says how many stacks are complete.\n\n"
        "The command keeps its standard streams and its exit status. Ctrl-C ends it and the "
        "profile "
        "is written. A process that is killed loses nothing.",
    .examples = record_examples,
    .max_args = SIZE_MAX,
    .stops_at_argument = true,
    .options = &record_table,
    .settings_bytes = sizeof(record_settings),
    .run = record_run,
};
