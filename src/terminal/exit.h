/* exit.h: the exit statuses of pitot's commands; `pitot help` lists them (cmd/help.c). */
#pragma once

typedef enum {
    PT_EXIT_OK = 0,
    PT_EXIT_FAILED = 1,   /* the command failed */
    PT_EXIT_USAGE = 2,    /* wrong usage */
    PT_EXIT_NO_MATCH = 3, /* nothing matched */
    PT_EXIT_DAMAGED = 4,  /* success, but the input was damaged */
    PT_EXIT_CHANGED = 5,  /* diff, ci: a change exceeds its limit */
} pt_exit;
