/* state.c: see state.h. */
#include "terminal/state.h"

#include <stdlib.h>

#include "base/error.h"
#include "base/place.h"

char *pt_state_path(const char *name)
{
    const char *state = getenv("XDG_STATE_HOME"), *home = getenv("HOME");
    PT_FREE char *folder = state != NULL && state[0] == '/' ? pt_strf("%s/pitot", state)
                           : home != NULL && home[0] == '/' ? pt_strf("%s/.local/state/pitot", home)
                                                            : NULL;
    if (folder == NULL || !pt_make_folder(folder, 0700)) return NULL;
    return pt_strf("%s/%s", folder, name);
}
