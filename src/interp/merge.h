/* merge.h: the frames of an interpreter put among the native ones of the same stack.
 *
 * Each native frame of the evaluator runs the frames of one run, whose last one is marked as its
 * entry. So the two chains are joined by counting:
 *
 *   native   read  evaluator  qsort  evaluator  main
 *   frames         f g*              h*               (* entry)
 *   chain    read  f g  evaluator  qsort  h  evaluator  main
 *
 * An evaluator among the innermost native frames, with no run left for it, has only begun, or is
 * about to return: it stays native. If the chains do not match in another way, the result has all
 * frames of both, and is uncertain. Pure: no memory but the caller's.
 */
#ifndef PT_INTERP_MERGE_H
#define PT_INTERP_MERGE_H

#include <stdbool.h>
#include <stdint.h>

/* A frame of an interpreter is a word with this bit, which no address of code has. */
#define PT_INTERP_FRAME (UINT64_C(1) << 63)
#define PT_INTERP_ENTRY (UINT64_C(1) << 62) /* the last of its run */
#define PT_INTERP_EMPTY (UINT64_C(1) << 61) /* no frame, but the evaluator of a run without any */

/* Where an evaluator's code is: its function, and the part of it that a compiler put elsewhere. */
typedef struct {
    uint64_t low[2], limit[2]; /* equal: not there */
} pt_interp_evaluator;

typedef enum { PT_MERGE_CERTAIN, PT_MERGE_UNCERTAIN } pt_merge_result;

/* native: pcs, innermost first, all but the first return addresses. frames: words as above,
 * innermost first. is_whole: the native chain reaches where the thread began. ret_chain has room
 * for both; its words have neither PT_INTERP_ENTRY nor PT_INTERP_EMPTY. */
pt_merge_result pt_interp_merge(const pt_interp_evaluator *evaluator, const uint64_t *native,
                                uint32_t native_count, bool is_whole, const uint64_t *frames,
                                uint32_t frame_count, uint64_t *ret_chain, uint32_t *ret_count);

#endif
