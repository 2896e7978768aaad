/* dcpi.h: what the binary DCPI profile and the text of dcpicat share: the header and its extras. */
#ifndef PT_FORMATS_DCPI_H
#define PT_FORMATS_DCPI_H

#include "formats/format.h"

/* Keys of the extras that hold a header's lines, whole and in order, begin so; a blank and the
 * image's digits follow, so that headers of several images stay apart through a merge. */
#define PT_DCPI_LINE "dcpi.line"
/* So do those of lines of a text's header that have no field in the model. */
#define PT_DCPI_TEXT_LINE "dcpicat.line"

/* Bytes an Alpha instruction takes, and so the step between counts unless a line says otherwise. */
#define PT_DCPI_ALPHA_GRANULE 4

typedef struct pt_dcpi_header {
    uint32_t major, minor; /* of the version line; 0.07 when there was none */
    uint64_t tstart, tsize;
    uint64_t file_offset; /* of tstart, in the image's file: a line that only we write */
    uint64_t granule;
    int64_t period; /* 0 = unknown */
    int64_t start_ns;
    pt_string_id image, platform, event, path; /* path: the first */
    bool has_version, has_tstart, has_period;
} pt_dcpi_header;

#define PT_DCPI_NS_PER_S 1000000000
#define PT_DCPI_UNKNOWN  "-" /* a line may not be empty */
#define PT_DCPI_NO_IMAGE "0" /* nor a number */

static inline bool pt_dcpi_is_blank(char c)
{
    return c == ' ' || c == '\t';
}

/* A line of the header as keyword and rest; false for a blank line. */
bool pt_dcpi_split(const char *line, size_t length, size_t *ret_keyword_bytes,
                   const char **ret_rest, size_t *ret_rest_bytes);

bool pt_dcpi_keyword_is(const char *line, size_t keyword_bytes, const char *keyword);
/* Digits of base 10 or 16 (then maybe behind 0x) up to the end or the first blank; false if there
 * are none, or more than fit. */
bool pt_dcpi_number(const char *text, size_t length, int base, uint64_t *ret);
/* What a granule line says; false, and no change, if that cannot be. Bytes from 1 to 4096. */
bool pt_dcpi_granule(const char *text, size_t length, uint64_t *ret);

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

/* ---- The other way: leaf counts by address ---- */

typedef struct pt_dcpi_counts {
    uint32_t *event; /* which events of the profile: all that count, or, when none does, time in
                        nanoseconds over the profile's period */
    uint32_t event_count;
    size_t *first;     /* [mappings + 1]: addresses of mapping m are [first[m], first[m + 1]) */
    uint64_t *address; /* ascending in each mapping, each once */
    int64_t *value;    /* [addresses * event_count], > 0 or 0; an address has one that is not 0 */
    size_t count;      /* addresses */
} pt_dcpi_counts;

/* What is left out is told to diag (may be NULL). Fails if the profile has no such event or no
 * mappings. Pair with pt_dcpi_counts_done. */
pt_status pt_dcpi_counts_init(pt_dcpi_counts *ret_counts, const pt_profile *p, pt_diag *diag,
                              pt_error *reterr);
void pt_dcpi_counts_done(pt_dcpi_counts *counts);

/* What an event is called: of mere "samples" what lies between two of them says more. */
const char *pt_dcpi_event_name(const pt_profile *p, uint32_t event);

/* The key of lines of the image that has these digits ("" = unknown). */
pt_string_id pt_dcpi_line_key(pt_builder *b, const char *kind, const char *image);

/* Lines of DCPI headers by their images: of mapping m extra[first[m]] up to extra[first[m + 1]], in
 * order. Where several mappings have the same digits, or none, nobody knows whose a line is: it is
 * lost. */
typedef struct pt_dcpi_lines {
    const pt_profile *p; /* borrowed */
    uint32_t *first;     /* [mappings + 1] */
    uint32_t *extra;     /* rows of the extras */
    uint32_t lost;
} pt_dcpi_lines;

void pt_dcpi_lines_init(pt_dcpi_lines *ret_lines, const pt_profile *p);
void pt_dcpi_lines_done(pt_dcpi_lines *lines);

/* Is the line of a text's header? */
bool pt_dcpi_is_of_text(const pt_profile *p, uint32_t extra);

/* The header line of that keyword which the image came with, binary or as text; NULL if there is
 * none, or if it had a header of version 1. */
const char *pt_dcpi_kept_line(const pt_dcpi_lines *lines, uint32_t mapping, const char *keyword);

/* How many lines of a binary header the image came with; 0 if it came from elsewhere, or from a
 * version whose samples look otherwise. */
uint32_t pt_dcpi_kept_lines(const pt_dcpi_lines *lines, uint32_t mapping);

/* The writer of the binary format: dcpi_write.c. */
pt_status pt_dcpi_write(const pt_profile *profile, const pt_output *output,
                        const pt_write_options *options, pt_error *reterr);

#endif
