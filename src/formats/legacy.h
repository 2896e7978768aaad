/* legacy.h: shared by the readers of text profiles of gperftools, jemalloc and Go: lines that end
 * in addresses, then a line that begins the list of mappings, and the list.
 *
 *   3: 1024 [9: 4096] @ 0x420cef 0x422151              numbers, @, return addresses, leaf first
 *   #<tab>0x420cee<tab>main.f+0x2f<tab>/src/main.go:12      Go, debug=1: names one of the addresses
 *   --- Memory map: ---                                or MAPPED_LIBRARIES: then formats/procmaps.h
 *
 * The mappings come last, so pt_legacy keeps the locations until then. Two locations are the same
 * if they have the same address of the call (the return address minus 1), as in google/pprof. Names
 * in comments are used only with hooks->annotate, since google/pprof ignores them.
 *
 * Rules: profile/legacy_profile.go of google/pprof.
 */
#pragma once

#include "base/grow.h"
#include "base/index.h"
#include "base/span.h"
#include "formats/format.h"

/* ---- Lines ---- */

/* Is the line empty or a comment? */
bool pt_span_is_blank(pt_span s);
/* Does the line begin the list of mappings? */
bool pt_span_is_maps(pt_span line);

/* For a probe: the first line of the head that is not a command such as %warn (of the Perl pprof);
 * empty if there is none. */
pt_span pt_legacy_first_line(const pt_probe_input *input);
/* Skips lines that are commands such as %warn. The texts of %warn lines become facts in diag. */
void pt_legacy_skip_commands(pt_reader *r, pt_diag *diag);

/* value x factor, truncated and clipped to 63 bits. */
int64_t pt_legacy_scale(int64_t value, double factor);

/* ---- Stacks ---- */

typedef struct pt_legacy_location pt_legacy_location;

typedef struct pt_legacy {
    pt_builder *b;
    const pt_read_hooks *hooks;
    PT_VECTOR(pt_legacy_location) location;
    pt_index index;          /* address of the call -> location */
    PT_VECTOR(uint64_t) pcs; /* the addresses of the current line, as in the file */
    size_t named;            /* number of pcs, from the first, that comments have named or passed */
    uint64_t malformed;      /* number of lines in an unknown form */
    uint64_t first_malformed;
} pt_legacy;

/* Begins a reading; pt_legacy_done ends it. The builder and hooks still belong to the caller. */
void pt_legacy_init(pt_legacy *l, pt_builder *b, const pt_read_hooks *hooks);
void pt_legacy_done(pt_legacy *l);

/* Adds an event; unit NULL means count. */
void pt_legacy_event(pt_legacy *l, const char *type, const char *unit);
/* Sets the period; both texts may be "". */
void pt_legacy_period(pt_legacy *l, const char *type, const char *unit, int64_t period);

/* Replaces the addresses of the current line by all 0x numbers of the text. Returns false if a
 * number exceeds 64 bits. */
bool pt_legacy_addresses(pt_legacy *l, pt_span text);
/* Appends the addresses of a continuation line. Returns false if a number exceeds 64 bits. */
bool pt_legacy_more_addresses(pt_legacy *l, pt_span text);
/* The stack of the current line. leaf_is_return: the first address is a return address like the
 * others. If it is false, the second frame is removed if it has the address of the first. */
pt_stack_id pt_legacy_stack(pt_legacy *l, bool leaf_is_return);
/* Writes " 0x..." for each frame, a return address of at least `digits` digits, and a newline.
 * Returns the number of frames without an address, which are left out. */
uint64_t pt_legacy_put_stack(pt_out *out, const pt_profile *p, uint32_t stack, int digits);
/* Reads a comment in Go's form that names an address of the current line. Other comments are
 * ignored. */
void pt_legacy_comment(pt_legacy *l, pt_span line);
/* Names an address that has no name yet. An empty file means unknown. */
void pt_legacy_name(pt_legacy *l, uint64_t pc, bool is_return, pt_span name, pt_span file,
                    int64_t line);
/* Counts a line in an unknown form, which is skipped. */
void pt_legacy_malformed(pt_legacy *l, uint64_t offset);
/* The end of a reader of lines: the builder's status, or PT_ERR_DAMAGED if `count` lines are in an
 * unknown form, the first of them at byte `first`. */
pt_status pt_malformed_lines(const pt_builder *b, uint64_t count, uint64_t first, pt_error *reterr);

/* pt_legacy_drop_frames sets the profile's drop_frames by the rules of google/pprof's
 * addLegacyFrameInfo for a kind of profile. */
typedef enum { PT_LEGACY_CPU, PT_LEGACY_HEAP, PT_LEGACY_CONTENTION } pt_legacy_kind;
void pt_legacy_drop_frames(pt_builder *b, pt_legacy_kind kind);

/* Skips to the list of mappings, if there is one, reads the list, and adds the locations. at_maps:
 * the line that begins the list was just read. PT_ERR_DAMAGED if there were malformed lines. */
pt_status pt_legacy_finish(pt_legacy *l, pt_reader *r, bool at_maps, pt_error *reterr);
