/* preload.c: records a command with libprofiler.so.0 in its processes: reads their journals, writes
 * one profile or one for each process, and prints the messages. See recording.h. */
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>

#include "base/file.h"
#include "base/units.h"
#include "recording/recording.h"
#include "terminal/message.h"

#define BIRTH_AND_END_NS UINT64_C(2000000)

static char *split_name(const char *output, const pt_journal_facts *facts)
{
    PT_FREE char *part = facts->sequence == 0
                             ? pt_strf("%" PRIu32, facts->pid)
                             : pt_strf("%" PRIu32 ".%" PRIu32, facts->pid, facts->sequence);
    return pt_record_name_part(output, part);
}

static void say_messages(const char *messages)
{
    for (const char *line = messages; line != NULL && *line != '\0';) {
        const size_t length = strcspn(line, "\n");
        pt_say("%.*s", (int)length, line);
        line += length + (line[length] == '\n');
    }
}

/* Writes the distinct lines, in their order, to `names`, as in "go, busybox, and others". Returns
 * the number of all lines. */
static size_t list_names(const char *lines, pt_buf *names)
{
    enum { NAMES_MAX = 4 };
    size_t count = 0, named = 0;
    for (const char *line = lines; line != NULL && *line != '\0'; count++) {
        const size_t length = strcspn(line, "\n");
        bool is_known = false;
        for (const char *before = lines; before < line && !is_known;) {
            const size_t bytes = strcspn(before, "\n");
            is_known = bytes == length && memcmp(before, line, length) == 0;
            before += bytes + (before[bytes] == '\n');
        }
        if (!is_known && named++ < NAMES_MAX)
            pt_putf(names, "%s%.*s", named > 1 ? ", " : "", (int)length, line);
        line += length + (line[length] == '\n');
    }
    if (named > NAMES_MAX) pt_put_text(names, " and others");
    return count;
}

static void say_not_entered(const char *lines, uint64_t ns)
{
    pt_buf names = PT_BUF_INIT;
    const size_t count = list_names(lines, &names);
    pt_say("%.2f CPU seconds in %s that the library cannot enter (%s): --engine=perf",
           (double)ns / 1e9, pt_count_noun(count, "programs").text, pt_buf_text(&names));
    pt_buf_done(&names);
}

/* Prints warnings about processes and CPU time that the summary's numbers do not show. */
static void say_doubts(const pt_recorded *all)
{
    /* No tick samples the birth and the end of a process, which happen in the kernel. */
    uint64_t known_ns = all->reached_ns;
    pt_recorded_add(&known_ns, all->images * BIRTH_AND_END_NS);
    const uint64_t unreached_ns = all->used_ns > known_ns ? all->used_ns - known_ns : 0;
    if (all->tick_bound)
        pt_say(
            "the kernel's timers tick %.0f times a second of CPU here, not as often as asked: each "
            "stack stands for about %.1f samples; perf events would be exact: sudo sysctl "
            "kernel.perf_event_paranoid=1",
            all->ticks > 0 && all->seen_ns > 0 ? (double)all->ticks * 1e9 / (double)all->seen_ns
                                               : 0,
            all->ticks > 0 ? (double)all->weight / (double)all->ticks : 0);
    const bool is_much = unreached_ns > 20000000 && unreached_ns > all->used_ns / 50;
    if (is_much && all->not_entered != NULL)
        say_not_entered(all->not_entered, unreached_ns);
    else if (is_much)
        pt_say("%.2f CPU seconds have no samples: they are of processes that ran without the "
               "library (a cleared environment, chroot), or of the last tenth of a second of "
               "processes that were killed",
               (double)unreached_ns / 1e9);
    if (all->unsampled_threads > 0)
        pt_say("%s without samples: the kernel gave no timer",
               pt_count_noun(all->unsampled_threads, "threads").text);
    if (all->impossible > 0)
        pt_say("%zu process%s more CPU time than there was; the impossible part is left out",
               all->impossible, all->impossible == 1 ? " claims" : "es claim");
    if (all->running > 0)
        pt_say("%s still running; the samples up to now are in the profile",
               pt_count_noun(all->running, "processes").text);
    for (size_t i = 0; i < all->count; i++) {
        const pt_recorded_process *const process = &all->processes[i];
        if (process->error.status != PT_OK)
            pt_say("process %" PRIu32 " (%s): %s", process->facts.pid, process->facts.comm,
                   process->error.message);
    }
    say_messages(all->messages);
}

/* Writes the profile of processes [first, first + count) to a file, and adds its counts and times
 * to the totals. */
static pt_status write_part(const pt_recording *recording, const pt_record_story *story,
                            pt_recorded *all, size_t first, size_t count, const char *path,
                            pt_error *reterr)
{
    PT_UNREF_PROFILE const pt_profile *profile = NULL;
    pt_status status = pt_recorded_profile(story, first, count, &profile, reterr);
    if (status == PT_OK)
        status = recording->write(recording->context, profile, path, story->mode, reterr);
    if (status != PT_OK) return status;
    for (size_t i = first; i < first + count; i++) {
        pt_recorded_add(&all->weight, all->processes[i].facts.weight);
        pt_recorded_add(&all->complete, all->processes[i].facts.complete);
        pt_recorded_add(&all->unchecked, all->processes[i].facts.unchecked);
        pt_recorded_add(&all->truncated, all->processes[i].facts.truncated);
        pt_recorded_add_frames(all->frames, all->processes[i].facts.frames);
    }
    if (first == 0) { /* the process with the most samples, or all processes */
        pt_recorded_keep_tables(profile, &story->tables);
        const size_t gone = pt_recorded_gone(profile);
        pt_recorded_dead_ends(profile, all->dead_ends, sizeof all->dead_ends);
        if (gone > 0)
            pt_say("%zu programs or libraries with samples are gone from the disk; their "
                   "functions will have no names",
                   gone);
    }
    return PT_OK;
}

static pt_status write_all(const pt_recording *recording, const pt_record_story *story,
                           pt_recorded *all, pt_error *reterr)
{
    const pt_record_settings *const settings = recording->settings;
    if (!settings->split)
        return write_part(recording, story, all, 0, all->count, settings->output, reterr);
    pt_status status = PT_OK;
    for (size_t i = 0; i < all->count && status == PT_OK; i++) {
        if (all->processes[i].facts.ticks == 0) continue;
        PT_FREE char *path = split_name(settings->output, &all->processes[i].facts);
        status = write_part(recording, story, all, i, 1, path, reterr);
    }
    return status;
}

int pt_record_status_of(const char *command, int wait_status)
{
    if (!WIFSIGNALED(wait_status)) return WEXITSTATUS(wait_status);
    pt_say("%s was ended by signal %d (%s)", command, WTERMSIG(wait_status),
           strsignal(WTERMSIG(wait_status)));
    return 128 + WTERMSIG(wait_status);
}

static int finish_recording(const pt_recording *recording, pt_record_run *run, const char *command,
                            const char *engine)
{
    const pt_record_settings *const settings = recording->settings;
    pt_error error = PT_ERROR_INIT;
    pt_recorded all;
    pt_recorded_init(&all, run);
    if (settings->wall) pt_recorded_count_wall(&all);
    if (all.period_ns == 0) all.period_ns = pt_journal_period_ns((uint64_t)settings->hz);
    const pt_record_story story = {.command = command,
                                   .typed = recording->typed,
                                   .tables = recording->tables,
                                   .engine = engine,
                                   .run = run,
                                   .recorded = &all,
                                   .hz = (uint32_t)settings->hz,
                                   .mode = settings->file_mode};
    int status = pt_record_status_of(recording->args[0], run->wait_status);
    const bool is_split = settings->split;
    if (!pt_folder_has_room(run->folder))
        pt_say("there is no space left in %.*s: samples are lost; make room, or name another "
               "folder by TMPDIR",
               (int)(strstr(run->folder, "/pitot-record-") - run->folder), run->folder);
    size_t first_seen = 0; /* the first process with ticks */
    while (is_split && first_seen < all.count && all.processes[first_seen].facts.ticks == 0)
        first_seen++;
    if (all.images == 0 || (is_split && first_seen == all.count)) {
        pt_say("no process could be sampled, nothing is written");
        say_doubts(&all);
        status = status != 0 ? status : PT_EXIT_FAILED;
    } else if (write_all(recording, &story, &all, &error) != PT_OK) {
        const int failed = pt_fail(&error);
        pt_say("the samples are not lost: pitot recover %.*s",
               (int)(pt_base_name(run->folder) - run->folder - 1), run->folder);
        pt_record_run_keep(run);
        status = status != 0 ? status : failed;
    } else {
        PT_FREE char *first =
            is_split ? split_name(settings->output, &all.processes[first_seen].facts) : NULL;
        all.seen_ns = pt_recorded_time_ns(all.weight, all.period_ns);
        say_doubts(&all);
        uint64_t reached = all.complete;
        pt_recorded_add(&reached, all.unchecked);
        pt_recorded_add(&reached, all.truncated);
        pt_record_say_incomplete(all.weight, reached, all.dead_ends);
        const pt_record_summary summary = {.files = first != NULL ? first : settings->output,
                                           .weight = all.weight,
                                           .complete = all.complete,
                                           .unchecked = all.unchecked,
                                           .frames = all.frames,
                                           .lost = all.lost,
                                           .period_ns = all.period_ns,
                                           .seen_ns = all.seen_ns,
                                           .used_ns = all.used_ns,
                                           .own_ns = all.own_ns,
                                           .counted_ns = all.counted_ns,
                                           .processes = all.images,
                                           .is_wall = all.is_wall};
        if (!settings->quiet) pt_record_say_summary(&summary);
    }
    pt_recorded_done(&all);
    return status;
}

int pt_record_preload(const pt_recording *recording, const char *library, const char *engine)
{
    const pt_record_settings *const settings = recording->settings;
    pt_error error = PT_ERROR_INIT;
    if (pt_record_can_write(settings->output, &error) != PT_OK) return pt_fail(&error);
    PT_FREE char *text = pt_record_command_text(recording->args, recording->arg_count);
    pt_record_run run;
    int status;
    const pt_status ran = pt_record_run_command(recording, library, &run, &error);
    if (ran == PT_OK) {
        status = finish_recording(recording, &run, text, engine);
    } else { /* the shell's statuses: 127 not found, 126 cannot be executed */
        pt_fail(&error);
        status = run.folder == NULL ? PT_EXIT_FAILED : ran == PT_ERR_NOTFOUND ? 127 : 126;
    }
    pt_record_run_done(&run);
    return status;
}
