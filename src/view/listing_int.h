/* listing_int.h: the steps of listing.h. */
#pragma once

#include "view/listing.h"

typedef struct pt_listing_search {
    const pt_profile *profile;
    const pt_listing_request *request;
    pt_fold fold;
    const int64_t *value; /* per stack */
    bool *is_chosen;      /* per function */
    size_t chosen_count;  /* of functions */
    bool *is_row_chosen;  /* per row of the fold: true if the row has the name; NULL if no row has
                           * it */
} pt_listing_search;

/* Fills function and call of the listing. */
void pt_listing_add_lines(const pt_listing_search *search, pt_listing *listing);
/* Fills symbol and code of the listing. */
pt_status pt_listing_add_code(const pt_listing_search *search, pt_listing *listing,
                              pt_error *reterr);
/* Fills the pieces: finds the instructions of each line by function name, file and line. */
void pt_listing_join(const pt_profile *profile, pt_listing *listing);
