/* labels.h: the labels of samples, and the sum of each label's samples. */
#pragma once

#include "model/profile.h"

typedef struct pt_labels_request {
    uint32_t event;
    int64_t whole; /* the value of 100 %; see pt_profile_magnitude */
    size_t limit;  /* the most values of each key; 0 = all */
} pt_labels_request;

/* One value of a key. A sample that has the value twice counts once. */
typedef struct pt_label_value {
    const char *text; /* NULL: a number */
    int64_t number;
    const char *unit; /* of the number; "" = none */
    uint64_t records; /* rows of the sample table; each may stand for many samples */
    int64_t value;
    double share; /* of the whole */
} pt_label_value;

typedef struct pt_label_key {
    const char *key;
    uint64_t records; /* rows of the sample table with the key */
    int64_t value;
    double share;
    pt_label_value *row; /* the heaviest first */
    size_t count;
    size_t more; /* values beyond the limit */
} pt_label_key;

typedef struct pt_labels_view {
    pt_label_key *key; /* the heaviest first */
    size_t count;
} pt_labels_view;

/* Sums up the samples of each label. Borrows texts of the profile. The caller calls
 * pt_labels_view_done. */
pt_labels_view pt_labels_view_of(const pt_profile *profile, const pt_labels_request *request);
void pt_labels_view_done(pt_labels_view *view);
