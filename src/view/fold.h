/* fold.h: the row of a report that each frame of a profile belongs to. No other code decides this.
 *
 *   location 7 -> lines [alloc inlined in grow, grow] -> rows 3, 12    innermost first
 *   location 8 -> no lines                            -> row 40        [libfoo.so+0x1234]
 *
 * A row is shown as a table's row, a tree's node, a frame of a trace or a box. A rule gives the
 * facts by which rows differ. By function, functions of the same name are one row in all files;
 * inlined frames have rows of their own; the row of a frame without a name is its address or its
 * mapped file. Two frames are one row exactly when a report shows the same name for both.
 *
 * pprof's reports fold by the same mechanism with google/pprof's own rules, and have a printer of
 * their own: pt_node_text. A fold is derived once for a profile, and shared by its views.
 */
#pragma once

#include "base/regex.h"
#include "model/profile.h"

/* The grain of rows, and the names of rows. */
typedef enum {
    PT_BY_FUNCTION,     /* a function's name: "main" */
    PT_BY_FILEFUNCTION, /* "main /src/main.c" */
    PT_BY_FILE,         /* "/src/main.c"; the function where no file is known */
    PT_BY_LINE,         /* "main /src/main.c:7" */
    PT_BY_ADDRESS,      /* "[app+0x1139] main"; each function that was inlined at the address is a
                         * row */
    PT_BY_MAPPING,      /* "[app]" */
} pt_grain;

/* The name of a frame without a function name. */
typedef enum {
    PT_UNNAMED_FUNCTION, /* each piece of code that unwind tables know is a row,
                          * "[libfoo.so+0x1200..]"; so is each other address */
    PT_UNNAMED_ADDRESS,  /* each address is a row: "[libfoo.so+0x1234]" */
    PT_UNNAMED_OBJECT,   /* each mapped file is a row: "[libfoo.so]"; all code without a mapping is
                          * "[unknown]" */
} pt_unnamed;

typedef struct pt_fold_rule {
    pt_grain by;
    pt_unnamed unnamed;
    bool no_inlines; /* use only the outermost line of each location */
    /* Fold as google/pprof does: unnamed frames by the path of their mapped file; the fields below
     * apply. */
    bool pprof;
    bool columns;          /* lines keep their columns (addresses with inlined frames always do) */
    bool object_names;     /* functions of the same name in different mapped files, or with
                            * different start lines, are different rows */
    bool trims_paths;      /* file names are cut by the two paths below */
    const char *trim_path; /* "a:b": prefixes to remove; if NULL or "", the prefixes are guessed
                            * from source_path */
    const char *source_path; /* "a:b": for each of these folders: of a path with this folder's base
                              * name, the part after the base name is kept */
} pt_fold_rule;

/* The facts that all frames of a row share; "" and 0 for facts that may differ between them, or are
 * unknown. */
typedef struct pt_node_info {
    const char *name;
    const char *file;   /* pprof: cut by the rule's paths, and without needless parts */
    const char *object; /* path of a mapped file; except for pprof, the first path with the same
                           base name */
    uint64_t address; /* pprof: the sampled address; else the address in the image's own headers */
    bool whole_code;  /* the frame lies in the piece of code that begins at address */
    int64_t start_line, line, column; /* start_line and column: pprof only */
} pt_node_info;

/* In `of_location`: the location has several rows; the other bits are the place of these rows in
 * `several`. */
#define PT_FOLD_SEVERAL 0x80000000u

typedef struct pt_fold {
    const pt_profile *profile; /* borrowed */
    pt_fold_rule rule;
    uint32_t count;             /* rows */
    uint32_t *of_location;      /* per location: its only row, or PT_FOLD_SEVERAL | place */
    uint32_t *several;          /* at that place: the number of rows (at least 2), then the rows,
                                 * innermost first */
    uint32_t *location;         /* per row: a location with the row ... */
    uint32_t *line;             /* ... and the line of that location; PT_NONE: the location has no
                                 * lines */
    const char **object;        /* for each mapping: the first path with the same base name */
    struct pt_text_pool *files; /* pprof: texts of source files */
} pt_fold;

/* Finds the rows of all locations. Borrows the profile and the rule's texts; the caller calls
 * pt_fold_done. Fails with PT_ERR_LIMIT if there may be 2^31 rows or more. */
pt_status pt_fold_init(pt_fold *ret_fold, const pt_profile *profile, const pt_fold_rule *rule,
                       pt_error *reterr);
void pt_fold_done(pt_fold *fold);

/* The rows of a location, innermost first. *one: room for the row of a location that has only
 * one. */
static inline const uint32_t *pt_fold_rows(const pt_fold *fold, uint32_t location, uint32_t *one,
                                           uint32_t *ret_count)
{
    const uint32_t row = fold->of_location[location];
    if (!(row & PT_FOLD_SEVERAL)) {
        *one = row;
        *ret_count = 1;
        return one;
    }
    const uint32_t *several = fold->several + (row & ~PT_FOLD_SEVERAL);
    *ret_count = several[0];
    return several + 1;
}

/* The facts of a row. Texts live as long as the fold and its profile. */
pt_node_info pt_fold_info(const pt_fold *fold, uint32_t row);

/* The row's name as reports show it; the caller frees it. */
char *pt_fold_text(const pt_fold *fold, uint32_t row);

/* Is the row's name an address or a mapped file, because the function's name is unknown? */
bool pt_fold_is_unnamed(const pt_fold *fold, uint32_t row);

/* The line of the location that belongs to the row; PT_NONE if the location has no lines. */
uint32_t pt_fold_line_at(const pt_fold *fold, uint32_t row, uint32_t location);

/* The source file of the row's frame at the location; if rows are mapped files, the mapped file. ""
 * = unknown, also for a frame without a name. */
const char *pt_fold_file_at(const pt_fold *fold, uint32_t row, uint32_t location);

/* The line number that all frames of a row share; 0 if it is unknown, or if rows are not lines. */
int64_t pt_fold_line_number(const pt_fold *fold, uint32_t row);

/* Compares two rows by their names: the result is below, equal to or above 0. */
int pt_fold_compare(const pt_fold *fold, uint32_t a, uint32_t b);

/* Finds the rows that have this name in any report, by this rule or by another. Returns one flag
 * for each row, which the caller frees; NULL if no row has the name. The name of a mapped file or a
 * source file stands for all rows in the file, unless a row itself has that name. shown: a flag for
 * each row, true if the row may be found; NULL: the rows with samples may be found. Not for pprof's
 * rules. */
bool *pt_fold_find(const pt_fold *fold, const char *name, const bool *shown);

/* Finds the rows for a text of the user: the rows with that name or, if there are none, the rows
 * whose names match the expression. name and pattern may be NULL. *ret_rows is as from
 * pt_fold_find. Fails with PT_ERR_LIMIT if matching takes too long. */
pt_status pt_fold_choose(const pt_fold *fold, const char *name, const pt_regex *pattern,
                         bool **ret_rows, pt_error *reterr);

/* The base name of a path as Go's filepath.Base returns it: without trailing slashes; "." for "",
 * "/" for "/". The caller frees it. */
char *pt_last_part(const char *path);

/* The text of pprof's PrintableName: address, name, and file with line, or else file, or else
 * object. The caller frees it. */
char *pt_node_text(const pt_node_info *info);
