/* profile.c: writes the running session's journal as a gperftools file, and decides which format a
 * profile has.
 *
 * If the file cannot be written, the samples stay in the journal. */
#include "agent/agent.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "wire/gperftools.h"

static void put_stack(const pt_journal_stack *stack, void *arg)
{
    (void)arg;
    static PT_FAR uint64_t pcs[PT_JOURNAL_CHAIN_MAX];
    const uint64_t *const words = (const uint64_t *)(stack + 1);
    uint32_t depth = 0;
    for (uint32_t i = 0; i < stack->depth; i++) /* frames of interpreters have no address */
        if ((words[i] & PT_JOURNAL_CODE_FRAME) == 0) pcs[depth++] = words[i];
    PT_OUTPUT_PUT(buf, pt_gperf_record(&buf, PT_GPERF_NATIVE, stack->count, pcs, depth));
}

static pt_gperf_mapping mapping_of(const pt_journal_map *map)
{
    return (pt_gperf_mapping){
        .start = map->start,
        .limit = map->limit,
        .file_offset = map->file_offset,
        .inode = map->inode,
        .device_major = map->device_major,
        .device_minor = map->device_minor,
        .prot = map->prot,
        .path = (const char *)(map + 1) + map->build_id_bytes,
        .path_bytes = map->path_bytes > PATH_MAX ? PATH_MAX : map->path_bytes,
    };
}

/* Does the mapping still exist? If an address is in two mappings of a file, some readers use the
 * first and some the last. So the mapping of an unloaded library is written only if no other
 * mapping has taken its addresses, and before the mappings that still exist. */
static bool still_there(const pt_journal_map *map)
{
    return map->epoch_to == UINT32_MAX;
}

typedef struct {
    const pt_journal_map *map;
    bool taken;
} overlap;

static void look_for_overlap(const pt_journal_map *other, void *arg)
{
    overlap *const looked = arg;
    if (other > looked->map && other->start < looked->map->limit &&
        looked->map->start < other->limit)
        looked->taken = true;
}

static bool is_shown(const pt_journal_map *map)
{
    overlap looked = {.map = map};
    if (!still_there(map)) pt_maps_each(look_for_overlap, &looked);
    return !looked.taken;
}

static void put_mapping(const pt_journal_map *map, void *arg)
{
    (void)arg;
    const pt_gperf_mapping mapping = mapping_of(map);
    if (is_shown(map)) PT_OUTPUT_PUT(buf, pt_gperf_mapping_line(&buf, &mapping));
}

static void put_build_id(const pt_journal_map *map, void *arg)
{
    (void)arg;
    const pt_gperf_mapping mapping = mapping_of(map);
    if (map->build_id_bytes > 0 && is_shown(map))
        PT_OUTPUT_PUT(buf, pt_gperf_build_id_line(&buf, &mapping, (const uint8_t *)(map + 1),
                                                  map->build_id_bytes));
}

/* ---- facts that no field holds ---- */

/* The same words as pt_stack_end_name (model/profile.h). */
const char *const pt_profile_ends[PT_JOURNAL_END_COUNT] = {
    [PT_JOURNAL_END_ROOT] = "root",
    [PT_JOURNAL_END_TRUNCATED] = "truncated",
    [PT_JOURNAL_END_NO_RULE] = "no rule",
    [PT_JOURNAL_END_BAD_READ] = "bad read",
    [PT_JOURNAL_END_UNCHECKED] = "unchecked frame pointers",
};

static void add_count(const pt_journal_stack *stack, void *arg)
{
    *(uint64_t *)arg += stack->count;
}

uint64_t pt_profile_seen_ns(void)
{
    uint64_t seen = 0;
    pt_fold_each(add_count, &seen);
    return seen * pt_agent.journal.header->period_ns;
}

void pt_profile_facts(char text[PT_PROFILE_FACTS_BYTES])
{
    const pt_journal_header *const header = pt_agent.journal.header;
    snprintf(text, PT_PROFILE_FACTS_BYTES,
             "asked_hz=%u cpu_used_ns=%llu cpu_seen_ns=%llu lost=%llu stack_end=root",
             header->asked_hz, (unsigned long long)header->cpu_used_ns,
             (unsigned long long)pt_profile_seen_ns(),
             (unsigned long long)(header->fold_dropped + header->ring_dropped));
}

/* The text's first words also identify the writer to readers (formats/procmaps.h). */
static void put_facts(void)
{
    char text[PT_PROFILE_FACTS_BYTES];
    pt_profile_facts(text);
    PT_OUTPUT_PUT(buf, {
        pt_wire_put(&buf, PT_GPERF_FACTS_LINE, sizeof PT_GPERF_FACTS_LINE - 1);
        pt_wire_put(&buf, text, strlen(text));
        pt_wire_put_byte(&buf, '\n');
    });
}

typedef struct {
    pt_gperf_ends runs;
    uint64_t record;
    unsigned end;
} ends_line;

static void look_at_end(const pt_journal_stack *stack, void *arg)
{
    ends_line *const line = arg;
    line->record++;
    if (stack->end != line->end) return;
    pt_gperf_ends runs;
    PT_OUTPUT_PUT(buf, {
        runs = line->runs;
        pt_gperf_ends_take(&buf, &runs, line->record);
    });
    line->runs = runs;
}

static void put_ends(void)
{
    for (unsigned end = PT_JOURNAL_END_ROOT + 1; end < PT_JOURNAL_END_COUNT; end++) {
        ends_line line = {.runs = {.name = pt_profile_ends[end]}, .end = end};
        pt_fold_each(look_at_end, &line);
        PT_OUTPUT_PUT(buf, {
            pt_gperf_ends runs = line.runs;
            pt_gperf_ends_done(&buf, &runs);
        });
    }
}

static void put_gperftools(void)
{
    PT_OUTPUT_PUT(buf, pt_gperf_header(&buf, PT_GPERF_NATIVE, pt_agent.period_ns / 1000));
    pt_fold_each(put_stack, NULL);
    PT_OUTPUT_PUT(buf, pt_gperf_trailer(&buf, PT_GPERF_NATIVE));
    pt_maps_each(put_mapping, NULL);
    pt_maps_each(put_build_id, NULL);
    put_facts();
    put_ends();
}

bool pt_profile_is_proto(const char *path)
{
    static const char ending[] = ".pb.gz";
    const char *const format = pt_environment(PT_ENV_PITOT_FORMAT);
    if (format != NULL && strcmp(format, "pprof") == 0) return true;
    if (format != NULL && strcmp(format, "gperftools") == 0) return false;
    if (format != NULL)
        pt_agent_say("PITOT_FORMAT=%s: use pprof or gperftools; the name of the file decides now",
                     format);
    const char *end = NULL;
    for (const char *at = path; (at = strstr(at, ending)) != NULL;)
        end = at += sizeof ending - 1;
    return end != NULL && (*end == '\0' || *end == '_' || *end == '.');
}

bool pt_profile_write(const char *path)
{
    if (!pt_output_begin(path, pt_agent.proto)) return false;
    bool whole = true;
    if (pt_agent.proto)
        whole = pt_profile_put_proto();
    else
        put_gperftools();
    if (!whole) {
        pt_output_abandon();
        errno = ENOMEM;
        return false;
    }
    return pt_output_end(path);
}
