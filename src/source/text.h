/* text.h: lines of source files, found by the names that debug information gives them.
 *
 *   name in the profile      /build/app-1.2/src/x.c
 *   trimmed                  by the prefixes of trim_path (and /proc/self/cwd/); without any, what
 *                            lies behind the base name of a folder of source_path stays:
 *                            /home/me/app-1.2 -> src/x.c
 *   absolute                 that file
 *   relative                 in each folder of source_path and all folders above it
 *   not found                asked of a callback (debuginfod)
 *
 * The rules are those of google/pprof (internal/report/source.go). Each file is read once.
 */
#ifndef PT_SOURCE_TEXT_H
#define PT_SOURCE_TEXT_H

#include "base/error.h"
#include "base/file.h"

/* The name as it is looked for: an end of it. Both paths are lists with ':' and may be NULL or "".
 */
const char *pt_source_trim(const char *name, const char *trim_path, const char *source_path);

/* A path without ".", "..", and doubled slashes as far as text alone tells; "" becomes ".". As Go's
 * filepath.Clean. The caller frees. */
char *pt_source_clean(const char *path);

/* A last resort: the path of a local copy of the source file `name` of the image with that build
 * id (hex, "" = unknown), to be freed; or NULL. */
typedef char *pt_find_source(void *context, const char *build_id, const char *name);

/* A source file, or why there is none. */
typedef struct pt_source_file {
    char *name;         /* as asked for */
    bool of_image;      /* by pt_source_texts_of_image */
    char *path;         /* where it was found, or NULL */
    char *error;        /* why there is none, in pprof's words, or NULL */
    int64_t changed_ns; /* when it was last written to, Unix time; 0 = unknown */
    pt_blob text;
    size_t *line; /* where line n (from 1) begins: line[n - 1]; line_count + 1 of them */
    size_t line_count;
    size_t short_count; /* lines before the first of 64 KiB or more, where pprof stops reading */
} pt_source_file;

typedef struct pt_source_texts pt_source_texts;

/* source_path: where relative names are looked for; NULL or "" = nowhere. find may be NULL. Copies
 * the paths. */
pt_source_texts *pt_source_texts_new(const char *source_path, const char *trim_path,
                                     pt_find_source *find, void *context);
void pt_source_texts_free(pt_source_texts *texts); /* accepts NULL */

/* Does that name come from elsewhere than the profile's own text? */
typedef bool pt_source_vouch(void *context, const char *name);

/* From now on only these files are shown: below a folder of source_path; below `here` (NULL =
 * nowhere; not "/"), unless a part of the path begins with a dot; those that vouch (may be NULL)
 * stands for; those of pt_source_texts_of_image. Symbolic links are followed before that is asked.
 * For whoever shows a stranger's profile to somebody else: a browser. */
void pt_source_texts_confine(pt_source_texts *texts, const char *here, pt_source_vouch *vouch,
                             void *context);

/* The file of that name; never NULL, lives as long as texts. Only regular files of up to 64 MiB are
 * read. build_id is of the image that was built from it: hex, or "". */
const pt_source_file *pt_source_texts_file(pt_source_texts *texts, const char *name,
                                           const char *build_id);
/* The same for a name that was read in the debug information of that image. */
const pt_source_file *pt_source_texts_of_image(pt_source_texts *texts, const char *name,
                                               const char *build_id);

/* Line number (from 1) without its end ("\n" or "\r\n"): true, and *ret_text, not terminated. False
 * when the file has no such line. */
bool pt_source_line(const pt_source_file *file, int64_t number, const char **ret_text,
                    size_t *ret_size);

#endif
