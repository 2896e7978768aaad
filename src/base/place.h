/* place.h: path resolution that follows only trusted links.
 *
 * A path is walked part by part with descriptors, so a folder that was checked is the folder that
 * is used, even if another process renames the folder meanwhile. The rules are those of the
 * kernel's protected_symlinks, protected_fifos and protected_regular
 * (Documentation/admin-guide/sysctl/fs.rst), whether or not the machine enables them: in a folder
 * that others can write to, only links, FIFOs and files of this user or of root are used.
 */
#pragma once

#include <sys/stat.h>

#include "base/error.h"

typedef struct pt_place {
    int folder_fd; /* O_PATH descriptor of the folder that holds the last part */
    char *name;    /* name of the last part, without '/'; "." for a path that ends in a folder */
    bool is_there; /* a file of that name exists; it is not a link, except if is_magic */
    bool is_magic; /* a link of /proc, which the kernel resolves to the open file of a descriptor */
    struct stat status; /* if is_there: status of the file, or of the target of a magic link */
} pt_place;

#define PT_PLACE_INIT ((pt_place){.folder_fd = -1})

/* Resolves the path of an output file. Follows links, even a link whose target does not exist yet.
 * PT_ERR_SYSTEM if an untrusted user put the file there or a link on the way; the message names the
 * owner, and the target of a link. PT_ERR_NOTFOUND or PT_ERR_SYSTEM if a folder cannot be entered.
 * The caller frees *ret_place with pt_place_done. */
pt_status pt_place_find(const char *path, pt_place *ret_place, pt_error *reterr);
void pt_place_done(pt_place *place);

/* Is the owner this user or root? Content of other users' files is unverified. */
bool pt_owner_is_trusted(uid_t owner);

/* Opens the regular file at path for reading. Any other file is refused unopened, since opening a
 * device can have effects and opening a FIFO can block. Returns a descriptor that the caller
 * closes, or -1 with errno (EINVAL: not regular). ret_status may be NULL. */
int pt_open_regular(const char *path, struct stat *ret_status);
/* Like pt_open_regular, but fails with ELOOP if the last part is a link. */
int pt_open_regular_nofollow(const char *path, struct stat *ret_status);
/* Like pt_open_regular, for a path in the view of a process whose root folder is `root`
 * ("/proc/812/root"): links and ".." cannot leave that folder, and absolute links begin there. */
int pt_open_regular_in(const char *root, const char *path, struct stat *ret_status);

/* Returns "FOLDER/NAME" if name is relative and has no ".." part, so that the path stays below the
 * folder; else NULL. The caller frees it. Every name from a file (debug links, build ids, server
 * answers) is joined to its folder by this function. */
char *pt_path_below(const char *folder, const char *name);

/* Creates the folder and its missing ancestors, each with the given mode. Creates nothing in a
 * folder whose owner is neither this user nor root: under sudo, HOME may belong to another user.
 * Returns false if the folder does not exist at the end, or its owner is neither this user nor
 * root. */
bool pt_make_folder(const char *path, mode_t mode);
