/* codes.h: the functions of interpreters that frames name, each once for all threads.
 *
 * The content of a function identifies it: name, file, first line, line table. The first sample of
 * a function copies the content to here, where it stays: a function keeps its name after the
 * interpreter has freed or moved its code.
 */
#pragma once

#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum { PT_TICK_CODES = 1 << 16 /* distinct functions; further functions have no name */ };

/* A function as it was when a sample first found it: this header, then name, file and line table.
 * Number 0 stands for all functions for which there was no room. */
typedef struct {
    uint32_t number, lines_bytes;
    int32_t first_line;
    uint16_t name_bytes, file_bytes;
    uint8_t language; /* PT_JOURNAL_LANGUAGE_X */
    uint8_t minor;    /* of CPython 3.minor; else 0 */
} pt_tick_known_code;

/* Memory of all threads, of which a child of fork has a copy. */
typedef struct {
    _Atomic(uint32_t) used_bytes; /* of texts */
    _Atomic(uint32_t) count;      /* numbers given away; the first is 1 */
    uint32_t texts_cap;
    uint8_t *texts;
    _Atomic(uint32_t) record[PT_TICK_CODES];   /* by number: place in texts + 1; 0 = none yet */
    _Atomic(uint64_t) slot[2 * PT_TICK_CODES]; /* by content: hash (high half) and number */
} pt_tick_codes;

/* The number of a function; 0 if there is no room. like: the function's header without its number.
 * text: name, file and line table. May be called in a signal handler. */
uint32_t pt_tick_code_number(pt_tick_codes *codes, const pt_tick_known_code *like,
                             const uint8_t *text);

/* The function of that number; NULL if no function has the number. */
const pt_tick_known_code *pt_tick_code_of(const pt_tick_codes *codes, uint32_t number);
