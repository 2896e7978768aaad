/* procmaps.h: the text list of mapped objects that ends a gperftools profile.
 *
 *   build=/path/to/binary                                       what $build below stands for;
 *                                                               any name will do
 *   40000000-40015000 r-xp 00000000 03:01 12845071   /lib/ld.so     a line of /proc/PID/maps
 *   400000-5ab000: /usr/bin/prog (@1000) 1b2c3d                 the brief form of other profilers;
 *   400000-5ab000 r-xp /usr/bin/prog                            colon and the rest may be missing
 *   I0102 03:04:05.6 7 file.cc:12] 400000-5ab000: /bin/prog     behind a prefix of glog
 *   # build-id 40000000-40015000 1b2c3d4e5f /lib/ld.so          ours: which build was mapped there
 *   # pitot leaves no frames of a signal handler                ours: who wrote the file
 *
 * Lines of other forms are ignored, as "Text List of Mapped Objects" of the gperftools CPU profile
 * format demands, but kept as extras, so that a rewrite gives them back.
 */
#ifndef PT_FORMATS_PROCMAPS_H
#define PT_FORMATS_PROCMAPS_H

#include "base/reader.h"
#include "model/builder.h"

/* Key of the extras that hold lines nobody understood. */
#define PT_PROCMAPS_EXTRA "maps.line"
/* How our own line of a build id begins; no other writer's file has it. */
#define PT_PROCMAPS_BUILD_ID "# build-id "
/* How the line begins that is in every file of ours, whatever else is. */
#define PT_PROCMAPS_OURS "# pitot "

/* Whether the list, which the reader stands before, has a line that only we write. */
bool pt_procmaps_ours(const pt_reader *r);

/* Reads to the end and appends the executable mappings; others are left out. What is then done with
 * them is massageMappings and remapMappingIDs of google/pprof: adjacent pieces of one file that
 * continue each other are one mapping, the main binary changes places with the first, huge pages
 * before it go, and its start is moved down to 0x400000 if that is where its file begins. Facts go
 * to diag. */
void pt_procmaps_read(pt_reader *r, pt_builder *b, pt_diag *diag);

#endif
