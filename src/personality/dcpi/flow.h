/* flow.h: basic blocks of a procedure, which of them run equally often, and an estimate of how
 * often that is, from nothing but samples of time.
 *
 *   A: cmpl; jle C     10 samples      A, C run equally often: class 0
 *   B: 8 instructions  80 samples  ->  B alone:                class 1
 *   C: retq             2 samples
 *
 * Blocks are equal in frequency when every cycle through the procedure (with an edge from its exit
 * to its entry) that has one has the other: cycle equivalence (Johnson, Pearson, Pingali, "The
 * Program Structure Tree", PLDI 1994), as DCPI has it (Anderson et al., "Continuous Profiling",
 * SOSP 1997, section 6). Found by labels: each edge outside a spanning tree has a random number, a
 * tree edge the exclusive or of those whose cycles it is on; equal labels are equal classes.
 *
 * A machine of a given width runs n instructions in n / width cycles at best. So the samples of a
 * block over that are at least proportional to its executions, and the least such ratio among the
 * blocks of a class with enough samples is the estimate: that block is assumed not to have stalled.
 * The estimate is an upper bound. A better one needs events of the hardware.
 */
#pragma once

#include "personality/dcpi/procedures.h"

typedef struct pt_flow_block {
    size_t first, count; /* instructions */
    uint32_t next[2];    /* blocks that may follow in the procedure */
    unsigned next_count;
    bool leaves;      /* it may return, or jump elsewhere */
    bool is_indirect; /* it jumps to where nobody knows */
    uint32_t class;
    double samples;
    double cpi; /* cycles an instruction; 0 = unknown */
} pt_flow_block;

typedef struct pt_flow_class {
    double samples, least_cycles; /* of one execution of its blocks */
    double rate;     /* samples that a cycle at full width of one execution stands for, which is
                        executions over the cycles between two samples; 0 = unknown */
    char confidence; /* H, M, L: how many samples and how many blocks are behind the estimate; '-'
                        without one */
    uint32_t sampled_blocks; /* blocks with samples: of a single one nothing tells whether it
                                stalled */
} pt_flow_class;

typedef struct pt_flow {
    pt_flow_block *block; /* ascending; the first is the entry */
    size_t block_count;
    uint32_t *block_of; /* per instruction */
    pt_flow_class *class;
    size_t class_count;
    double width;
    double samples;        /* of the procedure */
    double alone_samples;  /* of blocks that are the only ones of their class with samples */
    double known_samples;  /* of blocks whose frequency is estimated */
    double least_samples;  /* of those, what they would be if nothing stalled */
    double executed;       /* instructions, in units of rate */
    bool has_unknown_jump; /* targets of some jumps are guessed: any block that is reached in no
                              other way */
} pt_flow;

#define PT_FLOW_WIDTH 4 /* instructions a cycle, of most cores of the last decade */

/* Estimates the flow from one column of the procedure's counts. False if the machine's jumps are
 * not known (they are for x86 and AArch64), or if the procedure has no instructions. The caller
 * ends it with pt_flow_done. */
bool pt_flow_init(pt_flow *ret_flow, const pt_procedures *all, const pt_procedure *procedure,
                  uint32_t column, double width);
void pt_flow_done(pt_flow *flow);

/* The class of an instruction's block. */
static inline const pt_flow_class *pt_flow_class_at(const pt_flow *flow, size_t instruction)
{
    return &flow->class[flow->block[flow->block_of[instruction]].class];
}

/* The samples of an instruction beyond those of its cycles at full width; 0 if they are not known.
 */
double pt_flow_stall(const pt_flow *flow, const pt_procedures *all, const pt_procedure *procedure,
                     uint32_t column, size_t instruction);

/* The cause of stalls that an event counts, as DCPI's letter: i (instruction cache), I (its
 * translation), d (data cache), D (its translation), p (mispredicted branch); 0 for another event.
 */
char pt_flow_blame(const char *event);
/* The letters of the events that were counted at an instruction or the one before it, in the order
 * of the columns; "?" when there is none. buf has room for event_count + 2. */
void pt_flow_culprits(const pt_procedures *all, const pt_procedure *procedure, size_t instruction,
                      char *buf);
