// cause: system-calls-read read_byte
// A file is read a byte at a time.
#include <fcntl.h>
#include <unistd.h>

__attribute__((noinline)) static int read_byte(int file)
{
    char byte = 0;
    return read(file, &byte, 1) == 1 ? byte : -1;
}

int main(void)
{
    const int file = open("/dev/zero", O_RDONLY);
    int sum = 0;
    for (int i = 0; i < 1000000; i++)
        sum += read_byte(file);
    return sum == 42;
}
