/* libc_shared.c: see libc.h. For the shared library, which may run with an older libc than that of
 * its headers, or with another libc. A process of glibc before 2.34 has the functions of threads
 * only if libpthread was loaded, perhaps just before the process makes its first thread. */
#include "agent/agent.h"

#include <errno.h>
#include <stdatomic.h>
#include <stdlib.h>

/* LOOKED_UP declares a function that is looked up: its type and a variable for its address. It has
 * no second name. */
#define LOOKED_UP(name, result, parameters)                                                        \
    typedef result name##_fn parameters;                                                           \
    static _Atomic(name##_fn *) next_##name;                                                       \
    static name##_fn *const second_##name = NULL

LOOKED_UP(pthread_key_create, int, (pthread_key_t *, void (*)(void *)));
LOOKED_UP(pthread_setspecific, int, (pthread_key_t, const void *));
LOOKED_UP(pthread_getspecific, void *, (pthread_key_t));
LOOKED_UP(pthread_attr_getstacksize, int, (const pthread_attr_t *, size_t *));
LOOKED_UP(pthread_attr_setstacksize, int, (pthread_attr_t *, size_t));
LOOKED_UP(pthread_getcpuclockid, int, (pthread_t, clockid_t *));
LOOKED_UP(pthread_join, int, (pthread_t, void **));
/* musl has pthread_atfork; glibc has that function in a static part only, which calls
 * __register_atfork. */
LOOKED_UP(pthread_atfork, int, (void (*)(void), void (*)(void), void (*)(void)));
LOOKED_UP(__register_atfork, int, (void (*)(void), void (*)(void), void (*)(void), void *));
LOOKED_UP(at_quick_exit, int, (void (*)(void)));
LOOKED_UP(__cxa_at_quick_exit, int, (void (*)(void *), void *));

/* The handle by which libc identifies this library. */
extern void *__dso_handle __attribute__((visibility("hidden")));

void pt_libc_find_threads(void)
{
    (void)PT_NEXT(pthread_key_create);
    (void)PT_NEXT(pthread_setspecific);
    (void)PT_NEXT(pthread_getspecific);
    (void)PT_NEXT(pthread_attr_getstacksize);
    (void)PT_NEXT(pthread_attr_setstacksize);
    (void)PT_NEXT(pthread_getcpuclockid);
    (void)PT_NEXT(pthread_join);
}

/* Calls a function that was looked up before. This macro does not look it up: the thread may be in
 * a signal handler, or hold the loader's lock. */
#define CALL_KNOWN(name, arguments)                                                                \
    name##_fn *const known = atomic_load(&next_##name);                                            \
    return known != NULL ? known arguments : ENOSYS

int pt_libc_key_create(pthread_key_t *ret_key, void (*at_end)(void *))
{
    CALL_KNOWN(pthread_key_create, (ret_key, at_end));
}

int pt_libc_setspecific(pthread_key_t key, const void *value)
{
    CALL_KNOWN(pthread_setspecific, (key, value));
}

pt_getspecific_fn *pt_libc_getspecific(void)
{
    return atomic_load(&next_pthread_getspecific);
}

int pt_libc_attr_getstacksize(const pthread_attr_t *attr, size_t *ret_bytes)
{
    CALL_KNOWN(pthread_attr_getstacksize, (attr, ret_bytes));
}

int pt_libc_attr_setstacksize(pthread_attr_t *attr, size_t bytes)
{
    CALL_KNOWN(pthread_attr_setstacksize, (attr, bytes));
}

int pt_libc_getcpuclockid(pthread_t thread, clockid_t *ret_clock)
{
    CALL_KNOWN(pthread_getcpuclockid, (thread, ret_clock));
}

int pt_libc_join(pthread_t thread)
{
    CALL_KNOWN(pthread_join, (thread, NULL));
}

int pt_libc_atfork(void (*prepare)(void), void (*parent)(void), void (*child)(void))
{
    __register_atfork_fn *const glibc_s = PT_NEXT(__register_atfork);
    if (glibc_s != NULL) return glibc_s(prepare, parent, child, &__dso_handle);
    pthread_atfork_fn *const other = PT_NEXT(pthread_atfork);
    return other != NULL ? other(prepare, parent, child) : ENOSYS;
}

int pt_libc_at_quick_exit(void (*function)(void))
{
    __cxa_at_quick_exit_fn *const glibc_s = PT_NEXT(__cxa_at_quick_exit);
    /* The function ignores the argument that __cxa_at_quick_exit passes. */
    if (glibc_s != NULL) return glibc_s((void (*)(void *))(void (*)(void))function, &__dso_handle);
    at_quick_exit_fn *const other = PT_NEXT(at_quick_exit);
    return other != NULL ? other(function) : ENOSYS;
}

void *pt_libc_main_start(void)
{
    return pt_find_first("__libc_start_main");
}

bool pt_libc_hands_arguments(void)
{
    return pt_find_first("gnu_get_libc_version") != NULL;
}
