/* text.h: reads lines of source files, found by their names in debug information.
 *
 *   name in the profile      /build/app-1.2/src/x.c
 *   trimmed                  by the prefixes of trim_path (and /proc/self/cwd/); without any, up to
 *                            the base name of a folder of source_path: /home/me/app-1.2 -> src/x.c
 *   absolute                 that file
 *   relative                 in each folder of source_path and all folders above it
 *   not found                fetched by a callback (debuginfod)
 *
 * The rules are those of google/pprof (internal/report/source.go). Each file is read once.
 */
#pragma once

#include "base/error.h"
#include "base/file.h"

/* The trimmed name: an end of name. Both paths are lists with ':' and may be NULL or "". */
const char *pt_source_trim(const char *name, const char *trim_path, const char *source_path);

/* The path without ".", ".." and doubled slashes, as text only; "" becomes ".". As Go's
 * filepath.Clean. The caller frees it. */
char *pt_source_clean(const char *path);

/* A last resort: returns the path of a local copy of a source file, which the caller frees, or
 * NULL. build_id: of the image, in hex; "": unknown. */
typedef char *pt_find_source(void *context, const char *build_id, const char *name);

/* A source file, or the reason why it is missing. */
typedef struct pt_source_file {
    char *name;         /* the requested name */
    bool of_image;      /* requested with pt_source_texts_of_image */
    char *path;         /* path of the file, or NULL */
    char *error;        /* the reason why it is missing, in pprof's words, or NULL */
    int64_t changed_ns; /* time of the last change, Unix time; 0: unknown */
    pt_blob text;
    size_t *line; /* line n (from 1) begins at line[n - 1]; line_count + 1 entries */
    size_t line_count;
    /* Lines before the first line of 64 KiB or more, where pprof stops reading. */
    size_t short_count;
} pt_source_file;

typedef struct pt_source_texts pt_source_texts;

/* Makes a cache of source files. source_path: folders for relative names; NULL or "": none. find
 * may be NULL. Copies the paths. */
pt_source_texts *pt_source_texts_new(const char *source_path, const char *trim_path,
                                     pt_find_source *find, void *context);
void pt_source_texts_free(pt_source_texts *texts); /* accepts NULL */

/* Whether a name has a trusted origin, so not only the profile's own text. */
typedef bool pt_source_vouch(void *context, const char *name);

/* Restricts the files to:
 *
 * - those below a folder of source_path
 * - those below `here` (NULL: none; not "/"), unless a part of the path begins with a dot
 * - those for which vouch (may be NULL) returns true
 * - those of pt_source_texts_of_image
 *
 * Symbolic links are resolved first. For programs that show an untrusted profile to others, as in a
 * browser. */
void pt_source_texts_confine(pt_source_texts *texts, const char *here, pt_source_vouch *vouch,
                             void *context);

/* The file of a name; never NULL; lives as long as texts. Reads only regular files of up to 64 MiB.
 * build_id: of the image built from it: hex, or "". */
const pt_source_file *pt_source_texts_file(pt_source_texts *texts, const char *name,
                                           const char *build_id);
/* Like pt_source_texts_file, for a name from the image's debug information. */
const pt_source_file *pt_source_texts_of_image(pt_source_texts *texts, const char *name,
                                               const char *build_id);

/* Line `number` (from 1) without its "\n" or "\r\n". *ret_text is not terminated. False: the file
 * has no such line. */
bool pt_source_line(const pt_source_file *file, int64_t number, const char **ret_text,
                    size_t *ret_size);
