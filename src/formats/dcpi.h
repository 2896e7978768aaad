/* dcpi.h: shared by the binary DCPI profile and the text of dcpicat: the header, its extras, and
 * leaf counts. */
#pragma once

#include "base/span.h"
#include "formats/format.h"

/* Key of the extras that hold the lines of a binary header, whole and in order. A blank and the
 * image's digits follow the key, so that a merge keeps the headers of several images apart. */
#define PT_DCPI_LINE "dcpi.line"
/* Key, in the same form, of extras that hold header lines of a dcpicat text for which the model has
 * no field. */
#define PT_DCPI_TEXT_LINE "dcpicat.line"

/* Bytes of an Alpha instruction: the step between counts, unless a granule line sets another. */
#define PT_DCPI_ALPHA_GRANULE 4

typedef struct pt_dcpi_header {
    uint32_t major, minor; /* from the version line; 0.07 if there is no version line */
    uint64_t tstart, tsize;
    uint64_t file_offset; /* offset of tstart in the image's file, from a line of pitot's own */
    uint64_t granule;
    int64_t period; /* 0 = unknown */
    int64_t start_ns;
    pt_string_id image, platform, event, path; /* path: the first path line */
    bool has_version, has_tstart, has_period;
} pt_dcpi_header;

#define PT_DCPI_NS_PER_S 1000000000
#define PT_DCPI_UNKNOWN  "-" /* for texts, since a line cannot be empty */
#define PT_DCPI_NO_IMAGE "0" /* for an image without an identification */

/* Splits a header line into keyword and rest; returns false for a blank line. */
bool pt_dcpi_split(pt_span line, pt_span *ret_keyword, pt_span *ret_rest);

/* Parses digits of base 10, or 16 with an optional 0x, up to the end or the first blank. False
 * without digits or on overflow. */
bool pt_dcpi_number(pt_span text, int base, uint64_t *ret);
/* Parses the value of a granule line: 1 to 4096 bytes. False, with *ret unchanged, for an invalid
 * value. */
bool pt_dcpi_granule(pt_span text, uint64_t *ret);

/* Parses YYMMDDHHMM, YYYYMMDDHHMM or YYYYMMDDHHMMSS in UTC; two-digit years are 1970 to 2069. False
 * for another form or an invalid date. */
bool pt_dcpi_parse_time(pt_span text, int64_t *ret_ns);
/* Writes the time to the minute, as ten digits, or as twelve if the year needs four. buf has at
 * least 15 bytes. */
void pt_dcpi_format_time(int64_t ns, char *buf);

/* Adds the image's mapping. Its foreign id is "dcpi:HEX"; its build id is also set if the
 * identification has the length of a build id. */
pt_mapping_id pt_dcpi_mapping(pt_builder *b, const pt_dcpi_header *header);
/* The digits of the image line for a mapping: the mapping's DCPI identification, else the mapping's
 * build id, else "0".
 */
const char *pt_dcpi_image_text(const pt_profile *p, const pt_mapping *m);

/* Adds counts (a value for each event) at an address of a mapping, as a stack of one frame. */
void pt_dcpi_add(pt_builder *b, pt_mapping_id mapping, uint64_t address, const int64_t *values);

/* ---- Writing: leaf counts by address ---- */

/* The values of a profile summed by leaf address. */
typedef struct pt_dcpi_counts {
    uint32_t *event; /* rows of the profile's events: all events of kind count; if there are no such
                      * events, the event of time in ns, whose values are divided by the profile's
                      * period */
    uint32_t event_count;
    size_t *first;     /* [mappings + 1]: the addresses of mapping m are [first[m], first[m + 1]) */
    uint64_t *address; /* distinct and ascending in each mapping */
    int64_t *value; /* [addresses * event_count], not negative; at least one value of an address is
                       not 0 */
    size_t count;   /* number of addresses */
} pt_dcpi_counts;

/* Sums up the profile. Omitted data is counted in diag (may be NULL). Fails if the profile has
 * neither an event of kind count nor one of time, or no mappings. The caller frees *ret_counts with
 * pt_dcpi_counts_done. */
pt_status pt_dcpi_counts_init(pt_dcpi_counts *ret_counts, const pt_profile *p, pt_diag *diag,
                              pt_error *reterr);
void pt_dcpi_counts_done(pt_dcpi_counts *counts);

/* The event's name; for plain "samples", the type of the period, which is more specific. */
const char *pt_dcpi_event_name(const pt_profile *p, uint32_t event);

/* The key of extras for header lines of an image with these digits ("" = unknown). */
pt_string_id pt_dcpi_line_key(pt_builder *b, const char *kind, const char *image);

/* The extras that hold lines of DCPI headers, by mapping: the extras of mapping m are
 * extra[first[m]] to extra[first[m + 1] - 1], in order. If several mappings, or no mapping, have
 * the digits of an image, the lines of this image cannot be assigned and are lost. */
typedef struct pt_dcpi_lines {
    const pt_profile *p; /* borrowed */
    uint32_t *first;     /* [mappings + 1] */
    uint32_t *extra;     /* rows of the profile's extras */
    uint32_t lost;
} pt_dcpi_lines;

/* Finds the lines of all mappings. Borrows the profile, which must outlive *ret_lines. */
void pt_dcpi_lines_init(pt_dcpi_lines *ret_lines, const pt_profile *p);
void pt_dcpi_lines_done(pt_dcpi_lines *lines);

/* Is the extra a header line of dcpicat's text (PT_DCPI_TEXT_LINE)? */
bool pt_dcpi_is_of_text(const pt_profile *p, uint32_t extra);

/* The image's header line with that keyword, from a binary or text header: the whole line. NULL if
 * the image has no such line, or has a header of version 1 or above. */
const char *pt_dcpi_kept_line(const pt_dcpi_lines *lines, uint32_t mapping, const char *keyword);

/* The number of the image's lines from a binary header. 0 if the image has no binary header, or has
 * one of version 1 or above, in which samples have another form. */
uint32_t pt_dcpi_kept_lines(const pt_dcpi_lines *lines, uint32_t mapping);
/* The number of the image's lines from a binary header of version 1 or above, which the writer
 * replaces by a new header; 0 for other versions. */
uint32_t pt_dcpi_later_lines(const pt_dcpi_lines *lines, uint32_t mapping);

/* The writer of the binary format (dcpi_write.c). Errors as in pt_format.write. */
pt_status pt_dcpi_write(const pt_profile *profile, const pt_output *output,
                        const pt_write_options *options, pt_error *reterr);
