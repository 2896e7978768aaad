/* part.c: see part.h. */
#include "transform/part.h"

#include "model/builder.h"

const pt_profile *pt_profile_part(const pt_profile *profile, const char *query)
{
    pt_builder *const b = pt_builder_extend(profile);
    pt_provenance *const source = pt_builder_provenance(b);
    source->cpu_used_ns = source->cpu_seen_ns = 0;
    PT_FREE char *comment = pt_strf("a part of the recording: %s", query);
    pt_builder_comment(b, pt_builder_text(b, comment));
    const pt_profile *part = NULL;
    const pt_status status = pt_builder_freeze(b, &part, NULL);
    return status == PT_OK ? part : pt_profile_ref(profile); /* the string table is full */
}
