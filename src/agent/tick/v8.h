/* v8.h: the JavaScript functions of V8 in a sample, and their names.
 *
 *   frame pointer of a native frame -> function object (interp/v8.h) -> shared function info
 *     -> the thread's own cache, by its address and content -> number
 *          | not there, or another function is there now
 *          v
 *        name, file, line -> the table of all threads (codes.h) -> number
 *
 * The stack of V8 is the native stack, and each JavaScript function has a frame pointer; so a frame
 * of JavaScript belongs to the step of the walk that took its frame pointer.
 *
 * Two words below the frame pointer may look like those of a JavaScript frame although C++ code has
 * saved them, or although their objects are gone. So each sample tests all pages before it reads
 * them (peek.h), and the kernel copies a function that the cache lacks. For a function of the cache
 * a gap remains: threads of V8 unmap memory while this thread is in the handler. If such a thread
 * unmaps the page between the test and the read, the program ends.
 */
#pragma once

#include "agent/tick/codes.h"
#include "agent/tick/language.h"
#include "agent/tick/peek.h"
#include "interp/merge.h"
#include "interp/v8.h"

enum {
    PT_TICK_V8_FRAMES_MAX = 480, /* in a sample; with native frames they fit PT_JOURNAL_CHAIN_MAX */
    PT_TICK_V8_NAME_BYTES = 512,
    PT_TICK_V8_FILE_BYTES = 2048,
};

/* The facts of V8 that the handler reads; never changed, only replaced. */
typedef struct {
    const pt_v8_layout *layout;
    uint64_t low, limit; /* the program's code, which keeps frame pointers where no rule covers
                          * it */
    pt_tick_codes *codes;
} pt_tick_v8_facts;

/* A function of a thread's cache. */
typedef struct {
    pt_v8_function function;
    uint32_t number;
    uint32_t sample; /* the last sample with the function */
} pt_tick_v8_slot;

/* A thread's own cache; all zero is empty. */
typedef struct {
    pt_tick_pages pages;
    pt_tick_v8_slot slot[512][4];
    pt_v8_lines lines; /* lines.budget is for the present sample */
    uint8_t text[PT_TICK_V8_NAME_BYTES + PT_TICK_V8_FILE_BYTES];
} pt_tick_v8_cache;

/* The state of a walk that looks for frames of JavaScript. */
typedef struct {
    const pt_tick_v8_facts *facts; /* NULL: there is no V8 */
    pt_tick_v8_cache *cache;
    uint32_t count;
    uint64_t pc, sp, fp; /* of the native frame at hand */
    bool has_fp;
    bool has_met; /* a frame of JavaScript, or of V8's own functions, was met */
} pt_tick_v8_walk;

/* cache: the thread's, or NULL. */
void pt_tick_v8_begin(pt_tick_v8_walk *walk, pt_tick_v8_cache *cache);

/* Called after a step by frame pointer. Returns the frame word (language.h) of the frame of
 * JavaScript whose frame pointer is walk->fp; 0 if that frame is of another kind, or its function
 * cannot be named. */
uint64_t pt_tick_v8_word(pt_tick_v8_walk *walk);
