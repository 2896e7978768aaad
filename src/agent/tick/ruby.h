/* ruby.h: the frames of Ruby in a sample, and the names of their code.
 *
 *   ruby_current_ec, thread-local -> frames (interp/ruby.h) -> code, class of the method
 *     -> the thread's own cache, by these two addresses and the code's content -> number
 *          | not there, or other code is there now
 *          v
 *        name, file, first line, copied -> the table of all threads, by content -> number
 *
 * All memory that is read belongs to the thread that was interrupted: its frames hold references to
 * their code. Before a page is read, it is tested as for CPython (python.h).
 *
 * ruby_current_ec is found in the same way as glibc finds it: the thread pointer leads to a table
 * with the address of each module's thread-local variables. This table is the ABI's dynamic thread
 * vector: an entry has two words, and the entry before the first one has the number of entries.
 */
#pragma once

#include "agent/tick/codes.h"
#include "agent/tick/language.h"
#include "agent/tick/peek.h"
#include "agent/tick/slots.h"
#include "interp/ruby.h"

enum {
    PT_TICK_RUBY_FRAMES_MAX = 512, /* in a sample */
    PT_TICK_RUBY_WRONG_LOOKS =
        16, /* after so many objects that do not fit the layout, and none that fits, frames are no
               longer read */
    PT_TICK_RUBY_NAME_BYTES = 512,
    PT_TICK_RUBY_FILE_BYTES = 2048,
};

/* The facts of the interpreter that the handler reads; never changed, only replaced. */
typedef struct {
    const pt_ruby_layout *layout;
    /* The number of the module, and the place of ruby_current_ec among its variables. Module 0:
     * `context` is the address of the only context. */
    uint64_t module, context;
    uint64_t object, string; /* addresses of rb_cObject, rb_cString; 0 if unknown */
    pt_tick_codes *codes;
} pt_tick_ruby_facts;

/* A thread's own cache; all zero is empty. */
typedef struct {
    pt_tick_pages pages;
    pt_ruby_keys keys;   /* once they are known */
    pt_tick_slots slots; /* by the address of the code and that of the method's class */
    uint8_t text[PT_TICK_RUBY_NAME_BYTES + PT_TICK_RUBY_FILE_BYTES];
} pt_tick_ruby_cache;

/* A reader of pt_tick_read_frames. of_thread: a pt_tick_ruby_cache; of_process:
 * pt_tick_ruby_facts. */
uint32_t pt_tick_ruby_frames(void *of_thread, const void *of_process, const pt_tick_frames *frames);
