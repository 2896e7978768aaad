/* perl.h: the frames of Perl in a sample, and the names of their code.
 *
 *   thread's interpreter (pthread key) -> frames (interp/perl.h) -> sub, file of the statement
 *     -> the thread's own cache, by these two addresses and the content there -> number
 *          | not there, or other code is there now
 *          v
 *        name, file, first line, copied -> the table of all threads, by content -> number
 *
 * All memory that is read belongs to the thread's own interpreter. Before a page is read, it is
 * tested as for CPython (python.h).
 */
#pragma once

#include <pthread.h>

#include "agent/tick/codes.h"
#include "agent/tick/language.h"
#include "agent/tick/peek.h"
#include "agent/tick/slots.h"
#include "interp/perl.h"

enum {
    PT_TICK_PERL_FRAMES_MAX = 512, /* in a sample */
    PT_TICK_PERL_WRONG_LOOKS =
        16, /* after so many objects that do not fit the layout, and none that fits, frames are no
               longer read */
    PT_TICK_PERL_NAME_BYTES = 512,
    PT_TICK_PERL_FILE_BYTES = 2048,
};

/* The facts of the interpreter that the handler reads; never changed, only replaced. */
typedef struct {
    const pt_perl_layout *layout;
    uint64_t key; /* address of the pthread key */
    pt_tick_codes *codes;
    void *(*getspecific)(pthread_key_t); /* libc's */
} pt_tick_perl_facts;

/* A thread's own cache; all zero is empty. */
typedef struct {
    pt_tick_pages pages;
    pt_tick_slots slots; /* by the addresses of the sub and of the file's name */
    uint8_t text[PT_TICK_PERL_NAME_BYTES + PT_TICK_PERL_FILE_BYTES];
} pt_tick_perl_cache;

/* A reader of pt_tick_read_frames. of_thread: a pt_tick_perl_cache; of_process:
 * pt_tick_perl_facts. */
uint32_t pt_tick_perl_frames(void *of_thread, const void *of_process, const pt_tick_frames *frames);
