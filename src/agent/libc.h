/* libc.h: what the library takes from libc, where that depends on which libc it is.
 *
 * One libprofiler.so.0 enters processes of glibc from 2.17 on and of musl. So it refers to no
 * symbol that a later glibc brought or gave a new version, to none that glibc before 2.34 keeps in
 * libpthread, librt or libdl, which a program may lack, and to none that glibc alone has
 * (tests/abi/abi.t.sh). Such functions are system calls here, or are looked up by name, in which
 * case they may be missing.
 */
#pragma once

#include <link.h>
#include <pthread.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/stat.h>
#include <sys/syscall.h>

/* Linux 5.9; headers of older systems have neither (close_range(2)). */
#ifndef SYS_close_range
#define SYS_close_range 436
#endif
#ifndef CLOSE_RANGE_UNSHARE
#define CLOSE_RANGE_UNSHARE (1U << 1)
#endif

/* ---- find_function.c ---- */

/* The function of that name in the libraries after this one; else `second`, else one before it. */
void *pt_find_next(const char *name, void *second);
/* The address that the name resolves to in this process, also in this library; NULL: none. */
void *pt_find_first(const char *name);
/* The number by which glibc finds the thread-local variables of the object that is loaded there; 0:
 * it has none, or the C library is another. */
size_t pt_find_tls_module(uintptr_t base);
/* Where a table of an object lies whose dynamic section says `at`: glibc and musl differ in which
 * of these they replace by the loaded address, and neither does so in the vdso, whose addresses as
 * linked may be above the base. 0: the object has no memory there. */
uintptr_t pt_loaded_addr(const ElfW(Phdr) * segments, size_t count, uintptr_t base, uintptr_t at);

/* ---- libc.c: system calls whose functions glibc 2.25, 2.28 and 2.33 brought ---- */

int pt_libc_fstat(int fd, struct stat *ret);
int pt_libc_lstat_at(int folder, const char *path, struct stat *ret);
/* F_DUPFD_CLOEXEC. */
int pt_libc_dup_above(int fd, int least);
/* False: the kernel gave fewer bytes. */
bool pt_libc_random(void *ret, size_t bytes);

/* ---- libc_shared.c: looked up; libc_static.c: linked ---- */

/* Looks all of it up, and finds nothing later: before the process has a second thread. */
void pt_libc_find_threads(void);
/* As the functions of these names; ENOSYS where the process has none. */
int pt_libc_key_create(pthread_key_t *ret_key, void (*at_end)(void *));
int pt_libc_setspecific(pthread_key_t key, const void *value);
typedef void *pt_getspecific_fn(pthread_key_t);
pt_getspecific_fn *pt_libc_getspecific(void); /* NULL: there is none */
int pt_libc_attr_getstacksize(const pthread_attr_t *attr, size_t *ret_bytes);
int pt_libc_attr_setstacksize(pthread_attr_t *attr, size_t bytes);
int pt_libc_getcpuclockid(pthread_t thread, clockid_t *ret_clock);
int pt_libc_join(pthread_t thread);
int pt_libc_atfork(void (*prepare)(void), void (*parent)(void), void (*child)(void));
int pt_libc_at_quick_exit(void (*function)(void));
/* Does libc hand the program's arguments to constructors? glibc does; musl leaves anything there.
 */
bool pt_libc_hands_arguments(void);
void *pt_libc_main_start(void); /* __libc_start_main; NULL: not in this libc */
