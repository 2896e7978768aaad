/* perf_data_header.c: the header of a perf.data: byte order, events, features.
 *
 *   file   | magic | size = 104 | attr_size | attrs, data, event_types: {offset, size} | features |
 *          after the data: {offset, size} for each bit of features, ascending
 *   pipe   | magic | size = 16 |  then everything is a record
 */
#include "formats/perf_data.h"

#include <inttypes.h>
#include <stdlib.h>

#include "base/hash.h"
#include "base/text.h"

/* Limits: a larger text or more attrs are damage, since command lines and event names are short. */
enum { TEXT_MAX_BYTES = 1 << 20, ATTR_MAX = 1 << 16 };

/* ---- attrs ---- */

/* Normalises an attr's flags. On big-endian machines the first field is the most significant bit.
 */
static uint64_t flags_of(uint64_t raw, bool is_big_endian)
{
    uint64_t flags = 0;
    if (!is_big_endian) return raw;
    for (int i = 0; i < 64; i++)
        flags |= (raw >> (63 - i) & 1) << i;
    return flags;
}

/* Adds an attr. Fields that an older perf lacks are 0. */
static pt_perf_attr *add_attr(pt_perf_data *d, const uint8_t *bytes, size_t size)
{
    uint8_t field[128] = {0};
    const bool swap = d->swap;
    if (size < PT_PERF_ATTR_BYTES_MIN || d->attr.count >= ATTR_MAX) return NULL;
    const uint32_t said = pt_perf_u32(bytes + PT_PERF_ATTR_SIZE, swap);
    if (said >= PT_PERF_ATTR_BYTES_MIN && said < size) size = said;
    memcpy(field, bytes, size < sizeof field ? size : sizeof field);
    PT_GROW(d->attr, d->attr.count + 1);
    pt_perf_attr *const a = &d->attr.items[d->attr.count++];
    *a = (pt_perf_attr){
        .type = pt_perf_u32(field + PT_PERF_ATTR_TYPE, swap),
        .config = pt_perf_u64(field + PT_PERF_ATTR_CONFIG, swap),
        .period = pt_perf_u64(field + PT_PERF_ATTR_PERIOD, swap),
        .sample_type = pt_perf_u64(field + PT_PERF_ATTR_SAMPLE_TYPE, swap),
        .read_format = pt_perf_u64(field + PT_PERF_ATTR_READ_FORMAT, swap),
        .flags = flags_of(pt_perf_u64(field + PT_PERF_ATTR_FLAGS, swap), d->is_big_endian),
        .branch_type = pt_perf_u64(field + PT_PERF_ATTR_BRANCH_TYPE, swap),
        .regs_user = pt_perf_u64(field + PT_PERF_ATTR_REGS_USER, swap),
        .regs_intr = pt_perf_u64(field + PT_PERF_ATTR_REGS_INTR, swap),
        .stack_user = pt_perf_u32(field + PT_PERF_ATTR_STACK_USER, swap),
        .max_stack = pt_perf_u16(field + PT_PERF_ATTR_MAX_STACK, swap),
        .event = PT_NONE,
    };
    a->is_freq = a->flags >> PT_PERF_FLAG_FREQ & 1;
    pt_perf_attr_lay_out(a);
    return a;
}

static void add_ids(pt_perf_data *d, uint32_t attr, const uint8_t *bytes, size_t size)
{
    for (size_t at = 0; at + 8 <= size; at += 8) {
        const uint64_t id = pt_perf_u64(bytes + at, d->swap);
        if (pt_perf_attr_of_id(d, id) != PT_NONE) continue;
        PT_INDEX_PUSH(&d->id_index, pt_hash_mix(id, 0), d->id,
                      (struct pt_perf_id){.id = id, .attr = attr});
    }
}

void pt_perf_on_attr(pt_perf_data *d, const uint8_t *body, size_t size)
{
    if (size < PT_PERF_ATTR_BYTES_MIN || d->are_events_defined) {
        d->odd++;
        return;
    }
    size_t attr_bytes = pt_perf_u32(body + PT_PERF_ATTR_SIZE, d->swap);
    if (attr_bytes < PT_PERF_ATTR_BYTES_MIN) attr_bytes = PT_PERF_ATTR_BYTES_MIN;
    if (attr_bytes > size) attr_bytes = size;
    if (add_attr(d, body, attr_bytes) == NULL) return;
    add_ids(d, (uint32_t)d->attr.count - 1, body + attr_bytes, size - attr_bytes);
}

/* ---- features ---- */

/* Reads "u32 size, text padded with zeros" and moves *at past it. Returns NULL if it is
 * incomplete. */
static const char *next_text(const pt_perf_data *d, const uint8_t **at, const uint8_t *end,
                             size_t *ret_size)
{
    if (end - *at < 4) return NULL;
    const uint32_t room = pt_perf_u32(*at, d->swap);
    if (room > (size_t)(end - *at) - 4 || room > TEXT_MAX_BYTES) return NULL;
    const char *const text = (const char *)*at + 4;
    *at += 4 + room;
    *ret_size = strnlen(text, room);
    return text;
}

static uint32_t text_string(pt_perf_data *d, const uint8_t *bytes, size_t size)
{
    size_t length;
    const char *const text = next_text(d, &bytes, bytes + size, &length);
    return text != NULL ? pt_builder_string(d->builder, text, length).v : 0;
}

static uint32_t command_string(pt_perf_data *d, const uint8_t *at, size_t size)
{
    const uint8_t *const end = at + size;
    if (size < 4) return 0;
    const uint32_t count = pt_perf_u32(at, d->swap);
    at += 4;
    PT_AUTO(pt_buf) line = PT_BUF_INIT;
    for (uint32_t i = 0; i < count; i++) {
        size_t length;
        const char *const text = next_text(d, &at, end, &length);
        if (text == NULL) break;
        if (i > 0) pt_put_u8(&line, ' ');
        pt_put(&line, text, length);
    }
    return pt_builder_string(d->builder, (const char *)line.data, line.size).v;
}

static void name_attr(pt_perf_data *d, uint32_t attr, const char *text, size_t length)
{
    if (attr >= d->attr.count || length == 0) return;
    free(d->attr.items[attr].name);
    d->attr.items[attr].name = pt_strndup(text, length);
}

/* Reads names and ids of events: u32 count, u32 attr_bytes; each: attr, u32 id count, name, ids.
 * The names have the order of the attrs. */
static void read_event_names(pt_perf_data *d, const uint8_t *at, size_t size)
{
    const uint8_t *const end = at + size;
    if (size < 8) return;
    const uint32_t count = pt_perf_u32(at, d->swap), attr_bytes = pt_perf_u32(at + 4, d->swap);
    at += 8;
    for (uint32_t i = 0; i < count; i++) {
        if ((size_t)(end - at) < (size_t)attr_bytes + 4) return;
        const uint32_t ids = pt_perf_u32(at + attr_bytes, d->swap);
        at += (size_t)attr_bytes + 4;
        size_t length;
        const char *const text = next_text(d, &at, end, &length);
        if (text == NULL || ids > (size_t)(end - at) / 8) return;
        uint32_t attr = i;
        if (ids > 0 && d->id.count > 0) attr = pt_perf_attr_of_id(d, pt_perf_u64(at, d->swap));
        name_attr(d, attr, text, length);
        at += (size_t)ids * 8;
    }
}

/* Reads a list of records: header, pid i32, build id of 20 bytes (if misc has the flag, the byte
 * after these is the length of the id), path. */
static void read_build_ids(pt_perf_data *d, const uint8_t *at, size_t size)
{
    const uint8_t *const end = at + size;
    while (end - at >= PT_PERF_RECORD_HEADER_BYTES) {
        const uint16_t misc = pt_perf_u16(at + 4, d->swap);
        const uint16_t bytes = pt_perf_u16(at + 6, d->swap);
        if (bytes < PT_PERF_RECORD_HEADER_BYTES || bytes > end - at) return;
        pt_perf_on_build_id(d, misc, at + PT_PERF_RECORD_HEADER_BYTES,
                            bytes - (size_t)PT_PERF_RECORD_HEADER_BYTES);
        at += bytes;
    }
}

void pt_perf_on_build_id(pt_perf_data *d, uint16_t misc, const uint8_t *body, size_t size)
{
    enum { PATH_AT = 28, ID_AT = 4, ID_BYTES = 20 };
    if (size <= PATH_AT) return;
    size_t id_bytes = misc & PT_PERF_MISC_ID_SIZE ? body[ID_AT + ID_BYTES] : ID_BYTES;
    if (id_bytes > ID_BYTES) id_bytes = ID_BYTES;
    char hex[2 * ID_BYTES + 1];
    pt_hex_spell(hex, body + ID_AT, id_bytes);
    const char *const path = (const char *)body + PATH_AT;
    const struct pt_perf_build_id added = {
        .path = pt_perf_pool_text(&d->pool, path, strnlen(path, size - PATH_AT)),
        .build_id = pt_perf_pool_text(&d->pool, hex, strlen(hex))};
    if (pt_perf_late_build_id(d, added.path) != NULL) return;
    PT_INDEX_PUSH(&d->build_id_index, pt_hash_mix((uintptr_t)added.path, 0), d->build_id, added);
}

/* Reads u32 version, u32 clock, u64 Unix time, u64 time of this clock at the same moment. */
static void read_clock(pt_perf_data *d, const uint8_t *at, size_t size)
{
    if (size < 24) return;
    const uint64_t unix_ns = pt_perf_u64(at + 8, d->swap), clock_ns = pt_perf_u64(at + 16, d->swap);
    if (unix_ns <= INT64_MAX && clock_ns <= unix_ns)
        d->unix_offset_ns = (int64_t)(unix_ns - clock_ns);
}

void pt_perf_on_feature(pt_perf_data *d, uint64_t feature, const uint8_t *bytes, size_t size)
{
    pt_provenance *const p = pt_builder_provenance(d->builder);
    switch (feature) {
    case PT_PERF_FEATURE_BUILD_ID: read_build_ids(d, bytes, size); break;
    case PT_PERF_FEATURE_HOST: p->host = text_string(d, bytes, size); break;
    case PT_PERF_FEATURE_RELEASE: p->os = text_string(d, bytes, size); break;
    case PT_PERF_FEATURE_VERSION: {
        const uint32_t version = text_string(d, bytes, size);
        if (version == 0) break;
        PT_FREE char *tool =
            pt_strf("perf %s", pt_builder_get_text(d->builder, (pt_string_id){version}));
        p->tool = pt_builder_text(d->builder, tool).v;
        break;
    }
    case PT_PERF_FEATURE_ARCH: {
        size_t length;
        const uint8_t *at = bytes;
        const char *const text = next_text(d, &at, bytes + size, &length);
        if (text != NULL) d->arch = pt_perf_pool_text(&d->pool, text, length);
        break;
    }
    case PT_PERF_FEATURE_CPU: p->cpu_model = text_string(d, bytes, size); break;
    case PT_PERF_FEATURE_COMMAND: p->command_line = command_string(d, bytes, size); break;
    case PT_PERF_FEATURE_EVENTS: read_event_names(d, bytes, size); break;
    case PT_PERF_FEATURE_DIR_FORMAT: d->is_in_files = true; break;
    case PT_PERF_FEATURE_CLOCK_DATA: read_clock(d, bytes, size); break;
    default: break; /* topology and capabilities of the machine */
    }
}

/* Body: u64 kind (0 unit, 1 scale, 2 name, 3 cpus), u64 id, data. Unit and scale concern only perf
 * stat. */
void pt_perf_on_event_update(pt_perf_data *d, const uint8_t *body, size_t size)
{
    enum { NAME = 2 };
    if (size < 16 || pt_perf_u64(body, d->swap) != NAME) return;
    const uint32_t attr = pt_perf_attr_of_id(d, pt_perf_u64(body + 8, d->swap));
    if (attr != PT_NONE)
        name_attr(d, attr, (const char *)body + 16, strnlen((const char *)body + 16, size - 16));
}

/* ---- the header ---- */

typedef struct {
    uint64_t offset, size;
} section;

static section section_at(const pt_perf_data *d, const uint8_t *at)
{
    return (section){pt_perf_u64(at, d->swap), pt_perf_u64(at + 8, d->swap)};
}

/* The section's bytes, as far as they are in the file; NULL if the section is empty or outside of
 * the file. */
static const uint8_t *bytes_of(const pt_perf_data *d, section s, size_t *ret_size)
{
    const uint64_t whole = (uint64_t)(d->end - d->start);
    if (s.offset >= whole || s.size == 0) return NULL;
    *ret_size = (size_t)(s.size < whole - s.offset ? s.size : whole - s.offset);
    return d->start + s.offset;
}

static pt_status read_attrs(pt_perf_data *d, section attrs, uint64_t entry_bytes)
{
    enum { IDS_BYTES = 16, ENTRY_BYTES_MAX = 1 << 16 };
    size_t size = 0;
    const uint8_t *at = bytes_of(d, attrs, &size);
    if (entry_bytes < PT_PERF_ATTR_BYTES_MIN + IDS_BYTES || entry_bytes > ENTRY_BYTES_MAX)
        return pt_error_set(d->reterr, PT_ERR_DAMAGED,
                            "its header states %" PRIu64 " bytes for each event", entry_bytes);
    if (at == NULL || size < entry_bytes)
        return pt_error_set(d->reterr, PT_ERR_DAMAGED,
                            "it has no complete description of an event");
    for (; size >= entry_bytes; at += entry_bytes, size -= (size_t)entry_bytes) {
        if (add_attr(d, at, (size_t)entry_bytes - IDS_BYTES) == NULL) break;
        size_t ids_bytes = 0;
        const uint8_t *const ids =
            bytes_of(d, section_at(d, at + entry_bytes - IDS_BYTES), &ids_bytes);
        if (ids != NULL) add_ids(d, (uint32_t)d->attr.count - 1, ids, ids_bytes);
    }
    return PT_OK;
}

static bool has_feature(const uint8_t *bits, unsigned feature, bool is_big_endian,
                        unsigned word_bytes)
{
    const unsigned in_word = feature / 8 % word_bytes;
    const unsigned byte =
        feature / 8 - in_word + (is_big_endian ? word_bytes - 1 - in_word : in_word);
    return bits[byte] >> feature % 8 & 1;
}

/* Reads the features. Their bitmap consists of longs: a 32-bit big-endian machine orders bytes in
 * fours. */
static void read_features(pt_perf_data *d, const uint8_t *bits, uint64_t table_offset)
{
    const unsigned word_bytes =
        has_feature(bits, PT_PERF_FEATURE_HOST, d->is_big_endian, 8) ? 8 : 4;
    for (unsigned feature = 0; feature < PT_PERF_FEATURE_COUNT; feature++) {
        size_t size = 0;
        if (!has_feature(bits, feature, d->is_big_endian, word_bytes)) continue;
        const uint8_t *const entry = bytes_of(d, (section){table_offset, 16}, &size);
        if (entry == NULL || size < 16) {
            d->is_feature_cut = true;
            return;
        }
        table_offset += 16;
        const section s = section_at(d, entry);
        const uint8_t *const bytes = bytes_of(d, s, &size);
        if (bytes != NULL && (d->more == NULL || bytes + size > d->more)) d->more = bytes + size;
        d->is_feature_cut |= s.size > 0 && (bytes == NULL || size < s.size);
        if (bytes == NULL) continue;
        if (feature < PT_PERF_FEATURE_SIMPLEPERF)
            pt_perf_on_feature(d, feature, bytes, size);
        else
            pt_perf_on_simpleperf_feature(d, feature, bytes, size);
    }
}

static pt_status read_file_header(pt_perf_data *d, const uint8_t **ret_at, const uint8_t **ret_end,
                                  bool *ret_is_cut)
{
    if (d->end - d->start < PT_PERF_FILE_HEADER_BYTES)
        return pt_error_set(d->reterr, PT_ERR_DAMAGED, "it ends inside its header");
    const pt_status status =
        read_attrs(d, section_at(d, d->start + 24), pt_perf_u64(d->start + 16, d->swap));
    if (status != PT_OK) return status;
    section data = section_at(d, d->start + 40);
    const uint64_t whole = (uint64_t)(d->end - d->start);
    *ret_is_cut = data.size == 0;
    if (data.size == 0) data.size = UINT64_MAX;
    if (data.offset > whole || (data.size != UINT64_MAX && data.size > whole - data.offset)) {
        *ret_is_cut = true;
        if (data.offset > whole) data.offset = whole;
    }
    if (data.size > whole - data.offset) data.size = whole - data.offset;
    *ret_at = d->start + data.offset;
    *ret_end = *ret_at + data.size;
    if (!*ret_is_cut) read_features(d, d->start + 72, data.offset + data.size);
    return PT_OK;
}

/* Is the file of the other byte order? The size of its header is then a large number. */
static bool is_swapped(const uint8_t *magic)
{
    if (memcmp(magic, PT_PERF_DATA_MAGIC1, 8) == 0) return pt_perf_u64(magic + 8, false) >> 32 != 0;
    const bool is_big = memcmp(magic, PT_PERF_DATA_MAGIC2_SWAPPED, 8) == 0;
    return is_big != (__BYTE_ORDER__ == __ORDER_BIG_ENDIAN__);
}

pt_status pt_perf_header_read(pt_perf_data *d, const uint8_t **ret_at, const uint8_t **ret_end,
                              bool *ret_is_cut)
{
    if (d->end - d->start < PT_PERF_PIPE_HEADER_BYTES)
        return pt_error_set(d->reterr, PT_ERR_DAMAGED, "it ends inside its header");
    d->swap = is_swapped(d->start);
    d->is_big_endian = d->swap != (__BYTE_ORDER__ == __ORDER_BIG_ENDIAN__);
    const uint64_t header_bytes = pt_perf_u64(d->start + 8, d->swap);
    d->is_pipe = header_bytes == PT_PERF_PIPE_HEADER_BYTES;
    pt_provenance *const p = pt_builder_provenance(d->builder);
    p->big_endian = d->is_big_endian;
    p->word_bytes = 8;
    if (!d->is_pipe && header_bytes < PT_PERF_FILE_HEADER_BYTES)
        return pt_error_set(d->reterr, PT_ERR_DAMAGED, "its header has %" PRIu64 " bytes",
                            header_bytes);
    if (!d->is_pipe) return read_file_header(d, ret_at, ret_end, ret_is_cut);
    *ret_at = d->start + PT_PERF_PIPE_HEADER_BYTES;
    *ret_end = d->end;
    *ret_is_cut = false;
    return PT_OK;
}
