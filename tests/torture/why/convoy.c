// record: --wall
// cause: locks add
// A lock is held while its thread sleeps.
#include <pthread.h>
#include <stdio.h>
#include <unistd.h>
static pthread_mutex_t m = PTHREAD_MUTEX_INITIALIZER;
static long t;
static void add(int i)
{
    pthread_mutex_lock(&m);
    t += i;
    usleep(500);
    pthread_mutex_unlock(&m);
}
static void *work(void *p)
{
    for (int i = 0; i < 300; i++)
        add(i);
    return p;
}
int main(void)
{
    pthread_t h[4];
    for (int i = 0; i < 4; i++)
        pthread_create(&h[i], 0, work, 0);
    for (int i = 0; i < 4; i++)
        pthread_join(h[i], 0);
    printf("%ld\n", t);
}
