/* claim.h: files that say what somebody else's process has, such as the names that a just-in-time
 * compiler gives its code. They lie where everybody may write, so whose they are decides.
 */
#ifndef PT_BASE_CLAIM_H
#define PT_BASE_CLAIM_H

#include "base/error.h"

/* Opens the file for reading if it is believed: regular, no link, of root, of this user or of
 * `user` (whose process it is about; -1 = unknown), and writable by nobody else. A group that has
 * the owner's number is the owner's alone, by custom. root: the folder that path is below
 * ("/proc/812/root"), or NULL. -1 when it is not there; when it is there and not believed *ret_why
 * (else NULL) tells why, and what to do about it: free it. The descriptor is the caller's. */
int pt_claim_open(const char *root, const char *path, int64_t user, char **ret_why);

#endif
