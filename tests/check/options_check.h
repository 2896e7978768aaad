/* options_check.h: checks the tables of options, for unit tests. */
#pragma once

#include "base/options.h"

/* Appends a line for each error (two options with one spelling, no help, a default that does not
 * parse, ...) and returns the number of lines. */
size_t pt_options_check(const pt_options *options, pt_buf *problems);
