// cause: joining-text|lengths-of-strings report_add
// strcat looks for the end of a long report each time.
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

typedef struct {
    char *text;
} report;

static void report_add(report *r, const char *word)
{
    strcat(r->text, word);
    strcat(r->text, ", ");
}

int main(void)
{
    report r = {calloc(1, 1 << 20)};
    for (int i = 0; i < 50000; i++) {
        char word[32];
        snprintf(word, sizeof word, "w%d", i % 1000);
        report_add(&r, word);
    }
    printf("%zu\n", strlen(r.text));
    return 0;
}
