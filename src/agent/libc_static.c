/* libc_static.c: see libc.h. For the static library: the program that it is linked into has one
 * libc, of the version of its headers. */
#include "agent/agent.h"

#include <stdlib.h>

void pt_libc_find_threads(void)
{
}

int pt_libc_key_create(pthread_key_t *ret_key, void (*at_end)(void *))
{
    return pthread_key_create(ret_key, at_end);
}

int pt_libc_setspecific(pthread_key_t key, const void *value)
{
    return pthread_setspecific(key, value);
}

pt_getspecific_fn *pt_libc_getspecific(void)
{
    return pthread_getspecific;
}

int pt_libc_attr_getstacksize(const pthread_attr_t *attr, size_t *ret_bytes)
{
    return pthread_attr_getstacksize(attr, ret_bytes);
}

int pt_libc_attr_setstacksize(pthread_attr_t *attr, size_t bytes)
{
    return pthread_attr_setstacksize(attr, bytes);
}

int pt_libc_getcpuclockid(pthread_t thread, clockid_t *ret_clock)
{
    return pthread_getcpuclockid(thread, ret_clock);
}

int pt_libc_join(pthread_t thread)
{
    return pthread_join(thread, NULL);
}

int pt_libc_atfork(void (*prepare)(void), void (*parent)(void), void (*child)(void))
{
    return pthread_atfork(prepare, parent, child);
}

int pt_libc_at_quick_exit(void (*function)(void))
{
    return at_quick_exit(function);
}

extern void main_start(void) __asm__("__libc_start_main") __attribute__((weak));

void *pt_libc_main_start(void)
{
    void *volatile const start = (void *)(uintptr_t)main_start;
    return start;
}

bool pt_libc_hands_arguments(void)
{
#if defined(__GLIBC__)
    return true;
#else
    return false;
#endif
}
