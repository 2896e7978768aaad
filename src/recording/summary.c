/* summary.c: the last line of a recording: its samples, its share of the CPU time, its cost. See
 * recording.h. */
#include <inttypes.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>

#include "base/units.h"
#include "load/load.h"
#include "process/path_kind.h"
#include "recording/recording.h"
#include "terminal/message.h"

static const char *percent_text(char *buf, size_t size, uint64_t part, uint64_t whole)
{
    const double share = whole == 0 ? 0 : 100.0 * (double)part / (double)whole;
    const bool is_fine = (share > 99 && share < 99.95) || (share >= 0.05 && share < 1);
    snprintf(buf, size, is_fine ? "%.1f %%" : "%.0f %%", share);
    return buf;
}

/* "500 samples; 50,000 of 50,051 page-faults seen" */
static void events_text(const pt_record_summary *s, const char *samples, char *buf, size_t size)
{
    const pt_count_text seen = pt_count_of(s->events_seen);
    if (s->events > 0)
        snprintf(buf, size, "%s; %s of %s %s seen", samples, seen.text, pt_count_of(s->events).text,
                 s->event);
    else
        snprintf(buf, size, "%s; %s %s seen", samples, seen.text, s->event);
}

/* "12,345 samples, 1000 a second of CPU; 12.31 of 12.40 CPU seconds seen" */
static void counts_text(const pt_record_summary *s, char *buf, size_t size)
{
    const pt_noun_text count = pt_count_noun(s->weight, "samples");
    const char *const samples = count.text;
    if (s->event != NULL) {
        events_text(s, samples, buf, size);
        return;
    }
    const double hz = s->period_ns != 0 ? 1e9 / (double)s->period_ns : 0.0;
    const double seen_s = (double)s->seen_ns / 1e9, used_s = (double)s->used_ns / 1e9;
    const int digits = seen_s < 0.1 ? 3 : 2;
    if (s->is_wall)
        snprintf(buf, size, "%s, %.0f a second of each thread; %.*f thread seconds, waits included",
                 samples, hz, digits, seen_s);
    else if (s->used_ns > 0)
        snprintf(buf, size, "%s, %.0f a second of CPU; %.*f of %.*f CPU seconds seen", samples, hz,
                 digits, seen_s, digits, used_s);
    else
        snprintf(buf, size, "%s, %.0f a second of CPU; %.*f CPU seconds seen", samples, hz, digits,
                 seen_s);
}

/* "98 % of the stacks complete, 2 % more by unchecked frame pointers" */
static void stacks_text(const pt_record_summary *s, char *buf, size_t size)
{
    char complete[16], unchecked[16];
    percent_text(complete, sizeof complete, s->complete, s->weight);
    percent_text(unchecked, sizeof unchecked, s->unchecked, s->weight);
    if (s->weight == 0)
        snprintf(buf, size, "no stacks");
    else if (s->unchecked == 0)
        snprintf(buf, size, "%s of the stacks complete", complete);
    else
        snprintf(buf, size, "%s of the stacks complete, %s more by unchecked frame pointers",
                 complete, unchecked);
}

/* ", Python functions in 95 %, 99.9 % of these joined for certain, JavaScript functions in 97 %" */
static void languages_text(const pt_record_summary *s, char *buf, size_t size)
{
    char share[16], certain[16];
    size_t used = 0;
    buf[0] = '\0';
    for (int i = 0; i < PT_JOURNAL_LANGUAGES && s->frames != NULL && used < size; i++) {
        const pt_journal_frames *const f = &s->frames[i];
        if (f->all == 0) continue;
        percent_text(share, sizeof share, f->all, s->weight);
        used += (size_t)snprintf(buf + used, size - used, ", %s functions in %s",
                                 pt_mapped_languages[i].name, share);
        if (!pt_mapped_languages[i].is_counted || used >= size) continue;
        percent_text(certain, sizeof certain, f->all - f->uncertain, f->all);
        used +=
            (size_t)snprintf(buf + used, size - used, ", %s of these joined for certain", certain);
    }
}

/* ", recording itself took 0.12 CPU s, 2.1 %", as a share of the recorded CPU time, if it is more
 * than 1 % and does not round to 0.00 s */
static void own_text(const pt_record_summary *s, char *buf, size_t size)
{
    const uint64_t recorded_ns = s->used_ns > s->seen_ns ? s->used_ns : s->seen_ns;
    enum { LEAST_NS = 5000000 };
    buf[0] = '\0';
    if (recorded_ns > 0 && s->own_ns > recorded_ns / 100 && s->own_ns >= LEAST_NS &&
        s->event == NULL && !s->is_wall)
        snprintf(buf, size, ", recording itself took %.2f CPU s, %.1f %%", (double)s->own_ns / 1e9,
                 100.0 * (double)s->own_ns / (double)recorded_ns);
}

/* ", 0.29 CPU s in rows [not sampled]" */
static void counted_text(const pt_record_summary *s, char *buf, size_t size)
{
    buf[0] = '\0';
    if (s->counted_ns > 0)
        snprintf(buf, size, ", %.2f CPU s in rows [not sampled]", (double)s->counted_ns / 1e9);
}

void pt_record_say_summary(const pt_record_summary *s)
{
    char counts[160], stacks[96], languages[192], off_cpu[96] = "", processes[64] = "",
                                                  lost[80] = "", own[80], counted[64];
    counts_text(s, counts, sizeof counts);
    if (s->processes > 1) snprintf(processes, sizeof processes, ", %zu processes", s->processes);
    if (s->lost > 0)
        snprintf(lost, sizeof lost, ", %s lost", pt_count_noun(s->lost, "samples").text);
    if (s->off_cpu_ns > 0 || s->ready_ns > 0)
        snprintf(off_cpu, sizeof off_cpu, ", threads waited %.2f s, and %.2f s more for a CPU",
                 (double)s->off_cpu_ns / 1e9, (double)s->ready_ns / 1e9);
    PT_FREE char *typed = pt_record_command_text(&s->files, 1);
    const bool usual = strcmp(s->files, PT_DEFAULT_PROFILE) == 0;
    const char *const space = usual ? "" : " ", *const name = usual ? "" : typed;
    PT_FREE char *next = s->off_cpu_ns > 0
                             ? pt_strf("; next: pitot why -e off-cpu%s%s; with the CPU time beside "
                                       "the waits: pitot top -e cpu+off-cpu%s%s",
                                       space, name, space, name)
                             : pt_strf("; next: pitot why%s%s", space, name);
    struct stat file;
    const bool is_file = stat(s->files, &file) != 0 || S_ISREG(file.st_mode); /* or many */
    const bool has_rows =
        s->weight > 0 || s->off_cpu_ns > 0 || s->ready_ns > 0 || s->counted_ns > 0;
    stacks_text(s, stacks, sizeof stacks);
    own_text(s, own, sizeof own);
    counted_text(s, counted, sizeof counted);
    languages_text(s, languages, sizeof languages);
    pt_say("%s: %s, %s%s%s%s%s%s%s%s", s->files, counts, stacks, languages, off_cpu, processes,
           lost, counted, own, has_rows && is_file && !pt_record_to_stdout(s->files) ? next : "");
}

bool pt_record_is_worth_a_line(uint64_t stacks, uint64_t all)
{
    enum { LEAST_STACKS = 8, LEAST_PART = 20 };
    return stacks >= LEAST_STACKS && stacks > all / LEAST_PART;
}

void pt_record_say_incomplete(uint64_t weight, uint64_t reached, const char *dead_ends)
{
    char share[32];
    if (reached >= weight || !pt_record_is_worth_a_line(weight - reached, weight)) return;
    if (strncmp(dead_ends, PT_MAPPED_JAVA, strlen(PT_MAPPED_JAVA)) == 0) {
        pt_say(
            "%s of the stacks end in Java's code: a virtual thread that goes on after a wait has "
            "its callers in the heap, where they are not read",
            percent_text(share, sizeof share, weight - reached, weight));
        return;
    }
    if (strncmp(dead_ends, "[anon:jit]", strlen("[anon:jit]")) == 0 ||
        strncmp(dead_ends, "[memfd:", strlen("[memfd:")) == 0) {
        pt_say("%s of the stacks are cut in code that was compiled at run time and keeps no "
               "frame pointers",
               percent_text(share, sizeof share, weight - reached, weight));
        return;
    }
    pt_say("%s of the stacks are cut in %s, which has functions without unwind tables and "
           "without frame pointers: their own time is right, their callers are missing (gcc "
           "-fno-omit-frame-pointer)",
           percent_text(share, sizeof share, weight - reached, weight),
           dead_ends[0] != '\0' ? dead_ends : "the program");
}
