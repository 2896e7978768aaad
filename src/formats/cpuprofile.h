/* cpuprofile.h: what reader and writer of cpuprofile.c share. */
#ifndef PT_FORMATS_CPUPROFILE_H
#define PT_FORMATS_CPUPROFILE_H

#include "formats/format.h"

/* The key that tells that the last sample, of (root), is no sample: only pitot writes it. */
#define CPUPROFILE_END "pitotEndSample"

pt_status pt_cpuprofile_write(const pt_profile *profile, const pt_output *output,
                              const pt_write_options *options, pt_error *reterr);
/* Is the event the count of samples that the file's samples are anyway? */
bool pt_cpuprofile_holds_event(const pt_profile *profile, uint32_t event);

#endif
