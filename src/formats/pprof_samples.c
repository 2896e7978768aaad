/* pprof_samples.c: reads profile.proto: the second walk, over the samples only. It takes most of
 * the reading time: tens of millions of location ids, each a varint of one to four bytes. */
#include "formats/pprof_int.h"

#include "base/grow.h"
#include "base/hash.h"

#include <endian.h>

#define DISCARD_BYTES ((size_t)4 << 20)

/* The memo maps the encoded bytes of a stack to the stack. In profiles of services, most samples
 * repeat the bytes of an earlier stack, which then need no decoding. The memo gets no more entries
 * when it is full, and is switched off if too few look-ups find an entry. */
#define MEMO_BYTES_MAX ((size_t)32 << 20)
#define MEMO_TRIAL     ((uint64_t)1 << 15) /* after this many look-ups or more ... */
#define MEMO_PAYS      8                   /* ... one in this many must have found an entry */
#define MEMO_GLANCE    ((uint64_t)1 << 11) /* after exactly this many look-ups ... */
#define MEMO_PROMISES  64                  /* ... one in this many must have found an entry */

typedef struct {
    bool on;
    uint64_t tries, hits;
    pt_index index; /* entry -> its offset in units of MEMO_UNIT */
    pt_buf bytes;   /* entries: a head, the encoded list, zeros up to the next unit */
} memo;

typedef struct {
    uint32_t size; /* size of the list */
    uint32_t stack;
} memo_head;

#define MEMO_UNIT ((size_t)8)

/* A look-up in the memo waits for memory that is not in the processor's cache. Samples are
 * therefore located up to UPCOMING_MAX samples before they are decoded: their lists are hashed, and
 * the memo's memory is prefetched. */
#define UPCOMING_MAX  16
#define UPCOMING_HALF 8 /* the index is prefetched this many samples before the entry */

typedef struct {
    struct upcoming {
        const uint8_t *pos, *end;
        const uint8_t
            *packed; /* the packed list at the sample's start, or NULL: see leading_list */
        size_t packed_size;
        uint64_t packed_hash;
    } sample[UPCOMING_MAX];
    size_t first, count; /* a ring */
} upcoming_samples;

/* A look-up in the builder's index of stacks waits for memory that is not in the processor's cache.
 * Stacks of simple samples (no labels, no unknown fields) are therefore decoded up to AHEAD_MAX
 * stacks before they are added to the index. Their frames stand one after the other at the end of
 * the builder's column. When a stack is hashed, its slot of the index is prefetched. */
#define AHEAD_MAX 16

typedef struct {
    struct ahead_stack {
        size_t depth;
        uint32_t memo_stack; /* the stack if the memo has it, so that no frames are decoded; else
                         * PT_NONE */
        uint64_t hash;
        const uint8_t *packed; /* the packed list of locations, to be added to the memo; NULL = it
                                  is not added */
        size_t packed_size;
        uint64_t packed_hash;
    } stack[AHEAD_MAX];
    int64_t *values; /* [AHEAD_MAX][event count] */
    size_t count;
    size_t frames; /* number of frames at the end of the builder's column, in no stack yet */
} look_ahead;

/* The sample being decoded; its arrays are reused for the next. */
typedef struct {
    memo memo;
    look_ahead ahead;
    const uint8_t *packed; /* the packed list of locations at the sample's start, or NULL */
    size_t packed_size;
    uint32_t memo_stack; /* the stack of that list if the memo has it; else PT_NONE */
    uint32_t *frame;     /* room in the builder: a message of n bytes has at most n frames */
    size_t depth;
    int64_t *value; /* a value for each event */
    size_t value_count;
    PT_VECTOR(pt_label) label;
    pt_stack_end end;
    pt_sample column; /* columns that were stored as labels */
    pt_buf label_unknown;
    size_t label_with_unknown; /* index of the label with unknown fields; only one label of a sample
                                  keeps them */
} sample;

static uint32_t memo_find(memo *m, const uint8_t *data, size_t size, uint64_t hash)
{
    m->tries++;
    PT_INDEX_EACH (&m->index, hash, at) {
        const uint8_t *const entry = m->bytes.data + at * MEMO_UNIT;
        memo_head head;
        memcpy(&head, entry, sizeof head);
        if (head.size == size && memcmp(entry + sizeof head, data, size) == 0) {
            m->hits++;
            return head.stack;
        }
    }
    if (m->tries >= MEMO_TRIAL && m->hits < m->tries / MEMO_PAYS) m->on = false;
    if (m->tries == MEMO_GLANCE && m->hits < MEMO_GLANCE / MEMO_PROMISES) m->on = false;
    return PT_NONE;
}

static void memo_add(memo *m, const uint8_t *data, size_t size, uint64_t hash, uint32_t stack)
{
    static const uint8_t zeros[MEMO_UNIT];
    const memo_head head = {(uint32_t)size, stack};
    const size_t first = m->bytes.size;
    if (!m->on || first + sizeof head + size + MEMO_UNIT > MEMO_BYTES_MAX || stack == PT_NONE)
        return;
    pt_put(&m->bytes, &head, sizeof head);
    pt_put(&m->bytes, data, size);
    pt_put(&m->bytes, zeros, -size % MEMO_UNIT);
    pt_index_add(&m->index, hash, (uint32_t)(first / MEMO_UNIT));
}

static inline void memo_fetch_index(const memo *m, uint64_t hash)
{
    if (m->index.slots != NULL)
        __builtin_prefetch(&m->index.slots[pt_index_home((uint32_t)(hash >> 32), m->index.mask)]);
}

static inline void memo_fetch_entry(const memo *m, uint64_t hash)
{
    pt_probe probe;
    const uint32_t at = pt_index_first(&m->index, hash, &probe);
    if (at == PT_NONE) return;
    __builtin_prefetch(m->bytes.data + at * MEMO_UNIT);
    __builtin_prefetch(m->bytes.data + at * MEMO_UNIT + 64);
}

/* The row for a location that is missing in the file. It has no address and no name, and keeps the
 * shape of the stacks. */
static __attribute__((cold, noinline)) uint32_t missing_location(pprof_reader *r, uint64_t id)
{
    if (r->locations.missing_zero != PT_NONE && id == 0) return r->locations.missing_zero;
    const pt_location none = {.mapping = PT_NONE, .source_id = id};
    const uint32_t row = pt_builder_append_location(r->builder, &none, NULL, 0).v;
    if (id == 0)
        r->locations.missing_zero = row;
    else
        pprof_ids_add(&r->locations, id, row);
    r->damage.locations++;
    return row;
}

static inline uint32_t location_row(pprof_reader *r, uint64_t id)
{
    if (__builtin_expect(id - 1 < r->locations.in_order, 1)) return (uint32_t)id - 1;
    const uint32_t row = pprof_ids_get(&r->locations, id);
    return __builtin_expect(row != PT_NONE, 1) ? row : missing_location(r, id);
}

/* Decodes two varints of at most four bytes, one to each half of the result; all other bits are
 * 0. */
static inline uint64_t gather_varints(uint64_t bytes)
{
    bytes &= 0x7f7f7f7f7f7f7f7fu;
    bytes -= (bytes & 0x7f007f007f007f00u) >> 1; /* 14 bits in 16 */
    return (bytes & 0x00003fff00003fffu) | (bytes & 0x3fff00003fff0000u) >> 2;
}

#define BLOCK_BYTES 64

/* A bit for each byte of a block: the last byte of a varint. */
static inline uint64_t varint_ends(const uint8_t *block)
{
    uint64_t ends = 0;
    for (unsigned i = 0; i < BLOCK_BYTES; i += 8) {
        uint64_t bytes;
        memcpy(&bytes, block + i, sizeof bytes);
        const uint64_t last = ~le64toh(bytes) >> 7 & 0x0101010101010101u;
        ends |= (last * 0x0102040810204080u >> 56) << i; /* bits 0, 8 ... 56 side by side */
    }
    return ends;
}

/* The bytes of a varint, which has at most four. */
static inline uint64_t varint_bytes(const uint8_t *pos, unsigned size)
{
    static const uint32_t mask[] = {0, 0xff, 0xffff, 0xffffff, 0xffffffff};
    uint32_t bytes;
    memcpy(&bytes, pos, sizeof bytes);
    return le32toh(bytes) & mask[size];
}

/* Stores the rows of two ids. In most files ids count from 1 in the order of the rows. */
static inline __attribute__((always_inline)) void rows_of_two(pprof_reader *r, uint64_t ids,
                                                              uint32_t *frame)
{
    const uint64_t rows = ids - (1 + ((uint64_t)1 << 32));
    frame[0] = (uint32_t)rows;
    frame[1] = (uint32_t)(rows >> 32);
    const size_t in_order = r->locations.in_order;
    if (__builtin_expect(frame[0] < in_order && frame[1] < in_order, 1)) return;
    frame[0] = location_row(r, (uint32_t)ids);
    frame[1] = location_row(r, ids >> 32);
}

/* Decodes the ids within a block in pairs. A bit mask of the block gives the first and last byte of
 * each id, so that ids are decoded independently. Decoding stops before an id of more than four
 * bytes (real files have no such id) and before a last id without a partner. Returns the number of
 * bytes decoded, possibly 0. */
static inline unsigned add_block(pprof_reader *r, uint32_t **frame, const uint8_t *block,
                                 const uint8_t *end)
{
    uint64_t ends = varint_ends(block);
    if (end - block < BLOCK_BYTES) ends &= ((uint64_t)1 << (end - block)) - 1;
    unsigned at = 0;
    while ((ends & (ends - 1)) != 0) {
        const unsigned first = (unsigned)__builtin_ctzll(ends) + 1;
        ends &= ends - 1;
        const unsigned second = (unsigned)__builtin_ctzll(ends) + 1;
        ends &= ends - 1;
        if (__builtin_expect(first - at > 4 || second - first > 4, 0)) break;
        const uint64_t ids = gather_varints(varint_bytes(block + at, first - at) |
                                            varint_bytes(block + first, second - first) << 32);
        rows_of_two(r, ids, *frame);
        *frame += 2;
        at = second;
    }
    return at;
}

/* Decodes a packed list of location ids, which have one to three bytes in real files. A block may
 * extend beyond the list, but not beyond the input. */
static bool add_packed_frames(pprof_reader *r, sample *s, const uint8_t *pos, const uint8_t *end)
{
    uint32_t *frame = s->frame + s->depth;
    bool ok = true;
    while (ok && pos < end) {
        const unsigned size = r->end - pos >= BLOCK_BYTES + 4 ? add_block(r, &frame, pos, end) : 0;
        pos += size;
        if (size > 0) continue;
        uint64_t id;
        ok = pb_varint(&pos, end, &id);
        if (ok) *frame++ = location_row(r, id);
    }
    s->depth = (size_t)(frame - s->frame);
    return ok;
}

static inline void add_value(const pprof_reader *r, sample *s, uint64_t value)
{
    if (s->value_count < r->event_count) s->value[s->value_count] = (int64_t)value;
    s->value_count++;
}

static bool add_packed_values(const pprof_reader *r, sample *s, const uint8_t *pos,
                              const uint8_t *end)
{
    while (pos < end) {
        uint64_t value;
        if (!pb_varint(&pos, end, &value)) return false;
        add_value(r, s, value);
    }
    return true;
}

/* Stores a label as a column. Returns false if no column has this key, or if the column cannot hold
 * the value. Of several labels with the same key the first counts. */
static bool take_column(const pprof_reader *r, sample *s, uint32_t key, uint32_t text, int64_t num)
{
    pt_sample *const c = &s->column;
    uint32_t *const numbers[] = {&c->pid, &c->tid, &c->cpu};
    for (size_t i = 0; i < PT_COUNT(numbers); i++) {
        if (key != r->column_key[i]) continue;
        if (text != 0 || *numbers[i] != PT_NONE || num < 0 || num >= PT_NONE) return false;
        *numbers[i] = (uint32_t)num;
        return true;
    }
    if (key == r->column_key[PPROF_KEY_COMM] && text != 0 && c->comm == 0) {
        c->comm = text;
        return true;
    }
    int64_t time_ns;
    if (key != r->column_key[PPROF_KEY_TIME] || text != 0 || c->time_ns != 0 ||
        __builtin_add_overflow(num, pt_builder_provenance(r->builder)->start_ns, &time_ns))
        return false;
    c->time_ns = time_ns;
    return time_ns != 0;
}

/* Adds a label, which has a text or a number. A label with neither is the number 0: protobuf omits
 * zeros, and numeric labels such as thread ids may be 0. */
static void add_label(pprof_reader *r, sample *s, const pb_field *message)
{
    uint64_t key = 0, str = 0, unit = 0;
    int64_t num = 0;
    const size_t unknown_first = s->label_unknown.size;
    pb_cursor cursor = pb_open(message->data, message->size);
    pb_field field;
    while (pb_next(&cursor, &field)) {
        if (field.wire != PB_VARINT) field.number = 0;
        switch (field.number) {
        case 1: key = field.value; break;
        case 2: str = field.value; break;
        case 3: num = (int64_t)field.value; break;
        case 4: unit = field.value; break;
        default: pprof_keep_unknown(&s->label_unknown, &cursor, &field);
        }
    }
    pprof_close(r, &cursor);
    if (__builtin_expect(r->end_key != 0, 0) && str != 0 && pprof_string(r, key) == r->end_key &&
        pt_facts_end_named(pt_builder_get_text(r->builder, (pt_string_id){pprof_string(r, str)}),
                           &s->end))
        return;
    if (__builtin_expect(r->has_columns, 0) && s->label_unknown.size == unknown_first &&
        take_column(r, s, pprof_string(r, key), str != 0 ? pprof_string(r, str) : 0, num))
        return;
    if (str != 0 && num != 0) r->both_label_values++;
    if (s->label_unknown.size > unknown_first) {
        if (unknown_first > 0) {
            s->label_unknown.size = unknown_first;
            r->lost_unknown++;
        } else {
            s->label_with_unknown = s->label.count;
        }
    }
    PT_GROW(s->label, s->label.count + 1);
    pt_label *const label = &s->label.items[s->label.count++];
    *label = (pt_label){.key = pprof_string(r, key), .kind = PT_LABEL_NUMBER};
    if (str != 0) {
        label->kind = PT_LABEL_STRING;
        label->str = pprof_string(r, str);
    } else {
        label->num = num;
        label->unit = pprof_string(r, unit);
    }
}

/* Interns the set of the sample's labels. If the set is new, the unknown fields of a label are kept
 * under the label's row, which is computed from counts of sets and rows, since new sets get their
 * rows in order. */
static pt_labels_id intern_labels(pprof_reader *r, sample *s)
{
    if (s->label.count == 0) return PT_NO_LABELS;
    const pt_labels_id set = pt_builder_labels(r->builder, s->label.items, s->label.count);
    const bool is_new = set.v == r->label_set_count;
    if (s->label_unknown.size > 0) {
        if (is_new)
            pt_builder_unknown(r->builder, PT_IN_LABEL,
                               (uint32_t)(r->label_count + s->label_with_unknown),
                               s->label_unknown.data, s->label_unknown.size);
        else
            r->lost_unknown++;
    }
    if (is_new) {
        r->label_set_count++;
        r->label_count += s->label.count;
    }
    return set;
}

/* Decodes the leading list of locations if it was not decoded because the memo has the list's
 * stack. Call it for a sample that has further locations, since its stack is then another one. */
static bool forget_memo_stack(pprof_reader *r, sample *s)
{
    const uint8_t *const packed = s->packed;
    const bool was_in_memo = s->memo_stack != PT_NONE;
    s->memo_stack = PT_NONE;
    s->packed = NULL;
    return !was_in_memo || add_packed_frames(r, s, packed, packed + s->packed_size);
}

/* Reads any field. Returns false at the first invalid field. */
static bool read_other_field(pprof_reader *r, sample *s, const uint8_t **pos, const uint8_t *end)
{
    pb_cursor cursor = pb_open(*pos, (size_t)(end - *pos));
    pb_field field;
    if (!pb_next(&cursor, &field)) return false;
    *pos = cursor.pos;
    if (field.number == 1 && !forget_memo_stack(r, s)) return false;
    if (field.number == 3 && field.wire == PB_BYTES)
        add_label(r, s, &field);
    else if (field.number == 1 && field.wire == PB_BYTES)
        return add_packed_frames(r, s, field.data, field.data + field.size);
    else if (field.number == 1 && field.wire == PB_VARINT)
        s->frame[s->depth++] = location_row(r, field.value);
    else if (field.number == 2 && field.wire == PB_BYTES)
        return add_packed_values(r, s, field.data, field.data + field.size);
    else if (field.number == 2 && field.wire == PB_VARINT)
        add_value(r, s, field.value);
    else
        pprof_keep_unknown(&r->unknown, &cursor, &field);
    return true;
}

/* The packed list of locations with which nearly every sample begins; NULL if there is none. */
static inline const uint8_t *leading_list(const uint8_t *pos, const uint8_t *end, size_t *ret_size)
{
    uint64_t size;
    if (pos == end || *pos++ != (1 << 3 | PB_BYTES)) return NULL;
    if (!pb_varint(&pos, end, &size) || size > (size_t)(end - pos)) return NULL;
    *ret_size = (size_t)size;
    return pos;
}

/* Finds the stack of the leading list in the memo, or else decodes the list. Returns false if the
 * list is damaged. */
static bool begin_sample(pprof_reader *r, sample *s, const struct upcoming *next)
{
    s->packed = next->packed;
    s->packed_size = next->packed_size;
    if (next->packed == NULL) return true;
    if (s->memo.on) {
        s->memo_stack = memo_find(&s->memo, next->packed, next->packed_size, next->packed_hash);
        if (s->memo_stack != PT_NONE) return true;
    }
    return add_packed_frames(r, s, next->packed, next->packed + next->packed_size);
}

static void decode_sample(pprof_reader *r, sample *s, const struct upcoming *next)
{
    const uint8_t *const end = next->end;
    const uint8_t *pos = next->packed != NULL ? next->packed + next->packed_size : next->pos;
    s->frame = pt_builder_stack_space(r->builder, s->ahead.frames + (size_t)(end - next->pos));
    s->frame += s->ahead.frames;
    s->depth = s->value_count = s->label.count = 0;
    s->memo_stack = PT_NONE;
    s->end = r->end_key != 0 ? PT_STACK_END_ROOT : PT_STACK_END_UNKNOWN;
    s->column = (pt_sample){.pid = PT_NONE, .tid = PT_NONE, .cpu = PT_NONE};
    pt_buf_clear(&s->label_unknown);
    bool ok = begin_sample(r, s, next);
    while (ok && pos < end) {
        uint64_t value;
        const uint8_t *p = pos + 1;
        if (*pos == (2 << 3 | PB_VARINT) && pb_varint(&p, end, &value)) {
            add_value(r, s, value);
            pos = p;
        } else {
            ok = read_other_field(r, s, &pos, end);
        }
    }
    if (!ok) {
        r->damage.messages++;
        s->packed = NULL;
    }
    if (__builtin_expect(s->value_count != r->event_count, 0)) {
        r->damage.values++;
        for (size_t i = s->value_count; i < r->event_count; i++)
            s->value[i] = 0;
    }
}

/* Adds the stacks that were decoded ahead, and their samples, to the builder. If the builder
 * already has a stack, the frames of the repeated stack leave a gap in the column, and the next
 * stack's frames are moved there. */
static void commit_ahead(pprof_reader *r, sample *s)
{
    look_ahead *const ahead = &s->ahead;
    size_t begin = 0, kept = 0; /* numbers of frames, counted from the previous end of the column */
    for (size_t i = 0; i < ahead->count; i++) {
        const struct ahead_stack *const next = &ahead->stack[i];
        uint32_t stack = next->memo_stack;
        if (stack == PT_NONE) {
            uint32_t *const at = pt_builder_stack_space(r->builder, next->depth);
            if (begin != kept) memmove(at, at - kept + begin, next->depth * sizeof *at);
            stack = pt_builder_stack_commit_hashed(r->builder, next->depth, PT_STACK_END_UNKNOWN,
                                                   next->hash)
                        .v;
            begin += next->depth;
            kept += (size_t)(pt_builder_stack_space(r->builder, 0) - at);
            if (next->packed)
                memo_add(&s->memo, next->packed, next->packed_size, next->packed_hash, stack);
        }
        pt_builder_sample(r->builder, (pt_stack_id){stack}, PT_NO_LABELS,
                          ahead->values + i * r->event_count);
    }
    ahead->count = ahead->frames = 0;
}

static void put_ahead(const pprof_reader *r, sample *s, uint64_t packed_hash)
{
    look_ahead *const ahead = &s->ahead;
    struct ahead_stack *const next = &ahead->stack[ahead->count];
    *next = (struct ahead_stack){
        .depth = s->depth,
        .memo_stack = s->memo_stack,
        .packed = s->packed,
        .packed_size = s->packed_size,
        .packed_hash = packed_hash,
    };
    if (s->memo_stack == PT_NONE) {
        next->hash = pt_builder_stack_hash(r->builder, s->frame, s->depth, PT_STACK_END_UNKNOWN);
        ahead->frames += s->depth;
    }
    memcpy(ahead->values + ahead->count * r->event_count, s->value,
           r->event_count * sizeof *s->value);
    ahead->count++;
}

/* Adds a sample that is not simple to the builder, after the samples that were decoded ahead. */
static void commit_sample(pprof_reader *r, sample *s, uint64_t packed_hash)
{
    commit_ahead(r, s);
    uint32_t stack = s->memo_stack;
    if (stack == PT_NONE) {
        /* commit_ahead may have moved the end of the column to a place before these frames. */
        uint32_t *const at = pt_builder_stack_space(r->builder, s->depth);
        if (at != s->frame) memmove(at, s->frame, s->depth * sizeof *at);
        stack = pt_builder_stack_commit(r->builder, s->depth, s->end).v;
        if (s->packed) memo_add(&s->memo, s->packed, s->packed_size, packed_hash, stack);
    }
    const pt_labels_id labels = intern_labels(r, s);
    if (r->unknown.size > 0)
        pprof_file_unknown(r, PT_IN_SAMPLE, pt_builder_sample_count(r->builder));
    if (!r->has_columns) {
        pt_builder_sample(r->builder, (pt_stack_id){stack}, labels, s->value);
        return;
    }
    s->column.stack = stack;
    s->column.labels = labels.v;
    s->column.values = s->value;
    pt_builder_timed_sample(r->builder, &s->column);
}

static void read_sample(pprof_reader *r, sample *s, const struct upcoming *next)
{
    decode_sample(r, s, next);
    if (s->label.count > 0 || r->unknown.size > 0 || s->end != PT_STACK_END_UNKNOWN ||
        r->has_columns) {
        commit_sample(r, s, next->packed_hash);
        return;
    }
    put_ahead(r, s, next->packed_hash);
    if (s->ahead.count == AHEAD_MAX) commit_ahead(r, s);
}

/* Makes up as many events as the first sample has values, for a file without sample types. */
static void make_up_events(pprof_reader *r, const uint8_t *pos, const uint8_t *end)
{
    sample s = {0};
    pb_cursor cursor = pb_open(pos, (size_t)(end - pos));
    pb_field field;
    while (pb_next(&cursor, &field)) {
        if (field.number == 2 && field.wire == PB_BYTES)
            add_packed_values(r, &s, field.data, field.data + field.size);
        else if (field.number == 2 && field.wire == PB_VARINT)
            add_value(r, &s, field.value);
    }
    for (size_t i = 0; i < s.value_count && i < 64; i++)
        pprof_made_up_event(r);
}

/* Finds the next sample at or after *pos; false at the end. All bytes between *pos and r->end are
 * complete fields. */
static bool next_sample(const pprof_reader *r, const uint8_t **pos, const uint8_t **ret_end)
{
    const uint8_t *p = *pos;
    while (p < r->end) {
        uint64_t size = 0;
        if (*p == (PPROF_SAMPLE << 3 | PB_BYTES)) {
            p++;
            pb_varint(&p, r->end, &size);
            *pos = p;
            *ret_end = p + size;
            return true;
        }
        pb_cursor cursor = pb_open(p, (size_t)(r->end - p));
        pb_field field;
        if (!pb_next(&cursor, &field)) return false;
        p = cursor.pos;
        if (field.number == PPROF_SAMPLE &&
            field.wire == PB_BYTES) { /* a tag in more bytes than necessary */
            *pos = field.data;
            *ret_end = field.data + field.size;
            return true;
        }
    }
    *pos = r->end; /* so that a later call returns at once */
    return false;
}

/* Locates further samples from *pos on: as many as the memo looks ahead, or one. */
static void find_upcoming(const pprof_reader *r, const memo *m, upcoming_samples *queue,
                          const uint8_t **pos)
{
    const size_t wanted = m->on ? UPCOMING_MAX : 1;
    const uint8_t *end;
    while (queue->count < wanted && next_sample(r, pos, &end)) {
        struct upcoming *const last =
            &queue->sample[(queue->first + queue->count++) % UPCOMING_MAX];
        *last = (struct upcoming){.pos = *pos, .end = end};
        last->packed = leading_list(*pos, end, &last->packed_size);
        *pos = end;
        if (!m->on || last->packed == NULL) continue;
        last->packed_hash = pt_hash_bytes(last->packed, last->packed_size);
        memo_fetch_index(m, last->packed_hash);
    }
    if (m->on && queue->count > UPCOMING_HALF)
        memo_fetch_entry(m,
                         queue->sample[(queue->first + UPCOMING_HALF) % UPCOMING_MAX].packed_hash);
}

void pprof_read_samples(pprof_reader *r)
{
    const uint8_t *pos = r->start, *end = NULL;
    const uint8_t *discarded = pos;
    upcoming_samples queue = {.count = 0};
    sample s = {0};
    r->label_set_count = 1; /* set 0 is the empty one */
    r->locations.missing_zero = PT_NONE;
    if (r->event_count == 0 && next_sample(r, &pos, &end)) make_up_events(r, pos, end);
    /* A frame has at least a byte, in large profiles two or three. Unused reserved memory costs
     * nothing. */
    pt_builder_reserve_samples(r->builder, r->sample_count, r->sample_bytes / 2);
    s.value = pt_alloc(r->event_count + 1, sizeof *s.value);
    s.ahead.values = pt_alloc(AHEAD_MAX * r->event_count + 1, sizeof *s.ahead.values);
    s.memo.on = r->end_key == 0; /* if the file has labels for the ends of stacks, equal lists may
                                  * be different stacks */
    pos = r->start;
    for (;;) {
        find_upcoming(r, &s.memo, &queue, &pos);
        if (queue.count == 0) break;
        const struct upcoming *const next = &queue.sample[queue.first];
        queue.first = (queue.first + 1) % UPCOMING_MAX;
        queue.count--;
        end = next->end;
        read_sample(r, &s, next);
        if ((size_t)(end - discarded) < DISCARD_BYTES) continue;
        discarded = end;
        commit_ahead(r, &s);
        if (pt_builder_status(r->builder, NULL) != PT_OK) break;
        if (r->hooks->discard)
            r->hooks->discard(r->hooks->context, r->offset + (uint64_t)(end - r->start));
    }
    commit_ahead(r, &s);
    PT_FREE_ALL(s.value, s.ahead.values, s.label.items);
    pt_index_done(&s.memo.index);
    pt_buf_done(&s.memo.bytes);
    pt_buf_done(&s.label_unknown);
}
