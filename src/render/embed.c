/* embed.c: puts a page that has a place for its data. */
#include "render/embed.h"

#include <string.h>

#define MARKER "@@DATA@@"

const char *pt_embed_until_data(pt_out *out, const char *page, const char *end)
{
    const char *const marker = memmem(page, (size_t)(end - page), MARKER, strlen(MARKER));
    PT_BUG_IF(marker == NULL);
    pt_out_put(out, page, (size_t)(marker - page));
    return marker + strlen(MARKER);
}
