/* sink.c: counts distinct stacks. See sink.h. */
#include "capture/sink.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/grow.h"
#include "base/hash.h"
#include "base/saturate.h"
#include "elf/image.h"
#include "interp/v8.h"
#include "model/process_user.h"
#include "process/path_kind.h"
#include "wire/journal.h"

enum { WHO_KINDS = 2 * PT_V8_TIERS };

/* A distinct stack of a process. Its values are in a column of their own. */
typedef struct {
    uint32_t stack; /* of the builder */
    uint32_t who;   /* a row of sink.who times WHO_KINDS, + 1 if uncertain, + 2 * tier */
} counted;

/* A name of a process, and a kind of wait, for labels. */
typedef struct {
    uint32_t pid, comm;
    uint32_t wait, waker; /* 0: none */
    uint32_t before;      /* the process's previous name + 1; 0: none */
} sink_who;

/* A stack as sampled, kept until its process is forgotten: the next samples are compared with it.
 */
typedef struct {
    uint64_t *pcs; /* owned; NULL: the place is free */
    uint64_t hash;
    uint32_t before; /* place of the process's previous stack + 1, of a free place the next free one
                      * + 1 */
    uint32_t proc_generation, who;
    uint32_t start; /* pt_proc.start of its process */
    uint32_t kernel_count, count;
    uint32_t row; /* of counted */
    uint8_t end;
} known_stack;

/* A mapping of the builder and its image. */
typedef struct {
    uint32_t image, mapping;
    uint64_t file_offset, bytes;
    uint64_t start; /* in the builder */
    bool is_memory; /* no file has the code in it */
    bool is_id_kept;
} shared_map;

enum {
    RECENT_MAPS = 64,
    AWAY_ROOM_BYTES = 64 << 20, /* rows are put away while the disk has this room */
};

/* A cache: the shared map of a process's mapping. */
typedef struct {
    pt_proc_map map;
    uint32_t row;
    bool is_used;
} recent_map;

enum { RECENT_LOCATIONS = 1 << 14 };

/* A cache: the location of an address. A generation belongs to one process. */
typedef struct {
    uint64_t pc;
    uint32_t generation; /* of the process's mappings; 0: unused */
    uint32_t id;
    bool is_return;
} recent_location;

struct pt_sink {
    pt_builder *builder;
    const pt_procs *procs;
    bool is_timeline;
    pt_mapping kernel_mapping; /* added to the builder when a frame is in it */
    uint32_t kernel;           /* mapping, or PT_NONE */
    const pt_named *named;
    uint32_t frames_of[PT_JOURNAL_LANGUAGES]; /* mapping of a language's frames, or PT_NONE */
    uint32_t key_pid, key_comm, key_wait, key_waker;
    pt_index known_of; /* hash of a sampled stack -> row of known, which may have changed since */
    pt_index row_of;   /* hash of a builder's stack, its name and program -> row of known, which may
                        * have changed, too */
    PT_VECTOR(known_stack) known;
    uint32_t free_known; /* the first free place + 1; 0: none */
    uint32_t freed;      /* entries that became void since known_of was built */
    PT_VECTOR(counted) stack;
    PT_VECTOR(int64_t) value; /* value_count for each stack */
    PT_VECTOR(sink_who) who;
    uint32_t value_count;
    pt_index shared;
    PT_VECTOR(shared_map) map;
    recent_map recent[RECENT_MAPS];
    recent_location *located; /* RECENT_LOCATIONS */
    uint32_t frames[PT_SINK_DEPTH_MAX];
    uint32_t told_count;              /* processes with a reported user */
    pt_keep *keep;                    /* or NULL */
    uint32_t kept_count, kept_stacks; /* locations, stacks already in keep */
    /* may_put_away: as in pt_sink_keep_in. The rows below row_base were put away, in `round` calls.
     */
    bool may_put_away;
    uint32_t row_base, round;
    size_t ended_rows; /* rows in memory whose processes are forgotten */
};

pt_sink *pt_sink_new(pt_builder *builder, const pt_procs *procs, const pt_mapping *kernel,
                     bool is_timeline)
{
    pt_sink *const sink = pt_alloc(1, sizeof *sink);
    sink->builder = builder;
    sink->procs = procs;
    sink->is_timeline = is_timeline;
    sink->round = 1;
    sink->kernel = PT_NONE;
    memset(sink->frames_of, 0xff, sizeof sink->frames_of);
    sink->located = pt_alloc(RECENT_LOCATIONS, sizeof *sink->located);
    sink->key_pid = pt_builder_text(builder, "pid").v;
    sink->key_comm = pt_builder_text(builder, "comm").v;
    sink->key_wait = pt_builder_text(builder, "wait").v;
    sink->key_waker = pt_builder_text(builder, "waker").v;
    pt_index_init(&sink->known_of);
    pt_index_init(&sink->row_of);
    pt_index_init(&sink->shared);
    if (kernel != NULL) sink->kernel_mapping = *kernel;
    return sink;
}

static void free_known(pt_sink *sink)
{
    pt_index_done(&sink->known_of);
    pt_index_done(&sink->row_of);
    for (size_t i = 0; i < sink->known.count; i++)
        free(sink->known.items[i].pcs);
    sink->known.count = 0;
}

void pt_sink_free(pt_sink *sink)
{
    if (sink == NULL) return;
    free_known(sink);
    pt_index_done(&sink->shared);
    free(sink->known.items);
    free(sink->stack.items);
    free(sink->value.items);
    free(sink->who.items);
    free(sink->map.items);
    free(sink->located);
    free(sink);
}

/* ---- the kept recording ---- */

void pt_sink_name_by(pt_sink *sink, const pt_named *named)
{
    sink->named = named;
}

void pt_sink_keep_in(pt_sink *sink, pt_keep *keep, bool may_put_away)
{
    sink->keep = keep;
    sink->may_put_away = may_put_away && !sink->is_timeline;
}

static void keep_mapping(pt_sink *sink, const pt_mapping *mapping)
{
    if (sink->keep != NULL) pt_keep_mapping(sink->keep, mapping, sink->builder);
}

static uint32_t add_location(pt_sink *sink, const pt_location *location)
{
    const uint32_t id = pt_builder_location(sink->builder, location, NULL, 0).v;
    if (sink->keep != NULL && id == sink->kept_count) {
        pt_keep_location(sink->keep, location);
        sink->kept_count++;
    }
    return id;
}

/* The tier of the samples of a row with that `who`. */
static unsigned tier_of_who(uint32_t who)
{
    return who % WHO_KINDS / 2;
}

/* Keeps a new row, and its stack if it is new. */
static void keep_row(pt_sink *sink, const counted *row, uint8_t end)
{
    const pt_builder *const b = sink->builder;
    const sink_who *const who = &sink->who.items[row->who / WHO_KINDS];
    if (sink->keep == NULL) return;
    if (row->stack == sink->kept_stacks) {
        size_t depth;
        const uint32_t *const frames =
            pt_builder_stack_frames(b, (pt_stack_id){row->stack}, &depth);
        pt_keep_stack(sink->keep, frames, (uint32_t)depth, end);
        sink->kept_stacks++;
    }
    const pt_keep_who kept = {.stack = row->stack,
                              .pid = who->pid,
                              .comm = pt_builder_get_text(b, (pt_string_id){who->comm}),
                              .wait = pt_builder_get_text(b, (pt_string_id){who->wait}),
                              .waker = pt_builder_get_text(b, (pt_string_id){who->waker}),
                              .is_uncertain = row->who % 2 != 0,
                              .tier = (uint8_t)tier_of_who(row->who)};
    pt_keep_row(sink->keep, &kept);
}

/* The values of a row that was not put away. */
static int64_t *values_at(const pt_sink *sink, uint32_t row)
{
    return sink->value.items + (size_t)(row - sink->row_base) * sink->value_count;
}

static const int64_t *values_of(const void *arg, uint32_t row)
{
    return values_at(arg, row);
}

/* Writes build ids that became known when images were read. */
static void keep_build_ids(pt_sink *sink)
{
    for (size_t i = 0; i < sink->map.count; i++) {
        shared_map *const m = &sink->map.items[i];
        const pt_image *const image = sink->procs->images.all.items[m->image];
        char hex[2 * PT_IMAGE_ID_MAX + 1];
        if (m->is_id_kept || image->build_id_bytes == 0) continue;
        pt_elf_id_hex((pt_elf_id){.bytes = image->build_id, .size_bytes = image->build_id_bytes},
                      hex, sizeof hex);
        pt_keep_build_id(sink->keep, m->mapping, hex);
        m->is_id_kept = true;
    }
}

bool pt_sink_write_kept(pt_sink *sink, const pt_keep_facts *facts)
{
    keep_build_ids(sink);
    return pt_keep_write(sink->keep, facts, values_of, sink);
}

bool pt_sink_should_put_away(const pt_sink *sink)
{
    const size_t rows = sink->stack.count;
    return sink->may_put_away && rows > 0 && sink->ended_rows >= rows / 2 &&
           rows * (sizeof *sink->stack.items + sink->value_count * sizeof *sink->value.items) +
                   sink->who.count * sizeof *sink->who.items +
                   pt_builder_code_bytes(sink->builder) >=
               PT_SINK_AWAY_BYTES;
}

bool pt_sink_put_away(pt_sink *sink, const pt_keep_facts *facts)
{
    if (!pt_keep_has_room(sink->keep, AWAY_ROOM_BYTES) || !pt_sink_write_kept(sink, facts)) {
        sink->may_put_away = false;
        return false;
    }
    pt_keep_begin_anew(sink->keep);
    pt_builder_forget_code(sink->builder);
    free_known(sink);
    memset(sink->located, 0, RECENT_LOCATIONS * sizeof *sink->located);
    sink->row_base += (uint32_t)sink->stack.count;
    sink->round++;
    sink->stack.count = sink->value.count = sink->who.count = 0;
    sink->free_known = sink->freed = sink->kept_count = sink->kept_stacks = 0;
    sink->ended_rows = 0;
    return true;
}

bool pt_sink_has_put_away(const pt_sink *sink)
{
    return sink->row_base > 0;
}

uint64_t pt_sink_unwritten(const pt_sink *sink)
{
    uint64_t sum = 0;
    for (size_t i = 0; i < sink->value.count; i += sink->value_count)
        sum += (uint64_t)sink->value.items[i];
    return sum;
}

/* Clears a process's numbers of names and rows if they are of an earlier round, whose rows were put
 * away. */
static void renew_proc(const pt_sink *sink, pt_proc *proc)
{
    if (proc->sink_round == sink->round) return;
    proc->sink_round = sink->round;
    proc->who = proc->last_name = proc->last_stack = 0;
}

/* ---- mappings ---- */

static uint32_t id_string(pt_builder *b, const pt_image *image)
{
    char hex[2 * PT_IMAGE_ID_MAX + 1];
    const pt_elf_id id = {.bytes = image->build_id, .size_bytes = image->build_id_bytes};
    pt_elf_id_hex(id, hex, sizeof hex);
    return pt_builder_text(b, hex).v;
}

static const shared_map *find_or_add_map(pt_sink *sink, const pt_proc_map *map)
{
    const pt_map_range *const range = &map->range;
    const uint64_t bytes = range->limit - range->start;
    const pt_image *const image = sink->procs->images.all.items[map->image];
    const pt_mapped as =
        pt_mapped_as(image->path, strlen(image->path), range->start, range->file_offset);
    const bool is_memory = pt_mapped_is_memory(as.kind);
    uint64_t hash = pt_hash_mix(map->image, pt_hash_mix(as.file_offset, bytes));
    if (is_memory) hash = pt_hash_mix(hash, range->start);
    pt_probe probe;
    for (uint32_t i = pt_index_first(&sink->shared, hash, &probe); i != PT_NONE;
         i = pt_index_next(&sink->shared, &probe)) {
        const shared_map *const m = &sink->map.items[i];
        if (m->image == map->image && m->file_offset == as.file_offset && m->bytes == bytes &&
            (!is_memory || m->start == range->start))
            return m;
    }
    const pt_mapping mapping = {.start = range->start,
                                .limit = range->limit,
                                .file_offset = as.file_offset,
                                .file = pt_builder_string(sink->builder, as.name, as.name_bytes).v,
                                .flags = is_memory ? PT_MAPPING_JIT : 0};
    const uint32_t id = pt_builder_append_mapping(sink->builder, &mapping).v;
    keep_mapping(sink, &mapping);
    pt_index_add(&sink->shared, hash, (uint32_t)sink->map.count);
    PT_GROW(sink->map, sink->map.count + 1);
    shared_map *const added = &sink->map.items[sink->map.count++];
    *added = (shared_map){.image = map->image,
                          .mapping = id,
                          .file_offset = as.file_offset,
                          .bytes = bytes,
                          .start = range->start,
                          .is_memory = is_memory};
    return added;
}

/* The shared map of a process's mapping, from the cache if possible: neighbouring frames mostly lie
 * in the same few mappings. */
static const shared_map *builder_map(pt_sink *sink, const pt_proc_map *map)
{
    recent_map *const recent =
        &sink->recent[pt_hash_mix(map->range.start, map->image) % RECENT_MAPS];
    const pt_map_range *const a = &recent->map.range, *const b = &map->range;
    const bool is_it = recent->is_used && recent->map.image == map->image && a->start == b->start &&
                       a->limit == b->limit && a->file_offset == b->file_offset;
    if (!is_it) {
        const shared_map *const found = find_or_add_map(sink, map);
        *recent = (recent_map){*map, (uint32_t)(found - sink->map.items), true};
    }
    return &sink->map.items[recent->row];
}

/* ---- stacks ---- */

static uint32_t named_location(pt_sink *sink, const char *name)
{
    const pt_location location = {.mapping = PT_NONE, .flags = PT_LOCATION_KERNEL};
    const uint32_t id = pt_builder_named_location(sink->builder, name, location.flags).v;
    const pt_function function = {.name = pt_builder_text(sink->builder, name).v,
                                  .file = pt_builder_text(sink->builder, "").v};
    if (sink->keep != NULL && id == sink->kept_count) {
        pt_keep_code(sink->keep, &location, &(pt_line){0}, &function, sink->builder);
        sink->kept_count++;
    }
    return id;
}

static uint32_t kernel_location(pt_sink *sink, uint64_t pc, bool is_return)
{
    if (pc == PT_SINK_KERNEL_NOT_SAMPLED) return named_location(sink, PT_NOT_SAMPLED_KERNEL);
    if (pc == PT_SINK_START_NOT_SAMPLED) return named_location(sink, PT_NOT_SAMPLED_START);
    if (sink->kernel == PT_NONE) {
        sink->kernel = pt_builder_append_mapping(sink->builder, &sink->kernel_mapping).v;
        keep_mapping(sink, &sink->kernel_mapping);
    }
    const pt_location location = {.mapping = sink->kernel,
                                  .address = pc,
                                  .flags = PT_LOCATION_KERNEL |
                                           (is_return ? PT_LOCATION_RETURN_ADDR : 0u)};
    return add_location(sink, &location);
}

/* Reports the user of a process with code in no file. A map file with names of such code is
 * accepted only from that user. */
static void report_user(pt_sink *sink, pt_proc *proc)
{
    enum { TOLD_MAX = 1024 }; /* each takes a comment of the profile */
    char who[16], users[64];
    uint32_t user;
    if (proc->is_user_told || sink->told_count >= TOLD_MAX) return;
    proc->is_user_told = true;
    snprintf(who, sizeof who, "%" PRIu32, proc->pid);
    pt_proc_status(sink->procs->root, who, "Uid", users, sizeof users);
    /* Real, effective, saved, and file system uid. */
    if (sscanf(users, "%*u %*u %*u %" SCNu32, &user) != 1) return;
    pt_builder_process_user(sink->builder, proc->pid, user);
    if (sink->keep != NULL) pt_keep_user(sink->keep, proc->pid, user);
    sink->told_count++;
}

static uint32_t make_user_location(pt_sink *sink, pt_proc *proc, uint64_t pc, bool is_return)
{
    /* A call at the end of a mapping returns to the byte after it. */
    const pt_proc_map *const map = pt_proc_map_at(proc, is_return && pc > 0 ? pc - 1 : pc);
    pt_location location = {.mapping = PT_NONE,
                            .address = pc,
                            .flags = PT_LOCATION_USER | (is_return ? PT_LOCATION_RETURN_ADDR : 0u)};
    if (map != NULL) {
        const shared_map *const shared = builder_map(sink, map);
        if (shared->is_memory) report_user(sink, proc);
        location.mapping = shared->mapping;
        location.address = pc - map->range.start + shared->start;
    }
    return add_location(sink, &location);
}

static uint32_t user_location(pt_sink *sink, pt_proc *proc, uint64_t pc, bool is_return)
{
    const uint64_t hash = pt_hash_mix(pc, pt_hash_u32_pair(proc->generation, is_return));
    recent_location *const at = &sink->located[hash % RECENT_LOCATIONS];
    if (at->pc != pc || at->generation != proc->generation || at->is_return != is_return)
        *at = (recent_location){.pc = pc,
                                .generation = proc->generation,
                                .is_return = is_return,
                                .id = make_user_location(sink, proc, pc, is_return)};
    return at->id;
}

/* The location of a frame of an interpreter, which has no address. */
static uint32_t frame_location(pt_sink *sink, uint64_t word)
{
    pt_function function;
    uint8_t language;
    const pt_line line = pt_named_line(sink->named, word, &function, &language);
    uint32_t *const of_language = &sink->frames_of[language];
    if (*of_language == PT_NONE) {
        const char *const name = pt_mapped_languages[language].mapping;
        const pt_mapping mapping = {.file = pt_builder_text(sink->builder, name).v,
                                    .flags = PT_MAPPING_HAS_FUNCTIONS | PT_MAPPING_HAS_FILENAMES |
                                             PT_MAPPING_HAS_LINES | PT_MAPPING_HAS_INLINES};
        *of_language = pt_builder_append_mapping(sink->builder, &mapping).v;
        keep_mapping(sink, &mapping);
    }
    const pt_location location = {.mapping = *of_language, .flags = PT_LOCATION_USER};
    const uint32_t id = pt_builder_location(sink->builder, &location, &line, 1).v;
    if (sink->keep != NULL && id == sink->kept_count) {
        pt_keep_code(sink->keep, &location, &line, &function, sink->builder);
        sink->kept_count++;
    }
    return id;
}

static uint32_t make_stack(pt_sink *sink, const pt_sink_sample *s)
{
    const uint32_t count = s->count <= PT_SINK_DEPTH_MAX ? s->count : PT_SINK_DEPTH_MAX;
    /* The first mapping must be the program's; loaders place it below its libraries. */
    if (pt_builder_mapping_count(sink->builder) == 0 && s->proc->map.count > 0)
        builder_map(sink, &s->proc->map.items[0]);
    bool has_native = false;
    for (uint32_t i = 0; i < count; i++) {
        const bool is_kernel = i < s->kernel_count;
        /* A system call or fault interrupted the innermost user frame under kernel frames, so its
         * pc is no return address. */
        const bool is_return = is_kernel ? i > 0 : has_native;
        if (!is_kernel && s->has_words && (s->pcs[i] & PT_INTERP_FRAME) != 0) {
            sink->frames[i] = frame_location(sink, s->pcs[i]);
            continue;
        }
        sink->frames[i] = is_kernel ? kernel_location(sink, s->pcs[i], is_return)
                                    : user_location(sink, s->proc, s->pcs[i], is_return);
        has_native |= !is_kernel;
    }
    return pt_builder_stack(sink->builder, sink->frames, count, (pt_stack_end)s->end).v;
}

/* A row of sink.who + 1. A process may go back to a former name. */
static uint32_t find_or_add_name(pt_sink *sink, pt_proc *proc, const char *kind)
{
    enum { NAMES_MAX = 64 }; /* a name older than so many others may get a second row */
    const uint32_t comm = pt_builder_text(sink->builder, proc->comm).v;
    const uint32_t wait = kind != NULL ? pt_builder_text(sink->builder, kind).v : 0;
    uint32_t row = proc->last_name;
    for (unsigned i = 0; row > 0 && i < NAMES_MAX; i++) {
        const sink_who *const w = &sink->who.items[row - 1];
        if (w->comm == comm && w->wait == wait && w->waker == 0) return row;
        row = sink->who.items[row - 1].before;
    }
    const sink_who added = {proc->pid, comm, wait, 0, proc->last_name};
    PT_PUSH(sink->who, added);
    proc->last_name = (uint32_t)sink->who.count;
    return proc->last_name;
}

/* The tier of the innermost function of an interpreter. */
static unsigned tier_of(const pt_sink *sink, const pt_sink_sample *s)
{
    for (uint32_t i = s->kernel_count; s->has_words && i < s->count; i++)
        if ((s->pcs[i] & PT_INTERP_FRAME) != 0) return pt_named_tier(sink->named, s->pcs[i]);
    return PT_V8_NO_TIER;
}

static uint32_t who_of(pt_sink *sink, const pt_sink_sample *s)
{
    pt_proc *const proc = s->proc;
    const uint32_t kind = tier_of(sink, s) * 2 + s->is_uncertain;
    if (s->wait != NULL) return (find_or_add_name(sink, proc, s->wait) - 1) * WHO_KINDS + kind;
    if (proc->who == 0) proc->who = find_or_add_name(sink, proc, NULL);
    return (proc->who - 1) * WHO_KINDS + kind;
}

/* The labels of a row. A sample of a timeline has its process in columns instead. */
static pt_labels_id labels_of(pt_sink *sink, const counted *c)
{
    const sink_who *const w = &sink->who.items[c->who / WHO_KINDS];
    const char *const tier = pt_v8_tier_names[tier_of_who(c->who)];
    pt_label labels[6];
    size_t count = 0;
    if (!sink->is_timeline) {
        labels[count++] = (pt_label){.key = sink->key_pid, .kind = PT_LABEL_NUMBER, .num = w->pid};
        labels[count++] =
            (pt_label){.key = sink->key_comm, .kind = PT_LABEL_STRING, .str = w->comm};
    }
    if (w->wait != 0)
        labels[count++] =
            (pt_label){.key = sink->key_wait, .kind = PT_LABEL_STRING, .str = w->wait};
    if (w->waker != 0)
        labels[count++] =
            (pt_label){.key = sink->key_waker, .kind = PT_LABEL_STRING, .str = w->waker};
    if (c->who % 2 != 0 && !sink->is_timeline)
        labels[count++] = (pt_label){.key = pt_builder_text(sink->builder, "merge").v,
                                     .kind = PT_LABEL_STRING,
                                     .str = pt_builder_text(sink->builder, "uncertain").v};
    if (tier != NULL)
        labels[count++] = (pt_label){.key = pt_builder_text(sink->builder, PT_V8_TIER_KEY).v,
                                     .kind = PT_LABEL_STRING,
                                     .str = pt_builder_text(sink->builder, tier).v};
    return count > 0 ? pt_builder_labels(sink->builder, labels, count) : PT_NO_LABELS;
}

static bool is_same(const known_stack *k, const pt_sink_sample *s, uint32_t who)
{
    return k->pcs != NULL && k->proc_generation == s->proc->generation && k->who == who &&
           k->kernel_count == s->kernel_count && k->count == s->count && k->end == s->end &&
           memcmp(k->pcs, s->pcs, s->count * sizeof *s->pcs) == 0;
}

static uint32_t add_row(pt_sink *sink, uint32_t stack, uint32_t who, uint8_t end)
{
    const counted row = {stack, who};
    const size_t values = (sink->stack.count + 1) * sink->value_count;
    PT_GROW(sink->value, values);
    for (; sink->value.count < values; sink->value.count++)
        sink->value.items[sink->value.count] = 0;
    PT_PUSH(sink->stack, row);
    keep_row(sink, &row, end);
    return sink->row_base + (uint32_t)sink->stack.count - 1;
}

static uint32_t take_place(pt_sink *sink)
{
    const uint32_t place = sink->free_known;
    if (place != 0) {
        sink->free_known = sink->known.items[place - 1].before;
        return place - 1;
    }
    PT_GROW(sink->known, sink->known.count + 1);
    return (uint32_t)sink->known.count++;
}

static uint64_t row_hash(uint32_t stack, uint32_t who, uint32_t start)
{
    return pt_hash_mix(stack, pt_hash_u32_pair(who, start));
}

static uint32_t stack_of_row(const pt_sink *sink, uint32_t row)
{
    return sink->stack.items[row - sink->row_base].stack;
}

/* Builds the indexes again, without the entries of freed places. */
static void build_known(pt_sink *sink)
{
    pt_index_done(&sink->known_of);
    pt_index_done(&sink->row_of);
    for (size_t i = 0; i < sink->known.count; i++) {
        const known_stack *const k = &sink->known.items[i];
        if (k->pcs == NULL) continue;
        pt_index_add(&sink->known_of, k->hash, (uint32_t)i);
        pt_index_add(&sink->row_of, row_hash(stack_of_row(sink, k->row), k->who, k->start),
                     (uint32_t)i);
    }
    sink->freed = 0;
}

/* Notes that an entry of known_of became void. */
static void note_freed(pt_sink *sink)
{
    enum { FREED_MIN = 1024 };
    sink->freed++;
    if (sink->freed > FREED_MIN && sink->freed > sink->known_of.count / 2) build_known(sink);
}

/* The place of the process's known stack whose row has this stack and name; PT_NONE: there is none.
 */
static uint32_t find_row(const pt_sink *sink, uint32_t stack, uint32_t who, uint32_t start)
{
    const known_stack *const all = sink->known.items;
    return PT_INDEX_FIND(&sink->row_of, row_hash(stack, who, start), i,
                         all[i].pcs != NULL && all[i].start == start && all[i].who == who &&
                             stack_of_row(sink, all[i].row) == stack);
}

/* Returns the row of a sample's stack. */
static uint32_t find_or_add(pt_sink *sink, const pt_sink_sample *s, uint32_t who)
{
    const uint64_t hash = pt_hash_mix(pt_hash_bytes(s->pcs, s->count * sizeof *s->pcs),
                                      pt_hash_u32_pair(s->proc->generation, who));
    const uint32_t known =
        PT_INDEX_FIND(&sink->known_of, hash, i, is_same(&sink->known.items[i], s, who));
    if (known != PT_NONE) return sink->known.items[known].row;
    const uint32_t stack = make_stack(sink, s), start = s->proc->start;
    /* After the mappings of a process have changed, its known stacks come with another
     * generation. */
    uint32_t place = find_row(sink, stack, who, start);
    const bool is_new = place == PT_NONE;
    if (is_new) {
        place = take_place(sink);
        sink->known.items[place] =
            (known_stack){.before = s->proc->last_stack, .row = add_row(sink, stack, who, s->end)};
        s->proc->last_stack = place + 1;
        pt_index_add(&sink->row_of, row_hash(stack, who, start), place);
    }
    known_stack *const one = &sink->known.items[place];
    free(one->pcs);
    *one = (known_stack){.pcs = pt_alloc(s->count, sizeof *s->pcs),
                         .hash = hash,
                         .before = one->before,
                         .proc_generation = s->proc->generation,
                         .who = who,
                         .start = start,
                         .kernel_count = s->kernel_count,
                         .count = s->count,
                         .row = one->row,
                         .end = s->end};
    memcpy(one->pcs, s->pcs, s->count * sizeof *s->pcs);
    pt_index_add(&sink->known_of, hash, place);
    if (!is_new) note_freed(sink);
    return one->row;
}

void pt_sink_forget(pt_sink *sink, pt_proc *proc)
{
    renew_proc(sink, proc);
    for (uint32_t place = proc->last_stack; place != 0;) {
        known_stack *const k = &sink->known.items[place - 1];
        sink->ended_rows++;
        const uint32_t before = k->before;
        free(k->pcs);
        k->pcs = NULL;
        k->before = sink->free_known;
        sink->free_known = place;
        note_freed(sink);
        place = before;
    }
    proc->last_stack = 0;
}

uint32_t pt_sink_stack(pt_sink *sink, const pt_sink_sample *s)
{
    if (sink->value_count == 0) sink->value_count = pt_builder_event_count(sink->builder);
    renew_proc(sink, s->proc);
    return find_or_add(sink, s, who_of(sink, s));
}

uint32_t pt_sink_count(pt_sink *sink, uint32_t row, const pt_sink_moment *moment)
{
    const counted *const c = &sink->stack.items[row - sink->row_base];
    int64_t *const values = values_at(sink, row);
    for (uint32_t i = 0; i < sink->value_count; i++)
        pt_saturating_into(&values[i], moment->values[i]);
    if (sink->keep != NULL && !sink->is_timeline) pt_keep_changed(sink->keep, row);
    if (!sink->is_timeline) return row;
    const sink_who *const w = &sink->who.items[c->who / WHO_KINDS];
    const pt_sample sample = {.stack = c->stack,
                              .labels = labels_of(sink, c).v,
                              .values = moment->values,
                              .time_ns = moment->time_ns,
                              .pid = w->pid,
                              .tid = moment->tid,
                              .cpu = moment->cpu,
                              .comm = w->comm};
    pt_builder_timed_sample(sink->builder, &sample);
    if (sink->keep != NULL)
        pt_keep_sample(sink->keep, row, &sample,
                       pt_builder_get_text(sink->builder, (pt_string_id){w->comm}));
    return pt_builder_sample_count(sink->builder) - 1;
}

pt_sink_mark pt_sink_mark_row(const pt_sink *sink, const pt_proc *proc, uint32_t row)
{
    return (pt_sink_mark){
        .row = row, .generation = proc->generation, .who = proc->who, .round = sink->round};
}

bool pt_sink_is_marked(const pt_sink *sink, const pt_proc *proc, const pt_sink_mark *mark)
{
    return mark->round == sink->round && proc->sink_round == sink->round && proc->who != 0 &&
           mark->who == proc->who && mark->generation == proc->generation;
}

uint32_t pt_sink_woken(pt_sink *sink, uint32_t row, const char *waker)
{
    enum { END_IS_KEPT = 0 }; /* the stack is not new */
    const counted before = sink->stack.items[row - sink->row_base];
    sink_who who = sink->who.items[before.who / WHO_KINDS];
    who.waker = pt_builder_text(sink->builder, waker).v;
    who.before = 0;
    PT_PUSH(sink->who, who);
    return add_row(sink, before.stack,
                   (uint32_t)(sink->who.count - 1) * WHO_KINDS + before.who % WHO_KINDS,
                   END_IS_KEPT);
}

uint32_t pt_sink_add(pt_sink *sink, const pt_sink_sample *s)
{
    const pt_sink_moment moment = {s->tid, s->cpu, s->time_ns, s->values};
    return pt_sink_count(sink, pt_sink_stack(sink, s), &moment);
}

void pt_sink_more(pt_sink *sink, uint32_t row, int64_t more)
{
    enum { SECOND = 1 };
    if (sink->is_timeline) {
        pt_builder_sample_more(sink->builder, row, SECOND, more);
        if (sink->keep != NULL) pt_keep_more(sink->keep, row, SECOND, more);
    } else if (row < sink->row_base) {
        pt_keep_more(sink->keep, row, SECOND, more);
    } else {
        pt_saturating_into(&values_at(sink, row)[SECOND], more);
        if (sink->keep != NULL) pt_keep_changed(sink->keep, row);
    }
}

/* Has the row a value other than 0? A stack of waits may have none: those waits are counted in rows
 * with their wakers. */
static bool has_values(const pt_sink *sink, uint32_t row)
{
    const int64_t *const values = values_at(sink, row);
    for (uint32_t i = 0; i < sink->value_count; i++)
        if (values[i] != 0) return true;
    return false;
}

void pt_sink_finish(pt_sink *sink)
{
    for (size_t i = 0; i < sink->map.count; i++) {
        const shared_map *const m = &sink->map.items[i];
        pt_builder_mapping_at(sink->builder, (pt_mapping_id){m->mapping})->build_id =
            id_string(sink->builder, sink->procs->images.all.items[m->image]);
    }
    /* A row of pt_ledger_beside may have got no time. */
    if (sink->is_timeline) pt_builder_drop_empty_samples(sink->builder);
    for (size_t i = 0; i < sink->stack.count && !sink->is_timeline; i++) {
        const counted *const c = &sink->stack.items[i];
        if (has_values(sink, (uint32_t)i))
            pt_builder_add(sink->builder, (pt_stack_id){c->stack}, labels_of(sink, c),
                           values_of(sink, (uint32_t)i));
    }
}
