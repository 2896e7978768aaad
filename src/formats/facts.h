/* facts.h: writes and reads numbers about a whole recording (such as its CPU time) as words
 * "name=value", for formats without fields for these numbers: in a comment of profile.proto, or in
 * a line of pitot's own in a gperftools file.
 */
#pragma once

#include "base/buf.h"
#include "model/profile.h"

/* A word among the facts: the file states the end of each stack that did not end at the root. */
#define PT_FACTS_ENDS_WORD "stack_end=root"

/* Appends " name=value" for each number that is known. */
void pt_facts_put(pt_buf *text, const pt_provenance *from);
/* Parses a word. Returns false if the word's name is unknown or its value is wrong; *into is then
 * undefined. */
bool pt_facts_take(const char *word, pt_provenance *into);

/* Does any stack have a known end? */
bool pt_facts_ends_known(const pt_profile *profile);
/* Parses the name of a stack's end; false for an unknown name. */
bool pt_facts_end_named(const char *text, pt_stack_end *ret_end);
