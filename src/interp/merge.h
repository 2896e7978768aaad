/* merge.h: joins the frames of an interpreter with the native frames of the same stack.
 *
 * A native frame of the interpreter's evaluator executes one run of interpreted frames. The
 * outermost frame of a run is marked as its entry. So the two chains can be joined by counting:
 *
 *   native   read  evaluator  qsort  evaluator  main
 *   frames         f g*              h*               (* entry)
 *   chain    read  f g  evaluator  qsort  h  evaluator  main
 *
 * The chains do not always have one evaluator for each run:
 *
 * - An evaluator among the innermost native frames may have no run: it has just begun, or is about
 *   to return. It stays in the chain without frames.
 * - The innermost run may have no evaluator yet (begins_early).
 * - A guard (has_guards) is a native frame that calls the evaluator again for the run of the
 *   evaluator outside the guard. All frames of this run are outside the guard in the result.
 * - In some builds a guard has two native frames, both in the interpreter's own file. Two such
 *   frames can also lie between evaluators of different runs. So two frames are a guard only if the
 *   counts differ otherwise, and are equal then.
 * - The interpreter's chain may be cut: it has too many frames, or memory is unreadable. It lacks
 *   the outermost runs then, so runs are matched from the innermost outwards.
 * - A fiber (has_fibers) has a native stack of its own, but the interpreter's chain goes on to the
 *   frames of those who resumed the fiber. So these runs are matched from the innermost outwards,
 *   too. The two outermost frames of this stack lie in the interpreter's own file, as those of no
 *   thread do.
 *
 * If the counts differ in another way, the result has all frames of both chains, and is uncertain.
 * Pure functions: no memory but the caller's.
 */
#pragma once

#include <stdbool.h>
#include <stdint.h>

/* This bit marks a word (a 64-bit number in a chain) as a frame of an interpreter. No address of
 * code has this bit. */
#define PT_INTERP_FRAME (UINT64_C(1) << 63)
#define PT_INTERP_ENTRY (UINT64_C(1) << 62) /* the outermost frame of its run */
#define PT_INTERP_EMPTY (UINT64_C(1) << 61) /* no frame: marks an evaluator whose run is empty */
#define PT_INTERP_LAST  (UINT64_C(1) << 60) /* the interpreter's chain ends with this frame */

/* The evaluator's code: its function, and the part of it that a compiler placed elsewhere
 * (NAME.cold). */
typedef struct {
    uint64_t low[2], limit[2];     /* low equals limit if there is no such part */
    uint64_t file_low, file_limit; /* the code segment that contains the evaluator */
    bool begins_early;             /* a run's first frame is made before the evaluator is called */
    bool has_fibers; /* fibers have native stacks of their own, but their frames go on to those who
                      * resumed them */
    bool has_guards; /* an operation may guard against exceptions: it calls the evaluator again, by
                      * one or two functions, for the rest of the same run */
} pt_interp_evaluator;

/* An address inside the instruction that a frame executes: for a return address, inside the call
 * before it. */
static inline uint64_t pt_interp_place(uint64_t pc, bool is_innermost)
{
    return pc - (!is_innermost && pc > 0);
}

/* Is pc in the evaluator's code? is_innermost: pc is of the innermost frame; else it is a return
 * address. */
static inline bool pt_interp_is_evaluator(const pt_interp_evaluator *evaluator, uint64_t pc,
                                          bool is_innermost)
{
    pc = pt_interp_place(pc, is_innermost);
    for (int part = 0; part < 2; part++)
        if (pc - evaluator->low[part] < evaluator->limit[part] - evaluator->low[part]) return true;
    return false;
}

typedef enum { PT_MERGE_CERTAIN, PT_MERGE_UNCERTAIN } pt_merge_result;

/* Do the frames reach the end of the interpreter's chain? */
static inline bool pt_interp_is_whole(const uint64_t *frames, uint32_t count)
{
    return count == 0 || (frames[count - 1] & PT_INTERP_LAST) != 0;
}

/* Joins the two chains, both innermost first. native: pcs; all but the first are return
 * addresses. frames: words as above. is_whole: the native chain reaches the start of the thread.
 * ret_chain has room for native_count + frame_count words; the words in it have none of
 * PT_INTERP_ENTRY, PT_INTERP_EMPTY and PT_INTERP_LAST. */
pt_merge_result pt_interp_merge(const pt_interp_evaluator *evaluator, const uint64_t *native,
                                uint32_t native_count, bool is_whole, const uint64_t *frames,
                                uint32_t frame_count, uint64_t *ret_chain, uint32_t *ret_count);
