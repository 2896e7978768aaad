/* lazy_edit.h: loads libedit, and the three libraries that it needs, when a line is first edited:
 * loading them at each start of the program is slow.
 */
#pragma once

#include <histedit.h>

/* libedit's functions that pitot calls, under their own names. */
typedef struct pt_libedit {
    __typeof__(el_init) *el_init;
    __typeof__(el_end) *el_end;
    __typeof__(el_reset) *el_reset;
    __typeof__(el_gets) *el_gets;
    __typeof__(el_set) *el_set;
    __typeof__(el_get) *el_get;
    __typeof__(el_line) *el_line;
    __typeof__(el_insertstr) *el_insertstr;
    __typeof__(el_deletestr) *el_deletestr;
    __typeof__(el_source) *el_source;
    __typeof__(history_init) *history_init;
    __typeof__(history_end) *history_end;
    __typeof__(history) *history;
} pt_libedit;

/* Loads libedit. NULL if it is not installed. For one thread. */
const pt_libedit *pt_libedit_load(void);
