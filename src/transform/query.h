/* query.h: the query of a report: samples, frames, event. Command line, shell and URLs all fill
 * this struct. Strings are borrowed; NULL or "" means not set. src/cmd has the option table that
 * fills the struct. transform applies the fields in this order:
 *
 *   native                            frames of interpreters folded     interpreter.h
 *   tag_root, tag_leaf                frames made of labels            tags.h
 *   base_time                         a range subtracted               scale.h
 *   time                              samples by time                  filter.h
 *   focus, ignore, hide, show         by functions, files, objects     filter.h
 *   show_from                         stacks cut above a frame         filter.h
 *   tag_focus, tag_ignore             samples by labels                filter.h
 *   tag_show, tag_hide                labels by key                    filter.h
 *   prune_from                        stacks cut below a frame         filter.h
 *   mine                              frames of other code folded      foreign.h
 *   granularity                       frames made coarser              aggregate.h
 *   recursion                         calls of functions by themselves recursion.h
 *   no_private                        names of people and machines     private.h
 */
#pragma once

#include <stdbool.h>
#include <stdint.h>

typedef struct pt_query {
    const char *event;       /* number, type, or type/unit; NULL = the profile's default */
    const char *time;        /* keep samples in this range: "start,stop" in seconds, or "10%-20%" */
    const char *base_time;   /* subtract the samples of this range of the same profile */
    const char *focus;       /* keep samples with a frame that matches */
    const char *ignore;      /* drop samples with a frame that matches */
    const char *hide;        /* drop frames that match; samples left without frames are dropped */
    const char *show;        /* keep only frames that match */
    const char *show_from;   /* cut stacks above the frame nearest the root that matches; samples
                                without such a frame are dropped */
    const char *prune_from;  /* cut stacks below the frame nearest the leaf that matches */
    const char *tag_focus;   /* keep samples with a label that matches: [key=]range or patterns */
    const char *tag_ignore;  /* drop samples with a label that matches */
    const char *tag_show;    /* keep only labels whose key matches */
    const char *tag_hide;    /* drop labels whose key matches */
    const char *tag_root;    /* "key,key": add a frame for each label at the root; the first key
                              * becomes the root */
    const char *tag_leaf;    /* the same at the leaf; the last key becomes the leaf */
    const char *tag_unit;    /* unit of the numbers in the frames of tag_root and tag_leaf; "" = the
                              * smallest unit */
    bool mine;               /* keep only the program's own functions */
    int recursion;           /* pt_recursion */
    bool no_inlines;         /* keep only the outermost function of each frame */
    bool relative;           /* percentages of the remaining samples instead of the whole profile */
    bool native;             /* keep frames of an interpreter's own code */
    bool all_frames;         /* keep frames that the profile marks for removal (prune.h) */
    bool no_private;         /* remove the data that identifies people and machines (private.h) */
    const char *keep_labels; /* labels that stay with no_private: "KEY,KEY" */
    bool pprof; /* exactly as google/pprof: its regular expressions (RE2), its reading of labels (a
                 * number 0 without a unit is not a label), and its oddities */
} pt_query;
