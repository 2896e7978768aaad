/* builder.h: builds a profile: one thread adds rows, then freezes.
 *
 *     pt_builder *b = pt_builder_new();
 *     pt_builder_event(b, &(pt_event){.type = pt_builder_text(b, "samples").v, ...});
 *     const pt_stack_id stack = pt_builder_stack(b, frames, depth, PT_STACK_END_ROOT);
 *     pt_builder_sample(b, stack, PT_NO_LABELS, (int64_t[]){1, 10000000});
 *     status = pt_builder_freeze(b, &profile, &error);    (the builder is consumed)
 *
 * A function that *interns* returns the id of an existing row with equal content. A function that
 * *appends* always adds a row; readers of formats with their own tables use it to keep duplicates
 * and order. Exceeding a limit (2^32-2 rows, values that do not fit 63 bits) sets a sticky error:
 * later adds have no effect, and freeze returns the error.
 */
#pragma once

#include "model/profile.h"

typedef struct pt_builder pt_builder;

#define PT_NO_LABELS ((pt_labels_id){0})

/* A new builder without rows. The caller ends it with pt_builder_freeze or pt_builder_free. */
pt_builder *pt_builder_new(void);
void pt_builder_free(pt_builder *builder); /* accepts NULL */

/* Optional: the expected numbers of rows, so that columns are allocated once. Excessive numbers are
 * capped. */
void pt_builder_reserve_samples(pt_builder *b, size_t samples, size_t frames);
/* Announces the exact number of frames, if it is known and not only a bound; call it before
 * pt_builder_reserve_samples. The column of frames then uses large pages. */
void pt_builder_expect_frames(pt_builder *b, size_t frames);
void pt_builder_reserve_locations(pt_builder *b, size_t functions, size_t locations, size_t lines);

/* Interns a string. The bytes are copied and may have any value. */
pt_string_id pt_builder_string(pt_builder *b, const char *bytes, size_t size);
pt_string_id pt_builder_text(pt_builder *b, const char *text);
/* The text of an id; valid until the next string is added. */
const char *pt_builder_get_text(const pt_builder *b, pt_string_id id);

/* The number of distinct strings so far, including the empty string, which always exists. */
uint32_t pt_builder_string_count(const pt_builder *b);

/* Appends a value column and returns its number. kind is derived from the unit. All events come
 * before the first sample. */
uint32_t pt_builder_event(pt_builder *b, const pt_event *event);
uint32_t pt_builder_event_count(const pt_builder *b);
/* Removes the event of that type if its value is 0 in all samples. Call it after the last sample
 * was added, and not for profiles with arcs. */
void pt_builder_drop_empty_event(pt_builder *b, const char *type);
/* Removes the samples whose values are all 0; the rows of later samples move. Only for a builder
 * whose samples were added by pt_builder_sample and pt_builder_timed_sample. */
void pt_builder_drop_empty_samples(pt_builder *builder);
/* The row of an event, which may be changed until freeze. */
pt_event *pt_builder_event_at(pt_builder *b, uint32_t event);
/* pt_profile_default_event will return the event. Called after all events were added. */
void pt_builder_set_default_event(pt_builder *b, uint32_t event);

/* Appends a mapping. */
pt_mapping_id pt_builder_append_mapping(pt_builder *b, const pt_mapping *mapping);
/* Interns a mapping; all fields are compared. */
pt_mapping_id pt_builder_mapping(pt_builder *b, const pt_mapping *mapping);
/* The row of a mapping, which may be changed until freeze; and the number of rows. */
pt_mapping *pt_builder_mapping_at(pt_builder *b, pt_mapping_id id);
uint32_t pt_builder_mapping_count(const pt_builder *b);

/* A function; its fields are the columns of pt_functions. */
typedef struct pt_function {
    uint32_t name, system_name, file; /* strings */
    int64_t start_line;
    uint64_t source_id; /* 0 = row + 1 */
} pt_function;
/* Append, and intern, a function. */
pt_function_id pt_builder_append_function(pt_builder *b, const pt_function *function);
pt_function_id pt_builder_function(pt_builder *b, const pt_function *function);

/* A line, and a location without its lines. Their fields are the columns of pt_lines and
 * pt_locations. */
typedef struct pt_line {
    uint32_t function; /* or PT_NONE */
    int64_t line, column;
} pt_line;
typedef struct pt_location {
    uint32_t mapping; /* or PT_NONE */
    uint32_t flags;   /* PT_LOCATION_x */
    uint64_t address;
    uint64_t code_offset; /* 0 = unknown; see pt_locations */
    uint64_t source_id;   /* 0 = row + 1 */
} pt_location;
/* Append, and intern, a location with its lines, the innermost inlined frame first; line_count may
 * be 0. */
pt_location_id pt_builder_append_location(pt_builder *b, const pt_location *location,
                                          const pt_line *lines, size_t line_count);
pt_location_id pt_builder_location(pt_builder *b, const pt_location *location, const pt_line *lines,
                                   size_t line_count);
/* Names of the locations for CPU time that could not be sampled: time in the kernel, if nobody may
 * sample the kernel; and the time of a thread before its events were open. */
#define PT_NOT_SAMPLED_KERNEL "[kernel, not sampled]"
#define PT_NOT_SAMPLED_START  "[start of a thread, not sampled]"

/* Adds a location that is not a place in code: the location has only a name and flags
 * (PT_LOCATION_x). */
pt_location_id pt_builder_named_location(pt_builder *b, const char *name, uint32_t flags);

/* The number of locations so far: all their ids are below this number. */
uint32_t pt_builder_location_count(const pt_builder *b);
/* The address of a location; *ret_flags is set to the location's flags (PT_LOCATION_x). */
uint64_t pt_builder_location_address(const pt_builder *b, pt_location_id id, uint32_t *ret_flags);

/* Interns a stack. frames: depth location ids, leaf first; depth 0 is the empty stack. Ids are
 * checked only at freeze, so locations may be added later. */
pt_stack_id pt_builder_stack(pt_builder *b, const uint32_t *frames, size_t depth, pt_stack_end end);
/* Appends a stack without a search for an equal stack. The caller knows that there is none. */
pt_stack_id pt_builder_new_stack(pt_builder *b, const uint32_t *frames, size_t depth,
                                 pt_stack_end end);
/* Interns a stack without a copy, in two steps: pt_builder_stack_space returns room for up to depth
 * frames at the end of the frame column; the caller writes them and calls
 * pt_builder_stack_commit. */
uint32_t *pt_builder_stack_space(pt_builder *b, size_t depth);
pt_stack_id pt_builder_stack_commit(pt_builder *b, size_t depth, pt_stack_end end);
/* For readers that decode several stacks ahead: computes the hash of frames, which may be anywhere
 * in memory, and prefetches the hash's slot in the index. Pass the hash to the later commit. */
uint64_t pt_builder_stack_hash(const pt_builder *b, const uint32_t *frames, size_t depth,
                               pt_stack_end end);
pt_stack_id pt_builder_stack_commit_hashed(pt_builder *b, size_t depth, pt_stack_end end,
                                           uint64_t hash);
/* Prefetches the frames with which the commit will compare. A caller whose stacks are mostly not
 * new may call it between pt_builder_stack_hash and the commit. */
void pt_builder_stack_fetch(const pt_builder *b, uint64_t hash);

/* Limits the frames of all stacks together. When the limit is reached, a new stack keeps only the
 * innermost frames that fit, at least one, and ends in PT_STACK_END_TRUNCATED. The limit is for
 * formats in which few bytes may describe long stacks: in a tree of calls each node states only its
 * caller. The default is no limit. */
void pt_builder_limit_frames(pt_builder *b, uint64_t frames_max);
/* The largest number of frames that the next stack may have, at least 1. A reader that finds frames
 * one by one stops at this number and calls pt_builder_cut_stack, which counts the stack as
 * truncated and returns its end. */
uint64_t pt_builder_depth_max(const pt_builder *b);
pt_stack_end pt_builder_cut_stack(pt_builder *b);
/* The number of stacks that were truncated by the limit of frames. */
uint64_t pt_builder_stacks_cut(const pt_builder *b);
/* Number of distinct stacks so far. */
uint32_t pt_builder_stack_count(const pt_builder *b);
/* The frames of a stack, leaf first; valid until the next stack is added. */
const uint32_t *pt_builder_stack_frames(const pt_builder *b, pt_stack_id id, size_t *ret_depth);

/* Interns an ordered list of labels; a key may occur several times. */
pt_labels_id pt_builder_labels(pt_builder *b, const pt_label *labels, size_t count);

/* Appends a sample with a value for each event. */
void pt_builder_sample(pt_builder *b, pt_stack_id stack, pt_labels_id labels,
                       const int64_t *values);
/* Adds the values to the sample with the same stack and labels, and appends this sample if it is
 * new. Sums saturate at 2^63-1 and are counted by pt_builder_saturated. Do not use it for samples
 * with optional columns. */
void pt_builder_add(pt_builder *b, pt_stack_id stack, pt_labels_id labels, const int64_t *values);

/* A sample with optional columns. If any sample has a value for a column, the profile has that
 * column. */
typedef struct pt_sample {
    uint32_t stack, labels;
    const int64_t *values;
    int64_t time_ns;        /* 0 = unknown */
    uint32_t pid, tid, cpu; /* PT_NONE = unknown */
    uint32_t comm;          /* string; 0 = unknown */
} pt_sample;
void pt_builder_timed_sample(pt_builder *b, const pt_sample *sample);
uint32_t pt_builder_sample_count(const pt_builder *b);
/* Adds `more` to a value of an existing sample. */
void pt_builder_sample_more(pt_builder *b, uint32_t row, size_t event, int64_t more);
/* Number of sums that saturated. */
uint64_t pt_builder_saturated(const pt_builder *b);

/* Appends a call. cost: a value for each event, or NULL = unknown. If no arc has costs, the cost
 * columns are NULL. */
void pt_builder_arc(pt_builder *b, pt_location_id from, pt_location_id to, uint64_t calls,
                    const int64_t *cost);
/* Append a row to a side table. */
void pt_builder_bin(pt_builder *b, const pt_bin *bin);
void pt_builder_block(pt_builder *b, const pt_block *block);
void pt_builder_extra(pt_builder *b, pt_string_id key, pt_string_id value);
void pt_builder_unknown(pt_builder *b, pt_message message, uint32_t row, const void *bytes,
                        size_t size);
void pt_builder_comment(pt_builder *b, pt_string_id comment);
/* The provenance, which the caller fills in place until freeze. Comments are added by
 * pt_builder_comment only. */
pt_provenance *pt_builder_provenance(pt_builder *b);

/* The sticky error of the builder, or PT_OK. */
pt_status pt_builder_status(const pt_builder *b, pt_error *reterr);

/* Bounds the frames of all samples together; an inlined function counts as a frame. If they exceed
 * frames_max, each location keeps only its n innermost lines, where n is the largest number with
 * which the frames fit, at least 1. Returns the number of lines removed. Readers pass a multiple of
 * the file's size as frames_max: a small file may have many samples of long stacks of locations
 * with many lines. */
uint64_t pt_builder_bound_inlined(pt_builder *b, uint64_t frames_max);

/* Bounds the text of all samples together: names of functions, files, mappings, labels and
 * commands, counted once for each use. If the text exceeds bytes_max, the longest names are cut,
 * but not below 64 bytes; a cut name ends with a hash of the whole name. Returns the number of cut
 * names. Afterwards the index of strings holds the old names, so interning a name finds only names
 * that were not cut. */
uint64_t pt_builder_bound_names(pt_builder *b, uint64_t bytes_max);

/* The memory of all functions, locations and stacks. */
size_t pt_builder_code_bytes(const pt_builder *b);
/* Removes all functions, locations and stacks; new rows get numbers from 0 again. Call it before
 * any sample is added. */
void pt_builder_forget_code(pt_builder *b);

/* Freezes the rows to a profile with a single reference. Consumes the builder, also on failure.
 * PT_ERR_DAMAGED, without a profile, if an id refers to no row (pt_profile_check); a reader must
 * therefore check ids from a file itself. */
pt_status pt_builder_freeze(pt_builder *b, const pt_profile **ret_profile, pt_error *reterr);

/* ---- Deriving: a new profile out of an old one's tables and some new ones ---- */

/* Replacements for base's tables; NULL = share base's table. The reference to each replacement
 * passes to the new profile. All ids must refer to existing rows; nothing checks this. */
typedef struct pt_profile_tables {
    pt_strings *string;
    pt_events *event;
    pt_mappings *mapping;
    pt_functions *function;
    pt_locations *location;
    pt_lines *line;
    pt_stacks *stack;
    pt_samples *sample;
    pt_label_sets *labels;
    pt_arcs *arc;
    pt_bins *bin;
    pt_blocks *block;
    pt_extras *extra;
    pt_unknowns *unknown;
    pt_source *source;
} pt_profile_tables;
const pt_profile *pt_profile_derive(const pt_profile *base, const pt_profile_tables *replace);

/* Constructors of tables with a single reference and columns of count rows, which the caller writes
 * before the table is shared (casting away const). PT_SAMPLES_x selects the optional columns.
 */
enum {
    PT_SAMPLES_TIME = 1 << 0,
    PT_SAMPLES_PID = 1 << 1,
    PT_SAMPLES_TID = 1 << 2,
    PT_SAMPLES_CPU = 1 << 3,
    PT_SAMPLES_COMM = 1 << 4,
};
/* Returns a table with a single reference: a zeroed struct of struct_bytes bytes, whose first
 * member is a pt_table. The caller allocates its columns, which are freed with the table. */
void *pt_table_new(size_t struct_bytes, uint32_t count);
pt_samples *pt_samples_new(uint32_t count, uint32_t event_count, unsigned optional);
/* The table's optional columns, as PT_SAMPLES_x bits. */
unsigned pt_samples_optional(const pt_samples *samples);
pt_mappings *pt_mappings_new(uint32_t count);
/* A builder that begins with all rows of base's tables, whose ids stay valid. The caller can add
 * strings, functions and lines, and replace the lines of locations, as symbolizing does. Samples,
 * stacks and side tables are shared with base and cannot be added to. */
pt_builder *pt_builder_extend(const pt_profile *base);
/* Replaces the lines of a location of base, in an extending builder. */
void pt_builder_set_lines(pt_builder *b, pt_location_id location, const pt_line *lines,
                          size_t line_count);
/* Sets code_offset of a location of base, in an extending builder. */
void pt_builder_set_code_offset(pt_builder *b, pt_location_id location, uint64_t code_offset);

/* Returns a new name for a function, which the caller frees; NULL keeps the name. */
typedef char *pt_function_namer(void *context, const pt_profile *profile, uint32_t function);
/* The profile with renamed functions. Other tables are shared, and row numbers stay. If no name
 * changes, returns a reference to the same profile. Fails with PT_ERR_LIMIT like
 * pt_builder_freeze. */
pt_status pt_profile_rename(const pt_profile *profile, pt_function_namer *namer, void *context,
                            const pt_profile **ret_profile, pt_error *reterr);

/* The profile with each string on one line (pt_on_one_line), for a report that puts texts on a
 * terminal unchanged. Other tables are shared, and row numbers stay. If no string changes, returns
 * a reference to the same profile. */
const pt_profile *pt_profile_on_one_line(const pt_profile *profile);
