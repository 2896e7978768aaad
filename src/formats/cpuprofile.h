/* cpuprofile.h: shared by the reader and the writer of .cpuprofile. */
#ifndef PT_FORMATS_CPUPROFILE_H
#define PT_FORMATS_CPUPROFILE_H

#include "formats/format.h"

/* A key of pitot's own. It states that the last sample, of node (root), only marks the end of the
 * one before. */
#define CPUPROFILE_END "pitotEndSample"

/* The writer (cpuprofile_write.c). Errors as in pt_format.write. */
pt_status pt_cpuprofile_write(const pt_profile *profile, const pt_output *output,
                              const pt_write_options *options, pt_error *reterr);
/* Is the event the number of samples, which the file holds implicitly? */
bool pt_cpuprofile_holds_event(const pt_profile *profile, uint32_t event);

#endif
