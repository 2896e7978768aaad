// cause: system-calls-read next_byte
// Each byte is a system call.
#include <fcntl.h>
#include <stdio.h>
#include <unistd.h>
static int fd;
__attribute__((noinline)) static int next_byte(long at)
{
    unsigned char c;
    return pread(fd, &c, 1, at) == 1 ? c : -1;
}
int main(int argc, char **argv)
{
    fd = open(argv[0], O_RDONLY);
    long sum = 0;
    for (int r = 0; r < 1500000; r++)
        sum += next_byte(r % 8000);
    printf("%ld\n", sum);
}
