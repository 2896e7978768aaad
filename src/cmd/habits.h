/* habits.h: messages for words and options of perf and of other profilers that pitot does not have:
 * each names pitot's own way. */
#pragma once

/* The answer to a word in the place of a command, such as "script", or NULL. */
const char *pt_habit_word(const char *word);
/* The answer to an option that the command does not have or whose value it refuses (`value`, or
 * NULL if none was given). Returns NULL if there is no answer. `spelling` is "--stdio" or "-t". */
const char *pt_habit_option(const char *command, const char *spelling, const char *value);
