// cause: system-calls-write write_record
// A record is written a byte at a time.
#include <fcntl.h>
#include <unistd.h>

__attribute__((noinline)) static int write_record(int file)
{
    int done = 0;
    for (int i = 0; i < 20; i++)
        done += write(file, "x", 1) == 1;
    return done;
}

int main(void)
{
    const int file = open("/dev/null", O_WRONLY);
    int sum = 0;
    for (int i = 0; i < 60000; i++)
        sum += write_record(file);
    return sum == 42;
}
