/* listing.h: source lines of chosen functions, each with the value of the samples that end on it
 * (self) and of those that pass through it (total).
 *
 *   profile                                         listing of "run"
 *   main > run@a.c:7 > fib            3      ->     line 7   self 0  total 5   calls fib 3,
 *   main > run@a.c:7 ~ square         2             line 9   self 1  total 1     square 2 (inlined)
 *   main > run@a.c:9                  1             function self 1  total 6
 *
 * Rules: a stack counts once for a function and once for a line of it, however often a recursive
 * function is on it; self goes to the innermost inlined line of the leaf; what is inlined into a
 * function counts for the line of the call, and for its own function's lines. Functions of one name
 * in one file are one; the same name in another file is another.
 */
#ifndef PT_VIEW_LISTING_H
#define PT_VIEW_LISTING_H

#include "base/regex.h"
#include "source/text.h"
#include "view/fold.h"

typedef struct pt_listing_request {
    uint32_t event;
    int64_t whole;           /* what 100 % is */
    const char *name;        /* the functions that a report calls so, or, if there are none, ... */
    const pt_regex *pattern; /* ... those whose names match; where none does, whose source files
                                do. Either may be NULL */
    pt_source_texts *texts;
    int64_t context;   /* lines shown around those with a value; -1: the whole function */
    size_t limit;      /* functions; 0 = all */
    bool with_calls;   /* what each line called: several times as much work */
    pt_fold_rule fold; /* by function: what is called, and frames without a name */
} pt_listing_request;

/* What a line called. */
typedef struct pt_listing_call {
    char *name;
    int64_t value;
    bool inlined;
} pt_listing_call;

typedef struct pt_listing_line {
    int64_t number; /* 0: samples of the function without a line */
    int64_t self, total;
    double self_share, total_share;
    const char *text; /* not terminated; NULL when there is none. Lives as long as texts */
    size_t text_size;
    bool after_gap; /* lines between the one before and this are left out */
    size_t call_first, call_count;
} pt_listing_line;

typedef struct pt_listing_function {
    const char *name, *file; /* of the profile; file "" = unknown */
    char *made_name;         /* the name of frames without one; else NULL */
    const char *path;        /* where the source was found, or NULL */
    const char *error;       /* why there is no source, or NULL */
    bool source_is_newer;    /* it was written to after the profile began */
    int64_t start_line;      /* 0 = unknown */
    int64_t self, total;
    double self_share, total_share;
    pt_listing_line *line; /* ascending */
    size_t line_count;
} pt_listing_function;

typedef struct pt_listing {
    pt_listing_function *function; /* the largest total first */
    size_t count;
    size_t more;           /* functions beyond the limit */
    pt_listing_call *call; /* of each line the largest first; none without with_calls */
    size_t call_count;
} pt_listing;

/* PT_ERR_NOTFOUND when nothing matches. Borrows texts of the profile and of request->texts; done
 * with pt_listing_done. */
pt_status pt_listing_init(pt_listing *ret_listing, const pt_profile *profile,
                          const pt_listing_request *request, pt_error *reterr);
void pt_listing_done(pt_listing *listing);

/* What of a profile a name or a pattern means. */
typedef struct pt_matching {
    bool *function; /* per function */
    size_t count;   /* of those */
    bool *row;      /* per row of the fold, of a name; NULL: nothing is called so */
} pt_matching;

/* By name as any report shows it (pt_fold_find), or else by an expression for names (also mangled
 * ones) or, where none matches, source files. Either may be NULL. Done with pt_matching_done. */
pt_status pt_matching_init(pt_matching *ret_matching, const pt_fold *fold, const char *name,
                           const pt_regex *pattern, pt_error *reterr);
void pt_matching_done(pt_matching *matching);

#endif
