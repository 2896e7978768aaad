/* rename.c: derives a profile with renamed functions, or with other texts for all strings. */
#include <string.h>

#include "base/buf.h"
#include "base/visible.h"
#include "model/builder.h"

pt_status pt_profile_rename(const pt_profile *profile, pt_function_namer *namer, void *context,
                            const pt_profile **ret_profile, pt_error *reterr)
{
    const pt_functions *old = profile->function;
    const uint32_t count = old->t.count;
    uint32_t *names = pt_alloc(count + 1, sizeof *names);
    bool any = false;
    pt_builder *b = pt_builder_extend(profile);
    for (uint32_t i = 0; i < count; i++) {
        PT_FREE char *name = namer(context, profile, i);
        names[i] = old->name[i];
        if (name == NULL || strcmp(name, pt_text(profile, old->name[i])) == 0) continue;
        names[i] = pt_builder_text(b, name).v;
        any = true;
    }
    const pt_profile *with_texts;
    const pt_status status = pt_builder_freeze(b, &with_texts, reterr);
    if (status != PT_OK || !any) {
        pt_freep(&names);
        if (status == PT_OK) {
            pt_profile_unref(with_texts);
            *ret_profile = pt_profile_ref(profile);
        }
        return status;
    }
    const size_t bytes = (size_t)(count + 1) * sizeof(uint32_t);
    pt_functions *table = pt_table_new(sizeof *table, count);
    uint32_t *system_names = pt_alloc(1, bytes), *files = pt_alloc(1, bytes);
    int64_t *lines = pt_alloc(count + 1, sizeof *lines);
    uint64_t *ids = old->source_id != NULL ? pt_alloc(count + 1, sizeof *ids) : NULL;
    memcpy(system_names, old->system_name, count * sizeof *system_names);
    memcpy(files, old->file, count * sizeof *files);
    memcpy(lines, old->start_line, count * sizeof *lines);
    if (ids != NULL) memcpy(ids, old->source_id, count * sizeof *ids);
    table->name = names;
    table->system_name = system_names;
    table->file = files;
    table->start_line = lines;
    table->source_id = ids;
    *ret_profile = pt_profile_derive(with_texts, &(pt_profile_tables){.function = table});
    pt_profile_unref(with_texts);
    return PT_OK;
}

const pt_profile *pt_profile_on_one_line(const pt_profile *profile)
{
    const pt_strings *const old = profile->string;
    const uint32_t count = old->t.count;
    if (!pt_has_newline_or_tab(old->bytes, old->offset[count])) return pt_profile_ref(profile);
    pt_strings *const table = pt_table_new(sizeof *table, count);
    uint64_t *const offset = pt_alloc(count + 1, sizeof *offset);
    pt_buf bytes = PT_BUF_INIT;
    for (uint32_t i = 0; i < count; i++) {
        const size_t size = old->offset[i + 1] - old->offset[i] - 1;
        size_t line_size;
        PT_FREE char *line = pt_on_one_line(old->bytes + old->offset[i], size, &line_size);
        pt_put(&bytes, line, line_size + 1);
        offset[i + 1] = bytes.size;
    }
    table->offset = offset;
    table->bytes = pt_buf_take(&bytes, NULL);
    return pt_profile_derive(profile, &(pt_profile_tables){.string = table});
}
