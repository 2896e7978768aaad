/* small_program.c: a program with some symbols and lines, for reports that want one beside the
 * profile. Nobody runs it. */
static volatile int sum;

__attribute__((noinline)) static void add_one(int i)
{
    sum += i;
}

__attribute__((noinline)) static void add_all(int count)
{
    for (int i = 0; i < count; i++)
        add_one(i);
}

int main(int argc, char **argv)
{
    (void)argv;
    add_all(argc);
    return sum;
}
