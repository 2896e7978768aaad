/* profile_equal.h: compares profiles, for unit tests and fuzz targets. */
#pragma once

#include "model/profile.h"

/* Compares two profiles row by row; compare canonical copies to compare the content. Returns true
 * if equal; else buf describes the first difference. */
bool pt_profile_equal(const pt_profile *a, const pt_profile *b, char *buf, size_t size);
