/* profile_equal.h: compares profiles, for unit tests and fuzz targets. */
#ifndef PT_CHECK_PROFILE_EQUAL_H
#define PT_CHECK_PROFILE_EQUAL_H

#include "model/profile.h"

/* Compares two profiles row by row; compare canonical copies to compare the content. Returns true
 * if equal; else buf describes the first difference. */
bool pt_profile_equal(const pt_profile *a, const pt_profile *b, char *buf, size_t size);

#endif
