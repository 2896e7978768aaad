/* query.h: what is asked of a profile: which samples, which frames, which event. One struct whether
 * a command line, a shell or a URL asks. Strings belong to the asker; NULL or "" = not asked.
 * The option table that fills it is in src/cmd; transform applies it. */
#ifndef PT_TRANSFORM_QUERY_H
#define PT_TRANSFORM_QUERY_H

#include <stdbool.h>
#include <stdint.h>

typedef struct pt_query {
    const char *event;  /* number, type, or type/unit; "" = the profile's default */
    const char *focus;  /* keep samples with a frame that matches */
    const char *ignore; /* drop samples with a frame that matches */
    const char *hide;   /* drop frames that match; samples left without frames are dropped */
    const char *show;   /* keep only frames that match */
    bool relative;      /* percentages of what is left, not of the whole profile */
    bool all_frames;    /* keep frames that the profile itself says to drop (transform/prune.h) */
} pt_query;

#endif
