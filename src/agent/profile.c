/* profile.c: the running session's journal as a gperftools file.
 *
 * It is written beside its name and renamed, so that a reader finds the old file or the new one and
 * never half of one. If it cannot be written the journal stays where it is, with everything in it.
 */
#include "agent/agent.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "wire/gperftools.h"

typedef struct {
    int fd;
    bool failed;
    int error;
    size_t held;
    uint8_t bytes[32 << 10];
} output;

static output out; /* one writer: the lock is held */

static void flush(void)
{
    if (!out.failed && !pt_agent_write(out.fd, out.bytes, out.held)) {
        out.failed = true;
        out.error = errno;
    }
    out.held = 0;
}

/* Puts something that a function of wire/gperftools.h encodes; twice if it did not fit. */
#define PUT(encode_into_buf)                                                                       \
    do {                                                                                           \
        pt_wire_buf buf = pt_wire_buf_init(out.bytes + out.held, sizeof out.bytes - out.held);     \
        encode_into_buf;                                                                           \
        if (!pt_wire_buf_ok(&buf)) {                                                               \
            flush();                                                                               \
            buf = pt_wire_buf_init(out.bytes, sizeof out.bytes);                                   \
            encode_into_buf;                                                                       \
        }                                                                                          \
        if (pt_wire_buf_ok(&buf)) out.held += buf.need_bytes;                                      \
    } while (0)

_Static_assert(sizeof out.bytes >= (PT_JOURNAL_DEPTH_MAX + 2) * 8, "a record must fit");
_Static_assert(sizeof out.bytes >= 4 * PATH_MAX + 512, "a line must fit, newlines quoted");

static void put_stack(const pt_journal_stack *stack, void *arg)
{
    (void)arg;
    const uint64_t *const pcs = (const uint64_t *)(stack + 1);
    PUT(pt_gperf_record(&buf, PT_GPERF_NATIVE, stack->count, pcs, stack->depth));
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
    if (is_shown(map)) PUT(pt_gperf_mapping_line(&buf, &mapping));
}

static void put_build_id(const pt_journal_map *map, void *arg)
{
    (void)arg;
    const pt_gperf_mapping mapping = mapping_of(map);
    if (map->build_id_bytes > 0 && is_shown(map))
        PUT(pt_gperf_build_id_line(&buf, &mapping, (const uint8_t *)(map + 1),
                                   map->build_id_bytes));
}

/* Tells readers who wrote this, as formats/procmaps.h has it, when nothing has a build id. */
static const char our_line[] = "# pitot libprofiler wrote this: stacks begin where the tick came\n";

bool pt_profile_write(const char *path)
{
    static char name[PATH_MAX];
    if (snprintf(name, sizeof name, "%s.%d.tmp", path, (int)getpid()) >= (int)sizeof name) {
        errno = ENAMETOOLONG;
        return false;
    }
    unlink(name);
    out.fd = open(name, O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, 0600);
    if (out.fd < 0) return false;
    out.failed = false;
    out.held = 0;
    PUT(pt_gperf_header(&buf, PT_GPERF_NATIVE, pt_agent.period_ns / 1000));
    pt_fold_each(put_stack, NULL);
    PUT(pt_gperf_trailer(&buf, PT_GPERF_NATIVE));
    pt_maps_each(put_mapping, NULL);
    pt_maps_each(put_build_id, NULL);
    PUT(pt_wire_put(&buf, our_line, sizeof our_line - 1));
    flush();
    if (close(out.fd) != 0 && !out.failed) {
        out.failed = true;
        out.error = errno;
    }
    if (!out.failed && rename(name, path) != 0) {
        out.failed = true;
        out.error = errno;
    }
    if (out.failed) unlink(name);
    errno = out.error;
    return !out.failed;
}
