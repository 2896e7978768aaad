/* kept_key.h: the key of a file's facts in a cache on disk (base/kept.h). The library writes no
 * cache, but finds files in one. Any layer may include this header. */
#pragma once

#include <stdio.h>
#include <sys/stat.h>

enum { PT_KEPT_KEY_FACTS = 96 }; /* bytes of a key apart from the id, with the terminating NUL */

/* Writes the key as snprintf does. Of the file's times the key has only st_ctim, since programs can
 * set the other times. */
static inline int pt_kept_key_put(char *to, size_t room, const char *id, const struct stat *st)
{
    return snprintf(to, room, "%s-%llx-%llx-%llx-%llx.%lx", id, (unsigned long long)st->st_dev,
                    (unsigned long long)st->st_ino, (unsigned long long)st->st_size,
                    (unsigned long long)st->st_ctim.tv_sec, (unsigned long)st->st_ctim.tv_nsec);
}
