/* perf_data_simpleperf.c: reads the data that Android's simpleperf adds to perf.data: symbols of
 * the mapped files, and names of events. Both are in features of the header:
 *
 *   128 file        u32 size, then: path\0, u32 kind, u64 address, u32 count,
 *                   count times (u64 start, u32 bytes, name\0), u64 offset (not in old files); ...
 *   129 meta_info   key\0 value\0; ...      event_type_info: lines "name,type,config"
 *   132 file2       u32 size, then a message: path 1, kind 2, address 3, symbol 4 (start 1,
 *                   bytes 2, name 3), 6 or 7 (offset 1); ...
 *
 * The address is the lowest address of the file's code, by the file's segments. The offset says
 * where the code at that address is: from the start of the file (ELF), or from the start of the
 * mapping (kernel modules).
 *
 * Specification: record_file_format.h, record_file.proto and dso.cpp of simpleperf. */
#include <stdlib.h>

#include "base/hash.h"
#include "base/plain/ascending.h"
#include "formats/perf_data.h"
#include "formats/protobuf.h"

enum { FILES = 128, META_INFO = 129, FILES2 = 132 };
enum { KERNEL, KERNEL_MODULE, ELF, DEX, SYMBOL_MAP };

/* ---- Files ---- */

PT_ORDER(compare_symbols, pt_perf_symbol, PT_UP(start));

static void add_symbol(pt_perf_data *d, uint64_t start, uint64_t bytes, const char *name,
                       size_t name_bytes)
{
    if (bytes == 0 || bytes > UINT32_MAX || name_bytes == 0 || name_bytes > UINT32_MAX) return;
    PT_PUSH(d->symbols.symbol, (pt_perf_symbol){.start = start,
                                                .name = name,
                                                .bytes = (uint32_t)bytes,
                                                .name_bytes = (uint32_t)name_bytes});
}

/* Adds the file. The file's symbols are the last that were added: all from f->first on. */
static void add_file(pt_perf_data *d, pt_perf_symbol_file *f)
{
    pt_perf_symbols *const s = &d->symbols;
    f->count = s->symbol.count - f->first;
    if (f->path == NULL || f->count == 0) return;
    qsort(s->symbol.items + f->first, f->count, sizeof *s->symbol.items, compare_symbols);
    PT_INDEX_PUSH(&s->by_path, pt_hash_mix((uintptr_t)f->path, 0), s->file, *f);
}

/* Moves *at past a text that ends with a 0, and returns the text. Returns NULL if the text has no
 * end. */
static const char *next_name(const uint8_t **at, const uint8_t *end, size_t *ret_size)
{
    const uint8_t *const zero = memchr(*at, 0, (size_t)(end - *at));
    if (zero == NULL) return NULL;
    const char *const text = (const char *)*at;
    *ret_size = (size_t)(zero - *at);
    *at = zero + 1;
    return text;
}

/* Reads a file's symbols. Returns false if the file is incomplete. */
static bool read_file(pt_perf_data *d, const uint8_t *at, size_t size)
{
    enum { HEAD_BYTES = 16, SYMBOL_BYTES = 12 };
    const uint8_t *const end = at + size;
    pt_perf_symbol_file f = {.first = d->symbols.symbol.count, .offset = UINT64_MAX};
    size_t length;
    const char *text = next_name(&at, end, &length);
    if (text == NULL || end - at < HEAD_BYTES) return false;
    f.path = pt_perf_pool_text(&d->pool, text, length);
    f.kind = pt_perf_u32(at, d->swap);
    f.address = pt_perf_u64(at + 4, d->swap);
    uint32_t count = pt_perf_u32(at + 12, d->swap);
    at += HEAD_BYTES;
    for (; count > 0 && end - at > SYMBOL_BYTES; count--) {
        const uint64_t start = pt_perf_u64(at, d->swap);
        const uint32_t bytes = pt_perf_u32(at + 8, d->swap);
        at += SYMBOL_BYTES;
        text = next_name(&at, end, &length);
        if (text == NULL) break;
        add_symbol(d, start, bytes, text, length);
    }
    if (count == 0 && f.kind != DEX && end - at >= 8) f.offset = pt_perf_u64(at, d->swap);
    add_file(d, &f);
    return count == 0;
}

static bool read_symbol(pt_perf_data *d, const pb_field *symbol)
{
    pb_cursor in = pb_open(symbol->data, symbol->size);
    uint64_t start = 0, bytes = 0;
    const char *name = NULL;
    size_t length = 0;
    for (pb_field f; pb_next(&in, &f);) {
        if (f.number == 1 && f.wire == PB_VARINT) start = f.value;
        if (f.number == 2 && f.wire == PB_VARINT) bytes = f.value;
        if (f.number != 3 || f.wire != PB_BYTES) continue;
        name = (const char *)f.data;
        length = f.size;
    }
    add_symbol(d, start, bytes, name, length);
    return in.ok;
}

/* The field 1 of a message about the kind of a file: the offset of the file's lowest address. */
static uint64_t offset_of(const pb_field *kind)
{
    pb_cursor in = pb_open(kind->data, kind->size);
    uint64_t offset = 0;
    for (pb_field f; pb_next(&in, &f);)
        if (f.number == 1 && f.wire == PB_VARINT) offset = f.value;
    return offset;
}

static bool read_file2(pt_perf_data *d, const uint8_t *at, size_t size)
{
    pt_perf_symbol_file f = {.first = d->symbols.symbol.count, .offset = UINT64_MAX};
    pb_cursor in = pb_open(at, size);
    bool ok = true;
    for (pb_field field; pb_next(&in, &field);) {
        const bool is_bytes = field.wire == PB_BYTES, is_number = field.wire == PB_VARINT;
        if (field.number == 1 && is_bytes)
            f.path = pt_perf_pool_text(&d->pool, (const char *)field.data, field.size);
        if (field.number == 2 && is_number) f.kind = (uint32_t)field.value;
        if (field.number == 3 && is_number) f.address = field.value;
        if (field.number == 4 && is_bytes) ok &= read_symbol(d, &field);
        if ((field.number == 6 || field.number == 7) && is_bytes) f.offset = offset_of(&field);
    }
    add_file(d, &f);
    return ok && in.ok;
}

static void read_files(pt_perf_data *d, const uint8_t *at, size_t size,
                       bool (*read)(pt_perf_data *d, const uint8_t *at, size_t size))
{
    const uint8_t *const end = at + size;
    while (at < end) {
        const size_t bytes = end - at < 4 ? 0 : pt_perf_u32(at, d->swap);
        if (end - at < 4 || bytes > (size_t)(end - at) - 4) {
            d->is_feature_cut = true;
            return;
        }
        d->is_feature_cut |= !read(d, at + 4, bytes);
        at += 4 + bytes;
    }
}

/* ---- Events, tool ---- */

/* Reads a line "cpu-cycles,0,0". */
static void name_event(pt_perf_data *d, const char *line, size_t size)
{
    const char *const comma = memchr(line, ',', size);
    if (comma == NULL || comma == line) return;
    PT_FREE char *numbers = pt_strndup(comma + 1, size - (size_t)(comma + 1 - line));
    char *end;
    const unsigned long long type = strtoull(numbers, &end, 10);
    if (*end != ',') return;
    const unsigned long long config = strtoull(end + 1, &end, 10);
    for (size_t i = 0; i < d->attr.count && *end == '\0'; i++) {
        pt_perf_attr *const a = &d->attr.items[i];
        if (a->type == type && a->config == config && a->name == NULL)
            a->name = pt_strndup(line, (size_t)(comma - line));
    }
}

static void name_events(pt_perf_data *d, const char *lines, size_t size)
{
    enum { EVENTS_MAX = 256 }; /* each line is compared with each attr */
    const char *const end = lines + size;
    for (int i = 0; i < EVENTS_MAX && lines < end; i++) {
        const char *const feed = memchr(lines, '\n', (size_t)(end - lines));
        const char *const stop = feed != NULL ? feed : end;
        name_event(d, lines, (size_t)(stop - lines));
        lines = feed != NULL ? feed + 1 : end;
    }
}

static void read_meta_info(pt_perf_data *d, const uint8_t *at, size_t size)
{
    const uint8_t *const end = at + size;
    size_t key_bytes, value_bytes;
    bool has_events = false;
    for (;;) {
        const char *const key = next_name(&at, end, &key_bytes);
        const char *const value = key != NULL ? next_name(&at, end, &value_bytes) : NULL;
        if (value == NULL) return;
        if (strcmp(key, "event_type_info") == 0 && !has_events) {
            name_events(d, value, value_bytes);
            has_events = true;
        }
        if (strcmp(key, "simpleperf_version") != 0) continue;
        PT_FREE char *tool = pt_strf("simpleperf %s", value);
        pt_builder_provenance(d->builder)->tool = pt_builder_text(d->builder, tool).v;
    }
}

void pt_perf_on_simpleperf_feature(pt_perf_data *d, unsigned feature, const uint8_t *bytes,
                                   size_t size)
{
    switch (feature) {
    case FILES: read_files(d, bytes, size, read_file); break;
    case META_INFO: read_meta_info(d, bytes, size); break;
    case FILES2: read_files(d, bytes, size, read_file2); break;
    default: break; /* for simpleperf's own unwinder */
    }
}

/* ---- Names of addresses ---- */

/* Converts an address to the addresses that the file's symbols have. */
static uint64_t address_in_file(const pt_perf_symbol_file *f, const pt_perf_map *map, uint64_t at)
{
    const uint64_t behind = at - map->whole.start;
    switch (f->kind) {
    case KERNEL:
    case SYMBOL_MAP: return at;
    case KERNEL_MODULE: return behind - (f->offset != UINT64_MAX ? f->offset : 0) + f->address;
    case ELF:
        if (f->offset == UINT64_MAX) return behind + f->address;
        return behind + map->whole.file_offset - f->offset + f->address;
    default: return behind + map->whole.file_offset;
    }
}

uint32_t pt_perf_symbol_name(const pt_perf_data *d, const pt_perf_map *map, uint64_t address)
{
    const pt_perf_symbols *const s = &d->symbols;
    if (s->file.count == 0) return 0;
    const uint32_t row = PT_INDEX_FIND(&s->by_path, pt_hash_mix((uintptr_t)map->where.path, 0), i,
                                       s->file.items[i].path == map->where.path);
    if (row == PT_NONE) return 0;
    const pt_perf_symbol_file *const f = &s->file.items[row];
    const pt_perf_symbol *const first = s->symbol.items + f->first;
    const uint64_t at = address_in_file(f, map, address);
    const size_t after = PT_FIRST_AFTER(first, f->count, start, at);
    if (after == 0 || at - first[after - 1].start >= first[after - 1].bytes) return 0;
    return pt_builder_string(d->builder, first[after - 1].name, first[after - 1].name_bytes).v;
}

void pt_perf_symbols_done(pt_perf_symbols *symbols)
{
    PT_FREE_ALL(symbols->file.items, symbols->symbol.items);
    pt_index_done(&symbols->by_path);
}
