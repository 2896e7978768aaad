/* collect.c: makes one profile of the journals of a process tree, or one for each process. */
#include "recording/recording.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/utsname.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/file.h"
#include "base/grow.h"
#include "base/place.h"
#include "base/text.h"
#include "capture/keep.h"
#include "capture/tables.h"
#include "load/unwind.h"
#include "model/process_user.h"
#include "process/path_kind.h"

#define JOURNAL_MAX_BYTES (UINT64_C(1) << 30)

/* ---- facts ---- */

/* Reads a file of the recording's folder: only a regular file that is no link, and without waiting,
 * since recorded programs may have put anything there. */
static pt_status read_own(const char *path, pt_file_flags flags, uint64_t max_bytes,
                          pt_blob *ret_blob, pt_error *reterr)
{
    PT_CLOSE int fd = pt_open_regular_nofollow(path, NULL);
    if (fd < 0) return pt_error_set(reterr, PT_ERR_NOTFOUND, "its journal is gone");
    return pt_file_read_fd(fd, path, flags, max_bytes, ret_blob, reterr);
}

/* Calls `use` with the journal of the process, which is a file, or a part of the file of short
 * journals. Returns false if there is no such journal. */
static bool read_process(pt_recorded_process *process,
                         void (*use)(pt_reader *reader, pt_recorded_process *process, void *arg),
                         void *arg)
{
    pt_blob blob = PT_BLOB_INIT;
    pt_buf unfolded = PT_BUF_INIT;
    pt_reader reader;
    process->error = PT_ERROR_INIT;
    pt_status status = PT_OK;
    if (process->in.record != NULL) {
        pt_journal_unfold_short(&process->in, &unfolded);
        pt_reader_init(&reader, unfolded.data, unfolded.size, &process->error);
    } else {
        status = read_own(process->path, 0, JOURNAL_MAX_BYTES, &blob, &process->error);
        pt_reader_init(&reader, blob.data, blob.size, &process->error);
    }
    if (status == PT_OK) use(&reader, process, arg);
    pt_buf_done(&unfolded);
    pt_blob_done(&blob);
    return status != PT_ERR_NOTFOUND;
}

static void read_facts(pt_reader *reader, pt_recorded_process *process, void *arg)
{
    (void)arg;
    pt_journal_read_facts(reader, &process->facts, &process->error);
}

/* Calls `use` for each journal in the file at path. If the file holds many, its bytes are read into
 * *shorts. */
static void each_journal(const char *path, pt_blob *shorts,
                         void (*use)(pt_recorded_process *process, void *arg), void *arg)
{
    struct stat st;
    pt_recorded_process process = {.path = pt_strdup(path)};
    if (lstat(path, &st) == 0) process.user = st.st_uid;
    if (strcmp(pt_base_name(path), PT_JOURNAL_SHORT) != 0) {
        use(&process, arg);
    } else if (read_own(path, PT_FILE_EMPTY_OK, JOURNAL_MAX_BYTES, shorts, NULL) == PT_OK) {
        for (size_t at = 0; pt_journal_next_short(shorts->data, shorts->size, &at, &process.in);) {
            process.user = geteuid(); /* nothing in the folder proves another user */
            use(&process, arg);
        }
    }
    free(process.path);
}

static char *read_lines(const char *path)
{
    pt_blob blob = PT_BLOB_INIT;
    char *text = NULL;
    if (read_own(path, PT_FILE_EMPTY_OK, 1 << 20, &blob, NULL) == PT_OK && blob.size > 0)
        text = pt_strndup((const char *)blob.data, blob.size);
    pt_blob_done(&blob);
    return text;
}

static int by_weight(const void *a, const void *b)
{
    const pt_journal_facts *const x = &((const pt_recorded_process *)a)->facts;
    const pt_journal_facts *const y = &((const pt_recorded_process *)b)->facts;
    if (x->weight != y->weight) return x->weight > y->weight ? -1 : 1;
    if (x->start_monotonic_ns != y->start_monotonic_ns)
        return x->start_monotonic_ns < y->start_monotonic_ns ? -1 : 1;
    return (x->pid > y->pid) - (x->pid < y->pid);
}

/* ---- all processes of the tree ---- */

/* A pt_journal_brief for each program: from its journal or, if the program ended before its first
 * sample, from the file PT_JOURNAL_BRIEF, which the processes share. */
typedef PT_VECTOR(pt_journal_brief) brief_list;

typedef PT_VECTOR(pt_recorded_process) process_list;

/* Sums over the briefs in the folder's files. These files may be wrong, since recorded programs can
 * write to them. */
typedef struct {
    pt_journal_bounds bounds;
    brief_list briefs;
    process_list found;
    size_t impossible; /* figures that were left out */
} claims;

/* The most that processes can have used while the command ran. If the recorder was killed, the end
 * is unknown: the machine may have been started again since. */
static pt_journal_bounds bounds_of(const pt_record_run *run)
{
    return (pt_journal_bounds){.duration_ns = (uint64_t)run->duration_ns,
                               .cpus = (uint32_t)sysconf(_SC_NPROCESSORS_CONF),
                               .period_ns = run->period_ns};
}

static void push_brief(const pt_journal_brief *brief, void *arg)
{
    claims *const c = arg;
    pt_journal_brief own = *brief;
    pt_recorded_add(&own.own_ns, own.cpu_own_ns); /* as in the facts of a journal */
    const pt_journal_facts facts = {.cpu_before_ns = own.cpu_before_ns,
                                    .cpu_used_ns = own.cpu_used_ns,
                                    .cpu_own_ns = own.cpu_own_ns,
                                    .own_ns = own.own_ns};
    if (pt_journal_is_possible(&facts, &c->bounds))
        PT_PUSH(c->briefs, own);
    else
        c->impossible++;
}

static void list_brief(const char *folder, claims *c)
{
    pt_blob blob = PT_BLOB_INIT;
    PT_FREE char *path = pt_strf("%s/" PT_JOURNAL_BRIEF, folder);
    if (read_own(path, PT_FILE_EMPTY_OK, JOURNAL_MAX_BYTES, &blob, NULL) == PT_OK)
        pt_journal_each_brief(blob.data, blob.size, push_brief, c);
    pt_blob_done(&blob);
}

static pt_journal_brief brief_of(const pt_journal_facts *f)
{
    pt_journal_brief brief = {.pid = f->pid,
                              .end = f->end,
                              .start_monotonic_ns = f->start_monotonic_ns,
                              .cpu_before_ns = f->cpu_before_ns,
                              .cpu_used_ns = f->cpu_used_ns,
                              .cpu_own_ns = f->cpu_own_ns,
                              .own_ns = f->own_ns};
    memcpy(brief.comm, f->comm, sizeof brief.comm);
    return brief;
}

/* A process keeps its CPU clock over exec, so the brief of its last program includes the CPU time
 * of its earlier programs. */
PT_ORDER(by_pid, pt_journal_brief, PT_UP(pid) ?: PT_UP(start_monotonic_ns) ?: PT_UP(cpu_used_ns));

/* Did the process write its brief twice: before an exec that failed, and again later? */
static bool is_told_again(const pt_journal_brief *process, const pt_journal_brief *next)
{
    return process->pid == next->pid && process->start_monotonic_ns == next->start_monotonic_ns;
}

/* Is `next` the same process, after exec or after an exec that failed? If not, the process id was
 * used again, and the clock of the new process began at 0. */
static bool goes_on_as(const pt_journal_brief *process, const pt_journal_brief *next)
{
    uint64_t used_ns = process->cpu_before_ns;
    pt_recorded_add(&used_ns, process->cpu_used_ns);
    return process->pid == next->pid &&
           (is_told_again(process, next) || next->cpu_before_ns >= used_ns);
}

static bool still_runs(const pt_journal_brief *process)
{
    return process->end == PT_JOURNAL_RUNNING &&
           (kill((pid_t)process->pid, 0) == 0 || errno == EPERM);
}

static uint64_t least_of(uint64_t a, uint64_t b)
{
    return a < b ? a : b;
}

/* The CPU time of a process that still runs, as the kernel reports it; 0 if the time is unknown. */
static uint64_t clock_of(uint32_t pid)
{
    clockid_t clock;
    return clock_getcpuclockid((pid_t)pid, &clock) == 0 ? (uint64_t)pt_clock_ns(clock) : 0;
}

static void add_processes(pt_recorded *all, brief_list list, uint64_t *ret_running_ns)
{
    for (size_t i = 0; i < all->count; i++)
        PT_PUSH(list, brief_of(&all->processes[i].facts));
    if (list.count > 1) qsort(list.items, list.count, sizeof list.items[0], by_pid);
    uint64_t earlier_ns = 0; /* of the process, in its earlier programs */
    for (size_t i = 0; i < list.count; i++) {
        const pt_journal_brief *const process = &list.items[i];
        const bool goes_on = i + 1 < list.count && goes_on_as(process, process + 1);
        if (goes_on && is_told_again(process, process + 1)) continue;
        uint64_t cpu_ns = process->cpu_before_ns;
        pt_recorded_add(&cpu_ns, process->cpu_used_ns);
        pt_recorded_add(&cpu_ns, process->cpu_own_ns);
        pt_recorded_add(&all->own_ns, process->own_ns);
        pt_counted_add_image(&all->counted, process, earlier_ns);
        earlier_ns = goes_on ? cpu_ns : 0;
        if (goes_on) continue;
        pt_recorded_add(&all->reached_ns, cpu_ns);
        all->images++;
        if (still_runs(process)) {
            all->running++;
            pt_recorded_add(ret_running_ns, least_of(cpu_ns, clock_of(process->pid)));
        }
    }
    free(list.items);
}

/* Moves CPU time of recording from the command's account to pitot's own. */
static void count_as_own(pt_recorded *recorded, uint64_t own_ns)
{
    if (own_ns > recorded->used_ns) own_ns = recorded->used_ns;
    pt_recorded_add(&recorded->own_ns, own_ns);
    recorded->used_ns -= own_ns;
    recorded->reached_ns -= least_of(own_ns, recorded->reached_ns);
}

static void push_process(pt_recorded_process *process, void *arg)
{
    claims *const c = arg;
    if (!read_process(process, read_facts, NULL)) return;
    if (!pt_journal_is_possible(&process->facts, &c->bounds)) {
        c->impossible++;
        return;
    }
    PT_PUSH(c->found, *process);
    c->found.items[c->found.count - 1].path = pt_strdup(process->path);
}

static int by_image(const void *a, const void *b)
{
    const pt_journal_facts *const x = &((const pt_recorded_process *)a)->facts;
    const pt_journal_facts *const y = &((const pt_recorded_process *)b)->facts;
    if (x->pid != y->pid) return x->pid < y->pid ? -1 : 1;
    if (x->start_monotonic_ns != y->start_monotonic_ns)
        return x->start_monotonic_ns < y->start_monotonic_ns ? -1 : 1;
    return (x->last_monotonic_ns > y->last_monotonic_ns) -
           (x->last_monotonic_ns < y->last_monotonic_ns);
}

/* If exec fails, the program writes its samples before exec and once more later. Keeps only the
 * later of the two journals, which has all samples. Then numbers the programs of each process in
 * the order of time. */
static void keep_last(process_list *found)
{
    size_t kept = 0;
    if (found->count > 1) qsort(found->items, found->count, sizeof found->items[0], by_image);
    for (size_t i = 0; i < found->count; i++) {
        pt_recorded_process *const process = &found->items[i];
        const pt_journal_facts *const f = &process->facts;
        const pt_journal_facts *const next = &process[1].facts;
        if (i + 1 < found->count && f->start_monotonic_ns != 0 && f->pid == next->pid &&
            f->start_monotonic_ns == next->start_monotonic_ns) {
            free(process->path);
            continue;
        }
        found->items[kept] = *process;
        const bool is_next = kept > 0 && found->items[kept - 1].facts.pid == f->pid;
        found->items[kept].facts.sequence = is_next ? found->items[kept - 1].facts.sequence + 1 : 0;
        kept++;
    }
    found->count = kept;
}

void pt_recorded_init(pt_recorded *recorded, const pt_record_run *run)
{
    claims c = {.bounds = bounds_of(run)};
    *recorded = (pt_recorded){0};
    DIR *const dir = opendir(run->folder);
    const struct dirent *entry;
    while (dir != NULL && (entry = readdir(dir)) != NULL) {
        if (!pt_ends(entry->d_name, ".journal")) continue;
        PT_FREE char *path = pt_strf("%s/%s", run->folder, entry->d_name);
        each_journal(path, &recorded->shorts, push_process, &c);
    }
    if (dir != NULL) closedir(dir);
    keep_last(&c.found);
    list_brief(run->folder, &c);
    PT_FREE char *messages = pt_strf("%s/messages", run->folder);
    recorded->messages = read_lines(messages);
    PT_FREE char *not_entered = pt_strf("%s/" PT_JOURNAL_NOT_ENTERED, run->folder);
    recorded->not_entered = read_lines(not_entered);
    recorded->processes = c.found.items;
    recorded->count = c.found.count;
    recorded->impossible = c.impossible;
    if (recorded->count > 1)
        qsort(recorded->processes, recorded->count, sizeof recorded->processes[0], by_weight);

    uint64_t running_ns = 0;
    add_processes(recorded, c.briefs, &running_ns);
    recorded->used_ns = pt_usage_ns(&run->usage);
    pt_recorded_add(&recorded->used_ns, running_ns);
    for (size_t i = 0; i < recorded->count; i++) {
        const pt_journal_facts *const f = &recorded->processes[i].facts;
        pt_recorded_add(&recorded->ticks, f->ticks);
        pt_recorded_add(&recorded->lost, f->dropped);
        pt_recorded_add(&recorded->unsampled_threads, f->threads_unsampled);
        recorded->period_ns = f->period_ns != 0 ? f->period_ns : recorded->period_ns;
        recorded->tick_bound |= f->tick_hz != 0 && f->tick_hz < f->asked_hz && f->ticks > 0;
    }
    const uint64_t own_ns = recorded->own_ns;
    recorded->own_ns = 0;
    count_as_own(recorded, own_ns);
}

void pt_recorded_count_wall(pt_recorded *recorded)
{
    recorded->is_wall = true;
    recorded->tick_bound = false;
    recorded->used_ns = recorded->reached_ns = 0;
}

void pt_recorded_done(pt_recorded *recorded)
{
    for (size_t i = 0; i < recorded->count; i++)
        free(recorded->processes[i].path);
    free(recorded->processes);
    pt_blob_done(&recorded->shorts);
    pt_counted_done(&recorded->counted);
    free(recorded->messages);
    free(recorded->not_entered);
    *recorded = (pt_recorded){0};
}

/* ---- profiles ---- */

static void add_comment(pt_builder *b, const char *format, ...)
    __attribute__((format(printf, 2, 3)));
static void add_comment(pt_builder *b, const char *format, ...)
{
    va_list args;
    pt_buf text = PT_BUF_INIT;
    va_start(args, format);
    pt_vputf(&text, format, args);
    va_end(args);
    pt_builder_comment(b, pt_builder_text(b, pt_buf_text(&text)));
    pt_buf_done(&text);
}

static void tell_story(pt_builder *b, const pt_record_story *story, uint64_t weight, uint64_t lost)
{
    const pt_recorded *const all = story->recorded;
    struct utsname host = {0};
    uname(&host);
    pt_provenance *const p = pt_builder_provenance(b);
    p->tool = pt_builder_text(b, "pitot record").v;
    p->source_format = pt_builder_text(b, "journal").v;
    p->host = pt_builder_text(b, host.nodename).v;
    p->command_line = pt_builder_text(b, story->command).v;
    p->period_type = pt_builder_text(b, "cpu").v;
    p->period_unit = pt_builder_text(b, "nanoseconds").v;
    p->has_period_type = true;
    p->period = (int64_t)all->period_ns;
    p->start_ns = story->run->start_ns;
    p->duration_ns = story->run->duration_ns;
    p->asked_hz = story->hz;
    p->true_hz = all->period_ns != 0 ? 1e9 / (double)all->period_ns : 0;
    p->cpu_used_ns = (int64_t)pt_recorded_time_ns(1, all->used_ns);
    p->cpu_seen_ns = (int64_t)pt_recorded_time_ns(weight, all->period_ns);
    p->lost = lost;
    p->word_bytes = sizeof(void *);
    add_comment(b, "recorded with: %s", story->typed);
    add_comment(b, "engine: %s", story->engine);
    add_comment(b, "host: %s, %s %s %s", host.nodename, host.sysname, host.release, host.machine);
    if (all->is_wall) {
        add_comment(b, "wall: %.3f thread seconds sampled in %.3f s; recording itself %.3f CPU s",
                    (double)p->cpu_seen_ns / 1e9, (double)story->run->duration_ns / 1e9,
                    (double)all->own_ns / 1e9);
        pt_journal_count_wall(b);
        return;
    }
    add_comment(
        b, "cpu: %.3f s used by all processes, %.3f s sampled in %.3f s; recording itself %.3f s",
        (double)all->used_ns / 1e9, (double)p->cpu_seen_ns / 1e9,
        (double)story->run->duration_ns / 1e9, (double)all->own_ns / 1e9);
}

void pt_recorded_add_frames(pt_journal_frames sum[PT_JOURNAL_LANGUAGES],
                            const pt_journal_frames frames[PT_JOURNAL_LANGUAGES])
{
    for (int i = 0; i < PT_JOURNAL_LANGUAGES; i++) {
        pt_recorded_add(&sum[i].all, frames[i].all);
        pt_recorded_add(&sum[i].uncertain, frames[i].uncertain);
    }
}

void pt_record_tell_languages(pt_builder *b, const pt_journal_frames frames[PT_JOURNAL_LANGUAGES])
{
    for (int i = 0; i < PT_JOURNAL_LANGUAGES; i++) {
        const char *const key = pt_mapped_languages[i].mapping + 1; /* "python]" */
        const int bytes = (int)strcspn(key, "]");
        if (frames[i].all == 0) continue;
        if (!pt_mapped_languages[i].is_counted)
            add_comment(b, "%.*s: functions in %" PRIu64 " samples", bytes, key, frames[i].all);
        else
            add_comment(b,
                        "%.*s: functions in %" PRIu64 " samples, joined with native frames for "
                        "certain in %.2f %% of them",
                        bytes, key, frames[i].all,
                        100 * (1 - (double)frames[i].uncertain / (double)frames[i].all));
    }
}

/* Notes the user of each process that changed its user: the journal of such a process belongs to
 * its new user. No user is noted for a process without a journal of its own; then files of another
 * user do not give names to its code. */
static void tell_users(pt_builder *b, const pt_recorded_process *processes, size_t count)
{
    enum { TOLD_MAX = 1024 };
    for (size_t i = 0, told = 0; i < count && told < TOLD_MAX; i++) {
        if (processes[i].user == geteuid()) continue;
        pt_builder_process_user(b, processes[i].facts.pid, processes[i].user);
        told++;
    }
}

/* The data for walking copied stacks: images on the disk, which all journals share, and tables that
 * an earlier recording left. */
typedef struct {
    pt_source_options source;
    pt_table_cache cache;
    pt_load_tables tables;
    pt_read_hooks hooks;
} walking;

static bool find_kept_table(void *context, const char *path, pt_elf_id id, pt_mapped_image *image)
{
    struct stat st;
    return stat(path, &st) == 0 &&
           pt_table_kept(context, id, &st, &image->blob, &image->blob_bytes, &image->table);
}

static void keep_table(void *context, const char *path, pt_elf_id id, const pt_mapped_image *image)
{
    struct stat st;
    if (stat(path, &st) == 0) pt_table_keep(context, id, &st, image->blob, image->blob_bytes);
}

static void begin_walking(walking *w, const pt_table_cache *tables)
{
    *w = (walking){.cache = *tables};
    w->tables = (pt_load_tables){&w->cache, find_kept_table, keep_table};
    w->hooks = (pt_read_hooks){.context = pt_load_unwinder_new(&w->source, &w->tables),
                               .unwind = pt_load_unwind};
}

static void end_walking(walking *w)
{
    pt_load_unwinder_free(w->hooks.context);
}

/* Adds the samples of one journal. If the journal cannot be read, notes the error in
 * process->error. */
static void read_samples(pt_reader *reader, pt_recorded_process *process, void *reading)
{
    pt_journal_reading_add(reading, reader, &process->facts, &process->error);
}

static void add_journal(pt_journal_reading *reading, pt_recorded_process *process)
{
    read_process(process, read_samples, reading);
}

/* The sums over the journals of a recording whose recorder was killed. */
typedef struct {
    pt_journal_reading *reading;
    uint64_t weight, lost, period_ns;
    bool is_wall;
} left_sums;

static void add_left(pt_recorded_process *process, void *arg)
{
    left_sums *const sums = arg;
    add_journal(sums->reading, process);
    pt_recorded_add(&sums->weight, process->facts.weight);
    pt_recorded_add(&sums->lost, process->facts.dropped);
    if (process->facts.period_ns != 0) sums->period_ns = process->facts.period_ns;
    sums->is_wall |= process->facts.engine == PT_JOURNAL_ENGINE_REAL;
}

pt_status pt_recorded_profile(const pt_record_story *story, size_t first, size_t count,
                              const pt_profile **ret_profile, pt_error *reterr)
{
    pt_builder *const b = pt_builder_new();
    walking walk;
    begin_walking(&walk, &story->tables);
    pt_journal_reading *const reading = pt_journal_reading_new(b, true, &walk.hooks);
    uint64_t weight = 0, lost = 0, kernel = 0;
    pt_journal_frames frames[PT_JOURNAL_LANGUAGES] = {{0}};
    enum { MOST_THREADS = 32768 };
    pt_journal_bounds bounds = bounds_of(story->run);
    if (story->recorded->is_wall)
        bounds.cpus = MOST_THREADS; /* each thread has wall time of its
                                     * own */
    pt_journal_reading_bound(reading, &bounds);
    for (size_t i = first; i < first + count; i++) {
        pt_recorded_process *const process = &story->recorded->processes[i];
        add_journal(reading, process);
        story->recorded->impossible += process->facts.impossible > 0;
        pt_recorded_add(&weight, process->facts.weight);
        pt_recorded_add(&lost, process->facts.dropped);
        pt_recorded_add(&kernel, process->facts.kernel);
        count_as_own(story->recorded, process->facts.own_copied_ns);
        story->recorded->counted.sampled_ns -=
            least_of(process->facts.own_copied_ns, story->recorded->counted.sampled_ns);
        pt_recorded_add_frames(frames, process->facts.frames);
    }
    pt_journal_reading_free(reading);
    end_walking(&walk);
    pt_builder_event_at(b, 0)->period = 1;
    pt_builder_event_at(b, 1)->period = (int64_t)story->recorded->period_ns;
    if (count == story->recorded->count && !story->recorded->is_wall)
        story->recorded->counted_ns =
            pt_counted_put(&story->recorded->counted, story->recorded->used_ns, b) +
            pt_recorded_time_ns(kernel, story->recorded->period_ns);
    tell_story(b, story, weight, lost);
    pt_record_tell_languages(b, frames);
    if (count > 0) tell_users(b, story->recorded->processes + first, count);
    return pt_builder_freeze(b, ret_profile, reterr);
}

pt_status pt_recorded_left(const pt_folder_journals *left, const pt_table_cache *tables,
                           const pt_profile **ret_profile, pt_error *reterr)
{
    for (size_t i = 0; i < left->count; i++)
        if (pt_keep_is(left->items[i])) return pt_keep_read(left->items[i], ret_profile, reterr);
    pt_builder *const b = pt_builder_new();
    walking walk;
    begin_walking(&walk, tables);
    pt_journal_reading *const reading = pt_journal_reading_new(b, true, &walk.hooks);
    left_sums sums = {.reading = reading};
    for (size_t i = 0; i < left->count; i++) {
        pt_blob shorts = PT_BLOB_INIT;
        each_journal(left->items[i], &shorts, add_left, &sums);
        pt_blob_done(&shorts);
    }
    pt_journal_reading_free(reading);
    end_walking(&walk);
    pt_builder_event_at(b, 0)->period = 1;
    pt_builder_event_at(b, 1)->period = (int64_t)sums.period_ns;
    pt_provenance *const p = pt_builder_provenance(b);
    p->tool = pt_builder_text(b, "pitot record").v;
    p->source_format = pt_builder_text(b, "journal").v;
    p->period_type = pt_builder_text(b, "cpu").v;
    p->period_unit = pt_builder_text(b, "nanoseconds").v;
    p->has_period_type = true;
    p->period = (int64_t)sums.period_ns;
    p->cpu_seen_ns = (int64_t)pt_recorded_time_ns(sums.weight, sums.period_ns);
    p->lost = sums.lost;
    p->word_bytes = sizeof(void *);
    add_comment(b,
                "engine: libprofiler.so.0 in the processes; read before the recording had ended");
    if (sums.is_wall) pt_journal_count_wall(b);
    return pt_builder_freeze(b, ret_profile, reterr);
}

/* ---- facts that need a warning ---- */

/* The number of frames up to the outermost native one. Frames outside that one are an
 * interpreter's, which the walk of the stack does not read. Frames of Java count as native: the
 * walk reads them. */
static uint32_t depth_of_native(const pt_profile *p, uint32_t stack)
{
    const uint32_t *const frames = pt_stack_frames(p, stack);
    uint32_t depth = pt_stack_depth(p, stack);
    for (; depth > 0; depth--) {
        const uint32_t mapping = p->location->mapping[frames[depth - 1]];
        const char *const file =
            mapping != PT_NONE ? pt_text(p, p->mapping->row[mapping].file) : "";
        if (!pt_mapped_is_language(file) || strcmp(file, PT_MAPPED_JAVA) == 0) break;
    }
    return depth;
}

void pt_recorded_dead_ends(const pt_profile *p, char *buf, size_t size)
{
    uint64_t *const weight = pt_alloc((size_t)p->mapping->t.count + 1, sizeof *weight);
    for (uint32_t i = 0; i < p->sample->t.count; i++) {
        const uint32_t stack = p->sample->stack[i];
        const uint32_t depth = depth_of_native(p, stack);
        if (p->stack->end[stack] != PT_STACK_END_NO_RULE || depth == 0) continue;
        const uint32_t mapping = p->location->mapping[pt_stack_frames(p, stack)[depth - 1]];
        if (mapping != PT_NONE) pt_recorded_add(&weight[mapping], (uint64_t)p->sample->value[0][i]);
    }
    buf[0] = '\0';
    for (int place = 0; place < 2; place++) {
        uint32_t most = 0;
        for (uint32_t m = 1; m < p->mapping->t.count; m++)
            if (weight[m] > weight[most]) most = m;
        if (p->mapping->t.count == 0 || weight[most] == 0) break;
        weight[most] = 0;
        const char *const file = pt_text(p, p->mapping->row[most].file);
        const size_t length = strlen(buf);
        snprintf(buf + length, size - length, "%s%s", place > 0 ? " and " : "",
                 file[0] == '\0' ? "generated code" : pt_base_name(file));
    }
    free(weight);
}

bool *pt_recorded_mappings(const pt_profile *p)
{
    bool *const sampled = pt_alloc((size_t)p->mapping->t.count + 1, sizeof *sampled);
    for (uint32_t i = 0; i < p->location->t.count; i++)
        if (p->location->mapping[i] != PT_NONE) sampled[p->location->mapping[i]] = true;
    return sampled;
}

size_t pt_recorded_gone(const pt_profile *p)
{
    size_t gone = 0;
    PT_FREE bool *sampled = pt_recorded_mappings(p);
    for (uint32_t m = 0; m < p->mapping->t.count; m++) {
        const char *const file = pt_text(p, p->mapping->row[m].file);
        gone += sampled[m] && file[0] == '/' && access(file, F_OK) != 0;
    }
    return gone;
}
