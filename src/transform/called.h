/* called.h: decides which frames are meant by a name that was copied from a report. No other code
 * decides this.
 *
 *   main                        a function
 *   main /src/main.c:7          the same function, with the place that some rows show
 *   [libfoo.so+0x1200..]        a frame without a name
 *   [libfoo.so]  /src/main.c    all frames in that file, unless a row has this name
 */
#pragma once

#include "model/profile.h"

/* Does the name mean the frame? line: of the location; PT_NONE if the location has no lines. */
typedef bool pt_called_fn(const pt_profile *p, uint32_t location, uint32_t line, const char *name);

/* The possible meanings of a name, the closest first: a row of that name; frames without a name in
 * the mapped file; all frames in the mapped file or source file. A name has the first of these
 * meanings with which it names any frame of the profile. */
enum { PT_CALLED_COUNT = 3 };
extern pt_called_fn *const pt_called[PT_CALLED_COUNT];

/* The meaning of the name in the profile: the first meaning that fits a frame. Returns NULL if none
 * fits, so that the text is not a name. */
pt_called_fn *pt_called_find(const pt_profile *p, const char *name);
