/* perf_data_stacks.c: converts raw call chains to stacks of the profile.
 *
 *   chain bytes, ip, state of the mappings --128 bits of hash--> known stack
 *     new:  mark KERNEL, addr, addr, mark USER, addr ... -> frames, each: mapping, address, flags
 *
 * The innermost address is the sample's own pc. The first user address under kernel frames is also
 * a pc: the place of the system call or the fault. All other addresses are return addresses.
 *
 * An image that several processes map at several addresses is a single mapping of the profile:
 * addresses are moved to the place where the image was mapped first.
 */
#include "formats/perf_data.h"

#include <stdlib.h>

#include "base/hash.h"

enum { KNOWN_MIN = 1 << 6, SEEN_MIN = 1 << 10, SEEN_MAX = 1 << 18, SEEN_FILE_BYTES = 1 << 9 };

/* ---- lifetime ---- */

void pt_perf_stacks_init(pt_perf_stacks *s, uint64_t file_bytes)
{
    s->seen_count = SEEN_MIN;
    while (s->seen_count < SEEN_MAX && s->seen_count < file_bytes / SEEN_FILE_BYTES)
        s->seen_count *= 2;
    s->seen = pt_alloc_table(s->seen_count, sizeof *s->seen);
    s->rest_of_kernel = PT_NONE;
}

void pt_perf_stacks_done(pt_perf_stacks *s)
{
    pt_index_done(&s->shared);
    pt_index_done(&s->arc_index);
    PT_FREE_ALL(s->known, s->seen, s->image.items, s->arc.items);
}

/* ---- mappings ---- */

static uint32_t mapping_row(pt_perf_data *d, const pt_perf_map *map)
{
    pt_builder *const b = d->builder;
    const pt_mapping row = {.start = map->whole.start,
                            .limit = map->whole.limit,
                            .file_offset = map->whole.file_offset,
                            .file = pt_builder_text(b, map->where.path).v,
                            .build_id = pt_builder_text(b, map->where.build_id).v,
                            .flags = map->flags};
    return pt_builder_append_mapping(b, &row).v;
}

/* The builder's mapping of a part of a file, shared by all processes that map that part. */
static const struct pt_perf_shared *share_mapping(pt_perf_data *d, const pt_perf_map *map)
{
    pt_perf_stacks *const s = &d->stacks;
    const uint64_t bytes = map->whole.limit - map->whole.start;
    const bool is_fixed = map->pid != 0 || map->flags != 0;
    uint64_t hash = pt_hash_mix((uintptr_t)map->where.path, (uintptr_t)map->where.build_id);
    hash = pt_hash_mix(hash ^ bytes, map->whole.file_offset ^ (is_fixed ? map->whole.start : 0));
    PT_INDEX_EACH (&s->shared, hash, i) {
        const struct pt_perf_shared *const earlier = &s->image.items[i];
        if (earlier->path == map->where.path && earlier->build_id == map->where.build_id &&
            earlier->file_offset == map->whole.file_offset && earlier->bytes == bytes &&
            earlier->pid == map->pid && (!is_fixed || earlier->start == map->whole.start))
            return earlier;
    }
    pt_index_add(&s->shared, hash, (uint32_t)s->image.count);
    PT_GROW(s->image, s->image.count + 1);
    s->image.items[s->image.count] = (struct pt_perf_shared){.path = map->where.path,
                                                             .build_id = map->where.build_id,
                                                             .file_offset = map->whole.file_offset,
                                                             .bytes = bytes,
                                                             .start = map->whole.start,
                                                             .pid = map->pid,
                                                             .mapping = mapping_row(d, map)};
    return &s->image.items[s->image.count++];
}

/* ---- locations ---- */

/* The mode in which an address ran. It determines the flags of a location; cpumode chooses the
 * mappings. */
typedef enum { IN_KERNEL, IN_USER, IN_GUEST, IN_HYPERVISOR, IN_UNKNOWN } place;

static place place_of(unsigned cpumode)
{
    switch (cpumode) {
    case PT_PERF_KERNEL: return IN_KERNEL;
    case PT_PERF_USER: return IN_USER;
    case PT_PERF_HYPERVISOR: return IN_HYPERVISOR;
    case PT_PERF_GUEST_KERNEL:
    case PT_PERF_GUEST_USER: return IN_GUEST;
    default: return IN_UNKNOWN;
    }
}

static const uint32_t flags_of[] = {
    [IN_KERNEL] = PT_LOCATION_KERNEL,
    [IN_USER] = PT_LOCATION_USER,
    [IN_GUEST] = PT_LOCATION_GUEST,
    [IN_HYPERVISOR] = PT_LOCATION_HYPERVISOR,
    [IN_UNKNOWN] = 0,
};

/* The mapping for kernel code outside all kernel mappings of the file, such as code outside the
 * image and the modules. */
static uint32_t rest_of_kernel(pt_perf_data *d)
{
    if (d->stacks.rest_of_kernel == PT_NONE) {
        const pt_mapping row = {.start = UINT64_C(1) << 63,
                                .limit = UINT64_MAX,
                                .file = pt_builder_text(d->builder, "[kernel.kallsyms]").v,
                                .flags = PT_MAPPING_KERNEL};
        d->stacks.rest_of_kernel = pt_builder_append_mapping(d->builder, &row).v;
    }
    return d->stacks.rest_of_kernel;
}

static uint32_t new_location(pt_perf_data *d, pt_perf_maps *maps, uint64_t addr, place where,
                             bool is_return)
{
    pt_location location = {.mapping = PT_NONE,
                            .address = addr,
                            .flags = flags_of[where] | (is_return ? PT_LOCATION_RETURN_ADDR : 0u)};
    pt_line line = {0};
    size_t lines = 0;
    if (where == IN_KERNEL || where == IN_USER) {
        /* A call at the end of a mapping returns to an address after the mapping. */
        pt_perf_map *const map = pt_perf_map_at(maps, is_return && addr > 0 ? addr - 1 : addr);
        if (map != NULL) {
            const struct pt_perf_shared *const shared = share_mapping(d, map);
            location.mapping = shared->mapping;
            location.address = addr - map->whole.start + shared->start;
            const uint32_t name = map->name != NULL ? pt_builder_text(d->builder, map->name).v
                                                    : pt_perf_symbol_name(d, map, addr - is_return);
            if (name != 0) {
                const pt_function function = {.name = name, .system_name = name};
                line.function = pt_builder_function(d->builder, &function).v;
                lines = 1;
            }
        } else if (where == IN_KERNEL && addr >> 63 != 0) {
            location.mapping = rest_of_kernel(d);
        }
    }
    return pt_builder_location(d->builder, &location, &line, lines).v;
}

static uint32_t location_of(pt_perf_data *d, const pt_perf_proc *proc, uint64_t addr, place where,
                            bool is_return)
{
    if (where == IN_UNKNOWN) where = addr >> 63 != 0 ? IN_KERNEL : IN_USER;
    pt_perf_maps *const maps = where == IN_KERNEL ? d->procs.kernel : proc->maps;
    const uint32_t kind = (uint32_t)where << 1 | is_return;
    const uint64_t hash = pt_hash_mix(addr, (uint64_t)maps->generation << 4 | kind);
    struct pt_perf_seen_addr *const seen = &d->stacks.seen[hash & (d->stacks.seen_count - 1)];
    if (seen->addr == addr && seen->generation == maps->generation && seen->kind == kind)
        return seen->location;
    *seen = (struct pt_perf_seen_addr){.addr = addr,
                                       .generation = maps->generation,
                                       .kind = kind,
                                       .location = new_location(d, maps, addr, where, is_return)};
    return seen->location;
}

/* ---- stacks ---- */

typedef struct {
    pt_perf_data *d;
    const pt_perf_proc *proc;
    uint32_t *frames;
    size_t count;
} stack_maker;

static void add_frame(stack_maker *m, uint64_t addr, place where, bool is_return)
{
    m->frames[m->count++] = location_of(m->d, m->proc, addr, where, is_return);
}

static unsigned mode_after_mark(uint64_t mark)
{
    switch (mark) {
    case PT_PERF_CONTEXT_HV: return PT_PERF_HYPERVISOR;
    case PT_PERF_CONTEXT_KERNEL: return PT_PERF_KERNEL;
    case PT_PERF_CONTEXT_USER: return PT_PERF_USER;
    case PT_PERF_CONTEXT_GUEST:
    case PT_PERF_CONTEXT_GUEST_KERNEL: return PT_PERF_GUEST_KERNEL;
    case PT_PERF_CONTEXT_GUEST_USER: return PT_PERF_GUEST_USER;
    default: return 0;
    }
}

/* Adds the addresses in the chain, but user addresses only if c->user is NULL. Returns the number
 * of addresses added. */
static uint64_t add_chain(stack_maker *m, const pt_perf_chain *c, pt_stack_end *end)
{
    uint64_t addresses = 0;
    const place side = place_of(c->cpumode);
    place where = side;
    bool is_first = true; /* true for the first address of the chain, and for the first address
                           * after the user mark */
    for (uint64_t i = 0; i < c->chain_count; i++) {
        uint64_t addr = pt_perf_u64(c->chain + 8 * i, m->d->swap);
        if (addr >= PT_PERF_CONTEXT_MAX) {
            if (addr == PT_PERF_CONTEXT_USER_DEFERRED) { /* the user stack never came */
                *end = PT_STACK_END_TRUNCATED;
                break;
            }
            where = place_of(mode_after_mark(addr));
            is_first = where == IN_USER || addresses == 0;
            continue;
        }
        if (where == IN_USER && c->user != NULL) continue;
        if (m->count == 0 && c->has_ip && addr != c->ip) {
            /* The sample's own address is more exact than the first address of the chain, and may
             * be the only address of its mode. */
            add_frame(m, c->ip, side, false);
            is_first = where == IN_USER && side != IN_USER;
            if (side == where || side == IN_UNKNOWN) {
                addresses++;
                is_first = false;
                continue;
            }
        }
        add_frame(m, addr, where, !is_first);
        is_first = false;
        addresses++;
    }
    return addresses;
}

/* Did the kernel truncate the chain? The kernel's limit of addresses is max_stack, or by default
 * 127, formerly 255 (PERF_MAX_STACK_DEPTH). Older kernels count the marks as addresses. */
static bool is_cut(const pt_perf_chain *c, uint64_t addresses)
{
    const unsigned most[] = {c->max_stack, 127, 255};
    const unsigned first = c->max_stack == 0, count = c->max_stack == 0 ? 3 : 1;
    for (unsigned i = first; i < count; i++)
        if (c->chain_count >= most[i] && addresses <= most[i]) return true;
    return false;
}

static uint32_t make_stack(pt_perf_data *d, const pt_perf_proc *proc, const pt_perf_chain *c)
{
    pt_stack_end end = PT_STACK_END_UNKNOWN;
    stack_maker m = {.d = d, .proc = proc};
    m.frames = pt_builder_stack_space(d->builder, c->chain_count + c->user_count + 1);
    const uint64_t addresses = add_chain(&m, c, &end);
    if (c->user != NULL) {
        if (m.count == 0 && (c->user_count == 0 || place_of(c->cpumode) != IN_USER))
            add_frame(&m, c->ip, place_of(c->cpumode), false);
        for (uint32_t i = 0; i < c->user_count; i++)
            add_frame(&m, c->user[i], IN_USER, i > 0 && !c->has_calls);
        end = (pt_stack_end)c->user_end;
    } else if (is_cut(c, addresses)) {
        end = PT_STACK_END_TRUNCATED;
    }
    if (m.count == 0) add_frame(&m, c->ip, place_of(c->cpumode), false);
    return pt_builder_stack_commit(d->builder, m.count, end).v;
}

/* The hash of a chain, in two independent halves. Chains with equal hashes count as equal without a
 * comparison of their bytes: among 2^32 distinct chains, the probability of two equal hashes is
 * 2^-64. A comparison would have to load the bytes of the earlier chain again, which would cost
 * more than the rest of the work for a sample. */
typedef struct {
    uint64_t a, b;
} chain_key;

/* Hashes 32 bytes a step, in two independent lanes. */
static chain_key key_of(const uint8_t *bytes, uint64_t words, uint64_t seed_a, uint64_t seed_b)
{
    uint64_t a = pt_hash_mix(seed_a, words), b = pt_hash_mix(seed_b, ~words);
    uint64_t w[4];
    for (; words >= 4; words -= 4, bytes += sizeof w) {
        memcpy(w, bytes, sizeof w);
        a = pt_hash_mix(w[0] ^ a, w[1]);
        b = pt_hash_mix(w[2] ^ b, w[3]);
    }
    memset(w, 0, sizeof w);
    if (words > 0) memcpy(w, bytes, words * 8);
    a = pt_hash_mix(w[0] ^ a, w[1]);
    b = pt_hash_mix(w[2] ^ b, w[3]);
    return (chain_key){pt_hash_mix(a, b), pt_hash_mix(b ^ (a << 32 | a >> 32), a)};
}

static struct pt_perf_known *slot_of(struct pt_perf_known *slots, size_t mask, chain_key key)
{
    size_t at = key.a & mask;
    while (slots[at].stack != 0 && (slots[at].key_a != key.a || slots[at].key_b != key.b))
        at = (at + 1) & mask;
    return &slots[at];
}

/* The key's slot, or an empty slot for it. At least half of the slots are empty. */
static struct pt_perf_known *known_slot(pt_perf_stacks *s, chain_key key)
{
    if (s->known_mask == 0 || s->known_count > s->known_mask / 2) {
        const size_t mask = s->known_mask == 0 ? KNOWN_MIN - 1 : s->known_mask * 2 + 1;
        struct pt_perf_known *const slots = pt_alloc_table(mask + 1, sizeof *slots);
        for (size_t i = 0; s->known_mask > 0 && i <= s->known_mask; i++) {
            const struct pt_perf_known *const old = &s->known[i];
            if (old->stack != 0) *slot_of(slots, mask, (chain_key){old->key_a, old->key_b}) = *old;
        }
        free(s->known);
        s->known = slots;
        s->known_mask = mask;
    }
    return slot_of(s->known, s->known_mask, key);
}

pt_stack_id pt_perf_stack_of(pt_perf_data *d, pt_perf_proc *proc, const pt_perf_chain *c)
{
    pt_perf_stacks *const s = &d->stacks;
    if (c->user != NULL) return (pt_stack_id){make_stack(d, proc, c)};
    const uint64_t generations =
        (uint64_t)d->procs.kernel->generation << 32 | proc->maps->generation;
    const chain_key key =
        key_of(c->chain, c->chain_count, c->ip, generations ^ (uint64_t)c->cpumode << 29);
    struct pt_perf_known *const slot = known_slot(s, key);
    if (slot->stack != 0) return (pt_stack_id){slot->stack - 1};
    const uint32_t stack = make_stack(d, proc, c);
    if (stack == PT_NONE) return (pt_stack_id){stack};
    *slot = (struct pt_perf_known){.key_a = key.a, .key_b = key.b, .stack = stack + 1};
    s->known_count++;
    return (pt_stack_id){stack};
}

/* ---- branches ---- */

void pt_perf_branch(pt_perf_data *d, pt_perf_proc *proc, uint64_t from, uint64_t to)
{
    pt_perf_stacks *const s = &d->stacks;
    const uint32_t from_row = location_of(d, proc, from, IN_UNKNOWN, false);
    const uint32_t to_row = location_of(d, proc, to, IN_UNKNOWN, false);
    if (from_row == PT_NONE || to_row == PT_NONE) return;
    const uint64_t hash = pt_hash_u32_pair(from_row, to_row);
    PT_INDEX_EACH (&s->arc_index, hash, i) {
        if (s->arc.items[i].from != from_row || s->arc.items[i].to != to_row) continue;
        s->arc.items[i].count++;
        return;
    }
    PT_INDEX_PUSH(&s->arc_index, hash, s->arc,
                  (struct pt_perf_arc){.from = from_row, .to = to_row, .count = 1});
}

/* ---- the end ---- */

const char *pt_perf_late_build_id(const pt_perf_data *d, const char *path)
{
    const uint32_t found = PT_INDEX_FIND(&d->build_id_index, pt_hash_mix((uintptr_t)path, 0), i,
                                         d->build_id.items[i].path == path);
    return found != PT_NONE ? d->build_id.items[found].build_id : NULL;
}

void pt_perf_stacks_finish(pt_perf_data *d)
{
    pt_perf_stacks *const s = &d->stacks;
    for (size_t i = 0; i < s->arc.count; i++)
        pt_builder_arc(d->builder, (pt_location_id){s->arc.items[i].from},
                       (pt_location_id){s->arc.items[i].to}, s->arc.items[i].count, NULL);
    for (uint32_t i = 0; i < s->image.count; i++) {
        const struct pt_perf_shared *const image = &s->image.items[i];
        const char *const id =
            image->build_id[0] == '\0' ? pt_perf_late_build_id(d, image->path) : NULL;
        if (id != NULL && image->mapping != PT_NONE)
            pt_builder_mapping_at(d->builder, (pt_mapping_id){image->mapping})->build_id =
                pt_builder_text(d->builder, id).v;
    }
    const char *const kernel = pt_perf_pool_text(&d->pool, "[kernel.kallsyms]", 17);
    const char *const kernel_id = pt_perf_late_build_id(d, kernel);
    if (s->rest_of_kernel != PT_NONE && kernel_id != NULL)
        pt_builder_mapping_at(d->builder, (pt_mapping_id){s->rest_of_kernel})->build_id =
            pt_builder_text(d->builder, kernel_id).v;
}
