/* aggregate.c: see aggregate.h. */
#include "transform/aggregate.h"

#include "transform/frames.h"

static pt_mappings *keep_mappings(const pt_mappings *old, pt_keep keep)
{
    pt_mappings *const mappings = pt_mappings_new(old->t.count);
    uint32_t taken = 0;
    if (!keep.inlines) taken |= PT_MAPPING_HAS_INLINES;
    if (!keep.functions) taken |= PT_MAPPING_HAS_FUNCTIONS;
    if (!keep.files) taken |= PT_MAPPING_HAS_FILENAMES;
    if (!keep.lines) taken |= PT_MAPPING_HAS_LINES;
    for (uint32_t i = 0; i < old->t.count; i++) {
        ((pt_mapping *)mappings->row)[i] = old->row[i];
        ((pt_mapping *)mappings->row)[i].flags &= ~taken;
    }
    return mappings;
}

static pt_functions *keep_functions(const pt_functions *old, pt_keep keep)
{
    const uint32_t count = old->t.count;
    pt_functions *const functions = pt_table_new(sizeof *functions, count);
    functions->name = keep.functions ? pt_column_copy(old->name, count, sizeof *old->name)
                                     : pt_alloc(count, sizeof *old->name);
    functions->system_name = keep.functions
                                 ? pt_column_copy(old->system_name, count, sizeof *old->name)
                                 : pt_alloc(count, sizeof *old->name);
    functions->file = keep.files ? pt_column_copy(old->file, count, sizeof *old->file)
                                 : pt_alloc(count, sizeof *old->file);
    functions->start_line = pt_column_copy(old->start_line, count, sizeof *old->start_line);
    functions->source_id = pt_column_copy(old->source_id, count, sizeof *old->source_id);
    return functions;
}

static const pt_profile *outermost_lines(const pt_profile *profile)
{
    PT_FREE bool *stays = pt_alloc(profile->line->t.count, sizeof *stays);
    const uint32_t *const first = profile->location->line_first;
    for (uint32_t l = 0; l < profile->location->t.count; l++)
        if (first[l + 1] > first[l]) stays[first[l + 1] - 1] = true;
    const pt_frames_edit edit = {.line_stays = stays};
    return pt_frames_apply(profile, &edit, NULL);
}

static pt_lines *keep_lines(const pt_lines *old, pt_keep keep)
{
    const uint32_t count = old->t.count;
    pt_lines *const lines = pt_table_new(sizeof *lines, count);
    lines->function = pt_column_copy(old->function, count, sizeof *old->function);
    lines->line = keep.lines ? pt_column_copy(old->line, count, sizeof *old->line)
                             : pt_alloc(count, sizeof *old->line);
    if (keep.lines && keep.columns)
        lines->column = pt_column_copy(old->column, count, sizeof *old->column);
    return lines;
}

static pt_locations *drop_addresses(const pt_locations *old)
{
    const uint32_t count = old->t.count;
    pt_locations *const locations = pt_table_new(sizeof *locations, count);
    locations->mapping = pt_column_copy(old->mapping, count, sizeof *old->mapping);
    locations->address = pt_alloc(count, sizeof *old->address);
    locations->line_first =
        pt_column_copy(old->line_first, (size_t)count + 1, sizeof *old->line_first);
    locations->flags = pt_column_copy(old->flags, count, sizeof *old->flags);
    locations->source_id = pt_column_copy(old->source_id, count, sizeof *old->source_id);
    return locations;
}

const pt_profile *pt_aggregate(const pt_profile *profile, pt_keep keep)
{
    PT_UNREF_PROFILE const pt_profile *base =
        keep.inlines ? pt_profile_ref(profile) : outermost_lines(profile);
    pt_profile_tables tables = {.mapping = keep_mappings(base->mapping, keep)};
    if (!keep.functions || !keep.files) tables.function = keep_functions(base->function, keep);
    if (!keep.lines || !keep.columns) tables.line = keep_lines(base->line, keep);
    if (!keep.addresses) tables.location = drop_addresses(base->location);
    return pt_profile_derive(base, &tables);
}
