// cause: lengths-of-strings count_spaces
// The length of the text is measured once a character.
#include <stdlib.h>
#include <string.h>

__attribute__((noinline)) static int count_spaces(char *text)
{
    int spaces = 0;
    for (size_t i = 0; i < strlen(text); i++) {
        if (text[i] == ' ') spaces++;
        text[i] = '.';
    }
    return spaces;
}

int main(void)
{
    char *text = malloc(100001);
    memset(text, ' ', 100000);
    text[100000] = '\0';
    return count_spaces(text) == 42;
}
