/* utf16.h: text that begins with UTF-16's byte order mark, as some editors and PowerShell save what
 * is copied or redirected. */
#ifndef PT_BASE_UTF16_H
#define PT_BASE_UTF16_H

#include <stdbool.h>

#include "base/file.h"

/* Does the data begin with a mark of UTF-16, and then with text: no control characters but tabs and
 * ends of lines? */
bool pt_is_utf16(const void *data, size_t size);

/* Replaces UTF-16 text by the same in UTF-8 without a mark; a surrogate without its partner becomes
 * U+FFFD (Unicode 15, section 3.9, table 3-5). PT_ERR_NOMEM or PT_ERR_LIMIT if there is no room for
 * it: the blob is then as it was. */
pt_status pt_blob_to_utf8(pt_blob *blob, pt_error *reterr);

#endif
