/* weblist.h: source lines of chosen functions with the instructions that were made of each.
 *
 *   listing   run app.cc   line 28                       view/listing.h: the values of the lines
 *   code      run 0x16d0   17b0 pxor   frames [square shapes.hh:7, sum shapes.hh:18, run app.cc:28]
 *                            |
 *   piece     line 28 of run <- instruction 17b0 at its frame 2: inlined through frames 1 and 0
 *
 * An instruction belongs to a line of each function that it was inlined through.
 */
#ifndef PT_VIEW_WEBLIST_H
#define PT_VIEW_WEBLIST_H

#include "view/disasm.h"
#include "view/listing.h"

typedef struct pt_weblist_request {
    pt_listing_request listing;  /* limit: of functions */
    const pt_code_options *code; /* NULL: sources only */
    size_t symbol_limit;         /* of what is disassembled, the heaviest first; 0 = all */
} pt_weblist_request;

/* One instruction under one line. */
typedef struct pt_weblist_piece {
    uint32_t function, line; /* in listing */
    uint32_t symbol, at;     /* in code: function[symbol].line[at] */
    uint32_t frame;          /* which of the instruction's frames is on that line; the ones before
                                it are what was inlined there */
} pt_weblist_piece;

typedef struct pt_weblist {
    pt_listing listing;
    pt_disassembly code;
    pt_weblist_piece *piece; /* by function, line, symbol, instruction */
    size_t piece_count;
} pt_weblist;

/* PT_ERR_NOTFOUND when nothing matches; that there is no code to show is no failure. Done with
 * pt_weblist_done. */
pt_status pt_weblist_init(pt_weblist *ret_weblist, const pt_profile *profile,
                          const pt_weblist_request *request, pt_error *reterr);
void pt_weblist_done(pt_weblist *weblist);

#endif
