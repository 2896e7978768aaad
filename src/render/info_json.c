/* info_json.c: what a profile holds, as JSON. What is not known is null or left "". */
#include "render/info.h"

#include "base/json.h"
#include "render/report.h"

#include <inttypes.h>
#include <stdio.h>

static void put_text(pt_json_w *w, const char *key, const char *text)
{
    pt_json_key(w, key);
    pt_json_text(w, text);
}

static void put_count(pt_json_w *w, const char *key, uint64_t value)
{
    pt_json_key(w, key);
    pt_json_uint(w, value);
}

static void put_int(pt_json_w *w, const char *key, int64_t value)
{
    pt_json_key(w, key);
    pt_json_int(w, value);
}

/* 0 stands for unknown. */
static void put_known(pt_json_w *w, const char *key, int64_t value)
{
    pt_json_key(w, key);
    if (value != 0)
        pt_json_int(w, value);
    else
        pt_json_null(w);
}

static void put_double(pt_json_w *w, const char *key, double value)
{
    pt_json_key(w, key);
    pt_json_double(w, value);
}

/* Addresses need 64 bits, which numbers of JSON do not have everywhere. */
static void put_address(pt_json_w *w, const char *key, uint64_t address)
{
    char text[32];
    snprintf(text, sizeof text, "0x%" PRIx64, address);
    put_text(w, key, text);
}

static void put_bool(pt_json_w *w, const char *key, bool value)
{
    pt_json_key(w, key);
    pt_json_bool(w, value);
}

static void open_list(pt_json_w *w, const char *key)
{
    pt_json_key(w, key);
    pt_json_array(w);
}

static void put_files(pt_json_w *w, const pt_info_file *files, size_t count)
{
    open_list(w, "files");
    for (size_t i = 0; i < count; i++) {
        pt_json_object(w);
        put_text(w, "name", files[i].name);
        put_text(w, "format", files[i].format);
        put_text(w, "compression", files[i].compression);
        put_count(w, "bytes", files[i].bytes);
        put_count(w, "inflated_bytes", files[i].peeled_bytes);
        pt_json_key(w, "damage");
        if (files[i].damage)
            pt_json_text(w, files[i].damage);
        else
            pt_json_null(w);
        pt_json_object_end(w);
    }
    pt_json_array_end(w);
}

static void put_events(pt_json_w *w, const pt_info *info)
{
    open_list(w, "events");
    for (uint32_t e = 0; e < info->event_count; e++) {
        pt_json_object(w);
        put_text(w, "type", info->events[e].type);
        put_text(w, "unit", info->events[e].unit);
        put_int(w, "total", info->events[e].total);
        put_count(w, "samples", info->events[e].samples);
        put_known(w, "period", info->events[e].period);
        put_bool(w, "default", info->events[e].is_default);
        pt_json_object_end(w);
    }
    pt_json_array_end(w);
}

static void put_origin(pt_json_w *w, const pt_profile *p, const pt_info *info)
{
    const pt_provenance *const from = info->from;
    pt_json_key(w, "origin");
    pt_json_object(w);
    put_text(w, "tool", pt_text(p, from->tool));
    put_text(w, "host", pt_text(p, from->host));
    put_text(w, "system", pt_text(p, from->os));
    put_text(w, "cpu", pt_text(p, from->cpu_model));
    put_text(w, "command", pt_text(p, from->command_line));
    put_known(w, "period", from->period);
    put_text(w, "period_type", pt_text(p, from->period_type));
    put_text(w, "period_unit", pt_text(p, from->period_unit));
    put_known(w, "start_ns", from->start_ns);
    put_known(w, "duration_ns", from->duration_ns);
    put_known(w, "first_sample_ns", info->first_sample_ns);
    put_known(w, "last_sample_ns", info->last_sample_ns);
    put_count(w, "lost_samples", from->lost);
    put_known(w, "cpu_used_ns", from->cpu_used_ns);
    put_known(w, "cpu_seen_ns", from->cpu_seen_ns);
    put_text(w, "drop_frames", pt_text(p, from->drop_frames));
    put_text(w, "keep_frames", pt_text(p, from->keep_frames));
    put_text(w, "doc_url", pt_text(p, from->doc_url));
    open_list(w, "comments");
    for (uint32_t i = 0; i < from->comment_count; i++)
        pt_json_text(w, pt_text(p, from->comments[i]));
    pt_json_array_end(w);
    pt_json_object_end(w);
}

static void put_stacks(pt_json_w *w, const pt_info *info)
{
    put_count(w, "samples", info->samples);
    put_count(w, "stacks", info->stacks);
    pt_json_key(w, "depth");
    pt_json_object(w);
    put_count(w, "min", info->depth_min);
    put_count(w, "median", info->depth_median);
    put_double(w, "mean", info->depth_mean);
    put_count(w, "p99", info->depth_p99);
    put_count(w, "max", info->depth_max);
    pt_json_object_end(w);
    pt_json_key(w, "ends");
    pt_json_object(w);
    for (int end = 0; end < PT_STACK_END_COUNT; end++)
        put_count(w, pt_stack_end_name((pt_stack_end)end), info->ends[end]);
    pt_json_object_end(w);
    pt_json_key(w, "end_shares");
    pt_json_object(w);
    for (int end = 0; end < PT_STACK_END_COUNT; end++)
        put_double(w, pt_stack_end_name((pt_stack_end)end), info->end_share[end]);
    pt_json_object_end(w);
}

static void put_code(pt_json_w *w, const pt_info *info)
{
    put_count(w, "locations", info->locations);
    put_count(w, "named_locations", info->named_locations);
    put_count(w, "inlined_locations", info->inlined_locations);
    put_count(w, "functions", info->functions);
    put_count(w, "lines", info->lines);
    open_list(w, "mappings");
    for (uint32_t m = 0; m < info->mapping_count; m++) {
        pt_json_object(w);
        put_text(w, "file", info->mappings[m].file);
        put_text(w, "build_id", info->mappings[m].build_id);
        put_address(w, "start", info->mappings[m].start);
        put_address(w, "limit", info->mappings[m].limit);
        put_address(w, "file_offset", info->mappings[m].file_offset);
        put_count(w, "locations", info->mappings[m].locations);
        put_count(w, "named_locations", info->mappings[m].named_locations);
        put_double(w, "self_share", info->mappings[m].self_share);
        pt_json_object_end(w);
    }
    pt_json_array_end(w);
}

static void put_labels(pt_json_w *w, const pt_info *info)
{
    open_list(w, "labels");
    for (uint32_t i = 0; i < info->label_count; i++) {
        pt_json_object(w);
        put_text(w, "key", info->labels[i].key);
        put_count(w, "samples", info->labels[i].samples);
        put_count(w, "texts", info->labels[i].texts);
        put_count(w, "numbers", info->labels[i].numbers);
        put_text(w, "unit", info->labels[i].unit);
        pt_json_object_end(w);
    }
    pt_json_array_end(w);
}

static void put_lacks(pt_json_w *w, const pt_info *info)
{
    open_list(w, "missing");
    for (uint32_t i = 0; i < info->lack_count; i++) {
        pt_json_object(w);
        put_text(w, "what", pt_lack_name(info->lacks[i].kind));
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
    put_count(&w, "arcs", info->arcs);
    put_count(&w, "bins", info->bins);
    put_count(&w, "blocks", info->blocks);
    put_count(&w, "extras", info->extras);
    put_count(&w, "unknown_fields", info->unknown_fields);
    put_lacks(&w, info);
    pt_json_object_end(&w);
    pt_json_w_done(&w);
}
