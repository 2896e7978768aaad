/* facts.h: figures of a whole recording, as words "name=value", in files that have no field for
 * them: a comment of profile.proto, a line of ours in a gperftools file.
 */
#ifndef PT_FORMATS_FACTS_H
#define PT_FORMATS_FACTS_H

#include "base/buf.h"
#include "model/profile.h"

/* Why stacks ended is said where it was not this; one of the words where facts are. */
#define PT_FACTS_ENDS_WORD "stack_end=root"

/* " name=value" for each figure that is known. */
void pt_facts_put(pt_buf *text, const pt_provenance *from);
/* Takes one word in; false if it is no figure that is known here: *into is then of no use. */
bool pt_facts_take(const char *word, pt_provenance *into);

/* Does any stack say why it ended? */
bool pt_facts_ends_known(const pt_profile *profile);
/* The end that a text names; false if there is none of that name. */
bool pt_facts_end_named(const char *text, pt_stack_end *ret_end);

#endif
