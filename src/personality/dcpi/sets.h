/* sets.h: several sets of profiles, each loaded and counted on its own: dcpistats, dcpidiff.
 */
#pragma once

#include "personality/dcpi/dcpi.h"

typedef struct pt_dcpi_set {
    pt_cmd_context context; /* the set's own context: what was loaded, and its title */
    pt_counts counts;
    uint32_t column; /* the event */
    char **names;    /* names of the set's files */
} pt_dcpi_set;

typedef struct pt_dcpi_sets {
    pt_dcpi_set *items;
    size_t count, cap;
} pt_dcpi_sets;

/* Loads the sets: one for each -set FILE[,FILE...] or, without -set, one for each profile among the
 * arguments. A program among the arguments is used for all sets. skip: the number of arguments
 * before the files. Returns an exit status. The caller calls pt_dcpi_sets_done in any case. */
int pt_dcpi_sets_load(pt_cmd_context *context, const pt_dcpi_settings *settings,
                      const pt_option_list *given, size_t skip, pt_dcpi_sets *ret_sets);
void pt_dcpi_sets_done(pt_dcpi_sets *sets);

/* Row for a settings struct with a list `sets`. */
#define PT_DCPI_SET_ROW(settings)                                                                  \
    PT_ROW("set", LIST, settings, sets, .metavar = "FILE[,FILE...]",                               \
           .help = "a set of profiles that are added up",                                          \
           .details = "Given once a set. Without it each profile among the arguments is a set.")
