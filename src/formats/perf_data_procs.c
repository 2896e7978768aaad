/* perf_data_procs.c: the processes of a perf.data: their names and mappings.
 *
 *   MMAP, MMAP2  a mapping, which replaces the mappings that it overlaps (munmap is not recorded)
 *   COMM         a thread's name; with the flag of exec, the process starts without mappings
 *   FORK         a thread, or a process that starts with its parent's mappings
 *   KSYMBOL      kernel code with a single name: BPF programs, trampolines
 */
#include "formats/perf_data.h"

#include <stdlib.h>

#include "base/hash.h"
#include "base/text.h"
#include "process/path_kind.h"

enum {
    COMM_MAX_BYTES = 64,
    PATH_MAX_BYTES = 4096,
    MAPS_MAX = 1 << 14,     /* mappings of code in a process */
    ALL_MAPS_MAX = 1 << 22, /* mappings in all processes */
};

/* ---- text ---- */

const char *pt_perf_pool_text(pt_perf_pool *pool, const char *text, size_t size)
{
    const uint64_t hash = pt_hash_bytes(text, size);
    PT_INDEX_EACH (&pool->index, hash, i) {
        const char *const earlier = pool->text.items[i];
        if (strncmp(earlier, text, size) == 0 && earlier[size] == '\0') return earlier;
    }
    pt_index_add(&pool->index, hash, (uint32_t)pool->text.count);
    PT_GROW(pool->text, pool->text.count + 1);
    pool->text.items[pool->text.count] = pt_strndup(text, size);
    return pool->text.items[pool->text.count++];
}

void pt_perf_pool_done(pt_perf_pool *pool)
{
    for (size_t i = 0; i < pool->text.count; i++)
        free(pool->text.items[i]);
    free(pool->text.items);
    pt_index_done(&pool->index);
}

/* ---- mappings ---- */

static pt_perf_maps *maps_new(pt_perf_procs *procs)
{
    pt_perf_maps *const maps = pt_alloc(1, sizeof *maps);
    maps->refs = 1;
    maps->generation = ++procs->generation;
    return maps;
}

static void maps_unref(pt_perf_procs *procs, pt_perf_maps *maps)
{
    if (--maps->refs > 0) return;
    procs->map_count -= maps->map.count;
    PT_FREE_ALL(maps->map.items, maps);
}

/* Makes sure that nobody else shares *maps, by a copy if necessary, so that the caller may change
 * it. */
static pt_perf_maps *own_maps(pt_perf_procs *procs, pt_perf_maps **maps)
{
    pt_perf_maps *const old = *maps;
    if (old->refs == 1) {
        old->generation = ++procs->generation;
        return old;
    }
    *maps = maps_new(procs);
    PT_GROW((*maps)->map, old->map.count + 1);
    if (old->map.count > 0)
        memcpy((*maps)->map.items, old->map.items, old->map.count * sizeof *old->map.items);
    (*maps)->map.count = old->map.count;
    procs->map_count += old->map.count;
    maps_unref(procs, old);
    return *maps;
}

pt_perf_map *pt_perf_map_at(pt_perf_maps *maps, uint64_t addr)
{
    return pt_mappings_at(maps->map.items, maps->map.count, sizeof *maps->map.items, addr);
}

/* Adds a mapping. If a file has more mappings than any kernel permits, the mapping is left out, so
 * that it takes no memory. */
static void put_map(pt_perf_procs *procs, pt_perf_maps **maps, const pt_perf_map *map)
{
    const size_t count = (*maps)->map.count;
    if (count >= MAPS_MAX || procs->map_count + ((*maps)->refs > 1 ? count : 0) >= ALL_MAPS_MAX) {
        procs->left_out++;
        return;
    }
    pt_perf_maps *const own = own_maps(procs, maps);
    PT_GROW(own->map, own->map.count + PT_MAPPINGS_MORE);
    own->map.count = pt_mappings_put(own->map.items, own->map.count, sizeof *own->map.items, map);
    procs->map_count += own->map.count - count;
}

/* ---- processes, threads ---- */

static uint64_t id_hash(uint32_t id)
{
    return pt_hash_u32_pair(id, 1);
}

void pt_perf_procs_init(pt_perf_procs *procs)
{
    procs->kernel = maps_new(procs);
    memset(procs->recent, 0xff, sizeof procs->recent);
}

void pt_perf_procs_done(pt_perf_procs *procs)
{
    for (size_t i = 0; i < procs->proc.count; i++)
        maps_unref(procs, procs->proc.items[i].maps);
    maps_unref(procs, procs->kernel);
    PT_FREE_ALL(procs->proc.items, procs->thread.items);
    pt_index_done(&procs->by_pid);
    pt_index_done(&procs->by_tid);
}

/* The newest process with that pid, or PT_NONE. */
static uint32_t proc_find(const pt_perf_procs *procs, uint32_t pid)
{
    uint32_t found = PT_NONE;
    PT_INDEX_EACH (&procs->by_pid, id_hash(pid), i)
        if (procs->proc.items[i].pid == pid && (found == PT_NONE || i > found)) found = i;
    return found;
}

static uint32_t thread_find(const pt_perf_procs *procs, uint32_t tid)
{
    return PT_INDEX_FIND(&procs->by_tid, id_hash(tid), i, procs->thread.items[i].tid == tid);
}

/* Adds a process. The caller's reference to maps passes to the process. From now on a reused pid
 * refers to the new process. */
static uint32_t proc_add(pt_perf_procs *procs, uint32_t pid, pt_perf_maps *maps)
{
    const uint32_t old = proc_find(procs, pid);
    if (old != PT_NONE) {
        maps_unref(procs, procs->proc.items[old].maps);
        procs->proc.items[old].maps = maps;
        return old;
    }
    pt_index_add(&procs->by_pid, id_hash(pid), (uint32_t)procs->proc.count);
    PT_GROW(procs->proc, procs->proc.count + 1);
    procs->proc.items[procs->proc.count] = (pt_perf_proc){.pid = pid, .maps = maps};
    return (uint32_t)procs->proc.count++;
}

static uint32_t proc_get(pt_perf_procs *procs, uint32_t pid)
{
    const uint32_t found = proc_find(procs, pid);
    return found != PT_NONE ? found : proc_add(procs, pid, maps_new(procs));
}

static uint32_t comm_string(pt_perf_data *d, const char *text, size_t size)
{
    return pt_builder_string(d->builder, text, strnlen(text, size)).v;
}

uint32_t pt_perf_thread_get(pt_perf_data *d, uint32_t pid, uint32_t tid)
{
    pt_perf_procs *const procs = &d->procs;
    const uint32_t slot = tid % 256;
    uint32_t row = procs->recent[slot].key == tid ? procs->recent[slot].thread : PT_NONE;
    if (row == PT_NONE) row = thread_find(procs, tid);
    if (row == PT_NONE) {
        row = (uint32_t)procs->thread.count;
        pt_index_add(&procs->by_tid, id_hash(tid), row);
        PT_PUSH(procs->thread, (pt_perf_thread){
                                   .tid = tid,
                                   .pid = pid,
                                   .proc = proc_get(procs, pid),
                                   .comm = tid == 0 ? comm_string(d, "swapper", 7) : 0,
                               });
    }
    pt_perf_thread *const thread = &procs->thread.items[row];
    if (thread->pid != pid && pid != UINT32_MAX) {
        thread->pid = pid;
        thread->proc = proc_get(procs, pid);
    }
    procs->recent[slot].key = tid;
    procs->recent[slot].thread = row;
    return row;
}

/* ---- records ---- */

/* Length of a path without the symbol that perf appends to the kernel's name:
 * "[kernel.kallsyms]_text". */
static size_t named_bytes(const char *path, size_t size)
{
    static const char kernel[] = "[kernel.kallsyms]";
    const size_t bytes = sizeof kernel - 1;
    return size > bytes && memcmp(path, kernel, bytes) == 0 ? bytes : size;
}

static const char *id_text(pt_perf_data *d, const uint8_t *bytes, size_t count)
{
    char hex[64];
    pt_hex_spell(hex, bytes, count);
    return pt_perf_pool_text(&d->pool, hex, 2 * count);
}

/* Body: pid, tid, addr, length, offset; then the path (MMAP), or the further fields of MMAP2 and
 * the path. */
void pt_perf_on_mmap(pt_perf_data *d, uint32_t type, uint16_t misc, const uint8_t *body,
                     size_t size)
{
    enum { ID_AT = 36, ID_BYTES = 20, PROTECTION_AT = 56, MMAP_BYTES = 32, MMAP2_BYTES = 64 };
    enum { EXECUTABLE = 4 };
    const size_t path_at = type == PT_PERF_MMAP2 ? MMAP2_BYTES : MMAP_BYTES;
    const unsigned cpumode = misc & PT_PERF_CPUMODE;
    if (size <= path_at) {
        d->odd++;
        return;
    }
    const uint32_t pid = pt_perf_u32(body, d->swap);
    const uint64_t start = pt_perf_u64(body + 8, d->swap), bytes = pt_perf_u64(body + 16, d->swap);
    const bool is_kernel = cpumode == PT_PERF_KERNEL || pid == UINT32_MAX;
    if (bytes == 0 || cpumode == PT_PERF_GUEST_KERNEL || cpumode == PT_PERF_GUEST_USER) return;
    if (type == PT_PERF_MMAP && (misc & PT_PERF_MISC_DATA) && !is_kernel) return;
    if (type == PT_PERF_MMAP2 && !is_kernel &&
        !(pt_perf_u32(body + PROTECTION_AT, d->swap) & EXECUTABLE))
        return;
    const char *const said = (const char *)body + path_at;
    size_t room = size - path_at;
    if (room > PATH_MAX_BYTES) room = PATH_MAX_BYTES;
    const uint64_t file_offset = is_kernel ? 0 : pt_perf_u64(body + 24, d->swap);
    const pt_mapped as =
        pt_mapped_as(said, named_bytes(said, strnlen(said, room)), start, file_offset);
    const char *build_id = "";
    if (type == PT_PERF_MMAP2 && (misc & PT_PERF_MISC_BUILD_ID) && body[ID_AT - 4] <= ID_BYTES)
        build_id = id_text(d, body + ID_AT, body[ID_AT - 4]);
    const bool is_memory = !is_kernel && pt_mapped_is_memory(as.kind);
    pt_perf_map map = {
        .where = {.range = {.start = start,
                            .limit = bytes > UINT64_MAX - start ? UINT64_MAX : start + bytes,
                            .file_offset = is_kernel ? 0 : as.file_offset},
                  .path = pt_perf_pool_text(&d->pool, as.name, as.name_bytes),
                  .build_id = build_id},
        .mapping = PT_NONE,
        .pid = is_memory ? pid : 0,
        .flags = is_kernel   ? PT_MAPPING_KERNEL
                 : is_memory ? PT_MAPPING_JIT
                             : 0,
    };
    map.whole = map.where.range;
    if (is_kernel) {
        put_map(&d->procs, &d->procs.kernel, &map);
        return;
    }
    const uint32_t proc = proc_get(&d->procs, pid);
    put_map(&d->procs, &d->procs.proc.items[proc].maps, &map);
}

void pt_perf_on_comm(pt_perf_data *d, uint16_t misc, const uint8_t *body, size_t size)
{
    if (size <= 8) {
        d->odd++;
        return;
    }
    const uint32_t pid = pt_perf_u32(body, d->swap), tid = pt_perf_u32(body + 4, d->swap);
    const uint32_t row = pt_perf_thread_get(d, pid, tid);
    const size_t room = size - 8 < COMM_MAX_BYTES ? size - 8 : COMM_MAX_BYTES;
    d->procs.thread.items[row].comm = comm_string(d, (const char *)body + 8, room);
    if (!(misc & PT_PERF_MISC_EXEC)) return;
    pt_perf_proc *const proc = &d->procs.proc.items[d->procs.thread.items[row].proc];
    maps_unref(&d->procs, proc->maps);
    proc->maps = maps_new(&d->procs);
}

/* Body: pid, ppid, tid, ptid, time. */
void pt_perf_on_fork(pt_perf_data *d, uint16_t misc, const uint8_t *body, size_t size)
{
    if (size < 16) {
        d->odd++;
        return;
    }
    const uint32_t pid = pt_perf_u32(body, d->swap), ppid = pt_perf_u32(body + 4, d->swap);
    const uint32_t tid = pt_perf_u32(body + 8, d->swap), ptid = pt_perf_u32(body + 12, d->swap);
    if (pid == ppid && tid == ptid) return;
    const uint32_t parent = pt_perf_thread_get(d, ppid, ptid);
    if (pid != ppid && !(misc & PT_PERF_MISC_FORK_EXEC)) {
        pt_perf_maps *const maps = d->procs.proc.items[d->procs.thread.items[parent].proc].maps;
        maps->refs++;
        proc_add(&d->procs, pid, maps);
    }
    const uint32_t child = pt_perf_thread_get(d, pid, tid);
    d->procs.thread.items[child].comm = d->procs.thread.items[parent].comm;
}

/* Body: addr u64, length u32, type u16, flags u16 (1: unloaded), name. */
void pt_perf_on_ksymbol(pt_perf_data *d, const uint8_t *body, size_t size)
{
    enum { NAME_AT = 16, NAME_MAX_BYTES = 512, GONE = 1, BPF = 1 };
    if (size <= NAME_AT) {
        d->odd++;
        return;
    }
    const uint64_t start = pt_perf_u64(body, d->swap);
    const uint32_t bytes = pt_perf_u32(body + 8, d->swap);
    if (bytes == 0 || bytes > UINT64_MAX - start || (pt_perf_u16(body + 14, d->swap) & GONE))
        return;
    const char *const text = (const char *)body + NAME_AT;
    const size_t room = size - NAME_AT < NAME_MAX_BYTES ? size - NAME_AT : NAME_MAX_BYTES;
    const char *const place =
        pt_perf_u16(body + 12, d->swap) == BPF ? "[bpf]" : "[kernel out of line]";
    const pt_perf_map map = {
        .where = {.range = {.start = start, .limit = start + bytes},
                  .path = pt_perf_pool_text(&d->pool, place, strlen(place)),
                  .build_id = ""},
        .mapping = PT_NONE,
        .name = pt_perf_pool_text(&d->pool, text, strnlen(text, room)),
        .whole = {.start = start, .limit = start + bytes},
        .flags = PT_MAPPING_KERNEL | PT_MAPPING_HAS_FUNCTIONS,
    };
    put_map(&d->procs, &d->procs.kernel, &map);
}

/* Body: id u64, path. */
void pt_perf_on_cgroup(pt_perf_data *d, const uint8_t *body, size_t size)
{
    if (size <= 8) {
        d->odd++;
        return;
    }
    const uint64_t id = pt_perf_u64(body, d->swap);
    const char *const text = (const char *)body + 8;
    const size_t room = size - 8 < PATH_MAX_BYTES ? size - 8 : PATH_MAX_BYTES;
    if (pt_perf_cgroup_labels(d, id) != 0) return;
    pt_index_add(&d->cgroup_index, pt_hash_mix(id, 0), (uint32_t)d->cgroup.count);
    PT_PUSH(d->cgroup,
            (struct pt_perf_cgroup){
                .id = id, .path = pt_builder_string(d->builder, text, strnlen(text, room)).v});
}

uint32_t pt_perf_cgroup_labels(pt_perf_data *d, uint64_t id)
{
    PT_INDEX_EACH (&d->cgroup_index, pt_hash_mix(id, 0), i) {
        struct pt_perf_cgroup *const earlier = &d->cgroup.items[i];
        if (earlier->id != id) continue;
        const pt_label label = {.key = pt_builder_text(d->builder, "cgroup").v,
                                .kind = PT_LABEL_STRING,
                                .str = earlier->path};
        if (earlier->labels == 0) earlier->labels = pt_builder_labels(d->builder, &label, 1).v;
        return earlier->labels;
    }
    return 0;
}
