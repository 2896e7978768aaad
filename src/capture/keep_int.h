/* keep_int.h: the kinds of record in a recording's journal (keep.h). keep.c describes each where it
 * is written. */
#pragma once

#define PT_KEEP_MAGIC                                                                              \
    "PITOTRC2" /* follows the kind and size of the first record; the digit is the version */

enum { PT_KEEP_MAGIC_BYTES = 8 };

enum {
    PT_KEEP_HEAD = 1, /* the first record */
    PT_KEEP_MAPPING,
    PT_KEEP_BUILD_ID,
    PT_KEEP_LOCATION,
    PT_KEEP_STACK,
    PT_KEEP_USER,
    PT_KEEP_SAMPLE,
    PT_KEEP_MORE,
    PT_KEEP_FACTS,
    PT_KEEP_CODE, /* a location, too */
    PT_KEEP_ROW,
};

enum { PT_KEEP_IS_TIMELINE = 1, PT_KEEP_IS_CLOCK = 2, PT_KEEP_HAS_WAITS = 4 };
