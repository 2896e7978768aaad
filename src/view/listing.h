/* listing.h: source lines of chosen functions, their instructions, or both, with two values each:
 * of the samples that were taken there (self), and of the samples that pass through (total).
 *
 *   profile                                         function "run"
 *   main > run@a.c:7 > fib            3      ->     line 7   self 0  total 5   calls fib 3,
 *   main > run@a.c:7 ~ square         2             line 9   self 1  total 1     square 2 (inlined)
 *   main > run@a.c:9                  1             function self 1  total 6
 *
 *   symbol "run" 0x16d0     17b0 pxor   frames [square shapes.hh:7, run a.c:7]
 *   piece of line 7         instruction 17b0 at its frame 1; frame 0 is inlined there
 *
 * Rules. A sample counts once for a function, a line and an instruction, however often a recursive
 * function is on its stack; the sample's self goes to the innermost inlined line of the leaf. A
 * function that is inlined into another counts for the line of the call, and for its own lines.
 * Functions of the same name in one file are one function; the same name in another file is another
 * function. A sample inside an instruction counts for that instruction. */
#pragma once

#include "base/regex.h"
#include "source/text.h"
#include "view/code.h"
#include "view/fold.h"

typedef struct pt_listing_request {
    uint32_t event;
    int64_t whole; /* 100 % */
    /* The listing has the functions that reports show by this name; if there are none, the
     * functions whose names match the pattern; if there are none either, the functions whose source
     * files match the pattern. Both may be NULL. */
    const char *name;
    const pt_regex *pattern;
    uint64_t address; /* if not 0: also the symbol that contains this address, which is either a
                       * linked address or an address of the process */
    bool with_lines;  /* list source lines */
    const pt_code_options *code; /* instructions are listed by these options; NULL = no
                                  * instructions */
    pt_source_texts *texts;
    int64_t context;     /* rows shown around those with a value: lines if with_lines, else
                          * instructions; -1: the whole function */
    size_t limit;        /* the most functions; if no lines are listed, symbols; 0 = all */
    size_t symbol_limit; /* the most symbols if lines are also listed; 0 = all */
    bool with_calls;     /* the calls of each line: several times as much work */
    pt_fold_rule fold;   /* by function; for names of callees, and of frames without a name */
} pt_listing_request;

/* A callee of a line. */
typedef struct pt_listing_call {
    char *name;
    int64_t value;
    bool inlined;
} pt_listing_call;

/* An instruction of a line: it belongs to a line of each function that it was inlined through. */
typedef struct pt_listing_piece {
    uint32_t function, line; /* function[function].row[line] */
    uint32_t symbol, at;     /* symbol[symbol].row[at] */
    uint32_t frame; /* the index of the instruction's frame on that line; frames before it are
                     * inlined there */
} pt_listing_piece;

typedef struct pt_listing {
    int64_t whole;
    pt_code_function *function; /* as source lines, the largest total first */
    size_t count, more;         /* more: functions beyond the limit */
    pt_code_function *symbol;   /* as instructions, the largest total first */
    size_t symbol_count, symbols_more;
    pt_listing_call *call; /* of each line the largest first */
    size_t call_count;
    pt_listing_piece *piece; /* by function, line, symbol, instruction; with lines and code only */
    size_t piece_count;
    pt_code code;
} pt_listing;

/* With lines, fails with PT_ERR_NOTFOUND if no function matches; a line without code is not a
 * failure. Without lines, fails with PT_ERR_NOTFOUND if no symbol matches. Symbols are then chosen
 * by name; if no symbol has the name, the symbols into which a chosen function is inlined. With
 * lines, symbols of both kinds are listed. Borrows texts of the profile and of request->texts; the
 * caller calls pt_listing_done. */
pt_status pt_listing_init(pt_listing *ret_listing, const pt_profile *profile,
                          const pt_listing_request *request, pt_error *reterr);
void pt_listing_done(pt_listing *listing);
