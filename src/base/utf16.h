/* utf16.h: text in UTF-16 with a byte order mark, the form in which PowerShell redirects output and
 * some editors save files. */
#pragma once

#include <stdbool.h>

#include "base/file.h"

/* Does the data begin with a byte order mark of UTF-16, followed by text without control characters
 * except tabs and line ends? */
bool pt_is_utf16(const void *data, size_t size);

/* Converts UTF-16 text to UTF-8 without a mark. A lone surrogate becomes U+FFFD (Unicode 15,
 * section 3.9, table 3-5). PT_ERR_NOMEM or PT_ERR_LIMIT if the result does not fit in memory; the
 * blob is then unchanged. */
pt_status pt_blob_to_utf8(pt_blob *blob, pt_error *reterr);
