/* web_questions.h: questions that the user of the page keeps under a name: the address of a view
 * below /ui/, as in "top?f=parse". All servers of a user have the same ones, in one file.
 */
#pragma once

#include <stdbool.h>

#include "base/buf.h"

/* Writes {"questions": [{"name": ..., "at": ...}, ...]}, in the order in which they were kept. What
 * cannot be read is left out and said (pt_say). */
void pt_web_list_questions(pt_buf *json);

/* Keeps a question under a name, in place of one of the same name; at "" removes the name. NULL is
 * as "". Call it in a process that makes one answer. False: nothing has changed, and the reason has
 * been said. */
bool pt_web_keep_question(const char *name, const char *at);
