/* web_questions.h: questions that the user of the page keeps under a name: a question is the
 * address of a view below /ui/, such as "top?f=parse". All servers of a user have the same
 * questions, in one file.
 */
#pragma once

#include <stdbool.h>

#include "base/buf.h"

/* Writes {"questions": [{"name": ..., "at": ...}, ...]}, in the order in which the questions were
 * kept. Lines of the file that are not questions are left out; pt_say prints the number of these
 * lines. */
void pt_web_list_questions(pt_buf *json);

/* Keeps a question under a name, in place of a question of the same name; if `at` is "" or NULL,
 * removes the question of this name. Call it in a process that makes one answer. Returns false if
 * nothing has changed; pt_say has printed the reason. */
bool pt_web_keep_question(const char *name, const char *at);
