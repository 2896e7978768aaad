/* state.h: the folder of the files that pitot keeps for its user between runs: histories of shells,
 * questions of the page. */
#pragma once

/* The path of a file in the folder pitot of XDG_STATE_HOME or ~/.local/state, which is made (0700).
 * NULL: there is no such folder. Free it. */
char *pt_state_path(const char *name);
