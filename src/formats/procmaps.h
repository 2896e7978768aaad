/* procmaps.h: the list of mapped objects at the end of a gperftools profile, as text.
 *
 *   build=/path/to/binary                                       value of $build below; other
 *                                                               names work in the same way
 *   40000000-40015000 r-xp 00000000 03:01 12845071   /lib/ld.so     a line of /proc/PID/maps
 *   400000-5ab000: /usr/bin/prog (@1000) 1b2c3d                 the brief form of other profilers;
 *   400000-5ab000 r-xp /usr/bin/prog                            only range and path are required
 *   I0102 03:04:05.6 7 file.cc:12] 400000-5ab000: /bin/prog     with a prefix of glog
 *   # build-id 40000000-40015000 1b2c3d4e5f /lib/ld.so          of pitot: build id of a mapping
 *   # pitot leaves no frames of a signal handler                of pitot: marks pitot's own files
 *
 * Lines in other forms are ignored, as "Text List of Mapped Objects" of the gperftools CPU profile
 * format requires, but kept as extras, so that a rewrite reproduces them.
 */
#pragma once

#include "base/reader.h"
#include "model/builder.h"

/* Key of the extras that hold unknown lines. */
#define PT_PROCMAPS_EXTRA "maps.line"
/* Prefix of pitot's build-id line; no other writer has it. */
#define PT_PROCMAPS_BUILD_ID "# build-id "
/* Prefix of a line that is in every file written by pitot. */
#define PT_PROCMAPS_OURS "# pitot "

/* Does the list that begins at the reader's position have a line that only pitot writes? */
bool pt_procmaps_ours(const pt_reader *r);

/* Reads the list to its end and appends the executable mappings. The mappings are then adjusted as
 * in google/pprof's massageMappings and remapMappingIDs: adjacent parts of a file with continuous
 * offsets are joined; the main binary swaps places with the first mapping; huge pages before the
 * main binary are removed; the main binary's start moves down to 0x400000 if the file begins there.
 * Facts are added to diag. */
void pt_procmaps_read(pt_reader *r, pt_builder *b, pt_diag *diag);
