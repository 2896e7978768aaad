/* calls.c: calls into a library, one of them of a function whose address is taken as well. */
#include <stdio.h>
#include <stdlib.h>

int main(int argc, char **argv)
{
    int (*volatile print)(const char *) = puts;
    print(argv[0]);
    puts("calls");
    printf("%d\n", rand() + abs(argc) + getchar());
    return 0;
}
