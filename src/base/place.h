/* place.h: where a path leads, decided by whose links lie on the way.
 *
 * A path is walked part by part with descriptors, so that the folder that was judged is the folder
 * that is used, whatever another process renames meanwhile. The rules are those of the kernel's
 * protected_symlinks, protected_fifos and protected_regular
 * (Documentation/admin-guide/sysctl/fs.rst), whether or not the machine has them on: in a folder
 * that others may write to, only links, FIFOs and files of this user or of root are used.
 */
#ifndef PT_BASE_PLACE_H
#define PT_BASE_PLACE_H

#include <sys/stat.h>

#include "base/error.h"

typedef struct pt_place {
    int folder_fd; /* O_PATH: the folder of the last part */
    char *name;    /* of the last part in it, without '/'; "." for a path that ends in a folder */
    bool is_there; /* something lies there, and it is no link unless is_magic */
    bool is_magic; /* a link of /proc, which the kernel follows to what a descriptor is open on */
    struct stat status; /* where is_there: of what lies there, or of what a magic link leads to */
} pt_place;

#define PT_PLACE_INIT ((pt_place){.folder_fd = -1})

/* Finds the place of an output: follows links, also one that leads to no file yet. PT_ERR_SYSTEM
 * with one line that names the owner, and the target of a link, when what lies there or on the way
 * was put there by another user; PT_ERR_NOTFOUND or PT_ERR_SYSTEM when a folder cannot be entered.
 * The caller pairs it with pt_place_done. */
pt_status pt_place_find(const char *path, pt_place *ret_place, pt_error *reterr);
void pt_place_done(pt_place *place);

/* A file of this user or of root: others' files are others' claims. */
bool pt_owner_is_trusted(uid_t owner);

/* Opens the regular file at path for reading; what is no regular file is not even opened, since to
 * open a device may do something and a FIFO may wait. -1 with errno, EINVAL for what is not
 * regular. The descriptor is the caller's. ret_status may be NULL. */
int pt_open_regular(const char *path, struct stat *ret_status);
/* The same, and a link in the last part is not followed: ELOOP. */
int pt_open_regular_nofollow(const char *path, struct stat *ret_status);
/* The same for a path as a process sees it whose root folder is `root` ("/proc/812/root"): no link
 * and no ".." leads out of that folder, and absolute links begin there. */
int pt_open_regular_in(const char *root, const char *path, struct stat *ret_status);

/* "FOLDER/NAME" if name is a path that stays below the folder it is joined to: relative, and
 * without a ".." part; else NULL. Free it. Names from files (debug links, build ids, server
 * answers) are joined to folders by this function only. */
char *pt_path_below(const char *folder, const char *name);

/* Makes the folder with those above it, each with that mode. Nothing is made in a folder that
 * belongs to neither this user nor root: under sudo HOME may be another user's. False if there is
 * no folder at the end, or it is not this user's or root's. */
bool pt_make_folder(const char *path, mode_t mode);

#endif
