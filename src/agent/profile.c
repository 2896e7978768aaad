/* profile.c: the running session's journal as a gperftools file, and which format is wanted.
 *
 * If it cannot be written the journal stays where it is, with everything in it.
 */
#include "agent/agent.h"

#include <errno.h>
#include <string.h>

#include "wire/gperftools.h"

static void put_stack(const pt_journal_stack *stack, void *arg)
{
    (void)arg;
    const uint64_t *const pcs = (const uint64_t *)(stack + 1);
    PT_OUTPUT_PUT(buf, pt_gperf_record(&buf, PT_GPERF_NATIVE, stack->count, pcs, stack->depth));
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

/* Readers take the last word on an address, or the first: both must be right for what is still
 * mapped. Unloaded libraries come first only where nothing took their place. */
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

/* Tells readers who wrote this, as formats/procmaps.h has it, when nothing has a build id. */
static const char our_line[] = "# pitot libprofiler wrote this: stacks begin where the tick came\n";

static void put_gperftools(void)
{
    PT_OUTPUT_PUT(buf, pt_gperf_header(&buf, PT_GPERF_NATIVE, pt_agent.period_ns / 1000));
    pt_fold_each(put_stack, NULL);
    PT_OUTPUT_PUT(buf, pt_gperf_trailer(&buf, PT_GPERF_NATIVE));
    pt_maps_each(put_mapping, NULL);
    pt_maps_each(put_build_id, NULL);
    PT_OUTPUT_PUT(buf, pt_wire_put(&buf, our_line, sizeof our_line - 1));
}

bool pt_profile_is_proto(const char *path)
{
    static const char ending[] = ".pb.gz";
    const char *const format = pt_environment("PITOT_FORMAT");
    if (format != NULL && strcmp(format, "pprof") == 0) return true;
    if (format != NULL && strcmp(format, "gperftools") == 0) return false;
    if (format != NULL)
        pt_agent_say("PITOT_FORMAT=%s: there is pprof and gperftools; the name decides", format);
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
