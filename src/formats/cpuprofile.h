/* cpuprofile.h: shared by the reader and the writer of .cpuprofile, and by the reader of traces
 * that hold such profiles in pieces. */
#pragma once

#include "base/grow.h"
#include "formats/json_profile.h"
#include "formats/plain.h"

/* A key of pitot's own. It states that the last sample, of node (root), only marks the end of the
 * sample before it. */
#define CPUPROFILE_END "pitotEndSample"

/* The writer (cpuprofile_write.c). Errors as in pt_format.write. */
pt_status pt_cpuprofile_write(const pt_profile *profile, const pt_output *output,
                              const pt_write_options *options, pt_error *reterr);
/* Is the event the number of samples, which the file holds implicitly? */
bool pt_cpuprofile_holds_event(const pt_profile *profile, uint32_t event);

/* A node of the tree of calls. */
typedef struct {
    int64_t id, parent_id, hits;
    uint32_t parent;          /* row of nodes; PT_NONE = none */
    uint32_t stack, location; /* PT_NONE = not made yet */
    pt_function function;
    pt_line line;
    bool has_parent_id, is_root;
} cpu_node;

/* A profile that is being read: the nodes and samples read so far. */
typedef struct {
    pt_json_r *json; /* of the members that are read now */
    pt_builder *builder;
    PT_VECTOR(cpu_node) node;
    bool is_heap; /* hits are bytes; "samples" lists live objects without times */
    struct {
        struct {
            uint32_t parent;
            int64_t id;
        } * items;
        size_t count, cap;
    } child;
    PT_VECTOR(int64_t) sample;
    PT_VECTOR(int64_t) time; /* in 1/1000 us: differences, or timestamps */
    bool has_stamps;         /* time holds timestamps */
    bool has_end; /* CPUPROFILE_END: the last sample only marks the end of the sample before it */
    pt_json_scale scale;
    int64_t start;
    pt_index index;
    uint64_t homeless, timeless; /* samples whose nodes are missing; samples without a time */
    uint64_t lost;               /* counts of hits that are no whole numbers, or negative */
    PT_VECTOR(uint32_t) frame;
} cpuprofile_reader;

/* An empty profile; pt_cpuprofile_done frees it. */
void pt_cpuprofile_init(cpuprofile_reader *c, pt_builder *builder);
void pt_cpuprofile_done(cpuprofile_reader *c);
/* Reads the members of the object of c->json whose brace was read: nodes, samples, times. Appends
 * these to the ones of earlier calls, since a trace has a profile in pieces. */
void pt_cpuprofile_members(cpuprofile_reader *c);
/* Adds the samples that have times to the builder, whose events are samples and time. common: pid,
 * tid and comm of all these samples. */
void pt_cpuprofile_put(cpuprofile_reader *c, const pt_sample *common);
/* Adds what was dropped to diag. */
void pt_cpuprofile_report(const cpuprofile_reader *c, pt_diag *diag);
