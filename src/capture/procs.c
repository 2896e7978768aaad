/* procs.c: processes and their mappings. See procs.h. */
#include "capture/procs.h"

#include <dirent.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/sysmacros.h>

#include "base/file.h"
#include "capture/interp_java.h"
#include "interp/java.h"
#include "process/maps.h"
#include "process/path_kind.h"

#define MAPS_MAX_BYTES (64 << 20)

void pt_procs_init(pt_procs *procs, const char *root)
{
    *procs = (pt_procs){.root = root};
    pt_images_init(&procs->images);
    procs->memory = pt_target_memory_new();
    if (stat("/", &procs->own_root) != 0) procs->own_root = (struct stat){0};
}

static void free_proc(pt_proc *proc)
{
    free(proc->map.items);
    free(proc->module.items);
    free(proc->replaced.items);
    free(proc->source_lines);
    pt_java_free(proc->java);
    free(proc);
}

void pt_procs_done(pt_procs *procs)
{
    for (size_t i = 0; i < PT_PROCS_BUCKETS; i++)
        for (pt_proc *proc = procs->of_pid[i], *next; proc != NULL; proc = next) {
            next = proc->next;
            free_proc(proc);
        }
    pt_images_done(&procs->images);
    pt_target_memory_free(procs->memory);
    *procs = (pt_procs){0};
}

/* ---- the table ---- */

pt_proc *pt_procs_find(const pt_procs *procs, uint32_t pid)
{
    pt_proc *proc = procs->of_pid[pid % PT_PROCS_BUCKETS];
    while (proc != NULL && proc->pid != pid)
        proc = proc->next;
    return proc != NULL && !proc->has_exited ? proc : NULL;
}

static pt_proc *add_proc(pt_procs *procs, uint32_t pid)
{
    pt_proc **const bucket = &procs->of_pid[pid % PT_PROCS_BUCKETS];
    pt_proc *const proc = pt_alloc(1, sizeof *proc);
    proc->pid = pid;
    proc->memory = procs->memory;
    proc->is_stale = true;
    proc->start = ++procs->starts;
    proc->generation = proc->replaced_generation = ++procs->generation;
    proc->next = *bucket;
    *bucket = proc;
    return proc;
}

void pt_procs_drop(pt_procs *procs, pt_proc *proc)
{
    pt_proc **at = &procs->of_pid[proc->pid % PT_PROCS_BUCKETS];
    while (*at != proc)
        at = &(*at)->next;
    *at = proc->next;
    free_proc(proc);
}

pt_proc *pt_procs_get(pt_procs *procs, uint32_t pid)
{
    pt_proc *const proc = pt_procs_find(procs, pid);
    return proc != NULL ? proc : add_proc(procs, pid);
}

static void set_comm(pt_proc *proc, const char *text)
{
    snprintf(proc->comm, sizeof proc->comm, "%s", text);
}

/* ---- mappings ---- */

static void mark_changed(pt_procs *procs, pt_proc *proc)
{
    proc->is_stale = true;
    proc->generation = ++procs->generation;
}

/* Is the new mapping the same as the old one? The kernel's record and /proc/PID/maps may both
 * report it, each with its own key of the file. */
static bool is_same_map(pt_procs *procs, const pt_proc *proc, const pt_proc_map *old,
                        const pt_proc_map *new)
{
    const pt_map_range *const a = &old->range, *const b = &new->range;
    if (a->start != b->start || a->limit != b->limit || a->file_offset != b->file_offset)
        return false;
    return pt_images_are_same(&procs->images, old->image, new->image,
                              proc->has_exited ? 0 : proc->pid, a->start, a->limit);
}

static bool is_memory(const pt_procs *procs, const pt_proc_map *map)
{
    const char *const path = procs->images.all.items[map->image]->path;
    return pt_mapped_is_memory(pt_mapped_kind_of_text(path));
}

/* Does the mapping overlap an older one whose frames are walked by other rules? Memory without a
 * file has no rules: if a compiler maps a part of its memory again, as V8 does, no stack changes.
 */
static bool is_replacing(const pt_procs *procs, const pt_proc *proc, const pt_proc_map *map)
{
    const bool has_rules = !is_memory(procs, map);
    for (size_t i = 0; i < proc->map.count; i++) {
        const pt_proc_map *const old = &proc->map.items[i];
        if (old->range.start < map->range.limit && old->range.limit > map->range.start &&
            (has_rules || !is_memory(procs, old)))
            return true;
    }
    return false;
}

static void note_replaced(pt_proc *proc, const pt_map_range *range)
{
    const pt_proc_replaced now = {range->start, range->limit, proc->generation};
    if (proc->replaced.count < PT_REPLACED_MAX) {
        PT_PUSH(proc->replaced, now);
        return;
    }
    pt_proc_replaced *const oldest = &proc->replaced.items[proc->replaced.next];
    proc->replaced_generation = oldest->generation;
    *oldest = now;
    proc->replaced.next = (proc->replaced.next + 1) % PT_REPLACED_MAX;
}

static void put_map(pt_procs *procs, pt_proc *proc, const pt_proc_map *map)
{
    const pt_proc_map *const there = pt_proc_map_at(proc, map->range.start);
    if (there != NULL && is_same_map(procs, proc, there, map)) return;
    const bool replaces = is_replacing(procs, proc, map);
    PT_GROW(proc->map, proc->map.count + PT_MAPPINGS_MORE);
    proc->map.count =
        pt_mappings_put(proc->map.items, proc->map.count, sizeof *proc->map.items, map);
    mark_changed(procs, proc);
    if (replaces) note_replaced(proc, &map->range);
}

static bool is_replaced_since(const pt_proc *proc, uint32_t generation, uint64_t pc)
{
    for (size_t i = 0; i < proc->replaced.count; i++) {
        const pt_proc_replaced *const r = &proc->replaced.items[i];
        if (r->generation > generation && pc >= r->start && pc < r->limit) return true;
    }
    return false;
}

uint32_t pt_proc_right_frames(const pt_proc *proc, uint32_t generation, const uint64_t *pcs,
                              uint32_t count)
{
    uint32_t right = 0;
    if (generation >= proc->generation) return count;
    if (generation < proc->replaced_generation) return count > 0 ? 1 : 0;
    while (right < count && !is_replaced_since(proc, generation, pcs[right] - (right > 0)))
        right++;
    return right < count ? right + 1 : count;
}

static void read_maps_line(pt_procs *procs, pt_proc *proc, const char *text)
{
    pt_maps_line line;
    if (!pt_maps_line_parse(text, strlen(text), &line) || !(line.prot & PROT_EXEC)) return;
    const pt_image_key key = {.path = line.path, /* reaches to the end of the text */
                              .major = line.major,
                              .minor = line.minor,
                              .inode = line.inode};
    const pt_proc_map map = {
        .range = {.start = line.start, .limit = line.limit, .file_offset = line.file_offset},
        .image = pt_images_add(&procs->images, &key)};
    put_map(procs, proc, &map);
}

static char *read_text(const pt_procs *procs, uint32_t pid, const char *name)
{
    pt_blob blob = PT_BLOB_INIT;
    PT_FREE char *path = pt_strf("%s/%" PRIu32 "/%s", procs->root, pid, name);
    if (pt_file_read(path, PT_FILE_EMPTY_OK, MAPS_MAX_BYTES, &blob, NULL) != PT_OK) return NULL;
    char *const text = pt_strndup((const char *)blob.data, blob.size);
    pt_blob_done(&blob);
    return text;
}

/* The mappings of a process; if its first thread has ended, only other threads show them. */
static char *read_maps(const pt_procs *procs, uint32_t pid)
{
    char *maps = read_text(procs, pid, "maps");
    if (maps == NULL || maps[0] != '\0') return maps;
    PT_FREE char *path = pt_strf("%s/%" PRIu32 "/task", procs->root, pid);
    DIR *const dir = opendir(path);
    for (const struct dirent *entry;
         dir != NULL && (maps == NULL || maps[0] == '\0') && (entry = readdir(dir)) != NULL;) {
        if (entry->d_name[0] == '.') continue;
        PT_FREE char *name = pt_strf("task/%s/maps", entry->d_name);
        free(maps);
        maps = read_text(procs, pid, name);
    }
    if (dir != NULL) closedir(dir);
    return maps;
}

bool pt_procs_read(pt_procs *procs, pt_proc *proc)
{
    PT_FREE char *comm = read_text(procs, proc->pid, "comm");
    PT_FREE char *maps = read_maps(procs, proc->pid);
    if (comm != NULL && proc->comm[0] == '\0') {
        comm[strcspn(comm, "\n")] = '\0';
        set_comm(proc, comm);
    }
    proc->has_maps = true; /* no later read will find more */
    proc->is_unreadable = maps == NULL && proc->map.count == 0;
    if (maps == NULL) return false;
    char *state = NULL;
    for (char *line = strtok_r(maps, "\n", &state); line != NULL;
         line = strtok_r(NULL, "\n", &state))
        read_maps_line(procs, proc, line);
    return true;
}

ssize_t pt_proc_read_memory(pt_proc *proc, uint64_t addr, void *to, size_t size)
{
    return pt_target_memory_read(proc->memory, proc, addr, to, size);
}

void pt_proc_status(const char *root, const char *process, const char *key, char *buf, size_t size)
{
    enum { STATUS_MAX_BYTES = 1 << 20 };
    pt_blob blob = PT_BLOB_INIT;
    PT_FREE char *path = pt_strf("%s/%s/status", root, process);
    PT_FREE char *text = NULL;
    if (pt_file_read(path, PT_FILE_EMPTY_OK, STATUS_MAX_BYTES, &blob, NULL) == PT_OK)
        text = pt_strndup((const char *)blob.data, blob.size);
    pt_blob_done(&blob);
    const size_t length = strlen(key);
    buf[0] = '\0';
    for (const char *line = text; line != NULL && *line != '\0';) {
        if (strncmp(line, key, length) == 0 && line[length] == ':') {
            line += length + 1 + strspn(line + length + 1, " \t");
            snprintf(buf, size, "%.*s", (int)strcspn(line, "\n"), line);
            return;
        }
        line += strcspn(line, "\n");
        line += *line == '\n';
    }
}

const pt_proc_map *pt_proc_map_at(const pt_proc *proc, uint64_t addr)
{
    return pt_mappings_at(proc->map.items, proc->map.count, sizeof *proc->map.items, addr);
}

/* ---- records ---- */

pt_proc *pt_procs_on_mmap(pt_procs *procs, const pt_perf_record *r)
{
    const pt_perf_mmap *const m = &r->mmap;
    if (r->pid == 0 || r->pid == UINT32_MAX || !(m->protection & PROT_EXEC) || m->bytes == 0 ||
        m->start + m->bytes < m->start)
        return NULL;
    pt_proc *const proc = pt_procs_get(procs, r->pid);
    pt_image_key key = {.path = m->path, .major = m->major, .minor = m->minor, .inode = m->inode};
    if (m->build_id != NULL) {
        key.build_id_bytes = m->build_id_bytes;
        memcpy(key.build_id, m->build_id, m->build_id_bytes);
    }
    const pt_proc_map map = {
        .range = {.start = m->start, .limit = m->start + m->bytes, .file_offset = m->file_offset},
        .image = pt_images_add(&procs->images, &key)};
    put_map(procs, proc, &map);
    return proc;
}

/* Takes back the end of a process: its first thread's end was reported, but another thread has
 * called exec, and got that thread's number. */
static void take_back(pt_procs *procs, pt_proc *proc)
{
    for (size_t i = 0; proc->is_leaving && i < PT_PROCS_GONE; i++)
        if (procs->gone[i] == proc) procs->gone[i] = NULL;
    proc->is_leaving = false;
    proc->is_counted = true;
    proc->threads = 1;
}

pt_proc *pt_procs_on_comm(pt_procs *procs, const pt_perf_record *r)
{
    pt_proc *const proc = pt_procs_get(procs, r->pid);
    if (r->pid == r->tid && strncmp(proc->comm, r->comm.text, sizeof proc->comm - 1) != 0) {
        set_comm(proc, r->comm.text);
        proc->who = 0;
    }
    if (r->comm.is_exec) {
        take_back(procs, proc);
        proc->map.count = 0;
        proc->start = ++procs->starts;
        proc->has_maps = true; /* the kernel reports each mapping from now on */
        proc->who = 0;
        proc->is_dropped = false;
        proc->copies_until_ns = 0;
        proc->patience = (pt_memory_patience){0};
        if (proc->awaits_exec) proc->is_wanted = true;
        proc->awaits_exec = false;
        mark_changed(procs, proc);
        proc->replaced_generation = proc->generation;
    }
    return proc;
}

pt_proc *pt_procs_on_fork(pt_procs *procs, const pt_perf_record *r)
{
    pt_proc *const parent = pt_procs_find(procs, r->task.ppid);
    if (r->task.pid == r->task.ppid) {
        if (parent != NULL) parent->threads++;
        return NULL;
    }
    pt_proc *const child = add_proc(procs, r->task.pid);
    child->ppid = r->task.ppid;
    child->is_counted = true;
    child->threads = 1;
    if (parent == NULL) return child;
    memcpy(child->comm, parent->comm, sizeof child->comm);
    child->is_wanted = parent->is_wanted;
    child->is_judged = parent->is_judged;
    child->has_maps = parent->has_maps;
    PT_GROW(child->map, parent->map.count);
    if (parent->map.count > 0)
        memcpy(child->map.items, parent->map.items, parent->map.count * sizeof *child->map.items);
    child->map.count = parent->map.count;
    return child;
}

/* True if the process has threads left: the first may end before others. */
static bool has_threads(const pt_procs *procs, const pt_proc *proc)
{
    if (proc->has_exited || (proc->is_counted && proc->threads == 0)) return false;
    PT_FREE char *path = pt_strf("%s/%" PRIu32 "/task", procs->root, proc->pid);
    DIR *const dir = opendir(path);
    unsigned count = 0;
    for (const struct dirent *entry; dir != NULL && (entry = readdir(dir)) != NULL;)
        count += entry->d_name[0] != '.';
    if (dir != NULL) closedir(dir);
    return count > 1;
}

pt_proc *pt_procs_end(pt_procs *procs, pt_proc *proc)
{
    if (proc->is_leaving) return NULL;
    pt_proc **const slot = &procs->gone[procs->gone_count++ % PT_PROCS_GONE];
    pt_proc *const old = *slot;
    *slot = proc;
    proc->is_leaving = true;
    if (old == NULL) return NULL;
    /* A recorded process that has threads left stays until its pid is used again. A process that is
     * not recorded is freed all the same: its next sample makes it again. */
    old->is_leaving = false;
    return old->is_wanted && has_threads(procs, old) ? NULL : old;
}

/* ---- unwinding ---- */

/* Notes whether the process has Java, and which of its modules may have frames of Java. */
static void mark_java(const pt_procs *procs, pt_proc *proc)
{
    proc->has_java = pt_java_is_in(procs, proc);
    for (size_t i = 0; i < proc->map.count && proc->has_java; i++) {
        const char *const path = procs->images.all.items[proc->map.items[i].image]->path;
        proc->module.items[i].has_runtime = pt_mapped_is_memory(pt_mapped_kind_of_text(path));
    }
}

/* True if files that the process has mapped may not be found once it has ended: its root is not the
 * recorder's. */
static bool has_other_root(const pt_procs *procs, const pt_proc *proc)
{
    struct stat st;
    PT_FREE char *path = pt_strf("%s/%" PRIu32 "/root", procs->root, proc->pid);
    return !proc->has_exited && stat(path, &st) == 0 &&
           (st.st_dev != procs->own_root.st_dev || st.st_ino != procs->own_root.st_ino);
}

static void look_at_map(pt_procs *procs, const pt_proc *proc, const pt_proc_map *map)
{
    pt_images_look(&procs->images, map->image, proc->has_exited ? 0 : proc->pid, map->range.start,
                   map->range.limit);
}

/* True if the mapping's file was not read, and need not be until a stack has code of it. */
static bool may_wait(const pt_procs *procs, const pt_proc_map *map)
{
    const pt_image *const image = procs->images.all.items[map->image];
    const pt_mapped_kind kind = pt_mapped_kind_of_text(image->path);
    return !image->is_looked_at && (kind == PT_MAPPED_FILE || kind == PT_MAPPED_VDSO) &&
           !pt_java_is_file(image->path);
}

pt_unwind_modules pt_proc_modules(pt_procs *procs, pt_proc *proc, bool all)
{
    if (all && !proc->is_all && !proc->is_stale) mark_changed(procs, proc);
    if (proc->is_stale) {
        proc->is_stale = proc->has_unread = false;
        proc->is_all = all;
        const bool reads_all = all || has_other_root(procs, proc);
        PT_GROW(proc->module, proc->map.count + 1);
        proc->module.count = 0;
        for (size_t i = 0; i < proc->map.count; i++) {
            const pt_proc_map *const map = &proc->map.items[i];
            if (reads_all || !may_wait(procs, map))
                look_at_map(procs, proc, map);
            else
                proc->has_unread = true;
            proc->module.items[proc->module.count++] =
                pt_mapped_image_module(&procs->images.all.items[map->image]->mapped, &map->range);
        }
        mark_java(procs, proc);
    }
    return (pt_unwind_modules){.modules = proc->module.items,
                               .count = (uint32_t)proc->module.count,
                               .generation = proc->generation};
}

/* True if the mapping's file has a table that its module lacks: it was read since, perhaps for
 * another process. */
static bool has_more(const pt_procs *procs, const pt_proc *proc, const pt_proc_map *map)
{
    const pt_image *const image = procs->images.all.items[map->image];
    return proc->module.items[map - proc->map.items].table == NULL &&
           pt_mapped_image_module(&image->mapped, &map->range).table != NULL;
}

bool pt_proc_read_met(pt_procs *procs, pt_proc *proc, const uint64_t *pcs, uint32_t count)
{
    bool is_more = false;
    for (uint32_t i = 0; proc->has_unread && !proc->is_stale && i < count; i++) {
        const pt_proc_map *const map = pt_proc_map_at(proc, pcs[i] - (i > 0));
        if (map == NULL) continue;
        if (may_wait(procs, map)) look_at_map(procs, proc, map);
        is_more |= has_more(procs, proc, map);
    }
    if (is_more) mark_changed(procs, proc);
    return is_more;
}

void pt_procs_sweep(pt_procs *procs, void (*forget)(void *arg, const pt_unwind_table *table),
                    void *arg)
{
    if (procs->images.read_count < PT_IMAGES_SWEEP) return;
    for (size_t b = 0; b < PT_PROCS_BUCKETS; b++)
        for (const pt_proc *proc = procs->of_pid[b]; proc != NULL; proc = proc->next)
            for (size_t i = 0; i < proc->map.count; i++)
                procs->images.all.items[proc->map.items[i].image]->is_mapped = true;
    pt_images_sweep(&procs->images, forget, arg);
}
