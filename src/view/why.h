/* why.h: findings: says in a few sentences which work the program's own code causes.
 *
 *   main -> Ledger::append -> std::vector::vector -> __memmove_avx      0.19 of 0.20 s
 *           place             via                    symptom
 *
 *   "96.5% of the CPU time is spent copying memory below Ledger::append (ledger.cc:6)"
 *
 * Each sample belongs to one group:
 *   a cause       the frames between the leaf and the innermost frame of the program's own code
 *                 (view/own_code.h) match a row of the table in why_causes.c
 *   a function    the leaf is the program's own code
 *   a library     neither of these: the library's function that own code called
 *
 * A group is a finding if its share is large and not due to chance of sampling. The shares of all
 * findings add up to at most 1. The place is the innermost function of the program that has nearly
 * all of the group below it. */
#pragma once

#include "base/regex.h"
#include "base/stats.h"
#include "view/why_causes.h"

typedef enum {
    PT_WHY_CAUSE,   /* the cause is pt_why_finding.cause */
    PT_WHY_OWN,     /* time in the place itself */
    PT_WHY_LIBRARY, /* time in the library's function `via` and below it */
} pt_why_kind;

typedef struct pt_why_place {
    char *name;       /* as reports show it; NULL = none */
    const char *file; /* of the profile; "" = unknown */
    int64_t line;     /* of the call with most of the value, or of the most own time; 0 = unknown */
    double share;     /* the part of the finding's value below this place, 0 to 1 */
} pt_why_place;

enum { PT_WHY_SOURCES_MAX = 3, PT_WHY_PATH_MAX = 7 };

/* Functions of a stack, outermost first, without repeats. */
typedef struct pt_why_path {
    char *name[PT_WHY_PATH_MAX];
    size_t count;
    bool is_cut; /* functions between the first and the second were left out */
    int64_t value;
    double share; /* of the requested function */
} pt_why_path;

typedef struct pt_why_finding {
    pt_why_kind kind;
    const pt_why_cause *cause; /* PT_WHY_CAUSE; else NULL */
    int64_t value;
    double share;         /* of the whole */
    pt_interval interval; /* of the share, at 95 %, by the chance of sampling */
    pt_why_place place;
    char *via;                  /* the library's function that own code called most; NULL = none */
    char *symptom;              /* the leaf that has most of the value */
    const char *symptom_object; /* the mapped file of the symptom; "" = unknown */
    /* The functions that call the cause directly, the heaviest first, if they are several. */
    pt_why_place source[PT_WHY_SOURCES_MAX];
    size_t source_count;
    pt_why_path path;   /* of the heaviest stack with the place: own functions, via, symptom */
    double depth;       /* PT_WHY_OWN: the average number of the function's frames in a stack */
    uint32_t processes; /* number of processes with samples of the group; 0 = unknown; also 1 if one
                         * process has nearly all of them */
} pt_why_finding;

typedef struct pt_why_request {
    uint32_t event;
    int64_t whole; /* the value of 100 %, over all samples; see pt_profile_magnitude */
    size_t limit;  /* findings wanted */
    double least;  /* the least share of a finding */
    /* Only samples with a function of this name (pt_fold_find) or, if there is no such function,
     * with one whose name matches the expression; if both are NULL, all samples. Shares are then
     * shares of the function's total. */
    const char *name;
    const pt_regex *pattern;
    size_t paths; /* the number of paths to the function */
} pt_why_request;

typedef struct pt_why {
    pt_why_finding *finding;
    size_t count;
    int64_t whole; /* the value that a share of 1 stands for */
    double rest;   /* the share that belongs to no finding */
    double draws;  /* the number of equal samples that would vary as much; 0 = unknown */
    /* If one of several threads has nearly all of the value, the share of this thread; else 0. */
    double busy_thread_share;
    uint32_t thread_count;
    /* The facts of the requested function. */
    char *function;   /* the heaviest function that matches */
    size_t functions; /* the number of functions that match, each counted at its outermost frame */
    int64_t self;
    pt_why_path *path; /* paths to the function, which consist of the program's own functions; the
                        * heaviest first */
    size_t path_count, more_paths;
} pt_why;

/* Makes the findings. Fails with PT_ERR_NOTFOUND if no function with samples has the requested
 * name. *ret_why borrows strings of the profile; the caller calls pt_why_done. */
pt_status pt_why_init(pt_why *ret_why, const pt_profile *profile, const pt_why_request *request,
                      pt_error *reterr);
void pt_why_done(pt_why *why);
