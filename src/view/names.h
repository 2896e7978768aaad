/* names.h: which row of a report each frame of a profile belongs to.
 *
 *   location 7 -> lines [alloc inlined in grow, grow] -> names 3, 12    innermost first
 *   location 8 -> no lines                            -> name 40        [libfoo.so+0x1234]
 *
 * A name is what a table's row, a tree's node or a box of a flame graph is keyed by: functions of
 * the same name are one name wherever they come from (as pprof's function granularity has it),
 * inlined frames have names of their own, and a frame without a name is itself. Derived once per
 * profile, shared by its views.
 */
#ifndef PT_VIEW_NAMES_H
#define PT_VIEW_NAMES_H

#include "model/profile.h"

/* What a frame that no function name is known for is called. */
typedef enum {
    PT_UNNAMED_ADDRESS, /* each address is a name: "[libfoo.so+0x1234]" */
    PT_UNNAMED_OBJECT,  /* each mapped file is one: "[libfoo.so]"; "[unknown]" without a mapping */
} pt_unnamed;

/* In `of_location`: the location has several lines; the rest is where they begin in `several`. */
#define PT_NAMES_SEVERAL 0x80000000u

typedef struct pt_names {
    const pt_profile *profile; /* borrowed */
    pt_unnamed unnamed;
    uint32_t count;
    uint32_t *of_location; /* per location: its only name, or PT_NAMES_SEVERAL | place */
    uint32_t *several;     /* at place: how many (at least 2), then the names, innermost first */
    uint32_t *string;      /* per name: the function's name, or PT_NONE for an unnamed frame */
    uint32_t *location;    /* per name: a location that has it */
} pt_names;

/* Borrows the profile. PT_ERR_LIMIT if there are 2^31 names or more. */
pt_status pt_names_init(pt_names *names, const pt_profile *profile, pt_unnamed unnamed,
                        pt_error *reterr);
void pt_names_done(pt_names *names);

/* The names of a location, innermost first. *one is where a single name is put. */
static inline const uint32_t *pt_names_of(const pt_names *names, uint32_t location, uint32_t *one,
                                          uint32_t *ret_count)
{
    const uint32_t name = names->of_location[location];
    if (!(name & PT_NAMES_SEVERAL)) {
        *one = name;
        *ret_count = 1;
        return one;
    }
    const uint32_t *several = names->several + (name & ~PT_NAMES_SEVERAL);
    *ret_count = several[0];
    return several + 1;
}

static inline bool pt_names_is_unnamed(const pt_names *names, uint32_t name)
{
    return names->string[name] == PT_NONE;
}

/* The name as text; the caller frees. */
char *pt_names_text(const pt_names *names, uint32_t name);

/* "[libfoo.so]" of a mapping or PT_NONE; the caller frees. */
char *pt_object_text(const pt_profile *profile, uint32_t mapping);

/* Order of two names by their texts: below, equal to or above 0. */
int pt_names_compare(const pt_names *names, uint32_t a, uint32_t b);

#endif
