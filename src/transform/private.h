/* private.h: a profile without what identifies people and machines, or may be a secret, for those
 * who shall see only where the time went.
 *
 *   paths     the file's name stays, and the folder of the system that it is below
 *             (/usr/lib/x86_64-linux-gnu/libc.so.6: /usr/lib/libc.so.6)
 *   texts     in names of functions and labels, an address (https://...) becomes [address], and an
 *             absolute path its file's name
 *   labels    those that pitot gives stay (private.c lists them), and those that the caller names
 *   header    host, system, processor, command line, comments, address of documentation, patterns,
 *             ids of other tools and unknown fields go
 *
 * Names of functions, files, processes and threads, build ids, numbers of processes, times and
 * values stay. */
#pragma once

#include "model/profile.h"

/* keep_labels: "KEY,KEY" of more labels that stay as they are; NULL = none. No string of the result
 * is unused. Applied again, it changes nothing. PT_ERR_LIMIT: there are too many strings. The
 * caller unrefs *ret_profile. */
pt_status pt_without_private(const pt_profile *profile, const char *keep_labels,
                             const pt_profile **ret_profile, pt_error *reterr);
