/* fold.c: turns samples in the rings into distinct stacks with counts; copies of stacks are kept
 * unchanged.
 *
 * The stacks lie in the journal's image, where they are appended and never moved. The index that
 * finds them is separate memory: open addressing by a 64-bit hash, at most three quarters full. */
#include "agent/agent.h"

#include <stdatomic.h>
#include <string.h>
#include <sys/mman.h>

enum {
    AREA_FIRST_BYTES = 16 << 10,
    AREA_LAST_BYTES = 4 << 20,
    INDEX_FIRST = 1024,         /* entries */
    COPIES_MAX_BYTES = 8 << 20, /* of a process; samples after that are walked without tables */
};

typedef struct {
    uint64_t hash;
    pt_journal_stack *stack; /* NULL = free */
} entry;

static struct {
    entry *index;
    size_t cap, count;
    pt_journal_area *area; /* the area that is being filled */
    size_t area_bytes;     /* of the next area */
    bool refreshed;        /* mappings were read again in this round */
    size_t copied_bytes;   /* in areas of copies */
} fold = {.area_bytes = AREA_FIRST_BYTES};

static PT_FAR struct {
    uint64_t words[PT_JOURNAL_CHAIN_MAX]; /* of a ring */
    uint64_t pcs[PT_JOURNAL_CHAIN_MAX];
} chain;

PT_NEAR void pt_fold_reset(void)
{
    if (fold.index != NULL) munmap(fold.index, fold.cap * sizeof fold.index[0]);
    pt_fold_after_fork();
}

PT_NEAR void pt_fold_after_fork(void)
{
    PT_SET(fold.index, NULL);
    PT_SET(fold.cap, 0);
    PT_SET(fold.count, 0);
    PT_SET(fold.area, NULL);
    PT_SET(fold.area_bytes, AREA_FIRST_BYTES);
    PT_SET(fold.copied_bytes, 0);
}

/* Multiplies and folds one 64-bit word after the other; the constants are those of the golden ratio
 * and of splitmix64. */
static uint64_t hash_of(const uint64_t *pcs, uint32_t depth, unsigned end, uint16_t epoch)
{
    uint64_t hash = UINT64_C(0x9e3779b97f4a7c15) ^ ((uint64_t)depth << 32 | end << 16 | epoch);
    for (uint32_t i = 0; i < depth; i++) {
        hash = (hash ^ pcs[i]) * UINT64_C(0xbf58476d1ce4e5b9);
        hash ^= hash >> 29;
    }
    return hash;
}

static entry *slot_of(entry *index, size_t cap, uint64_t hash, const pt_journal_stack *like)
{
    for (size_t i = hash & (cap - 1);; i = (i + 1) & (cap - 1)) {
        entry *const at = &index[i];
        if (at->stack == NULL) return at;
        if (at->hash == hash && like != NULL && at->stack->depth == like->depth &&
            at->stack->end == like->end && at->stack->epoch == like->epoch &&
            at->stack->merged == like->merged &&
            memcmp(at->stack + 1, chain.pcs, like->depth * sizeof chain.pcs[0]) == 0)
            return at;
    }
}

static bool index_has_room(void)
{
    if (fold.count * 4 < fold.cap * 3) return true;
    const size_t cap = fold.cap == 0 ? INDEX_FIRST : fold.cap * 2;
    entry *const index = pt_agent_map(cap * sizeof index[0]);
    if (index == NULL) return fold.count < fold.cap - 1 && fold.cap > 0;
    madvise(index, cap * sizeof index[0], MADV_DONTFORK);
    for (size_t i = 0; i < fold.cap; i++) {
        if (fold.index[i].stack != NULL)
            *slot_of(index, cap, fold.index[i].hash, NULL) = fold.index[i];
    }
    if (fold.index != NULL) munmap(fold.index, fold.cap * sizeof fold.index[0]);
    fold.index = index;
    fold.cap = cap;
    return true;
}

/* Areas grow with their content. Near the end of the image a smaller area may still fit. */
static pt_journal_area *new_area(void)
{
    pt_journal_area *area;
    while ((area = pt_journal_area_new(&pt_agent.journal, PT_JOURNAL_STACKS, fold.area_bytes)) ==
               NULL &&
           fold.area_bytes > AREA_FIRST_BYTES)
        fold.area_bytes /= 2;
    return area;
}

_Static_assert(AREA_FIRST_BYTES >= sizeof(pt_journal_area) + sizeof(pt_journal_stack) +
                                       PT_JOURNAL_CHAIN_MAX * sizeof(uint64_t),
               "the smallest area holds any stack");

/* Room for a record of size bytes in the journal; NULL if the journal is full. */
static void *area_room(size_t size)
{
    void *const room = pt_journal_room(fold.area, size);
    if (room != NULL) return room;
    pt_journal_area *const area = new_area();
    if (area == NULL) return NULL;
    fold.area = area;
    if (fold.area_bytes < AREA_LAST_BYTES) fold.area_bytes *= 2;
    return pt_journal_room(area, size);
}

/* Reads the mappings again, at most once a round. */
static void look_at_maps_again(void)
{
    if (!fold.refreshed) pt_maps_learn();
    fold.refreshed = true;
}

/* Reads the mappings again if a frame of a new stack lies in no known mapping. */
static void look_for_unknown_code(uint32_t depth)
{
    for (uint32_t i = 0; i < depth && !fold.refreshed; i++)
        if ((chain.pcs[i] & PT_JOURNAL_CODE_FRAME) == 0 && !pt_maps_known(chain.pcs[i]))
            look_at_maps_again();
}

/* After a library was unloaded, reads the mappings again if a stack may have code of it, or of a
 * library that has taken its place. */
static void look_for_replaced_code(uint32_t words)
{
    for (uint32_t i = 0; i < words && !fold.refreshed && pt_maps_are_expired(); i++)
        if ((chain.words[i] & PT_JOURNAL_CODE_FRAME) == 0 && !pt_maps_lasts(chain.words[i]))
            look_at_maps_again();
}

static void count_stack(uint32_t depth, unsigned end, uint8_t merged, uint32_t weight)
{
    pt_journal_header *const header = pt_agent.journal.header;
    if (pt_agent.recording && !pt_journal_leave_out_own(&header->spans, chain.pcs, &depth)) {
        header->own_weight += weight;
        return;
    }
    pt_journal_stack like = {.count = weight,
                             .depth = depth,
                             .end = (uint8_t)end,
                             .merged = merged,
                             .epoch = pt_maps_epoch_of(chain.pcs, depth)};
    bool room = index_has_room();
    uint64_t hash = hash_of(chain.pcs, depth, end, like.epoch);
    entry *at = room ? slot_of(fold.index, fold.cap, hash, &like) : NULL;
    if (at != NULL && at->stack == NULL) {
        look_for_unknown_code(depth);
        const uint16_t epoch = pt_maps_epoch_of(chain.pcs, depth);
        if (like.epoch != epoch) {
            like.epoch = epoch;
            hash = hash_of(chain.pcs, depth, end, like.epoch);
            at = slot_of(fold.index, fold.cap, hash, &like);
        }
    }
    if (at != NULL && at->stack != NULL) {
        at->stack->count += weight;
        pt_publish_note(&at->stack->count, sizeof at->stack->count);
        return;
    }
    const size_t size = sizeof like + depth * sizeof chain.pcs[0];
    pt_journal_stack *const record = at == NULL ? NULL : area_room(size);
    if (record == NULL) {
        pt_agent.journal.header->fold_dropped += weight;
        return;
    }
    *record = like;
    memcpy(record + 1, chain.pcs, depth * sizeof chain.pcs[0]);
    pt_journal_add(fold.area, size);
    *at = (entry){.hash = hash, .stack = record};
    fold.count++;
}

/* Counts a ring's record. Its words are native addresses, among them frames of V8, then the frames
 * of a language that are joined with the native ones by counting. */
static void count_words(uint32_t native, uint32_t frames, unsigned end, uint32_t weight)
{
    const bool is_whole = end == PT_JOURNAL_END_ROOT || end == PT_JOURNAL_END_UNCHECKED;
    bool is_certain;
    look_for_replaced_code(native);
    const bool is_mixed = pt_codes_keep(chain.words, native + frames);
    const uint32_t depth =
        pt_languages_merge(chain.words, native, frames, is_whole, chain.pcs, &is_certain);
    const uint8_t merged = !is_mixed    ? PT_JOURNAL_NATIVE
                           : is_certain ? PT_JOURNAL_MERGED
                                        : PT_JOURNAL_MERGED_UNCERTAIN;
    if (is_whole && !pt_interp_is_whole(chain.words + native, frames))
        end = PT_JOURNAL_END_TRUNCATED;
    count_stack(depth, end, merged, weight);
}

/* Copies the sample of `words` words that begins at the ring's word `from` to an area of its own.
 * The reader of the journal walks the stack later, so all mappings must be known now. */
static void keep_copy(const pt_tick_ring *ring, uint64_t from, uint32_t words, uint64_t word)
{
    const uint64_t mask = ring->ring_words - 1;
    const size_t size = sizeof(pt_journal_copy) + words * sizeof(uint64_t);
    pt_journal_area *const area =
        pt_journal_area_new(&pt_agent.journal, PT_JOURNAL_COPIES, sizeof *area + size);
    pt_journal_copy *const record = pt_journal_room(area, size);
    if (record == NULL) {
        pt_agent.journal.header->fold_dropped += pt_tick_ring_weight(word);
        return;
    }
    look_at_maps_again();
    static const uint64_t nowhere = 1; /* an address in no mapping, so the epoch is the present
                                        * one */
    *record = (pt_journal_copy){.weight = pt_tick_ring_weight(word),
                                .stack_words = words - PT_MACHINE_REGS_MAX,
                                .reg_count = PT_MACHINE_REGS_MAX,
                                .epoch = pt_maps_epoch_of(&nowhere, 1),
                                .is_cut = pt_tick_ring_end(word) == PT_TICK_CUT_COPY};
    uint64_t *const to = (uint64_t *)(record + 1);
    for (uint32_t i = 0; i < words; i++)
        to[i] = ring->words[(from + i) & mask];
    pt_journal_add(area, size);
    fold.copied_bytes += area->size_bytes;
    if (fold.copied_bytes > COPIES_MAX_BYTES) atomic_store(&pt_tick.copies_stacks, 0);
}

/* The sums of a round over all rings. */
typedef struct {
    uint64_t fullest; /* words of the ring that had most */
    uint64_t ticks, weight, dropped, filtered, kernel;
} round_sums;

/* Adds the ring's counters to the sums and returns the ring's head. The counters belong to that
 * head: they include no later sample, and at most one tick whose handler is still running. */
static uint64_t count_ring(const pt_tick_ring *ring, round_sums *sums)
{
    uint64_t head, ticks, weight, dropped, filtered, kernel;
    do {
        head = __atomic_load_n(&ring->head_words, __ATOMIC_ACQUIRE);
        ticks = __atomic_load_n(&ring->ticks, __ATOMIC_ACQUIRE);
        weight = __atomic_load_n(&ring->weight, __ATOMIC_ACQUIRE);
        dropped = __atomic_load_n(&ring->dropped, __ATOMIC_ACQUIRE);
        filtered = __atomic_load_n(&ring->filtered, __ATOMIC_ACQUIRE);
        kernel = __atomic_load_n(&ring->kernel, __ATOMIC_ACQUIRE);
    } while (head != __atomic_load_n(&ring->head_words, __ATOMIC_ACQUIRE));
    sums->ticks += ticks;
    sums->weight += weight;
    sums->dropped += dropped;
    sums->filtered += filtered;
    sums->kernel += kernel;
    return head;
}

PT_NEAR static void fold_ring(pt_tick_ring *ring, void *arg)
{
    round_sums *const sums = arg;
    const uint64_t mask = ring->ring_words - 1;
    const uint64_t head = count_ring(ring, sums);
    if (head - ring->tail_words > sums->fullest) sums->fullest = head - ring->tail_words;
    while (ring->tail_words != head) {
        const uint64_t tail = ring->tail_words;
        const uint64_t word = ring->words[tail & mask];
        const uint32_t depth = pt_tick_ring_depth(word), frames = pt_tick_ring_frames(word);
        if (pt_tick_is_copy(pt_tick_ring_end(word))) {
            keep_copy(ring, tail + 1, depth, word);
        } else {
            const uint32_t kept = depth < PT_JOURNAL_CHAIN_MAX ? depth : PT_JOURNAL_CHAIN_MAX;
            const uint32_t most = depth - frames, native = kept < most ? kept : most;
            for (uint32_t i = 0; i < kept; i++)
                chain.words[i] = ring->words[(tail + 1 + i) & mask];
            count_words(native, kept - native, pt_tick_ring_end(word), pt_tick_ring_weight(word));
        }
        __atomic_store_n(&ring->tail_words, tail + 1 + depth, __ATOMIC_RELEASE);
    }
}

PT_NEAR uint64_t pt_fold_rings(void)
{
    round_sums sums = {0};
    fold.refreshed = false;
    pt_threads_each_ring(fold_ring, &sums);
    /* The header changes at the end of a round: if the process is killed in a round, the journal
     * has the counters of the round before. */
    pt_journal_header *const header = pt_agent.journal.header;
    header->ticks = sums.ticks;
    header->weight = sums.weight;
    header->ring_dropped = sums.dropped;
    header->filtered = sums.filtered;
    header->kernel_weight = sums.kernel;
    return sums.fullest;
}

void pt_fold_each(void (*use)(const pt_journal_stack *stack, void *arg), void *arg)
{
    const pt_agent_journal *const journal = &pt_agent.journal;
    for (size_t at = PT_JOURNAL_HEADER_BYTES; at < journal->used_bytes;) {
        const pt_journal_area *const area = (const pt_journal_area *)(journal->base + at);
        for (size_t used = 0; area->kind == PT_JOURNAL_STACKS && used < area->used_bytes;) {
            const pt_journal_stack *const stack =
                (const pt_journal_stack *)((const uint8_t *)(area + 1) + used);
            use(stack, arg);
            used += sizeof *stack + stack->depth * sizeof(uint64_t);
        }
        at += area->size_bytes;
    }
}
