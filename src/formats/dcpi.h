/* dcpi.h: what the binary DCPI profile and the text of dcpicat share: the header and its extras. */
#ifndef PT_FORMATS_DCPI_H
#define PT_FORMATS_DCPI_H

#include "formats/format.h"

/* Key of the extras that hold a header's lines, whole and in order. */
#define PT_DCPI_LINE "dcpi.line"

/* Bytes an Alpha instruction takes, and so the step between counts unless a line says otherwise. */
#define PT_DCPI_ALPHA_GRANULE 4

typedef struct pt_dcpi_header {
    uint32_t major, minor; /* of the version line; 0.07 when there was none */
    uint64_t tstart, tsize;
    uint64_t granule;
    int64_t period; /* 0 = unknown */
    int64_t start_ns;
    pt_string_id image, platform, event, path; /* path: the first */
    bool has_version, has_tstart, has_period;
} pt_dcpi_header;

/* A line of the header as keyword and rest; false for a blank line. */
bool pt_dcpi_split(const char *line, size_t length, size_t *ret_keyword_bytes,
                   const char **ret_rest, size_t *ret_rest_bytes);

/* YYMMDDHHMM, YYYYMMDDHHMM or YYYYMMDDHHMMSS, UTC, two-digit years from 1970 to 2069. False if it
 * is none of these or no date. */
bool pt_dcpi_parse_time(const char *text, size_t length, int64_t *ret_ns);
/* Ten digits, to the minute; twelve for a year that ten cannot say. buf holds 15 bytes at least. */
void pt_dcpi_format_time(int64_t ns, char *buf);

/* The image's mapping from its header: foreign id "dcpi:HEX", and a build id when the
 * identification has the length of one. */
pt_mapping_id pt_dcpi_mapping(pt_builder *b, const pt_dcpi_header *header);
/* The image line's digits for a mapping: its DCPI identification, else its build id, else "0". */
const char *pt_dcpi_image_text(const pt_profile *p, const pt_mapping *m);

/* One count at an address of a mapping, added as a stack of one frame. */
void pt_dcpi_add(pt_builder *b, pt_mapping_id mapping, uint64_t address, const int64_t *values);

/* ---- The other way: counts by address ---- */

typedef struct pt_dcpi_count {
    uint64_t address;
    int64_t value;
} pt_dcpi_count;

/* Leaf counts of one event in one mapping, by address ascending, each address once. Values of time
 * are divided by per_sample. Caller frees *ret_counts. Returns how many. */
size_t pt_dcpi_counts(const pt_profile *p, uint32_t mapping, uint32_t event, int64_t per_sample,
                      pt_dcpi_count **ret_counts);

/* Which events make profiles of counts: all that count, or, when none does, time in nanoseconds
 * over the profile's period; of these only options->event, if it is one. Returns how many were put
 * to ret_events (event count at most), and what one sample is in each event's unit. */
uint32_t pt_dcpi_events(const pt_profile *p, const pt_write_options *options, uint32_t *ret_events,
                        int64_t *ret_per_sample);

#endif
