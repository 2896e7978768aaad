/* place_int.h: a function of place.c that claim.c shares. */
#pragma once

#include "base/place.h"

/* Like pt_open_regular_in, but the caller chooses what happens if the last part is a link: if
 * `follows` is true, it is followed; else the call fails with ELOOP. */
int pt_open_regular_below(const char *root, const char *path, bool follows,
                          struct stat *ret_status);
