// cause: system-calls-files find_header
// Each file is looked for in forty folders.
#include <stdio.h>
#include <sys/stat.h>
static int find_header(const char *name)
{
    char path[128];
    struct stat st;
    int found = 0;
    for (int d = 0; d < 40; d++) {
        snprintf(path, sizeof path, "/usr/include/dir%d/%s", d, name);
        found += stat(path, &st) == 0;
    }
    return found;
}
int main(void)
{
    int n = 0;
    for (int i = 0; i < 20000; i++)
        n += find_header("stdio.h");
    return n;
}
