/* info_json.c: the contents of a profile as JSON. An unknown value is null or "". */
#include "render/info.h"

#include "render/column.h"
#include "render/report.h"

/* Puts the value, or null for 0, which stands for unknown. */
static void put_known(pt_json_w *w, const char *key, int64_t value)
{
    pt_json_key_int_or_null(w, key, value, value != 0);
}

static const pt_column file_columns[] = {
    PT_COLUMN("name", NULL, NAME, pt_info_file, name),
    PT_COLUMN("format", NULL, TEXT, pt_info_file, format),
    PT_COLUMN("compression", NULL, TEXT, pt_info_file, compression),
    PT_COLUMN("bytes", NULL, COUNT, pt_info_file, bytes),
    PT_COLUMN("inflated_bytes", NULL, COUNT, pt_info_file, peeled_bytes),
    PT_COLUMN("damage", NULL, TEXT, pt_info_file, damage),
};

static const pt_column event_columns[] = {
    PT_COLUMN("type", NULL, NAME, pt_info_event, type),
    PT_COLUMN("unit", NULL, TEXT, pt_info_event, unit),
    PT_COLUMN("total", NULL, VALUE, pt_info_event, total),
    PT_COLUMN("samples", NULL, COUNT32, pt_info_event, samples),
    PT_COLUMN("period", NULL, NUMBER, pt_info_event, period, .marks = PT_ZERO_UNKNOWN),
    PT_COLUMN("default", NULL, FLAG, pt_info_event, is_default),
};

static const pt_column mapping_columns[] = {
    PT_COLUMN("file", NULL, NAME, pt_info_mapping, file),
    PT_COLUMN("build_id", NULL, TEXT, pt_info_mapping, build_id),
    PT_COLUMN("start", NULL, ADDRESS, pt_info_mapping, start),
    PT_COLUMN("limit", NULL, ADDRESS, pt_info_mapping, limit),
    PT_COLUMN("file_offset", NULL, ADDRESS, pt_info_mapping, file_offset),
    PT_COLUMN("locations", NULL, COUNT32, pt_info_mapping, locations),
    PT_COLUMN("named_locations", NULL, COUNT32, pt_info_mapping, named_locations),
    PT_COLUMN("self_share", NULL, SHARE, pt_info_mapping, self_share),
};

static const pt_column label_columns[] = {
    PT_COLUMN("key", NULL, NAME, pt_info_label, key),
    PT_COLUMN("samples", NULL, COUNT32, pt_info_label, samples),
    PT_COLUMN("texts", NULL, COUNT32, pt_info_label, texts),
    PT_COLUMN("numbers", NULL, COUNT32, pt_info_label, numbers),
    PT_COLUMN("unit", NULL, TEXT, pt_info_label, unit),
};

#define PUT_ROWS(w, key, columns, rows, count)                                                     \
    pt_columns_json_rows(w, key, &(pt_columns){PT_COLUMNS(columns)}, rows, count, sizeof *(rows))

static void put_origin(pt_json_w *w, const pt_profile *p, const pt_info *info)
{
    const pt_provenance *const from = info->from;
    pt_json_key_object(w, "origin");
    pt_json_key_text(w, "tool", pt_text(p, from->tool));
    pt_json_key_text(w, "host", pt_text(p, from->host));
    pt_json_key_text(w, "system", pt_text(p, from->os));
    pt_json_key_text(w, "cpu", pt_text(p, from->cpu_model));
    pt_json_key_text(w, "command", pt_text(p, from->command_line));
    put_known(w, "period", from->period);
    pt_json_key_text(w, "period_type", pt_text(p, from->period_type));
    pt_json_key_text(w, "period_unit", pt_text(p, from->period_unit));
    put_known(w, "start_ns", from->start_ns);
    put_known(w, "duration_ns", from->duration_ns);
    put_known(w, "first_sample_ns", info->first_sample_ns);
    put_known(w, "last_sample_ns", info->last_sample_ns);
    pt_json_key_uint(w, "lost_samples", from->lost);
    put_known(w, "cpu_used_ns", from->cpu_used_ns);
    put_known(w, "cpu_seen_ns", from->cpu_seen_ns);
    pt_json_key_text(w, "drop_frames", pt_text(p, from->drop_frames));
    pt_json_key_text(w, "keep_frames", pt_text(p, from->keep_frames));
    pt_json_key_text(w, "doc_url", pt_text(p, from->doc_url));
    PT_JSON_EACH (w, "comments", i, from->comment_count)
        pt_json_text(w, pt_text(p, from->comments[i]));
    pt_json_object_end(w);
}

static void put_stacks(pt_json_w *w, const pt_info *info)
{
    pt_json_key_uint(w, "samples", info->samples);
    pt_json_key_uint(w, "stacks", info->stacks);
    pt_json_key_object(w, "depth");
    pt_json_key_uint(w, "min", info->depth_min);
    pt_json_key_uint(w, "median", info->depth_median);
    pt_json_key_double(w, "mean", info->depth_mean);
    pt_json_key_uint(w, "p99", info->depth_p99);
    pt_json_key_uint(w, "max", info->depth_max);
    pt_json_object_end(w);
    pt_json_key_object(w, "ends");
    for (int end = 0; end < PT_STACK_END_COUNT; end++)
        pt_json_key_uint(w, pt_stack_end_name((pt_stack_end)end), info->ends[end]);
    pt_json_object_end(w);
    pt_json_key_object(w, "end_shares");
    for (int end = 0; end < PT_STACK_END_COUNT; end++)
        pt_json_key_double(w, pt_stack_end_name((pt_stack_end)end), info->end_share[end]);
    pt_json_object_end(w);
}

static void put_code(pt_json_w *w, const pt_info *info)
{
    pt_json_key_uint(w, "locations", info->locations);
    pt_json_key_uint(w, "named_locations", info->named_locations);
    pt_json_key_uint(w, "inlined_locations", info->inlined_locations);
    pt_json_key_uint(w, "functions", info->functions);
    pt_json_key_uint(w, "lines", info->lines);
    PUT_ROWS(w, "mappings", mapping_columns, info->mappings, info->mapping_count);
}

static void put_lacks(pt_json_w *w, const pt_info *info)
{
    PT_JSON_OBJECTS (w, "missing", i, info->lack_count) {
        pt_json_key_text(w, "what", pt_lack_name(info->lacks[i].kind));
        put_known(w, "count", (int64_t)info->lacks[i].count);
        put_known(w, "of", (int64_t)info->lacks[i].of);
    }
}

void pt_info_json(pt_out *out, const pt_profile *profile, const pt_info *info,
                  const pt_info_file *files, size_t file_count)
{
    PT_AUTO(pt_json_w) w;
    pt_report_json_begin(&w, out, "info");
    PUT_ROWS(&w, "files", file_columns, files, file_count);
    PUT_ROWS(&w, "events", event_columns, info->events, info->event_count);
    put_origin(&w, profile, info);
    put_stacks(&w, info);
    put_code(&w, info);
    PUT_ROWS(&w, "labels", label_columns, info->labels, info->label_count);
    pt_json_key_uint(&w, "arcs", info->arcs);
    pt_json_key_uint(&w, "bins", info->bins);
    pt_json_key_uint(&w, "blocks", info->blocks);
    pt_json_key_uint(&w, "extras", info->extras);
    pt_json_key_uint(&w, "unknown_fields", info->unknown_fields);
    put_lacks(&w, info);
    pt_json_object_end(&w);
}
