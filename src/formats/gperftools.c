/* gperftools.c: reads and writes the binary CPU profile of gperftools, in both word sizes and both
 * byte orders.
 *
 *   header   | 0 | n >= 3 | 0 | period_us | 0 | more ... |   n counts the slots after itself
 *   record   | count >= 1 | depth >= 1 | pc0 (leaf) ... |    repeated
 *   trailer  | 0 | 1 | 0 |                                   then text: the mapped objects
 *
 * A slot is a word of the profiled program.
 *
 * Rule: "Google CPU Profiler Binary Data File Format", last modified 2007-08-27. In addition: a
 * file without a trailer is read to its end; the signal handler's frames, which gperftools leaves
 * in every stack, are removed as in google/pprof (profile/legacy_profile.go).
 *
 * pcs above the leaf are return addresses. They are unchanged and marked PT_LOCATION_RETURN_ADDR.
 */
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "base/grow.h"
#include "base/hash.h"
#include "base/index.h"
#include "base/plain/ascending.h"
#include "formats/format.h"
#include "formats/gperf_notes.h"
#include "formats/procmaps.h"
#include "wire/gperftools.h"

#ifdef __SSE2__
#include <emmintrin.h>
#endif

#define HEADER_SLOTS_MIN 3

/* ---- Word size and byte order ---- */

/* Parses the header in a given word size and byte order; returns false if it does not match. */
static bool header_fits(const uint8_t *head, size_t bytes, unsigned word_bytes, bool big_endian,
                        uint64_t *ret_slots, uint64_t *ret_period_us)
{
    pt_reader r;
    pt_reader_init(&r, head, bytes, NULL);
    pt_reader_set_word(&r, word_bytes);
    pt_reader_set_order(&r, big_endian);
    const uint64_t count = pt_read_word(&r);
    const uint64_t slots = pt_read_word(&r);
    const uint64_t version = pt_read_word(&r);
    const uint64_t period_us = pt_read_word(&r);
    *ret_slots = slots;
    *ret_period_us = period_us;
    return pt_reader_ok(&r) && count == 0 && slots >= HEADER_SLOTS_MIN && slots < (1 << 16) &&
           version == 0 && period_us > 0 && period_us <= INT64_MAX / 1000;
}

typedef struct {
    unsigned word_bytes;
    bool big_endian;
    uint64_t slots, period_us;
} header;

static bool find_header(const uint8_t *head, size_t bytes, header *ret)
{
    static const header variants[] = {
        {4, false, 0, 0}, {4, true, 0, 0}, {8, false, 0, 0}, {8, true, 0, 0}};
    for (size_t i = 0; i < PT_COUNT(variants); i++) {
        *ret = variants[i];
        if (header_fits(head, bytes, ret->word_bytes, ret->big_endian, &ret->slots,
                        &ret->period_us))
            return true;
    }
    return false;
}

static int probe_gperftools(const pt_probe_input *in)
{
    header h;
    return find_header(in->head, in->head_bytes, &h) ? 90 : 0;
}

/* ---- Records ---- */

typedef struct {
    uint64_t count, depth;
    const uint8_t *pcs; /* depth words, unaligned, in the file's byte order */
} record;

/* Reads a record; false at the end of the file, or after a failure of the reader. */
static inline bool next_record(pt_reader *r, record *ret)
{
    if (pt_reader_left(r) == 0) return false;
    const uint64_t at = pt_reader_offset(r);
    ret->count = pt_read_word(r);
    ret->depth = pt_read_word(r);
    if (!pt_reader_ok(r)) return false;
    if (ret->depth == 0 || ret->depth > pt_reader_left(r) / r->word_bytes) {
        pt_reader_fail_at(r, at, PT_ERR_DAMAGED,
                          "record at byte %" PRIu64 " claims %" PRIu64 " frames, %zu are left", at,
                          ret->depth, pt_reader_left(r) / r->word_bytes);
        return false;
    }
    ret->pcs = pt_read_bytes(r, ret->depth * r->word_bytes);
    return true;
}

static inline uint64_t pc_at(const pt_reader *r, const record *rec, uint64_t i)
{
    uint64_t wide;
    uint32_t narrow;
    if (r->word_bytes == 8) {
        memcpy(&wide, rec->pcs + i * 8, 8);
        return r->swap ? __builtin_bswap64(wide) : wide;
    }
    memcpy(&narrow, rec->pcs + i * 4, 4);
    return r->swap ? __builtin_bswap32(narrow) : narrow;
}

static bool is_trailer(const pt_reader *r, const record *rec)
{
    return rec->count == 0 && rec->depth == 1 && pc_at(r, rec, 0) == 0;
}

/* A candidate for the address that has a majority (Boyer and Moore's majority vote). The final
 * weight is at least the candidate's count minus the count of all other addresses. */
typedef struct {
    uint64_t pc, weight;
} vote;

static inline void vote_for(vote *v, uint64_t pc)
{
    if (v->weight == 0) v->pc = pc;
    if (v->pc == pc)
        v->weight++;
    else
        v->weight--;
}

#define SIGNAL_ROUNDS 2

/* The second frames that belong to the signal handler. google/pprof's rule: an address that is
 * second in at least 31 of 32 records; this rule is applied twice. */
typedef struct {
    uint64_t pc[SIGNAL_ROUNDS];
    unsigned count;
} signal_frames;

/* The index of the frame that is second if the signal handler's frames that were found so far are
 * not counted: 1 plus the number of such frames from frame 1 on. */
static uint64_t second_frame(const pt_reader *r, const record *rec, const signal_frames *s)
{
    uint64_t at = 1;
    for (unsigned round = 0; round < s->count && at < rec->depth; round++) {
        if (pc_at(r, rec, at) == s->pc[round]) at++;
    }
    return at;
}

/* Result of the first pass: number of records and frames, and the signal handler's frames. */
typedef struct {
    uint64_t records, frames;
    signal_frames signal;
    bool trailer;
    pt_reader text; /* the text after the trailer */
} survey;

/* The number of records whose second frame is pc. */
static uint64_t count_second(pt_reader records, const signal_frames *s, uint64_t pc)
{
    uint64_t count = 0;
    for (record rec; next_record(&records, &rec) && !is_trailer(&records, &rec);) {
        const uint64_t at = second_frame(&records, &rec, s);
        count += at < rec.depth && pc_at(&records, &rec, at) == pc;
    }
    return count;
}

static vote vote_on_second(pt_reader records, const signal_frames *s)
{
    vote v = {0};
    for (record rec; next_record(&records, &rec) && !is_trailer(&records, &rec);) {
        const uint64_t at = second_frame(&records, &rec, s);
        if (at < rec.depth) vote_for(&v, pc_at(&records, &rec, at));
    }
    return v;
}

/* Finds addresses that are second in 31 of 32 records, rounded as in google/pprof. Most candidates
 * are excluded by the weight of the vote, without another pass over the records. */
static void find_signal_frames(pt_reader records, survey *s, vote v)
{
    const uint64_t few = s->records / 32;
    for (unsigned round = 0; round < SIGNAL_ROUNDS; round++) {
        if (round > 0) v = vote_on_second(records, &s->signal);
        if (v.weight == 0 || v.weight < s->records - 2 * few ||
            count_second(records, &s->signal, v.pc) < s->records - few)
            return;
        s->signal.pc[s->signal.count++] = v.pc;
    }
}

#define AHEAD_BYTES      4096
#define CACHE_LINE_BYTES 64

/* Prefetches the bytes a page ahead. The position of a record depends on the record before, so both
 * passes would wait for memory at each record; but records are contiguous, so the bytes ahead are
 * known to be needed. always_inline, since gcc removes calls that only prefetch. */
static inline __attribute__((always_inline)) void fetch_ahead(const pt_reader *r, const record *rec)
{
    const size_t size = rec->depth * r->word_bytes + 2 * r->word_bytes;
    const uint8_t *const ahead = r->pos + AHEAD_BYTES;
    if (size > AHEAD_BYTES || pt_reader_left(r) < 2 * AHEAD_BYTES) return;
    for (size_t at = 0; at < size; at += CACHE_LINE_BYTES)
        __builtin_prefetch(ahead + at);
}

static survey survey_records(pt_reader *r)
{
    survey s = {0};
    /* The first pass uses a copy of the reader. The failures of the copy are ignored, since the
     * second pass fails in the same place. */
    pt_reader ahead = *r;
    ahead.error = NULL;
    ahead.parent = NULL;
    const pt_reader begin = ahead;
    vote v = {0};
    for (record rec; next_record(&ahead, &rec);) {
        if (is_trailer(&ahead, &rec)) {
            s.trailer = true;
            break;
        }
        fetch_ahead(&ahead, &rec);
        s.records++;
        s.frames += rec.depth;
        if (rec.depth > 1) vote_for(&v, pc_at(&ahead, &rec, 1));
    }
    s.text = ahead;
    /* pitot's library leaves no frames of its signal handler in stacks, so an address that is
     * always second is the program's own. A file of pitot is recognized by lines that only pitot
     * writes. */
    if (!pt_procmaps_ours(&ahead)) find_signal_frames(begin, &s, v);
    return s;
}

/* ---- Locations ---- */

/* Map from addresses to location ids. A large file has tens of millions of look-ups, whose cost is
 * cache misses and mispredicted branches. Therefore a bucket is a cache line with the lower halves
 * of 8 addresses and their ids, and all its keys are compared at once. The upper half of an address
 * chooses the table (region), since few upper halves occur:
 *
 *     bucket   key[8] = lower half, 0 = empty    id[8]
 *
 * Addresses whose upper half has no region, and addresses whose lower half is 0, are in a general
 * index. */
#define BUCKET_SLOTS 8
#define REGIONS_MAX  4

typedef struct {
    uint32_t key[BUCKET_SLOTS], id[BUCKET_SLOTS];
} __attribute__((aligned(64))) bucket;

typedef struct {
    uint32_t high; /* upper half of the region's addresses */
    uint64_t mask; /* number of buckets - 1 */
    bucket *buckets;
    void *memory; /* allocation that contains the buckets */
    size_t count;
} region;

typedef struct {
    region region[REGIONS_MAX];
    size_t region_count;
    pt_index others; /* index of `other` */
    struct {
        struct other_address {
            uint64_t pc;
            uint32_t id;
        } * items;
        size_t count, cap;
    } other;
} addresses;

/* The key's slot in a bucket, or BUCKET_SLOTS. */
static inline unsigned bucket_find(const bucket *b, uint32_t key)
{
#ifdef __SSE2__
    const __m128i wanted = _mm_set1_epi32((int)key);
    const __m128i low = _mm_cmpeq_epi32(wanted, _mm_load_si128((const void *)b->key));
    const __m128i high = _mm_cmpeq_epi32(wanted, _mm_load_si128((const void *)(b->key + 4)));
    const unsigned found = (unsigned)_mm_movemask_ps(_mm_castsi128_ps(low)) |
                           (unsigned)_mm_movemask_ps(_mm_castsi128_ps(high)) << 4;
    return (unsigned)__builtin_ctz(found | 1u << BUCKET_SLOTS);
#else
    unsigned slot = 0;
    while (slot < BUCKET_SLOTS && b->key[slot] != key)
        slot++;
    return slot;
#endif
}

static inline uint64_t bucket_home(const region *r, uint32_t key)
{
    return ((uint64_t)key * 0x9e3779b97f4a7c15u >> 32) & r->mask;
}

/* The id of a key, or PT_NONE. */
static inline uint32_t region_find(const region *r, uint32_t key)
{
    for (uint64_t at = bucket_home(r, key);; at = (at + 1) & r->mask) {
        const bucket *const b = &r->buckets[at];
        const unsigned slot = bucket_find(b, key);
        if (__builtin_expect(slot < BUCKET_SLOTS, 1)) return b->id[slot];
        if (b->key[BUCKET_SLOTS - 1] == 0) return PT_NONE; /* the bucket never overflowed */
    }
}

static void region_put(region *r, uint32_t key, uint32_t id)
{
    uint64_t at = bucket_home(r, key);
    unsigned slot = bucket_find(&r->buckets[at], 0);
    for (; slot == BUCKET_SLOTS; slot = bucket_find(&r->buckets[at], 0))
        at = (at + 1) & r->mask;
    r->buckets[at].key[slot] = key;
    r->buckets[at].id[slot] = id;
    r->count++;
}

/* Makes room for another key. */
static void region_grow(region *r)
{
    const uint64_t count = r->buckets != NULL ? r->mask + 1 : 0;
    if (r->count < count * BUCKET_SLOTS / 2) return;
    region bigger = {.high = r->high, .mask = count > 0 ? count * 2 - 1 : 127};
    bigger.memory = pt_alloc(bigger.mask + 2,
                             sizeof(bucket)); /* another bucket for alignment to a cache line */
    bigger.buckets = (bucket *)(((uintptr_t)bigger.memory + sizeof(bucket) - 1) / sizeof(bucket) *
                                sizeof(bucket));
    for (uint64_t i = 0; i < count; i++)
        for (unsigned k = 0; k < BUCKET_SLOTS && r->buckets[i].key[k] != 0; k++)
            region_put(&bigger, r->buckets[i].key[k], r->buckets[i].id[k]);
    free(r->memory);
    *r = bigger;
}

static inline const region *region_of(const addresses *a, uint32_t high)
{
    for (size_t i = 0; i < a->region_count; i++)
        if (a->region[i].high == high) return &a->region[i];
    return NULL;
}

/* The id of an address, or PT_NONE. */
static inline uint32_t address_find(const addresses *a, uint64_t pc)
{
    const region *const r = region_of(a, (uint32_t)(pc >> 32));
    if (__builtin_expect(r != NULL && (uint32_t)pc != 0, 1)) return region_find(r, (uint32_t)pc);
    const uint32_t found =
        PT_INDEX_FIND(&a->others, pt_hash_mix(pc, 2), i, a->other.items[i].pc == pc);
    return found != PT_NONE ? a->other.items[found].id : PT_NONE;
}

static void address_put(addresses *a, uint64_t pc, uint32_t id)
{
    region *r = (region *)(uintptr_t)region_of(a, (uint32_t)(pc >> 32));
    if (r == NULL && a->region_count < REGIONS_MAX && (uint32_t)pc != 0) {
        r = &a->region[a->region_count++];
        *r = (region){.high = (uint32_t)(pc >> 32)};
    }
    if (r != NULL && (uint32_t)pc != 0) {
        region_grow(r);
        region_put(r, (uint32_t)pc, id);
        return;
    }
    PT_INDEX_PUSH(&a->others, pt_hash_mix(pc, 2), a->other, (struct other_address){pc, id});
}

static void addresses_done(addresses *a)
{
    for (size_t i = 0; i < a->region_count; i++)
        free(a->region[i].memory);
    free(a->other.items);
    pt_index_done(&a->others);
}

typedef struct {
    pt_builder *b;
    addresses of[2]; /* [0] leaves, [1] return addresses */
    struct {
        pt_mapping *items;
        size_t count;
    } by_start;
} locations;

PT_ORDER(by_start, pt_mapping, PT_UP(start));

static void locations_init(locations *l, pt_builder *b)
{
    *l = (locations){.b = b};
    pt_index_init(&l->of[0].others);
    pt_index_init(&l->of[1].others);
    const uint32_t n = pt_builder_mapping_count(b);
    l->by_start.items = pt_alloc(n, sizeof *l->by_start.items);
    l->by_start.count = n;
    for (uint32_t m = 0; m < n; m++) {
        l->by_start.items[m] = *pt_builder_mapping_at(b, (pt_mapping_id){m});
        l->by_start.items[m].source_id = m; /* source_id has the row of the mapping meanwhile */
    }
    qsort(l->by_start.items, n, sizeof *l->by_start.items, by_start);
}

static uint32_t mapping_of(const locations *l, uint64_t pc)
{
    const size_t after = PT_FIRST_AFTER(l->by_start.items, l->by_start.count, start, pc);
    if (after == 0 || pc >= l->by_start.items[after - 1].limit) return PT_NONE;
    return (uint32_t)l->by_start.items[after - 1].source_id;
}

static __attribute__((noinline)) uint32_t new_location(locations *l, uint64_t pc, bool is_return)
{
    /* If a call is the last instruction of its mapping, it returns to the address after the
     * mapping.
     */
    const uint32_t mapping = mapping_of(l, is_return && pc > 0 ? pc - 1 : pc);
    const pt_location_id id = pt_builder_append_location(
        l->b,
        &(pt_location){
            .mapping = mapping, .address = pc, .flags = is_return ? PT_LOCATION_RETURN_ADDR : 0},
        NULL, 0);
    if (id.v == PT_NONE) return 0;
    address_put(&l->of[is_return], pc, id.v);
    return id.v;
}

static inline uint32_t location_of(locations *l, uint64_t pc, bool is_return)
{
    const uint32_t id = address_find(&l->of[is_return], pc);
    return __builtin_expect(id != PT_NONE, 1) ? id : new_location(l, pc, is_return);
}

/* The ids of count return addresses in the host's word size and byte order. Nearly all of these
 * addresses are known and in the region of the previous address, so the function keeps a copy of
 * that region in a local variable, which no store to memory can change. */
static inline void find_callers(locations *l, const uint8_t *words, size_t count, uint32_t *ret_ids)
{
    static bucket nothing; /* always empty */
    region near = {.buckets = &nothing};
    for (size_t i = 0; i < count; i++) {
        uint64_t pc;
        memcpy(&pc, words + i * sizeof pc, sizeof pc);
        uint32_t id = PT_NONE;
        if (__builtin_expect(pc >> 32 == near.high && (uint32_t)pc != 0, 1))
            id = region_find(&near, (uint32_t)pc);
        if (__builtin_expect(id == PT_NONE, 0)) {
            id = location_of(l, pc, true);
            const region *const found = region_of(&l->of[true], (uint32_t)(pc >> 32));
            if (found != NULL) near = *found;
        }
        ret_ids[i] = id;
    }
}

/* ---- Reading ---- */

#define AHEAD_MAX 16

typedef struct {
    locations at;
    const signal_frames *signal;
    int64_t period_ns;
    uint64_t zero_leaf, empty, saturated, stripped;
    /* Stacks that are decoded but not interned yet. The slot of the first in the index is
     * prefetched meanwhile. */
    struct ahead_stack {
        size_t depth;
        uint64_t hash;
        pt_stack_end end;
        int64_t values[2];
    } ahead[AHEAD_MAX];
    size_t ahead_count;
    PT_VECTOR(uint32_t) frame; /* frames of the stacks in `ahead`, one after the other */
} reading;

static void commit_ahead(reading *s)
{
    const uint32_t *frames = s->frame.items;
    for (size_t i = 0; i < s->ahead_count; i++) {
        const struct ahead_stack *next = &s->ahead[i];
        memcpy(pt_builder_stack_space(s->at.b, next->depth), frames, next->depth * sizeof *frames);
        frames += next->depth;
        pt_builder_sample(
            s->at.b, pt_builder_stack_commit_hashed(s->at.b, next->depth, next->end, next->hash),
            PT_NO_LABELS, next->values);
    }
    s->ahead_count = s->frame.count = 0;
}

/* Sets the two values of a record: the number of samples, and their time in ns. Both are clipped to
 * 63 bits. */
static void put_values(reading *s, uint64_t count, int64_t *values)
{
    values[0] = (int64_t)count;
    if (count <= INT64_MAX && !__builtin_mul_overflow(values[0], s->period_ns, &values[1])) return;
    values[0] = count > INT64_MAX ? INT64_MAX : values[0];
    values[1] = INT64_MAX;
    s->saturated++;
}

static void add_record(reading *s, const pt_reader *r, const record *rec, pt_stack_end end)
{
    if (rec->count == 0) {
        s->empty++;
        return;
    }
    uint64_t i = second_frame(r, rec, s->signal);
    s->stripped += i > 1;
    PT_GROW(s->frame, s->frame.count + (size_t)rec->depth);
    uint32_t *frames = s->frame.items + s->frame.count;
    const uint64_t leaf = pc_at(r, rec, 0);
    size_t depth = 0;
    frames[depth++] = location_of(&s->at, leaf, false);
    /* gperftools' unwinder may list the interrupted pc twice. */
    if (i < rec->depth && pc_at(r, rec, i) == leaf) i++;
    if (r->word_bytes == sizeof(uint64_t) && !r->swap) {
        find_callers(&s->at, rec->pcs + i * sizeof(uint64_t), rec->depth - i, frames + depth);
        depth += rec->depth - i;
    } else {
        for (; i < rec->depth; i++)
            frames[depth++] = location_of(&s->at, pc_at(r, rec, i), true);
    }
    if (leaf == 0) s->zero_leaf += rec->count;

    struct ahead_stack *next = &s->ahead[s->ahead_count++];
    next->depth = depth;
    next->end = end;
    next->hash = pt_builder_stack_hash(s->at.b, frames, depth, end);
    put_values(s, rec->count, next->values);
    s->frame.count += depth;
    if (s->ahead_count == AHEAD_MAX) commit_ahead(s);
}

static void describe_profile(pt_builder *b, const header *h)
{
    const uint32_t cpu = pt_builder_text(b, "cpu").v, ns = pt_builder_text(b, "nanoseconds").v;
    const int64_t period_ns = (int64_t)h->period_us * 1000;
    pt_builder_event(b, &(pt_event){.type = pt_builder_text(b, "samples").v,
                                    .unit = pt_builder_text(b, "count").v});
    pt_builder_event(b, &(pt_event){.type = cpu, .unit = ns, .period = period_ns});
    pt_provenance *p = pt_builder_provenance(b);
    p->has_period_type = true;
    p->period_type = cpu;
    p->period_unit = ns;
    p->period = period_ns;
    p->word_bytes = h->word_bytes;
    p->big_endian = h->big_endian;
    p->true_hz = 1e6 / (double)h->period_us;
}

static pt_status read_profile(pt_reader *r, pt_builder *b, const pt_read_hooks *hooks,
                              pt_error *reterr)
{
    if (r->error == NULL) r->error = reterr; /* so that the message is kept */
    header h;
    if (!find_header(r->pos, pt_reader_left(r), &h))
        return pt_error_set(reterr, PT_ERR_FORMAT,
                            "does not begin with the header of a gperftools CPU profile");
    pt_reader_set_word(r, h.word_bytes);
    pt_reader_set_order(r, h.big_endian);
    pt_skip(r, (2 + h.slots) * h.word_bytes);
    if (!pt_reader_ok(r)) return pt_error_set(reterr, PT_ERR_DAMAGED, "ends inside its header");

    describe_profile(b, &h);
    survey found = survey_records(r);
    pt_gperf_notes notes = {0};
    if (found.trailer) {
        notes = pt_gperf_notes_read(&found.text, found.records, pt_builder_provenance(b));
        pt_procmaps_read(&found.text, b, hooks->diag);
    }
    pt_builder_expect_frames(b, (size_t)found.frames);
    pt_builder_reserve_samples(b, (size_t)found.records, (size_t)found.frames);
    reading s = {.signal = &found.signal, .period_ns = (int64_t)h.period_us * 1000};
    locations_init(&s.at, b);
    uint64_t records = 0;
    for (record rec; next_record(r, &rec) && !is_trailer(r, &rec); records++) {
        fetch_ahead(r, &rec);
        add_record(&s, r, &rec, pt_gperf_notes_end(&notes, records));
        if (hooks->discard != NULL && records % 65536 == 65535)
            hooks->discard(hooks->context, pt_reader_offset(r));
    }
    commit_ahead(&s);
    pt_gperf_notes_done(&notes);
    free(s.frame.items);
    addresses_done(&s.at.of[0]);
    addresses_done(&s.at.of[1]);
    free(s.at.by_start.items);
    pt_diag_add(hooks->diag, s.zero_leaf, "samples at address 0 kept as [unknown]");
    pt_diag_add(hooks->diag, s.stripped,
                "stacks without the signal handler's frames, which were removed");
    pt_diag_add(hooks->diag, s.empty, "records without samples left out");
    pt_diag_add(hooks->diag, s.saturated, "counts above 2^63-1 set to that number");
    if (!found.trailer && pt_reader_ok(r))
        pt_diag_add(hooks->diag, 1, "missing trailer: the list of mappings is missing too");
    if (!pt_reader_ok(r)) {
        if (reterr != NULL && r->error != NULL && r->error != reterr) *reterr = *r->error;
        return r->status;
    }
    return pt_builder_status(b, reterr);
}

/* ---- Writing ---- */

typedef struct {
    const pt_profile *p;
    pt_out *out;
    pt_gperf_target target;
    uint32_t event;     /* event whose values are written */
    int64_t per_sample; /* value of one sample */
    uint64_t nameless;  /* frames without an address, left out */
    uint64_t lost;      /* samples without any address, left out */
    uint64_t remainder; /* sum of remainders of the division by the period */
    uint64_t negative;
    uint64_t odd_ids; /* build ids that are not hexadecimal bytes */
    pt_buf ends;      /* end of each record's stack */
} writing;

/* Chooses the event that counts samples: the requested one, if it counts; else the event "samples";
 * else an event of time, whose values are divided by the period. */
static pt_status choose_event(writing *w, const pt_write_options *options, pt_error *reterr)
{
    const pt_profile *p = w->p;
    const int64_t period = pt_profile_provenance(p)->period;
    w->event = options->event;
    w->per_sample = 1;
    if (w->event == PT_NONE) w->event = pt_profile_find_event(p, "samples/count");
    if (w->event == PT_NONE) w->event = pt_profile_default_event(p);
    if (w->event == PT_NONE)
        return pt_error_set(reterr, PT_ERR_UNSUPPORTED, "the profile has no values to write");
    if (p->event->row[w->event].kind == PT_EVENT_COUNT) return PT_OK;
    if (p->event->row[w->event].kind == PT_EVENT_TIME && period > 0 &&
        strcmp(pt_text(p, p->event->row[w->event].unit), "nanoseconds") == 0) {
        w->per_sample = period;
        return PT_OK;
    }
    return pt_error_set(
        reterr, PT_ERR_UNSUPPORTED, "holds counts of samples, not %s/%s; choose one with --event",
        pt_text(p, p->event->row[w->event].type), pt_text(p, p->event->row[w->event].unit));
}

/* Microseconds between samples: the profile's period, else the ratio of the totals, else 10 ms. */
static uint64_t period_us(const pt_profile *p, pt_diag *diag)
{
    const pt_provenance *s = pt_profile_provenance(p);
    const char *unit = pt_text(p, s->period_unit);
    const int64_t per_us = strcmp(unit, "nanoseconds") == 0    ? 1000
                           : strcmp(unit, "microseconds") == 0 ? 1
                                                               : 0;
    if (s->period > 0 && per_us > 0) {
        if (s->period % per_us != 0)
            pt_diag_add(diag, 1, "period of %" PRId64 " ns rounded to microseconds", s->period);
        const int64_t us = (s->period + per_us / 2) / per_us;
        return us > 0 ? (uint64_t)us : 1;
    }
    pt_diag_add(diag, 1, "unknown sampling period written as 10 ms");
    return 10000;
}

/* The slot of a frame: the leaf's own address, a caller's return address. */
static uint64_t slot_of(const pt_profile *p, uint32_t location, bool leaf)
{
    const uint64_t address = p->location->address[location];
    const bool is_return = p->location->flags[location] & PT_LOCATION_RETURN_ADDR;
    if (leaf) return is_return && address > 0 ? address - 1 : address;
    return is_return ? address : address + 1;
}

static void write_sample(writing *w, uint32_t sample, pt_buf *buf)
{
    const pt_profile *p = w->p;
    const int64_t value = p->sample->value[w->event][sample];
    if (value <= 0) {
        w->negative += value < 0;
        return;
    }
    const int64_t count = value / w->per_sample;
    w->remainder += value % w->per_sample != 0;
    const uint32_t stack = p->sample->stack[sample], depth = pt_stack_depth(p, stack);
    const uint32_t *frame = pt_stack_frames(p, stack);
    pt_buf_clear(buf);
    uint64_t *pcs = (uint64_t *)(void *)pt_buf_extend(buf, (size_t)depth * sizeof *pcs);
    size_t n = 0;
    for (uint32_t i = 0; i < depth; i++) {
        if (p->location->address[frame[i]] == 0 &&
            p->location->line_first[frame[i]] != p->location->line_first[frame[i] + 1])
            w->nameless++;
        else {
            pcs[n] = slot_of(p, frame[i], n == 0);
            n++;
        }
    }
    if (n == 0 || count == 0) {
        w->lost += (uint64_t)(count > 0 ? count : 1);
        return;
    }
    const size_t size = (n + 2) * w->target.word_bytes;
    PT_FREE uint8_t *bytes = pt_alloc(size, 1);
    pt_wire_buf wire = pt_wire_buf_init(bytes, size);
    if (pt_gperf_record(&wire, w->target, (uint64_t)count, pcs, n)) {
        pt_out_put(w->out, bytes, size);
        pt_put_u8(&w->ends, p->stack->end[stack]);
    } else {
        w->lost += (uint64_t)count;
    }
}

/* Writes a line of the text list. The line is formatted twice, the first time to get its size. */
static void put_line(writing *w, const pt_gperf_mapping *m, const uint8_t *id, size_t id_bytes)
{
    uint8_t *bytes = NULL;
    size_t size = 0;
    for (int pass = 0; pass < 2; pass++) {
        pt_wire_buf wire = pt_wire_buf_init(bytes, size);
        if (id == NULL)
            pt_gperf_mapping_line(&wire, m);
        else
            pt_gperf_build_id_line(&wire, m, id, id_bytes);
        if (pass == 0) {
            size = wire.need_bytes;
            bytes = pt_alloc(size, 1);
        }
    }
    pt_out_put(w->out, bytes, size);
    free(bytes);
}

/* Decodes hex digits; returns 0 if the text is not a number of whole bytes. */
static size_t from_hex(const char *text, size_t length, uint8_t *ret_bytes, size_t cap)
{
    if (length == 0 || length % 2 != 0 || length / 2 > cap) return 0;
    for (size_t i = 0; i < length / 2; i++) {
        char digits[3] = {text[2 * i], text[2 * i + 1], '\0'};
        char *end;
        ret_bytes[i] = (uint8_t)strtoul(digits, &end, 16);
        if (*end != '\0' || digits[0] == ' ' || digits[0] == '-' || digits[0] == '+') return 0;
    }
    return length / 2;
}

static void write_text(writing *w)
{
    const pt_profile *p = w->p;
    for (uint32_t pass = 0; pass < 2; pass++) { /* first all mappings, then their build ids */
        for (uint32_t i = 0; i < p->mapping->t.count; i++) {
            const pt_mapping *m = &p->mapping->row[i];
            const pt_gperf_mapping line = {.start = m->start,
                                           .limit = m->limit,
                                           .file_offset = m->file_offset,
                                           .prot = PT_GPERF_READ | PT_GPERF_EXEC,
                                           .path = pt_text(p, m->file),
                                           .path_bytes = pt_text_bytes(p, m->file)};
            uint8_t id[64];
            const size_t id_bytes =
                from_hex(pt_text(p, m->build_id), pt_text_bytes(p, m->build_id), id, sizeof id);
            if (pass == 0)
                put_line(w, &line, NULL, 0);
            else if (id_bytes > 0)
                put_line(w, &line, id, id_bytes);
            else
                w->odd_ids += pt_text_bytes(p, m->build_id) > 0;
        }
    }
    pt_out_text(w->out, PT_PROCMAPS_OURS "leaves no frames of a signal handler\n");
    PT_AUTO(pt_buf) notes = PT_BUF_INIT;
    pt_gperf_notes_write(&notes, p, (const uint8_t *)w->ends.data, w->ends.size);
    pt_out_put(w->out, notes.data, notes.size);
    for (uint32_t i = 0; i < p->extra->t.count; i++) {
        if (strcmp(pt_text(p, p->extra->key[i]), PT_PROCMAPS_EXTRA) != 0) continue;
        pt_out_put(w->out, pt_text(p, p->extra->value[i]), pt_text_bytes(p, p->extra->value[i]));
        pt_out_char(w->out, '\n');
    }
}

/* The target's word size. A 32-bit profile stays 32-bit, unless an address does not fit. */
static pt_gperf_target choose_target(const pt_profile *p)
{
    const pt_provenance *s = pt_profile_provenance(p);
    pt_gperf_target target = {.word_bytes = s->word_bytes == 4 ? 4 : 8,
                              .big_endian = s->big_endian};
    for (uint32_t l = 0; l < p->location->t.count; l++) {
        if (p->location->address[l] >= UINT32_MAX) target.word_bytes = 8;
    }
    return target;
}

static pt_status write_profile(const pt_profile *p, const pt_output *output,
                               const pt_write_options *options, pt_error *reterr)
{
    writing w = {.p = p, .target = choose_target(p), .ends = PT_BUF_INIT};
    const pt_status status = choose_event(&w, options, reterr);
    if (status != PT_OK) return status;
    if (!pt_has_addresses(p, reterr)) return PT_ERR_UNSUPPORTED;
    w.out = output->open(output->context, "", reterr);
    if (w.out == NULL) return reterr != NULL ? reterr->status : PT_ERR_SYSTEM;

    uint8_t bytes[5 * 8];
    pt_wire_buf wire = pt_wire_buf_init(bytes, sizeof bytes);
    pt_gperf_header(&wire, w.target, period_us(p, options->diag));
    pt_out_put(w.out, bytes, wire.need_bytes);
    pt_buf buf = PT_BUF_INIT;
    for (uint32_t i = 0; i < p->sample->t.count; i++)
        write_sample(&w, i, &buf);
    pt_buf_done(&buf);
    wire = pt_wire_buf_init(bytes, sizeof bytes);
    pt_gperf_trailer(&wire, w.target);
    pt_out_put(w.out, bytes, wire.need_bytes);
    write_text(&w);
    pt_buf_done(&w.ends);
    pt_diag_add(options->diag, w.nameless, "frames without an address left out");
    pt_diag_add(options->diag, w.lost, "samples without an address left out");
    pt_diag_add(options->diag, w.odd_ids, "build ids not in hex left out");
    pt_diag_add(options->diag, w.negative, "negative values left out");
    pt_diag_add(options->diag, w.remainder, "values rounded down to whole samples");
    return pt_out_flush(w.out, reterr);
}

const pt_format pt_format_gperftools = {
    .name = "gperftools",
    .aliases = "gperftools-cpu google-perftools",
    .extensions = ".prof",
    .summary = "gperftools CPU profile (libprofiler), 32 and 64 bit, both byte orders",
    .kind = PT_PROBE_MAGIC,
    .capabilities = PT_CAN_STACKS | PT_CAN_ADDRESSES | PT_CAN_MAPPINGS | PT_CAN_UNITS |
                    PT_CAN_EXTRA | PT_CAN_HEADER | PT_CAN_END,
    .held_events = "samples/count cpu/nanoseconds",
    .probe = probe_gperftools,
    .read = read_profile,
    .write = write_profile,
};
