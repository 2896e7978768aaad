/* query.h: what is asked of a profile: which samples, which frames, which event. One struct whether
 * a command line, a shell or a URL asks. Strings belong to the asker; NULL or "" = not asked.
 * The option table that fills it is in src/cmd; transform applies it, in this order:
 *
 *   native                            frames of interpreters folded     interpreter.h
 *   tag_root, tag_leaf                frames made of labels            tags.h
 *   time                              samples by when they were taken  filter.h
 *   focus, ignore, hide, show         by functions, files, objects     filter.h
 *   show_from                         stacks cut above a frame         filter.h
 *   tag_focus, tag_ignore             samples by labels                filter.h
 *   tag_show, tag_hide                labels by key                    filter.h
 *   prune_from                        stacks cut below a frame         filter.h
 *   granularity                       frames made coarser              aggregate.h
 */
#ifndef PT_TRANSFORM_QUERY_H
#define PT_TRANSFORM_QUERY_H

#include <stdbool.h>
#include <stdint.h>

typedef struct pt_query {
    const char *event;      /* number, type, or type/unit; "" = the profile's default */
    const char *time;       /* keep samples of this time: "start,stop" in seconds, "10%-20%" */
    const char *focus;      /* keep samples with a frame that matches */
    const char *ignore;     /* drop samples with a frame that matches */
    const char *hide;       /* drop frames that match; samples left without frames are dropped */
    const char *show;       /* keep only frames that match */
    const char *show_from;  /* cut stacks above the frame nearest the root that matches; samples
                               without one are dropped */
    const char *prune_from; /* cut stacks below the frame nearest the leaf that matches */
    const char *tag_focus;  /* keep samples with a label that matches: [key=]range or patterns */
    const char *tag_ignore; /* drop them */
    const char *tag_show;   /* keep only labels whose key matches */
    const char *tag_hide;   /* drop labels whose key matches */
    const char *tag_root;   /* "key,key": a frame made of each label, the first one the root */
    const char *tag_leaf;   /* the same at the other end, the last one the leaf */
    const char *tag_unit;   /* unit of numbers in such frames: "" = minimum */
    bool no_inlines;        /* of each frame only the outermost function */
    bool relative;          /* percentages of what is left, not of the whole profile */
    bool native;            /* keep frames of an interpreter's own code among those it runs */
    bool all_frames;        /* keep frames that the profile itself says to drop (prune.h) */
    bool pprof; /* to the letter of google/pprof: its regular expressions (RE2), its view
                   of labels (a number 0 without a unit is none), its oddities */
} pt_query;

#endif
