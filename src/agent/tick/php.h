/* php.h: the frames of PHP in a sample, and the names of their functions.
 *
 *   executor_globals -> frames (interp/php.h) -> function
 *     -> the thread's own cache, by address and content of the function -> number
 *          | not there, or another function is there now
 *          v
 *        name, file, copied -> the table of all threads, by content -> number
 *
 * A process has one chain of frames. It belongs to the thread whose native stack has the evaluator;
 * other threads must not read the chain, since it may change while they read. If the native stack
 * could not be walked to its end, as in code that opcache has compiled, the stack does not show
 * whether the chain is the thread's. Then the thread counts as the owner if it was the owner in its
 * last sample, or if the evaluator's register holds the innermost frame.
 *
 * The evaluator keeps its frame and its instruction in registers, and saves the instruction only
 * before it calls code that may throw. So the line of the innermost frame comes from the registers,
 * if these hold that frame, and else from the frame.
 *
 * Before a page is read, it is tested as for CPython (python.h). All objects that are read belong
 * to this thread.
 */
#pragma once

#include "agent/tick/codes.h"
#include "agent/tick/language.h"
#include "agent/tick/peek.h"
#include "agent/tick/slots.h"
#include "interp/merge.h"
#include "interp/php.h"

enum {
    PT_TICK_PHP_FRAMES_MAX = 512, /* in a sample */
    PT_TICK_PHP_WRONG_LOOKS =
        16, /* after so many objects that do not fit the layout, and none that fits, frames are no
               longer read */
    PT_TICK_PHP_NAME_BYTES = 512,
    PT_TICK_PHP_FILE_BYTES = 2048,
};

/* The facts of the interpreter that the handler reads; never changed, only replaced. */
typedef struct {
    const pt_php_layout *layout;
    uint64_t globals;         /* executor_globals */
    uint64_t generator_class; /* the address of zend_ce_generator, which is set later */
    const pt_interp_evaluator *evaluator;
    pt_tick_codes *codes;
} pt_tick_php_facts;

/* A thread's own cache; all zero is empty. */
typedef struct {
    pt_tick_pages pages;
    bool runs_php; /* the chain of frames was this thread's in its last sample */
    pt_php_walk walk;
    pt_tick_slots slots; /* by the address of a function's instructions, which closures share; a C
                            function by its own address */
    uint8_t text[PT_TICK_PHP_NAME_BYTES + PT_TICK_PHP_FILE_BYTES];
} pt_tick_php_cache;

/* A reader of pt_tick_read_frames. of_thread: a pt_tick_php_cache; of_process: pt_tick_php_facts.
 */
uint32_t pt_tick_php_frames(void *of_thread, const void *of_process, const pt_tick_frames *frames);
