// own: hash_block
// The program's own loop is hot.
__attribute__((noinline)) static unsigned hash_block(const unsigned char *block, unsigned n)
{
    unsigned hash = 2166136261u;
    for (unsigned i = 0; i < n; i++)
        hash = (hash ^ block[i]) * 16777619u;
    return hash;
}

int main(void)
{
    static unsigned char block[65536];
    unsigned sum = 0;
    for (int i = 0; i < 5000; i++) {
        block[i % 65536]++;
        sum += hash_block(block, sizeof block);
    }
    return sum == 42;
}
