/* images.h: finds the file that an address was sampled in, and the debug file that belongs to it.
 *
 *   image of PATH with build id    in each binary folder DIR (the order of google/pprof):
 * DIR/ID/BASE, ID ("xxyyyy...")               any in DIR/ID, DIR/PATH/ID, DIR/xx/yyyy.debug,
 * DIR/BASE, DIR/PATH, DIR/PATH.debug, DIR/FOLDER/.debug/BASE.debug,
 *                                  DIR/usr/lib/debug/FOLDER/BASE.debug; PATH itself;
 *                                  /proc/PID/root/PATH, when a process of the profile is still
 *                                  there; DEBUG/.build-id/xx/yyyy and .../yyyy.debug for each debug
 *                                  folder; PERF/.build-id/xx/yyyy/elf in perf's cache; debuginfod
 *   debug file of an image         by id: DEBUG/.build-id/xx/yyyy.debug, DIR/xx/yyyy.debug; by the
 *                                  debug link NAME: beside the image, in .debug/ beside it,
 *                                  DEBUG/FOLDER/NAME, DIR/NAME; PERF/.build-id/xx/yyyy/debug;
 *                                  debuginfod. For an image below /proc/PID/root the folders there
 *                                  come first
 *   what dwz shared                by id as above; by the path in the link
 *   split units                    IMAGE.dwp; .dwo files where the compiler wrote them, and beside
 *                                  the image
 *
 * A file is used when its build id is the wanted one. When no id is wanted an image is taken on its
 * path's word, and a debug file when its CRC-32 is that of the debug link (GDB manual, "Debugging
 * Information in Separate Files"). What lies in the right place and is another build is passed
 * over, and a fact names both ids. Only regular files are opened.
 */
#ifndef PT_SOURCE_IMAGES_H
#define PT_SOURCE_IMAGES_H

#include "object/object.h"
#include "source/debuginfod.h"

typedef struct pt_source_options {
    const char *const *binary_dirs; /* where else images may be, as in PPROF_BINARY_PATH */
    size_t binary_dir_count;
    const char *const *debug_dirs; /* none: /usr/lib/debug */
    size_t debug_dir_count;
    const char *root;          /* tests: before /proc, /sys, /tmp, /boot of code.h; NULL = "" */
    const char *perf_dir;      /* perf's cache, usually ~/.debug; or NULL */
    pt_debuginfod *debuginfod; /* or NULL: no server is asked */
    bool is_this_boot;  /* the profile is of this machine and its running kernel: its vDSO is ours
                           even if no build id says so */
    uint64_t max_bytes; /* of one file, when files are read rather than mapped; 0 = 4 GiB */
} pt_source_options;

/* What pt_source_find_companion needs; the facts go to diag (may be NULL). */
typedef struct pt_source_search {
    const pt_source_options *options;
    pt_diag *diag;
    int64_t pid; /* a process that had the image mapped, or 0: if it is still there, its files are
                    looked at as it sees them, for images whose build id is known */
} pt_source_search;

/* Finds an image. path may be "[vdso]": this process's own is taken, if it is the wanted one, and
 * " (deleted)" after a path is not part of it. build_id is hex, "" when unknown; what is not hex
 * (Go's own ids) counts as unknown. ret_file is the caller's. PT_ERR_NOTFOUND when there is none;
 * PT_ERR_FORMAT with both ids when only other builds were found. */
pt_status pt_source_find_image(const pt_source_search *search, const char *path,
                               const char *build_id, pt_image_file *ret_file, pt_error *reterr);

/* A pt_find_companion; context is a pt_source_search. */
bool pt_source_find_companion(void *context, const pt_companion *wanted, pt_image_file *ret_file);

/* A pt_find_source (source/text.h): asks debuginfod for a source file by the name that debug
 * information gives it; context is a pt_source_search. */
char *pt_source_fetch_text(void *context, const char *build_id, const char *name);

#endif
