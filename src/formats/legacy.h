/* legacy.h: what the text profiles of gperftools, jemalloc and Go share: lines that end in
 * addresses, then, behind a sentinel, what was mapped.
 *
 *   3: 1024 [9: 4096] @ 0x420cef 0x422151              numbers, @, return addresses, leaf first
 *   #<tab>0x420cee<tab>main.f+0x2f<tab>/src/main.go:12      Go, debug=1: a name for one of them
 *   --- Memory map: ---                                or MAPPED_LIBRARIES: then formats/procmaps.h
 *
 * Locations are kept here until the mappings are known, since those come last, and are told apart
 * by the address of the call (a return address less one), as google/pprof does. Names in comments
 * are taken only if the reader was asked to (hooks->annotate): google/pprof leaves them.
 *
 * Rules: profile/legacy_profile.go of google/pprof.
 */
#ifndef PT_FORMATS_LEGACY_H
#define PT_FORMATS_LEGACY_H

#include "base/index.h"
#include "formats/format.h"

/* ---- Text ---- */

/* Part of a line; not terminated. */
typedef struct pt_span {
    const char *at;
    size_t size;
} pt_span;

pt_span pt_span_trim(pt_span s);
bool pt_span_begins(pt_span s, const char *with);
/* Is it empty, or a comment? */
bool pt_span_is_blank(pt_span s);
/* Takes the text off the front if it is there. */
bool pt_span_skip(pt_span *s, const char *text);
void pt_span_skip_blanks(pt_span *s);
/* Takes digits off the front, with a minus sign before them if may_sign; false if there is none or
 * the number does not fit. */
bool pt_span_number(pt_span *s, bool may_sign, int64_t *ret_value);
/* Hexadecimal digits at its beginning, taken off it; false if there are none or more than 64 bits.
 */
bool pt_span_hex(pt_span *s, uint64_t *ret_value);
/* The next line; false at the end. */
bool pt_span_line(pt_reader *r, pt_span *ret_line);
/* Does the line begin the list of mappings? */
bool pt_span_is_maps(pt_span line);

/* The first line of the head that is no command to a reader (%warn and the like of the Perl pprof);
 * empty if there is none. In a probe. */
pt_span pt_legacy_first_line(const pt_probe_input *input);
/* Steps over those commands; %warn lines become facts. */
void pt_legacy_skip_commands(pt_reader *r, pt_diag *diag);

/* value x factor, truncated; held at the limits of 63 bits. */
int64_t pt_legacy_scale(int64_t value, double factor);

/* ---- Stacks ---- */

typedef struct pt_legacy_location pt_legacy_location;

typedef struct pt_legacy {
    pt_builder *b;
    const pt_read_hooks *hooks;
    struct {
        pt_legacy_location *items;
        size_t count, cap;
    } location;
    pt_index index; /* address of the call -> location */
    struct {
        uint64_t *items; /* the addresses of the line at hand, as they stand there */
        size_t count, cap;
    } pcs;
    size_t named;       /* how many of them have had their comment */
    uint64_t malformed; /* lines that are nothing known */
    uint64_t first_malformed;
} pt_legacy;

void pt_legacy_init(pt_legacy *l, pt_builder *b, const pt_read_hooks *hooks);
void pt_legacy_done(pt_legacy *l);

/* One event; unit NULL: count. */
void pt_legacy_event(pt_legacy *l, const char *type, const char *unit);
/* What lies between two samples; both texts may be "". */
void pt_legacy_period(pt_legacy *l, const char *type, const char *unit, int64_t period);

/* Finds all 0x numbers of the text, which become the line at hand; false if one has more than 64
 * bits. */
bool pt_legacy_addresses(pt_legacy *l, pt_span text);
/* Adds those of another line behind them. */
bool pt_legacy_more_addresses(pt_legacy *l, pt_span text);
/* The stack of the line at hand. leaf_is_return: the first one is a return address, too. Where it
 * is not, a second frame that repeats it is taken out. */
pt_stack_id pt_legacy_stack(pt_legacy *l, bool leaf_is_return);
/* A comment behind a line: a name for one of its addresses, in Go's form. Others are stepped over.
 */
void pt_legacy_comment(pt_legacy *l, pt_span line);
/* Names the address, unless it has a name; file empty: unknown. */
void pt_legacy_name(pt_legacy *l, uint64_t pc, bool is_return, pt_span name, pt_span file,
                    int64_t line);
/* A line that is nothing known: skipped and counted. */
void pt_legacy_malformed(pt_legacy *l, uint64_t offset);

/* What google/pprof's addLegacyFrameInfo says of the frames to drop. */
typedef enum { PT_LEGACY_CPU, PT_LEGACY_HEAP, PT_LEGACY_CONTENTION } pt_legacy_kind;
void pt_legacy_drop_frames(pt_builder *b, pt_legacy_kind kind);

/* Reads on to the list of mappings, if there is one (at_maps: the line before was its sentinel),
 * takes it, and adds the locations. PT_ERR_DAMAGED if lines were malformed. */
pt_status pt_legacy_finish(pt_legacy *l, pt_reader *r, bool at_maps, pt_error *reterr);

#endif
