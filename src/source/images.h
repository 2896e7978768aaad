/* images.h: finds the image of a mapping, and companion files of an image.
 *
 *   image of PATH with build id    in each binary folder DIR (the order of google/pprof):
 *   ID ("xxyyyy...")               DIR/ID/BASE, any file in DIR/ID, DIR/PATH/ID,
 *                                  DIR/xx/yyyy.debug, DIR/BASE, DIR/PATH, DIR/PATH.debug,
 *                                  DIR/FOLDER/.debug/BASE.debug,
 *                                  DIR/usr/lib/debug/FOLDER/BASE.debug; PATH itself;
 *                                  /proc/PID/root/PATH, while a process of the profile still runs;
 *                                  DEBUG/.build-id/xx/yyyy and .../yyyy.debug for each debug
 *                                  folder; PERF/.build-id/xx/yyyy/elf in perf's cache; debuginfod
 *   debug file of an image         by id: DEBUG/.build-id/xx/yyyy.debug, DIR/xx/yyyy.debug; by the
 *                                  debug link NAME: next to the image, in .debug/ there,
 *                                  DEBUG/FOLDER/NAME, DIR/NAME; PERF/.build-id/xx/yyyy/debug;
 *                                  debuginfod. For an image below /proc/PID/root the folders there
 *                                  come first
 *   supplement of dwz              by id as above; by the path in the link
 *   split units                    IMAGE.dwp; .dwo files where the compiler wrote them, and beside
 *                                  the image
 *
 * A file is used when it has the wanted build id. Without a wanted id, an image is identified by
 * its path, and a debug file by the CRC-32 in the debug link (GDB manual, "Debugging Information in
 * Separate Files"). A file of another build is skipped, and diag gets both ids. Only regular files
 * are opened.
 */
#pragma once

#include "object/object.h"
#include "source/debuginfod.h"

typedef struct pt_source_options {
    const char *const *binary_dirs; /* further folders with images, as in PPROF_BINARY_PATH */
    size_t binary_dir_count;
    const char *const *debug_dirs; /* count 0: /usr/lib/debug */
    size_t debug_dir_count;
    const char *root;     /* for tests: prefix of /proc, /sys, /tmp, /boot in code.h; NULL: "" */
    const char *perf_dir; /* perf's cache, usually ~/.debug; or NULL */
    pt_debuginfod *debuginfod; /* NULL: no servers */
    bool is_this_boot; /* the profile is of this machine's running kernel: its vDSO equals ours even
                          without a build id */
    uint64_t max_bytes; /* limit of one file that is read rather than mapped; 0: 4 GiB */
} pt_source_options;

/* The context of searches; diag (may be NULL) receives facts. */
typedef struct pt_source_search {
    const pt_source_options *options;
    pt_diag *diag;
    int64_t pid; /* a process that had the image mapped, or 0. While it runs, images with a known
                    build id are also searched below its root */
} pt_source_search;

/* Finds an image. path may be "[vdso]": the vDSO of this process, if its id is right; a "
 * (deleted)" after the path is ignored. build_id: hex; "" or text that is not hex (Go's own ids):
 * unknown. The caller owns *ret_file. PT_ERR_NOTFOUND: none. PT_ERR_FORMAT, with both ids: only
 * other builds were found. */
pt_status pt_source_find_image(const pt_source_search *search, const char *path,
                               const char *build_id, pt_image_file *ret_file, pt_error *reterr);

/* A pt_find_companion; context: a pt_source_search. */
bool pt_source_find_companion(void *context, const pt_companion *wanted, pt_image_file *ret_file);

/* A pt_find_source (source/text.h): fetches a source file from debuginfod by its name in the debug
 * information; context: a pt_source_search. */
char *pt_source_fetch_text(void *context, const char *build_id, const char *name);
