/* builder.h: how a profile is made. One thread, add rows, freeze.
 *
 *     pt_builder *b = pt_builder_new();
 *     pt_builder_event(b, &(pt_event){.type = pt_builder_text(b, "samples").v, ...});
 *     const pt_stack_id stack = pt_builder_stack(b, frames, depth, PT_STACK_END_ROOT);
 *     pt_builder_sample(b, stack, PT_NO_LABELS, (int64_t[]){1, 10000000});
 *     status = pt_builder_freeze(b, &profile, &error);    (the builder is consumed)
 *
 * Rows that a function *interns* are the same id when their content is the same; rows it *appends*
 * get a new id each time (readers of formats with own tables use this to keep duplicates and
 * order). Limits (2^32-2 rows, values that do not fit 63 bits) set a sticky error: later adds do
 * nothing and freeze returns it.
 */
#ifndef PT_MODEL_BUILDER_H
#define PT_MODEL_BUILDER_H

#include "model/profile.h"

typedef struct pt_builder pt_builder;

#define PT_NO_LABELS ((pt_labels_id){0})

pt_builder *pt_builder_new(void);
void pt_builder_free(pt_builder *builder); /* accepts NULL */
void pt_builder_freep(pt_builder **builder);
#define PT_FREE_BUILDER __attribute__((cleanup(pt_builder_freep)))

/* Optional: expected numbers of rows, so that columns grow once. Capped against nonsense. */
void pt_builder_reserve_samples(pt_builder *b, size_t samples, size_t frames);
/* Before it, where so many frames are known to come, not only at most so many: their column is made
 * of large pages. */
void pt_builder_expect_frames(pt_builder *b, size_t frames);
void pt_builder_reserve_locations(pt_builder *b, size_t functions, size_t locations, size_t lines);

/* Interns. Bytes are copied; any bytes are allowed. */
pt_string_id pt_builder_string(pt_builder *b, const char *bytes, size_t size);
pt_string_id pt_builder_text(pt_builder *b, const char *text);
/* The text behind an id; valid until the next string is added. */
const char *pt_builder_get_text(const pt_builder *b, pt_string_id id);

/* Appends a value column; kind is filled from the unit. All events come before the first sample.
 * Returns its number. */
uint32_t pt_builder_event(pt_builder *b, const pt_event *event);
uint32_t pt_builder_event_count(const pt_builder *b);
/* Changes a row until freeze. */
pt_event *pt_builder_event_at(pt_builder *b, uint32_t event);
/* Makes it the one to show when nobody chooses (pt_profile_default_event). All events are there. */
void pt_builder_show_event(pt_builder *b, uint32_t event);

pt_mapping_id pt_builder_append_mapping(pt_builder *b, const pt_mapping *mapping);
/* Interns by all fields. */
pt_mapping_id pt_builder_mapping(pt_builder *b, const pt_mapping *mapping);
pt_mapping *pt_builder_mapping_at(pt_builder *b, pt_mapping_id id);
uint32_t pt_builder_mapping_count(const pt_builder *b);

typedef struct pt_function {
    uint32_t name, system_name, file; /* strings */
    int64_t start_line;
    uint64_t source_id; /* 0 = row + 1 */
} pt_function;
pt_function_id pt_builder_append_function(pt_builder *b, const pt_function *function);
pt_function_id pt_builder_function(pt_builder *b, const pt_function *function);

typedef struct pt_line {
    uint32_t function; /* or PT_NONE */
    int64_t line, column;
} pt_line;
typedef struct pt_location {
    uint32_t mapping; /* or PT_NONE */
    uint32_t flags;   /* PT_LOCATION_x */
    uint64_t address;
    uint64_t symbol_bytes; /* 0 = unknown */
    uint64_t source_id;    /* 0 = row + 1 */
} pt_location;
/* lines: innermost inlined frame first; line_count may be 0. */
pt_location_id pt_builder_append_location(pt_builder *b, const pt_location *location,
                                          const pt_line *lines, size_t line_count);
pt_location_id pt_builder_location(pt_builder *b, const pt_location *location, const pt_line *lines,
                                   size_t line_count);

uint32_t pt_builder_location_count(const pt_builder *b);
uint64_t pt_builder_location_address(const pt_builder *b, pt_location_id id, uint32_t *ret_flags);

/* Interns. frames: depth location ids, leaf first; depth 0 is the empty stack. Ids are not looked
 * at until freeze, so locations may be added later. */
pt_stack_id pt_builder_stack(pt_builder *b, const uint32_t *frames, size_t depth, pt_stack_end end);
/* The same of a stack that the caller knows to be there never before and never again. */
pt_stack_id pt_builder_new_stack(pt_builder *b, const uint32_t *frames, size_t depth,
                                 pt_stack_end end);
/* As pt_builder_stack without a copy: the builder's own frame column grows by up to depth frames at
 * its end; write them there, then intern. For readers that decode straight into place. */
uint32_t *pt_builder_stack_space(pt_builder *b, size_t depth);
pt_stack_id pt_builder_stack_commit(pt_builder *b, size_t depth, pt_stack_end end);
/* Commit in two steps, for readers that decode several stacks ahead: the hash of frames wherever
 * they lie, which also fetches its place in the index, and later the commit with that hash. */
uint64_t pt_builder_stack_hash(const pt_builder *b, const uint32_t *frames, size_t depth,
                               pt_stack_end end);
pt_stack_id pt_builder_stack_commit_hashed(pt_builder *b, size_t depth, pt_stack_end end,
                                           uint64_t hash);
/* Between the two, where most stacks are known already: fetches what commit will compare with. */
void pt_builder_stack_fetch(const pt_builder *b, uint64_t hash);

/* Distinct stacks so far. */
uint32_t pt_builder_stack_count(const pt_builder *b);

/* Interns an ordered list of labels; duplicates of a key allowed. */
pt_labels_id pt_builder_labels(pt_builder *b, const pt_label *labels, size_t count);

/* Appends a sample: one value an event. */
void pt_builder_sample(pt_builder *b, pt_stack_id stack, pt_labels_id labels,
                       const int64_t *values);
/* Adds the values to the sample of the same stack and labels, appending it if it is the first.
 * Sums saturate at 2^63-1 and are counted by pt_builder_saturated.
 * Do not mix with samples that have optional columns. */
void pt_builder_add(pt_builder *b, pt_stack_id stack, pt_labels_id labels, const int64_t *values);

typedef struct pt_sample {
    uint32_t stack, labels;
    const int64_t *values;
    int64_t time_ns;        /* 0 = unknown */
    uint32_t pid, tid, cpu; /* PT_NONE = unknown */
    uint32_t comm;          /* string; 0 = unknown */
} pt_sample;
void pt_builder_timed_sample(pt_builder *b, const pt_sample *sample);
uint32_t pt_builder_sample_count(const pt_builder *b);
/* Adds to a value of a sample that is there. */
void pt_builder_sample_more(pt_builder *b, uint32_t row, size_t event, int64_t more);
/* Sums that hit the limit of 63 bits. */
uint64_t pt_builder_saturated(const pt_builder *b);

/* cost: one an event (the events at that time), or NULL: unknown. If no arc has one, the columns
 * are NULL. */
void pt_builder_arc(pt_builder *b, pt_location_id from, pt_location_id to, uint64_t calls,
                    const int64_t *cost);
void pt_builder_bin(pt_builder *b, const pt_bin *bin);
void pt_builder_block(pt_builder *b, const pt_block *block);
void pt_builder_extra(pt_builder *b, pt_string_id key, pt_string_id value);
void pt_builder_unknown(pt_builder *b, pt_message message, uint32_t row, const void *bytes,
                        size_t size);
void pt_builder_comment(pt_builder *b, pt_string_id comment);
/* To be filled in place until freeze (comments through pt_builder_comment only). */
pt_provenance *pt_builder_provenance(pt_builder *b);

/* Sticky error of the builder: PT_OK, or why adds have stopped. */
pt_status pt_builder_status(const pt_builder *b, pt_error *reterr);

/* Bounds the frames of all samples together, each inlined function being one: if they are more than
 * frames_max, every location keeps only as many of its lines, the innermost, as fit; at least 1.
 * Returns how many lines were left out of the locations. Reads of a file of n bytes ask for a
 * multiple of n: a stack and a location are short in a file, and their product is not. */
uint64_t pt_builder_bound_inlined(pt_builder *b, uint64_t frames_max);

/* Bounds the text of all samples together: names of functions, their files, mappings, labels and
 * commands, as often as frames and samples have them. If it is more than bytes_max, names longer
 * than fits, and than 64 bytes, are cut, and end with a number made of the whole name. Returns how
 * many. Nothing but texts of its own may be added to the builder afterwards. */
uint64_t pt_builder_bound_names(pt_builder *b, uint64_t bytes_max);

/* Consumes the builder in any case. Checks that every id refers to a row; a reader that could leave
 * dangling ids must have looked itself. *ret_profile has one reference. */
pt_status pt_builder_freeze(pt_builder *b, const pt_profile **ret_profile, pt_error *reterr);

/* ---- Deriving: a new profile out of an old one's tables and some new ones ---- */

/* Tables to put in place of base's; NULL = share base's. Each given table's reference passes to the
 * new profile. The caller promises consistency (pt_profile_check in debug builds). */
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

/* Tables with one reference and columns of count rows to be written by the caller (cast away const
 * through the returned struct's own writable columns below). Optional columns are made on request.
 */
enum {
    PT_SAMPLES_TIME = 1 << 0,
    PT_SAMPLES_PID = 1 << 1,
    PT_SAMPLES_TID = 1 << 2,
    PT_SAMPLES_CPU = 1 << 3,
    PT_SAMPLES_COMM = 1 << 4,
};
/* A zeroed table struct (of struct_bytes, beginning with pt_table) with one reference, for tables
 * whose columns the caller allocates; they are freed with the table. */
void *pt_table_new(size_t struct_bytes, uint32_t count);
pt_samples *pt_samples_new(uint32_t count, uint32_t event_count, unsigned optional);
/* Which optional columns a table has, as PT_SAMPLES_x bits. */
unsigned pt_samples_optional(const pt_samples *samples);
pt_mappings *pt_mappings_new(uint32_t count);
/* A copy-out builder that begins with all rows of base's tables (ids stay valid), so that
 * symbolizing can add strings, functions, lines and replace locations; freeze gives the rest
 * shared. Samples, stacks and side tables are shared, not copied, and cannot be added to. */
pt_builder *pt_builder_extend(const pt_profile *base);
/* In an extending builder: replaces the lines of one of base's locations. */
void pt_builder_set_lines(pt_builder *b, pt_location_id location, const pt_line *lines,
                          size_t line_count, uint64_t symbol_bytes);

/* Another name for a function of the profile, to be freed; NULL leaves it. */
typedef char *pt_function_namer(void *context, const pt_profile *profile, uint32_t function);
/* The profile with other names of functions; all else is shared with it, and rows stay where they
 * are. A reference to the same one when no name changes. PT_ERR_LIMIT as freezing. */
pt_status pt_profile_rename(const pt_profile *profile, pt_function_namer *namer, void *context,
                            const pt_profile **ret_profile, pt_error *reterr);

#endif
