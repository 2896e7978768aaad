/* aarch64.c: shapes of frames, for the rules of aarch64 (README.md says how it was compiled). */
typedef __SIZE_TYPE__ size_t;
extern int outside(void *p, size_t n);
extern void ends(void) __attribute__((noreturn));

int leaf(int a)
{
    return a * 3;
}
int calls(int a)
{
    return outside(&a, 1) + a;
}
int large(int a)
{
    char room[70000];
    return outside(room, sizeof room) + a;
}
int dynamic(size_t n)
{
    char *room = __builtin_alloca(n);
    return outside(room, n) + outside(room, n / 2);
}
long many(long a, long b, long c, long d, long e, long f, long g, long h, long i, long j)
{
    long s = outside(&a, 1);
    s += outside(&b, 2) * c, s += outside(&d, 3) * e, s += outside(&f, 4) * g;
    return s + outside(&h, 5) * i + j + a + b + d + f + h;
}
double floats(double a, double b, double c)
{
    double s = outside(&s, 1);
    return s + outside(&a, 2) * b + outside(&b, 3) * c + outside(&c, 4) * a;
}
int early(int a)
{
    if (a < 5) return a; /* shrink-wrapped: a frame only behind it */
    int s = outside(&a, 1);
    while (s++ < a)
        s += outside(&s, 2);
    return s;
}
int never(int a)
{
    if (a) ends();
    return outside(&a, 1);
}
int listed(const char *text, ...)
{
    __builtin_va_list ap;
    __builtin_va_start(ap, text);
    int s = outside(&ap, 1);
    __builtin_va_end(ap);
    return s;
}
struct __attribute__((aligned(64))) aligned {
    char b[64];
};
int realigned(int a)
{
    struct aligned x;
    return outside(&x, sizeof x) + a;
}
