/* merge.c: see merge.h. */
#include "interp/merge.h"

/* An evaluator that begins or ends has at most this many native frames inside it: the evaluator
 * checks a result by functions that execute no interpreted frames (_Py_CheckFunctionResult,
 * PyErr_Occurred).
 */
enum { LEAF = 3 };

/* Frames of a guard: in all builds, and in some. */
enum { GUARD = 1, LONG_GUARD = 2 };

/* Is native frame i in the evaluator's code? */
static bool is_evaluating(const pt_interp_evaluator *evaluator, const uint64_t *native,
                          uint32_t count, uint32_t i)
{
    return i < count && pt_interp_is_evaluator(evaluator, native[i], i == 0);
}

/* Is that return address in the interpreter's file? */
static bool is_in_file(const pt_interp_evaluator *evaluator, uint64_t pc)
{
    return pt_interp_place(pc, false) - evaluator->file_low <
           evaluator->file_limit - evaluator->file_low;
}

/* Did a guard of at most `most` frames call the evaluator of frame i? */
static bool is_guarded(const pt_interp_evaluator *evaluator, const uint64_t *native, uint32_t count,
                       uint32_t i, uint32_t most)
{
    uint32_t frames = 0;
    while (frames < most && i + 1 + frames < count &&
           !is_evaluating(evaluator, native, count, i + 1 + frames))
        frames++;
    return frames > 0 && is_evaluating(evaluator, native, count, i + 1 + frames) &&
           (frames == 1 ||
            (is_in_file(evaluator, native[i + 1]) && is_in_file(evaluator, native[i + 2])));
}

/* Is the native stack that of a fiber? (merge.h) */
static bool is_of_fiber(const pt_interp_evaluator *evaluator, const uint64_t *native,
                        uint32_t count)
{
    return evaluator->has_fibers && count > 2 && is_in_file(evaluator, native[count - 1]) &&
           is_in_file(evaluator, native[count - 2]);
}

/* Does native frame i, an evaluator, begin a run? */
static bool is_evaluator(const pt_interp_evaluator *evaluator, const uint64_t *native,
                         uint32_t count, uint32_t i, uint32_t guard_most)
{
    return is_evaluating(evaluator, native, count, i) &&
           !(evaluator->has_guards && is_guarded(evaluator, native, count, i, guard_most));
}

/* Counts the runs that begin in the innermost `most` of `count` native frames. */
static uint32_t count_evaluators(const pt_interp_evaluator *evaluator, const uint64_t *native,
                                 uint32_t count, uint32_t most, uint32_t guard_most)
{
    uint32_t found = 0;
    for (uint32_t i = 0; i < most && i < count; i++)
        found += is_evaluator(evaluator, native, count, i, guard_most);
    return found;
}

/* The number of runs. The last run has no entry mark if frames were cut. */
static uint32_t count_runs(const uint64_t *frames, uint32_t count)
{
    uint32_t runs = 0;
    for (uint32_t i = 0; i < count; i++)
        runs += (frames[i] & PT_INTERP_ENTRY) != 0 || i + 1 == count;
    return runs;
}

/* The chain under construction. */
typedef struct {
    uint64_t *chain;
    uint32_t count;
    const uint64_t *frames;
    uint32_t frame_count, next; /* of frames */
} merging;

static void put_run(merging *m)
{
    while (m->next < m->frame_count) {
        const uint64_t word = m->frames[m->next++];
        if ((word & PT_INTERP_EMPTY) == 0)
            m->chain[m->count++] = word & ~(PT_INTERP_ENTRY | PT_INTERP_LAST);
        if ((word & PT_INTERP_ENTRY) != 0) return;
    }
}

pt_merge_result pt_interp_merge(const pt_interp_evaluator *evaluator, const uint64_t *native,
                                uint32_t native_count, bool is_whole, const uint64_t *frames,
                                uint32_t frame_count, uint64_t *ret_chain, uint32_t *ret_count)
{
    const uint32_t runs = count_runs(frames, frame_count);
    is_whole &= !is_of_fiber(evaluator, native, native_count);
    const bool has_all_runs = pt_interp_is_whole(frames, frame_count);
    const bool is_complete = is_whole && has_all_runs;
    uint32_t guard_most = GUARD;
    uint32_t evaluators = count_evaluators(evaluator, native, native_count, UINT32_MAX, GUARD);
    if (is_complete && evaluators > runs &&
        count_evaluators(evaluator, native, native_count, UINT32_MAX, LONG_GUARD) == runs) {
        guard_most = LONG_GUARD;
        evaluators = runs;
    }
    const bool is_at_leaf = count_evaluators(evaluator, native, native_count, LEAF, guard_most) > 0;
    merging m = {.chain = ret_chain, .frames = frames, .frame_count = frame_count};
    /* Complete chains are matched from the outermost frame inwards, so an excess evaluator is
     * innermost. */
    uint32_t without_run = is_complete && evaluators > runs ? evaluators - runs : 0;
    const bool is_certain =
        evaluators > runs ? (has_all_runs ? without_run == 1 && is_at_leaf : !is_at_leaf)
        : evaluators < runs
            ? !is_whole || (is_complete && evaluator->begins_early && evaluators + 1 == runs)
            : true;
    for (uint32_t extra = is_complete && runs > evaluators ? runs - evaluators : 0; extra > 0;
         extra--)
        put_run(&m);
    for (uint32_t i = 0; i < native_count; i++) {
        if (is_evaluator(evaluator, native, native_count, i, guard_most)) {
            if (without_run > 0)
                without_run--;
            else
                put_run(&m);
        }
        m.chain[m.count++] = native[i];
    }
    while (m.next < m.frame_count)
        put_run(&m);
    *ret_count = m.count;
    return is_certain ? PT_MERGE_CERTAIN : PT_MERGE_UNCERTAIN;
}
