/* kernel.c: stands for a kernel: two functions, one inlined, at addresses where kernels are linked.
 */
__asm__(".globl _stext\n.text\n_stext:\n");
static volatile int ticks;
static inline __attribute__((always_inline)) void count(int n)
{
    ticks += n;
}
__attribute__((noinline)) int do_work(int n)
{
    count(n);
    return ticks;
}
int kernel_main(void)
{
    return do_work(3) + 1;
}
