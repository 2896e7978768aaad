/* tiny.c: one function inlined into another; with its debug information a few kilobytes. */
static inline __attribute__((always_inline)) int square(int v)
{
    return v * v;
}

int tiny(int v)
{
    return square(v) + 1;
}
