/* perf_folder.h: recordings that are folders: what perf record --threads (data, data.0, data.1 ...)
 * and --kcore (data) leave. */
#ifndef PT_LOAD_PERF_FOLDER_H
#define PT_LOAD_PERF_FOLDER_H

#include "base/file.h"

/* Is there a folder of that name with a file "data" in it? */
bool pt_perf_folder_is(const char *path);
/* Its files as one: "data", and behind it the records of the others, in their order, as the reader
 * of perf.data takes them. Fails as pt_file_read does. */
pt_status pt_perf_folder_read(const char *path, uint64_t max_bytes, pt_blob *ret_blob,
                              pt_error *reterr);

#endif
