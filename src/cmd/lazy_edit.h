/* lazy_edit.h: libedit without its price: it and the three libraries that it brings are loaded
 * where a line is edited, not at each start of the program.
 */
#ifndef PT_CMD_LAZY_EDIT_H
#define PT_CMD_LAZY_EDIT_H

#include <histedit.h>

/* The functions that anybody calls, under their own names. */
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

/* Loads it. NULL where it is not installed. For one thread. */
const pt_libedit *pt_libedit_load(void);

#endif
