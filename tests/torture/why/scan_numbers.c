// cause: lengths-of-strings|parsing-numbers next_number
// sscanf measures the whole rest of the text for each number.
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

typedef struct {
    const char *at;
} scanner;

static int next_number(scanner *s, long *value)
{
    int length = 0;
    if (sscanf(s->at, "%ld%n", value, &length) != 1) return 0;
    s->at += length;
    return 1;
}

int main(void)
{
    char *const text = malloc(1 << 20), *end = text;
    for (int i = 0; i < 60000; i++)
        end += sprintf(end, "%d ", i);
    scanner s = {text};
    long value, sum = 0;
    while (next_number(&s, &value))
        sum += value;
    printf("%ld\n", sum);
    return 0;
}
