// cause: formatting-text make_key
// A key is printed for each look-up.
#include <stdio.h>

__attribute__((noinline)) static int make_key(char *key, int i)
{
    return sprintf(key, "user-%08d-%s-%f", i, "name", i / 3.0);
}

int main(void)
{
    char key[100];
    int bytes = 0;
    for (int i = 0; i < 600000; i++)
        bytes += make_key(key, i);
    return bytes == 42;
}
