/* nearest.c: suggestions by the restricted Damerau-Levenshtein distance, in which no part of a word
 * is edited twice. */
#include "base/near.h"
#include "base/options.h"

#include <ctype.h>
#include <string.h>
#include <strings.h>

enum {
    LONGEST = 64,
    LONGEST_OF_OURS = 40, /* no option is a suggestion for a longer typed word */
    FAR = 100,
};

static unsigned least_of(unsigned a, unsigned b, unsigned c)
{
    const unsigned ab = a < b ? a : b;
    return ab < c ? ab : c;
}

/* The distance without regard to case; FAR for words longer than LONGEST. */
static unsigned edit_distance(const char *a, const char *b)
{
    const size_t a_length = strlen(a), b_length = strlen(b);
    if (a_length > LONGEST || b_length > LONGEST) return FAR;
    /* Three rows of the table are enough: a transposition refers to the row before the last. */
    unsigned rows[3][LONGEST + 1];
    for (unsigned j = 0; j <= b_length; j++)
        rows[0][j] = j;
    for (unsigned i = 1; i <= a_length; i++) {
        const unsigned *const before = rows[(i + 2) % 3], *const twice_before = rows[(i + 1) % 3];
        unsigned *const row = rows[i % 3];
        const int x = tolower((unsigned char)a[i - 1]);
        row[0] = i;
        for (unsigned j = 1; j <= b_length; j++) {
            const int y = tolower((unsigned char)b[j - 1]);
            row[j] = least_of(before[j] + 1, row[j - 1] + 1, before[j - 1] + (x != y));
            const bool exchanged = i > 1 && j > 1 && x == tolower((unsigned char)b[j - 2]) &&
                                   y == tolower((unsigned char)a[i - 2]);
            if (exchanged && twice_before[j - 2] + 1 < row[j]) row[j] = twice_before[j - 2] + 1;
        }
    }
    return rows[a_length % 3][b_length];
}

const char *pt_nearest(const char *typed, const char *const *words, size_t count)
{
    const size_t length = strlen(typed);
    if (length == 0 || length > LONGEST_OF_OURS) return NULL;
    unsigned best_distance = length < 5 ? 2 : length < 9 ? 3 : 4; /* exclusive */
    const char *best = NULL;
    for (size_t i = 0; i < count; i++) {
        const size_t word_length = strlen(words[i]);
        if (word_length > LONGEST_OF_OURS) continue;
        unsigned d = edit_distance(typed, words[i]);
        if (length >= 2 && word_length > length && strncasecmp(typed, words[i], length) == 0 &&
            d > 1)
            d = 1;
        if (d < best_distance && d < word_length) {
            best_distance = d;
            best = words[i];
        }
    }
    return best;
}

/* ---- Several words ---- */

void pt_near_init(pt_near *near, const char *to)
{
    *near = (pt_near){.to = to};
}

/* The distance of the two words; FAR if more than a third of the letters differ. A word that
 * contains `to` has at most the distance LONGEST. */
static unsigned distance_between(const char *to, const char *word)
{
    const unsigned distance = edit_distance(to, word);
    const size_t length = strlen(to);
    if (distance <= (length < 3 ? 1 : (length + 1) / 3)) return distance;
    return length >= 3 && strcasestr(word, to) != NULL ? LONGEST : FAR;
}

void pt_near_offer(pt_near *near, const char *word)
{
    const unsigned distance = distance_between(near->to, word);
    if (distance == FAR) return;
    size_t at = near->count;
    for (size_t i = 0; i < near->count; i++)
        if (strcmp(near->best[i].word, word) == 0) return;
    while (at > 0 && near->best[at - 1].distance > distance)
        at--;
    if (at == PT_NEAR_WORDS) return;
    if (near->count < PT_NEAR_WORDS) near->count++;
    memmove(near->best + at + 1, near->best + at, (near->count - at - 1) * sizeof *near->best);
    near->best[at] = (pt_near_word){word, distance};
}
