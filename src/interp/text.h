/* SPDX-License-Identifier: GPL-2.0 OR Apache-2.0 */
/* text.h: reading the memory of an interpreter, and texts in it. Freestanding, async-signal-safe.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* Copies size bytes of the process's memory. Returns false if these bytes are unreadable. */
typedef bool pt_interp_read(void *arg, uint64_t addr, void *to, size_t size);

/* The result of a step through the frames of an interpreter. */
typedef enum {
    PT_INTERP_FRAME_READ, /* a frame was read */
    PT_INTERP_END,        /* the stack has no more frames */
    PT_INTERP_CUT,        /* the stack has more frames than were asked for */
    PT_INTERP_BAD_READ,   /* the memory does not fit the layout */
} pt_interp_step;

/* A check of code (pt_php_check, ...) in 32 bits; never 0. */
static inline uint32_t pt_interp_short_check(uint64_t check)
{
    return ((uint32_t)(check >> 32) ^ (uint32_t)check) | 1;
}

/* Copies a text of `length` bytes up to its first zero, not terminated. If it has more than cap
 * bytes, the copy ends before the character of UTF-8 that crosses cap. Returns false if the text is
 * unreadable; `to` is then undefined. */
bool pt_interp_copy_text(pt_interp_read *read, void *arg, uint64_t addr, uint64_t length, char *to,
                         size_t cap, size_t *ret_bytes);

/* Copies a terminated text of this program, cut at cap bytes. Returns the number of bytes. */
size_t pt_interp_put_text(char *to, size_t cap, const char *text);
