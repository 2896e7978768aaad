/* profile_text.h: a profile from readable text, for tests.
 *
 *   main;parse;read 3          stack, root first, and one value an event
 *   main;grow~alloc 2          alloc was inlined into grow: one location with two lines
 *   main;emit@emit.c:12 1      file and line; a call of emit at another line is another location
 *   main;lib.so+0x1234 1       an address in a mapped file that has no name
 *   main;in.so!read 4          a named function in a mapped file
 *   - 5                        the empty stack
 *   main 2 thread:io bytes:32/kb   labels after the values: texts, or numbers with /unit
 */
#pragma once

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "model/builder.h"

/* events: "samples/count cpu/nanoseconds"; text: lines as above. The caller unrefs. */
const pt_profile *profile_of(const char *events, const char *text);

/* The values of one event added up. */
int64_t total_of(const pt_profile *profile, uint32_t event);
