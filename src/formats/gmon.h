/* gmon.h: shared by the readers of gmon.out and the older BSD layouts and their writer.
 *
 * The model holds a histogram twice: each bin with a count is a pt_bin, and also a sample with a
 * single frame in the middle of the bin, so that every report and every format shows it. Whoever
 * sums up the profile must use either the bins or the samples. The plan, an extra row, describes
 * the file's layout (order of records, spare bytes and so on), so that the writer can reproduce the
 * file.
 */
#pragma once

#include "formats/format.h"

#define PT_GMON_PLAN            "gmon.out" /* key of the extra row that holds the plan */
#define PT_GMON_DIMENSION_BYTES 15
#define PT_GMON_SPARE_BYTES     12
#define PT_GMON_ARC             1
#define PT_GMON_BLOCKS          2
#define PT_GMON_BSD44_VERSION   0x51879
#define PT_GMON_BSD_BINS_MIN    8
#define PT_GMON_BIN_MAX         65535
#define PT_GMON_UNIT_BYTES      2 /* bin edges are multiples of this from low */
/* A count that exceeds its field is written as several records. This is the most additional records
 * in a file with that many counts. */
#define PT_GMON_FURTHER(counts) (16384 + 256 * (uint64_t)(counts))

typedef struct pt_gmon_histogram {
    uint64_t low, high; /* addresses as linked: [low, high) */
    uint64_t bin_count;
    uint32_t rate;                                  /* rate of the clock in Hz; 0 = unknown */
    uint8_t dimension[PT_GMON_DIMENSION_BYTES + 1]; /* full name, then the abbreviation */
} pt_gmon_histogram;

/* The start of bin i; i = bin_count gives the end of the last bin. All bins cover equal parts of
 * the text, rounded down to units of two bytes. The edge is computed in double, as in gprof, so
 * that both have the same edges.
 */
uint64_t pt_gmon_edge(const pt_gmon_histogram *h, uint64_t i);

/* State of a reader of any layout. */
typedef struct pt_gmon_reading {
    pt_builder *b;
    pt_diag *diag;
    pt_mapping_id mapping; /* the only mapping: the program at its link-time addresses */
    uint64_t limit;        /* highest address seen + 1 */
    uint32_t event_count;
    uint32_t rate;
    bool in_seconds;
    bool bins_only; /* no samples */
    pt_buf plan;
    uint64_t arc_run; /* number of arcs not in the plan yet */
} pt_gmon_reading;

/* Adds events, mapping and provenance. first: the first histogram, or NULL if there is none. */
void pt_gmon_begin(pt_gmon_reading *s, pt_builder *b, const pt_read_hooks *hooks,
                   const char *format, const pt_gmon_histogram *first, unsigned word_bytes,
                   bool big_endian);
/* Adds the histogram's bins, and their samples. r: a reader at the first bin; `present`: the number
 * of bins that the file has. */
void pt_gmon_add_bins(pt_gmon_reading *s, pt_reader *r, const pt_gmon_histogram *h,
                      uint64_t present);
/* Adds an arc to the builder and counts it for the plan. */
void pt_gmon_add_arc(pt_gmon_reading *s, uint64_t from, uint64_t to, uint64_t calls);
/* Ends the reading. whole: the entire file was read, so the plan is kept. */
void pt_gmon_end(pt_gmon_reading *s, bool whole);

/* Appends bytes as hex digits, for the plan. */
void pt_gmon_put_hex(pt_buf *buf, const uint8_t *bytes, size_t count);

/* ---- Reading a plan: gmon_plan.c ---- */

/* A line of a plan. */
typedef struct pt_gmon_step {
    char kind; /* h = histogram, a = arcs, b = blocks; 0 = invalid */
    pt_gmon_histogram histogram;
    uint64_t rows; /* number of bins, arcs or blocks */
    unsigned length_bytes;
} pt_gmon_step;

/* The plan's text, whose first line describes the header. Returns NULL if the profile has no plan,
 * or if several files were merged. */
const char *pt_gmon_plan(const pt_profile *p);
/* Parses the line at *line and moves to the next; false at the end. */
bool pt_gmon_next_step(const char **line, pt_gmon_step *ret);
/* Decodes hex digits to at most `most` bytes and returns their number. */
size_t pt_gmon_from_hex(const char *hex, uint8_t *bytes, size_t most);

/* The layout of the file that a profile was read from. */
typedef struct pt_gmon_facts {
    bool is_bsd;
    unsigned version; /* version of GNU's layout */
    uint64_t histograms, arcs, block_records;
    pt_gmon_histogram first; /* valid if histograms > 0 */
} pt_gmon_facts;
/* Reads the layout from the plan. Returns false if the profile was not read completely from a
 * gmon.out. */
bool pt_gmon_read_facts(const pt_profile *p, pt_gmon_facts *ret_facts);

/* The writers of the formats gmon and gmon-bsd. Errors as in pt_format.write. */
pt_status pt_gmon_write(const pt_profile *p, const pt_output *output,
                        const pt_write_options *options, pt_error *reterr);
pt_status pt_gmon_write_bsd(const pt_profile *p, const pt_output *output,
                            const pt_write_options *options, pt_error *reterr);
