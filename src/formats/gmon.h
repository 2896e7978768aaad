/* gmon.h: what the reader of gmon.out, the reader of the older BSD layouts and their writer share.
 *
 * A histogram is kept twice in the model: each bin that counted something is a pt_bin, and a sample
 * of one frame at the middle of that bin, so that every report and every other format shows it.
 * Whoever adds up uses one of the two. How the file was laid out (its records in order, spare bytes
 * and the like) stands in one extra row, the plan, so that writing gives the same bytes again.
 */
#ifndef PT_FORMATS_GMON_H
#define PT_FORMATS_GMON_H

#include "formats/format.h"

#define PT_GMON_PLAN            "gmon.out" /* key of the extra row */
#define PT_GMON_DIMENSION_BYTES 15
#define PT_GMON_SPARE_BYTES     12
#define PT_GMON_ARC             1
#define PT_GMON_BLOCKS          2
#define PT_GMON_BSD44_VERSION   0x51879
#define PT_GMON_BSD_BINS_MIN    8
#define PT_GMON_BIN_MAX         65535
#define PT_GMON_UNIT_BYTES      2 /* bins begin and end at multiples of this from low */

typedef struct pt_gmon_histogram {
    uint64_t low, high; /* addresses as linked: [low, high) */
    uint64_t bin_count;
    uint32_t rate;                                  /* of the clock, in Hz; 0 = not told */
    uint8_t dimension[PT_GMON_DIMENSION_BYTES + 1]; /* long name, then the abbreviation */
} pt_gmon_histogram;

/* Where bin i begins; bin_count gives the end of the last. Each bin covers an equal part of the
 * text, in units of two bytes, rounded down; in double, as gprof does it, so that each edge is its.
 */
uint64_t pt_gmon_edge(const pt_gmon_histogram *h, uint64_t i);

/* What a reader of any of the layouts carries along. */
typedef struct pt_gmon_reading {
    pt_builder *b;
    pt_diag *diag;
    pt_mapping_id mapping; /* the only one: the program, at its linked addresses */
    uint64_t limit;        /* highest address seen + 1 */
    uint32_t event_count;
    uint32_t rate;
    bool in_seconds;
    bool bins_only; /* no samples */
    pt_buf plan;
    uint64_t arc_run; /* arcs not in the plan yet */
} pt_gmon_reading;

/* Events, mapping and provenance. first: the first histogram, or NULL if there is none. */
void pt_gmon_begin(pt_gmon_reading *s, pt_builder *b, const pt_read_hooks *hooks,
                   const char *format, const pt_gmon_histogram *first, unsigned word_bytes,
                   bool big_endian);
/* The bins that lie in r, of which `present` are there. */
void pt_gmon_add_bins(pt_gmon_reading *s, pt_reader *r, const pt_gmon_histogram *h,
                      uint64_t present);
void pt_gmon_add_arc(pt_gmon_reading *s, uint64_t from, uint64_t to, uint64_t calls);
/* Puts the arcs so far into the plan. */
void pt_gmon_end_arcs(pt_gmon_reading *s);
/* whole: everything was read, so that the plan holds. */
void pt_gmon_end(pt_gmon_reading *s, bool whole);

/* Words and texts of a plan. Hex digits of any bytes. */
void pt_gmon_put_hex(pt_buf *buf, const uint8_t *bytes, size_t count);

/* ---- The plan, read again: gmon_plan.c ---- */

/* One line of a plan. */
typedef struct pt_gmon_step {
    char kind; /* h, a, b; 0 = not understood */
    pt_gmon_histogram histogram;
    uint64_t rows; /* of the bins, arcs or blocks */
    unsigned length_bytes;
} pt_gmon_step;

/* The plan's text, which begins with a line about the header; NULL if there is none, or of several
 * files that were merged. */
const char *pt_gmon_plan(const pt_profile *p);
/* Reads the line and goes to the next one; false at the end. */
bool pt_gmon_next_step(const char **line, pt_gmon_step *ret);
/* Bytes of hex digits; how many, at most `most`. */
size_t pt_gmon_from_hex(const char *hex, uint8_t *bytes, size_t most);

/* How a profile lay in its file. */
typedef struct pt_gmon_facts {
    bool is_bsd;
    unsigned version; /* of GNU's layout */
    uint64_t histograms, arcs, block_records;
    pt_gmon_histogram first; /* if there are any */
} pt_gmon_facts;
/* False when the profile was not read whole from a gmon.out. */
bool pt_gmon_look(const pt_profile *p, pt_gmon_facts *ret_facts);

/* The writers of the formats gmon and gmon-bsd. */
pt_status pt_gmon_write(const pt_profile *p, const pt_output *output,
                        const pt_write_options *options, pt_error *reterr);
pt_status pt_gmon_write_bsd(const pt_profile *p, const pt_output *output,
                            const pt_write_options *options, pt_error *reterr);

#endif
