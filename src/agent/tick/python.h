/* python.h: the frames of CPython in a sample, and the names of their code.
 *
 *   thread's state (pthread key) -> frames (interp/python.h) -> code object
 *     -> the thread's own cache, by address and content of the object -> number
 *          | not there, or another object is there now
 *          v
 *        name, file, line table, copied -> the table of all threads, by content -> number
 *
 * All memory that is read belongs to the thread that was interrupted. Its frames hold references to
 * their code, so that no other thread frees a frame or its code while this thread is in the
 * handler. There are two exceptions. The innermost frame may be half made or half gone. And while
 * another thread ends the interpreter, the thread's state may go; then no frame is read. So each
 * page is tested before it is read: pages of the innermost frame in each sample, other pages once
 * in PT_TICK_TRUST samples (peek.h).
 */
#pragma once

#include <pthread.h>
#include <stdbool.h>
#include <stdint.h>

#include "agent/tick/codes.h"
#include "agent/tick/language.h"
#include "agent/tick/peek.h"
#include "interp/merge.h"
#include "interp/python.h"

enum {
    PT_TICK_PYTHON_FRAMES_MAX = 512, /* in a sample */
    PT_TICK_PYTHON_WRONG_LOOKS =
        16, /* after so many objects that do not fit the layout, and none that fits, frames are no
               longer read */
    PT_TICK_PYTHON_NAME_BYTES = 512,
    PT_TICK_PYTHON_FILE_BYTES = 2048,
};

/* The facts of the interpreter that the handler reads; never changed, only replaced. */
typedef struct {
    const pt_python_layout *layout;
    uint64_t runtime; /* _PyRuntime */
    uint64_t code_type, text_type, bytes_type;
    pt_tick_codes *codes;
    void *(*getspecific)(pthread_key_t); /* libc's */
} pt_tick_python_facts;

/* A code object in a thread's cache, with the fields that identified it. */
typedef struct {
    uint64_t code, name, file, lines, print;
    int32_t first_line;
    uint32_t number;
    uint32_t sample; /* the last sample in which all pages of the object were tested */
    uint64_t seen;   /* the last sample in which the object was compared */
} pt_tick_python_slot;

/* A thread's own cache; all zero is empty. */
typedef struct {
    pt_tick_pages pages;
    uint64_t samples; /* that were taken */
    pt_tick_python_slot code[1024][2];
    uint8_t text[PT_TICK_PYTHON_NAME_BYTES + PT_TICK_PYTHON_FILE_BYTES + (64 << 10)];
} pt_tick_python_cache;

/* Copies memory of a process with an interpreter. Returns false if the memory is not mapped, or
 * cache is NULL. */
bool pt_tick_python_peek(pt_tick_python_cache *cache, uint64_t addr, void *to, size_t size);

/* A reader of pt_tick_read_frames. of_thread: a pt_tick_python_cache; of_process:
 * pt_tick_python_facts. */
uint32_t pt_tick_python_frames(void *of_thread, const void *of_process,
                               const pt_tick_frames *frames);
