/* claim.c: see claim.h. */
#include "base/claim.h"

#include <errno.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/place_int.h"

static char *explain_refusal(const struct stat *st, int64_t user)
{
    const bool is_users = user >= 0 && st->st_uid == (uid_t)user;
    const bool has_own_group = st->st_gid == 0 || st->st_gid == st->st_uid;
    if (!is_users && !pt_owner_is_trusted(st->st_uid) && user >= 0)
        return pt_strf("it belongs to user %u, but the process to user %lld", (unsigned)st->st_uid,
                       (long long)user);
    if (!is_users && !pt_owner_is_trusted(st->st_uid))
        return pt_strf("it belongs to user %u; if you trust it, take it over (chown), or read the "
                       "profile as that user",
                       (unsigned)st->st_uid);
    if ((st->st_mode & S_IWOTH) != 0 || ((st->st_mode & S_IWGRP) != 0 && !has_own_group))
        return pt_strdup("other users can write to it (chmod go-w)");
    return NULL;
}

int pt_claim_open(const char *root, const char *path, int64_t user, char **ret_why)
{
    struct stat st;
    const int fd = root != NULL ? pt_open_regular_below(root, path, false, &st)
                                : pt_open_regular_nofollow(path, &st);
    *ret_why = NULL;
    if (fd < 0) {
        if (errno == ELOOP) *ret_why = pt_strdup("it is a link");
        if (errno == EINVAL) *ret_why = pt_strdup("it is not a regular file");
        return -1;
    }
    *ret_why = explain_refusal(&st, user);
    if (*ret_why == NULL) return fd;
    close(fd);
    return -1;
}
