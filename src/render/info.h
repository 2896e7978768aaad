/* info.h: `pitot info` as text and JSON. */
#pragma once

#include "base/buf.h"
#include "render/look.h"
#include "view/info.h"

/* A file that the profile was made of. */
typedef struct pt_info_file {
    const char *name;
    const char *format;      /* "pprof" */
    const char *compression; /* "gzip", "zstd" or "none" */
    uint64_t bytes, peeled_bytes;
    const char *damage; /* NULL, or the damage of the file in words */
} pt_info_file;

/* Write the contents of a profile. profile: has the strings to which info->from refers. */
void pt_info_text(pt_out *out, const pt_look *look, const pt_profile *profile, const pt_info *info,
                  const pt_info_file *files, size_t file_count);
void pt_info_json(pt_out *out, const pt_profile *profile, const pt_info *info,
                  const pt_info_file *files, size_t file_count);
