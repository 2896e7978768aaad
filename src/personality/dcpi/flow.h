/* flow.h: the basic blocks of a procedure, the classes of blocks that run equally often, and an
 * estimate of how often each class ran, from samples of time alone.
 *
 *   A: cmpl; jle C     10 samples      A, C run equally often: class 0
 *   B: 8 instructions  80 samples  ->  B alone:                class 1
 *   C: retq             2 samples
 *
 * Two blocks run equally often if every cycle through the procedure (with an edge added from its
 * exit to its entry) that contains one of them also contains the other. This is cycle equivalence
 * (Johnson, Pearson, Pingali, "The Program Structure Tree", PLDI 1994), which DCPI also uses
 * (Anderson et al., "Continuous Profiling", SOSP 1997, section 6). It is found by labels: each edge
 * outside a spanning tree gets a random number. A tree edge gets the exclusive or of the numbers of
 * those edges whose cycles through the tree contain it. Edges with equal labels are of one class.
 *
 * A machine of a given width runs n instructions in n / width cycles at best. The ratio of a
 * block's samples to these least cycles grows with its executions and with its stalls. So the
 * smallest ratio among the blocks of a class with enough samples is the estimate: that block is
 * assumed not to have stalled. The estimate is an upper bound. A better estimate needs events of
 * the hardware.
 */
#pragma once

#include "personality/dcpi/procedures.h"

typedef struct pt_flow_block {
    size_t first, count; /* instructions */
    uint32_t next[2];    /* blocks that may follow in the procedure */
    unsigned next_count;
    bool leaves;      /* the block may return, or jump out of the procedure */
    bool is_indirect; /* the block ends with a jump whose target is unknown */
    uint32_t class;
    double samples;
    double cpi; /* cycles per instruction; 0 = unknown */
} pt_flow_block;

typedef struct pt_flow_class {
    double samples, least_cycles; /* of all blocks of the class: their samples, and the least cycles
                                   * of one execution of each */
    double rate;     /* samples for each least cycle of one execution: the number of executions
                        divided by the cycles between two samples; 0 = unknown */
    char confidence; /* H, M, L: how many samples and how many blocks the estimate comes from; '-'
                      * without an estimate */
    uint32_t sampled_blocks; /* blocks with samples; if there is only one, nobody knows if it
                              * stalled */
} pt_flow_class;

typedef struct pt_flow {
    pt_flow_block *block; /* ascending; the first is the entry */
    size_t block_count;
    uint32_t *block_of; /* per instruction */
    pt_flow_class *class;
    size_t class_count;
    double width;
    double samples;        /* of the procedure */
    double alone_samples;  /* samples of blocks that alone of their class have samples */
    double known_samples;  /* samples of blocks whose frequency is estimated */
    double least_samples;  /* the samples that those blocks would have if nothing stalled */
    double executed;       /* instructions, in units of rate */
    bool has_unknown_jump; /* a jump has an unknown target; the estimate assumes that it leads to
                            * the blocks that are reached in no other way */
} pt_flow;

#define PT_FLOW_WIDTH 4 /* instructions a cycle, of most cores of the last decade */

/* Estimates the flow from one column of the procedure's counts. Returns false if the machine's
 * jumps are not known (they are for x86 and AArch64), or if the procedure has no instructions. The
 * caller frees *ret_flow with pt_flow_done. */
bool pt_flow_init(pt_flow *ret_flow, const pt_procedures *all, const pt_procedure *procedure,
                  uint32_t column, double width);
void pt_flow_done(pt_flow *flow);

/* The class of an instruction's block. */
static inline const pt_flow_class *pt_flow_class_at(const pt_flow *flow, size_t instruction)
{
    return &flow->class[flow->block[flow->block_of[instruction]].class];
}

/* The samples of an instruction beyond those that it would have if nothing stalled; 0 if this
 * number is unknown. */
double pt_flow_stall(const pt_flow *flow, const pt_procedures *all, const pt_procedure *procedure,
                     uint32_t column, size_t instruction);

/* The cause of stalls that an event counts, as DCPI's letter: i (misses of the instruction cache),
 * I (of the instruction TLB), d (of the data cache), D (of the data TLB), p (mispredicted
 * branches); 0 for another event. */
char pt_flow_blame(const char *event);
/* Writes to buf the letters of the events that were counted at an instruction or the instruction
 * before it, in the order of the columns; "?" if there are none. buf has room for event_count + 2
 * bytes. */
void pt_flow_culprits(const pt_procedures *all, const pt_procedure *procedure, size_t instruction,
                      char *buf);
