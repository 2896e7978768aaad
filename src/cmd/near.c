/* near.c: edit distance (with swapped neighbours), cut short at what is still near. */
#include "cmd/near.h"

#include <ctype.h>
#include <string.h>
#include <strings.h>

#define WORD_MAX 64
#define FAR      100u

static unsigned least(unsigned a, unsigned b)
{
    return a < b ? a : b;
}

/* Optimal string alignment distance, letters compared without case. FAR for long words. */
static unsigned distance_of(const char *a, const char *b)
{
    const size_t m = strlen(a), n = strlen(b);
    if (m > WORD_MAX || n > WORD_MAX) return FAR;
    unsigned row[3][WORD_MAX + 1]; /* rows i-2, i-1, i */
    for (size_t j = 0; j <= n; j++)
        row[1][j] = (unsigned)j;
    for (size_t i = 1; i <= m; i++) {
        row[2][0] = (unsigned)i;
        for (size_t j = 1; j <= n; j++) {
            const int x = tolower((unsigned char)a[i - 1]), y = tolower((unsigned char)b[j - 1]);
            unsigned d = row[1][j - 1] + (x != y);
            d = least(d, least(row[1][j], row[2][j - 1]) + 1);
            if (i > 1 && j > 1 && x == tolower((unsigned char)b[j - 2]) &&
                tolower((unsigned char)a[i - 2]) == y)
                d = least(d, row[0][j - 2] + 1);
            row[2][j] = d;
        }
        memcpy(row[0], row[1], sizeof row[0]);
        memcpy(row[1], row[2], sizeof row[1]);
    }
    return row[1][n];
}

void pt_near_init(pt_near *near, const char *to)
{
    *near = (pt_near){.to = to};
}

/* A third of the letters may be wrong; a word that contains the other is near too. */
static unsigned nearness(const char *to, const char *word)
{
    const unsigned distance = distance_of(to, word);
    const size_t length = strlen(to);
    if (distance <= (length < 3 ? 1 : (length + 1) / 3)) return distance;
    return length >= 3 && strcasestr(word, to) != NULL ? WORD_MAX : FAR;
}

void pt_near_offer(pt_near *near, const char *word)
{
    const unsigned distance = nearness(near->to, word);
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
