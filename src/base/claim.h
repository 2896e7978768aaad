/* claim.h: opens files that describe another process, such as the symbol map of a just-in-time
 * compiler. Such files lie in folders that every user can write to, so only files of a trusted
 * owner are read.
 */
#pragma once

#include "base/error.h"

/* Opens a file that describes a process, for reading. The file must be regular, and not a link. Its
 * owner must be root, this user or `user`, the owner of the process (-1 = unknown). No other user
 * may be able to write to the file; a group with the owner's number counts as the owner.
 *
 * root is the folder that path is relative to ("/proc/812/root"), or NULL. Returns a descriptor
 * that the caller closes, or -1. If the file exists but is refused, *ret_why receives the reason
 * and the remedy (the caller frees it); else it is NULL. */
int pt_claim_open(const char *root, const char *path, int64_t user, char **ret_why);
