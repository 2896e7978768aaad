/* private.h: removes from a profile the data that identifies people and machines, or may be secret,
 * so that a reader of the profile sees only where the time went.
 *
 *   paths     the file's name stays, and the folder of the system that it is below
 *             (/usr/lib/x86_64-linux-gnu/libc.so.6: /usr/lib/libc.so.6)
 *   texts     in names of functions and labels, an address (https://...) becomes [address], and an
 *             absolute path becomes its file's name
 *   labels    labels that pitot gives (private.c lists these) and that the caller names stay
 *   header    host, system, processor, command line, comments, address of documentation, patterns,
 *             ids of other tools and unknown fields are removed
 *
 * Names of functions, files, processes and threads, build ids, numbers of processes, times and
 * values stay. */
#pragma once

#include "model/profile.h"

/* Makes the profile without private data. keep_labels: "KEY,KEY": further labels that stay
 * unchanged; NULL = none. No string of the result is unused. A second call changes nothing more.
 * Fails with PT_ERR_LIMIT if there are too many strings. The caller unrefs *ret_profile. */
pt_status pt_without_private(const pt_profile *profile, const char *keep_labels,
                             const pt_profile **ret_profile, pt_error *reterr);
