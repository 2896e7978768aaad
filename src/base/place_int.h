/* place_int.h: what place.c does for claim.c. */
#ifndef PT_BASE_PLACE_INT_H
#define PT_BASE_PLACE_INT_H

#include "base/place.h"

/* pt_open_regular_in. follows: a link in the last part, too; else that is ELOOP. */
int pt_open_regular_below(const char *root, const char *path, bool follows,
                          struct stat *ret_status);

#endif
