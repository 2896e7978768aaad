/* nearest.c: the word that was probably meant: Damerau and Levenshtein's distance, where no part of
 * a word is edited twice. */
#include "base/options.h"

#include <ctype.h>
#include <strings.h>

enum { LONGEST = 40 }; /* nobody mistypes a longer word into one of ours */

static unsigned least(unsigned a, unsigned b, unsigned c)
{
    const unsigned ab = a < b ? a : b;
    return ab < c ? ab : c;
}

static unsigned distance(const char *a, size_t a_length, const char *b, size_t b_length)
{
    /* Three rows of the table are enough: an exchange looks two back. */
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
            row[j] = least(before[j] + 1, row[j - 1] + 1, before[j - 1] + (x != y));
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
    if (length == 0 || length > LONGEST) return NULL;
    unsigned best_distance = length < 5 ? 2 : length < 9 ? 3 : 4; /* must be below */
    const char *best = NULL;
    for (size_t i = 0; i < count; i++) {
        const size_t word_length = strlen(words[i]);
        if (word_length > LONGEST) continue;
        unsigned d = distance(typed, length, words[i], word_length);
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
