/* journal_maps.c: the mappings of a journal, and their times. */
#include "formats/journal_int.h"

#include <stdlib.h>

#include "base/grow.h"
#include "base/hash.h"
#include "base/plain/ascending.h"
#include "base/text.h"
#include "process/path_kind.h"

/* Limit of overlapping mappings (libraries loaded one after another at the same address) that a
 * look-up examines; it does not find further mappings. */
#define GENERATIONS_MAX 64

typedef struct {
    uint64_t start, limit, file_offset, inode, from_ns, to_ns;
    uint32_t epoch_from, epoch_to, prot;
    uint32_t build_id_bytes, path_bytes;
    const uint8_t *build_id, *path;
} map_record;

static bool read_map(pt_reader *r, map_record *m)
{
    m->start = pt_read_u64(r);
    m->limit = pt_read_u64(r);
    m->file_offset = pt_read_u64(r);
    m->inode = pt_read_u64(r);
    m->from_ns = pt_read_u64(r);
    m->to_ns = pt_read_u64(r);
    m->epoch_from = pt_read_u32(r);
    m->epoch_to = pt_read_u32(r);
    pt_skip(r, 8); /* device */
    m->prot = pt_read_u32(r);
    m->build_id_bytes = pt_read_u16(r);
    m->path_bytes = pt_read_u16(r);
    m->build_id = pt_read_bytes(r, m->build_id_bytes);
    m->path = pt_read_bytes(r, m->path_bytes);
    const uint32_t tail = (m->build_id_bytes + m->path_bytes) % 8;
    pt_skip(r, tail == 0 ? 0 : 8 - tail);
    if (pt_reader_ok(r) && m->limit <= m->start)
        pt_reader_fail(r, PT_ERR_DAMAGED, "a mapping that ends before it starts");
    return pt_reader_ok(r);
}

static uint32_t hex_string(pt_builder *b, const uint8_t *bytes, size_t size)
{
    char text[2 * 64 + 1] = "";
    pt_hex_spell(text, bytes, size < 64 ? size : 64);
    return pt_builder_text(b, text).v;
}

/* Finds a mapping of the same part of the same build of a file. */
static uint32_t find_shared(const pt_journal_reading *g, uint64_t hash, const pt_mapping *like)
{
    PT_INDEX_EACH (&g->shared, hash, id) {
        const pt_mapping *const m = pt_builder_mapping_at(g->builder, (pt_mapping_id){id});
        if (m->file == like->file && m->build_id == like->build_id &&
            m->file_offset == like->file_offset && m->limit - m->start == like->limit - like->start)
            return id;
    }
    return PT_NONE;
}

static uint32_t builder_mapping(pt_journal_reading *g, const pt_mapping *like, bool can_share)
{
    const uint64_t hash = pt_hash_mix(pt_hash_mix(like->file, like->build_id),
                                      pt_hash_mix(like->file_offset, like->limit - like->start));
    const uint32_t found = can_share ? find_shared(g, hash, like) : PT_NONE;
    if (found != PT_NONE) return found;
    const uint32_t id = pt_builder_append_mapping(g->builder, like).v;
    if (can_share && id != PT_NONE) pt_index_add(&g->shared, hash, id);
    return id;
}

static void add_map(pt_journal_reading *g, const map_record *m, const pt_journal_facts *f)
{
    pt_builder *const b = g->builder;
    const pt_mapped as =
        pt_mapped_as((const char *)m->path, m->path_bytes, m->start, m->file_offset);
    const bool is_memory = pt_mapped_is_memory(as.kind);
    pt_mapping mapping = {.start = m->start,
                          .limit = m->limit,
                          .file_offset = as.file_offset,
                          .flags = is_memory ? PT_MAPPING_JIT : 0};
    mapping.file = pt_builder_string(b, as.name, as.name_bytes).v;
    mapping.build_id = hex_string(b, m->build_id, m->build_id_bytes);
    if (m->to_ns != 0) { /* the mapping was removed */
        /* modulo 2^64, since a damaged file may hold any number */
        const uint64_t base = (uint64_t)f->start_realtime_ns - f->start_monotonic_ns;
        mapping.valid_from_ns = (int64_t)(base + m->from_ns);
        mapping.valid_to_ns = (int64_t)(base + m->to_ns);
    }
    const uint32_t id = builder_mapping(g, &mapping, !is_memory);
    if (id == PT_NONE) return;
    const uint64_t at = pt_builder_mapping_at(b, (pt_mapping_id){id})->start;
    PT_PUSH(g->map, (pt_journal_known_map){.start = m->start,
                                           .limit = m->limit,
                                           .delta = at - m->start,
                                           .epoch_from = m->epoch_from,
                                           .epoch_to = m->epoch_to,
                                           .mapping = id});
}

void pt_journal_read_maps(pt_journal_reading *g, pt_reader *r, const pt_journal_facts *f)
{
    map_record map;
    while (pt_reader_left(r) > 0 && read_map(r, &map))
        add_map(g, &map, f);
}

PT_ORDER(by_start, pt_journal_known_map, PT_UP(start) ?: PT_UP(epoch_from));

void pt_journal_sort_maps(pt_journal_reading *g)
{
    if (g->map.count > 1) qsort(g->map.items, g->map.count, sizeof g->map.items[0], by_start);
    uint64_t upto = 0;
    for (size_t i = 0; i < g->map.count; i++) {
        if (g->map.items[i].limit > upto) upto = g->map.items[i].limit;
        g->map.items[i].upto = upto;
    }
}

const pt_journal_known_map *pt_journal_find_map(const pt_journal_reading *g, uint64_t addr,
                                                uint16_t epoch)
{
    const size_t after = PT_FIRST_AFTER(g->map.items, g->map.count, start, addr);
    for (size_t i = after;
         i-- > 0 && after - i <= GENERATIONS_MAX && g->map.items[i].upto > addr;) {
        const pt_journal_known_map *const m = &g->map.items[i];
        if (addr < m->limit && m->epoch_from <= epoch && epoch < m->epoch_to) return m;
    }
    return NULL;
}
