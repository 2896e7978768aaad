/* place_int.h: a function of place.c that claim.c shares. */
#pragma once

#include "base/place.h"

/* pt_open_regular_in with a choice: `follows` permits a link in the last part; without it such a
 * link fails with ELOOP. */
int pt_open_regular_below(const char *root, const char *path, bool follows,
                          struct stat *ret_status);
