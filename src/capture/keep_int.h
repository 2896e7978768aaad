/* keep_int.h: the records of a recording's journal (keep.h), each drawn by who writes it, in
 * keep.c. */
#ifndef PT_CAPTURE_KEEP_INT_H
#define PT_CAPTURE_KEEP_INT_H

#define PT_KEEP_MAGIC                                                                              \
    "PITOTRC1" /* behind the first record's kind and size; the digit: the version */

enum { PT_KEEP_MAGIC_BYTES = 8 };

enum {
    PT_KEEP_HEAD = 1, /* the first */
    PT_KEEP_MAPPING,
    PT_KEEP_BUILD_ID,
    PT_KEEP_LOCATION,
    PT_KEEP_STACK,
    PT_KEEP_USER,
    PT_KEEP_SAMPLE,
    PT_KEEP_MORE,
    PT_KEEP_FACTS,
};

enum { PT_KEEP_IS_TIMELINE = 1, PT_KEEP_IS_CLOCK = 2, PT_KEEP_HAS_WAITS = 4 };

#endif
