// cause: waiting-for-disk write_log
// Each line is brought to the disk.
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>
static void write_log(int fd, int i)
{
    char line[64];
    int n = snprintf(line, sizeof line, "event %d\n", i);
    if (write(fd, line, n) != n) _exit(1);
    fsync(fd);
}
int main(void)
{
    int fd = open("log.txt", O_CREAT | O_WRONLY | O_TRUNC, 0600);
    for (int i = 0; i < 6000; i++)
        write_log(fd, i);
    close(fd);
    return 0;
}
