/* info_json.c: what a profile holds, as JSON. What is not known is null or left "". */
#include "render/info.h"

#include "base/json.h"
#include "render/report.h"

#include <inttypes.h>
#include <stdio.h>

/* 0 stands for unknown. */
static void put_known(pt_json_w *w, const char *key, int64_t value)
{
    pt_json_key_int_or_null(w, key, value, value != 0);
}

static void put_files(pt_json_w *w, const pt_info_file *files, size_t count)
{
    pt_json_key_array(w, "files");
    for (size_t i = 0; i < count; i++) {
        pt_json_object(w);
        pt_json_key_text(w, "name", files[i].name);
        pt_json_key_text(w, "format", files[i].format);
        pt_json_key_text(w, "compression", files[i].compression);
        pt_json_key_uint(w, "bytes", files[i].bytes);
        pt_json_key_uint(w, "inflated_bytes", files[i].peeled_bytes);
        pt_json_key_text(w, "damage", files[i].damage);
        pt_json_object_end(w);
    }
    pt_json_array_end(w);
}

static void put_events(pt_json_w *w, const pt_info *info)
{
    pt_json_key_array(w, "events");
    for (uint32_t e = 0; e < info->event_count; e++) {
        pt_json_object(w);
        pt_json_key_text(w, "type", info->events[e].type);
        pt_json_key_text(w, "unit", info->events[e].unit);
        pt_json_key_int(w, "total", info->events[e].total);
        pt_json_key_uint(w, "samples", info->events[e].samples);
        put_known(w, "period", info->events[e].period);
        pt_json_key_bool(w, "default", info->events[e].is_default);
        pt_json_object_end(w);
    }
    pt_json_array_end(w);
}

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
    pt_json_key_array(w, "comments");
    for (uint32_t i = 0; i < from->comment_count; i++)
        pt_json_text(w, pt_text(p, from->comments[i]));
    pt_json_array_end(w);
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
    pt_json_key_array(w, "mappings");
    for (uint32_t m = 0; m < info->mapping_count; m++) {
        pt_json_object(w);
        pt_json_key_text(w, "file", info->mappings[m].file);
        pt_json_key_text(w, "build_id", info->mappings[m].build_id);
        pt_json_key_hex(w, "start", info->mappings[m].start);
        pt_json_key_hex(w, "limit", info->mappings[m].limit);
        pt_json_key_hex(w, "file_offset", info->mappings[m].file_offset);
        pt_json_key_uint(w, "locations", info->mappings[m].locations);
        pt_json_key_uint(w, "named_locations", info->mappings[m].named_locations);
        pt_json_key_double(w, "self_share", info->mappings[m].self_share);
        pt_json_object_end(w);
    }
    pt_json_array_end(w);
}

static void put_labels(pt_json_w *w, const pt_info *info)
{
    pt_json_key_array(w, "labels");
    for (uint32_t i = 0; i < info->label_count; i++) {
        pt_json_object(w);
        pt_json_key_text(w, "key", info->labels[i].key);
        pt_json_key_uint(w, "samples", info->labels[i].samples);
        pt_json_key_uint(w, "texts", info->labels[i].texts);
        pt_json_key_uint(w, "numbers", info->labels[i].numbers);
        pt_json_key_text(w, "unit", info->labels[i].unit);
        pt_json_object_end(w);
    }
    pt_json_array_end(w);
}

static void put_lacks(pt_json_w *w, const pt_info *info)
{
    pt_json_key_array(w, "missing");
    for (uint32_t i = 0; i < info->lack_count; i++) {
        pt_json_object(w);
        pt_json_key_text(w, "what", pt_lack_name(info->lacks[i].kind));
        put_known(w, "count", (int64_t)info->lacks[i].count);
        put_known(w, "of", (int64_t)info->lacks[i].of);
        pt_json_object_end(w);
    }
    pt_json_array_end(w);
}

void pt_info_json(pt_out *out, const pt_profile *profile, const pt_info *info,
                  const pt_info_file *files, size_t file_count)
{
    pt_json_w w;
    pt_report_json_begin(&w, out, "info");
    put_files(&w, files, file_count);
    put_events(&w, info);
    put_origin(&w, profile, info);
    put_stacks(&w, info);
    put_code(&w, info);
    put_labels(&w, info);
    pt_json_key_uint(&w, "arcs", info->arcs);
    pt_json_key_uint(&w, "bins", info->bins);
    pt_json_key_uint(&w, "blocks", info->blocks);
    pt_json_key_uint(&w, "extras", info->extras);
    pt_json_key_uint(&w, "unknown_fields", info->unknown_fields);
    put_lacks(&w, info);
    pt_json_object_end(&w);
    pt_json_w_done(&w);
}
