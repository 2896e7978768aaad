/* perf_folder.h: recordings in a folder: perf record --threads makes data, data.0, data.1 ...;
 * --kcore makes data. */
#pragma once

#include "base/file.h"

/* True if path is a folder with a file "data". */
bool pt_perf_folder_is(const char *path);
/* Joins its files: "data", then the records of the others in order, in the form that the perf.data
 * reader accepts. Fails like pt_file_read. */
pt_status pt_perf_folder_read(const char *path, uint64_t max_bytes, pt_blob *ret_blob,
                              pt_error *reterr);
