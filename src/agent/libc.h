/* libc.h: functions that the library takes from libc, where the choice depends on the libc.
 *
 * One libprofiler.so.0 works in processes of glibc from 2.17 on and of musl. So it refers to no
 * symbol that a later glibc added or gave a new version, to no symbol that glibc before 2.34 keeps
 * in libpthread, librt or libdl, which a program may lack, and to no symbol that only glibc has
 * (tests/abi/abi.t.sh). Instead of such a function the library makes a system call, or it looks the
 * function up by name, and the function may be missing. */
#pragma once

#include <link.h>
#include <pthread.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/stat.h>
#include <sys/syscall.h>

/* Linux 5.9; the headers of older systems lack both (close_range(2)). */
#ifndef SYS_close_range
#define SYS_close_range 436
#endif
#ifndef CLOSE_RANGE_UNSHARE
#define CLOSE_RANGE_UNSHARE (1U << 1)
#endif

/* ---- find_function.c ---- */

/* Returns the function of that name in the libraries after this one; if there is none, `second`; if
 * that is NULL, the function of that name in a library before this one. */
void *pt_find_next(const char *name, void *second);
/* Returns the address that the name resolves to in this process, which may be in this library; NULL
 * if the name is undefined. */
void *pt_find_first(const char *name);
/* Returns the number by which glibc finds the thread-local variables of the object loaded at base;
 * 0 if the object has no such variables, or the C library is not glibc. */
size_t pt_find_tls_module(uintptr_t base);
/* Returns the loaded address of a table that an object's dynamic section gives as `at`; 0 if the
 * object has no memory there. glibc and musl differ in which of these entries they replace by
 * loaded addresses. Neither replaces the entries of the vdso, whose linked addresses may be above
 * the base. */
uintptr_t pt_loaded_addr(const ElfW(Phdr) * segments, size_t count, uintptr_t base, uintptr_t at);

/* ---- libc.c: system calls whose functions glibc 2.25, 2.28 and 2.33 brought ---- */

int pt_libc_fstat(int fd, struct stat *ret);
int pt_libc_lstat_at(int folder, const char *path, struct stat *ret);
/* fcntl(fd, F_DUPFD_CLOEXEC, least). */
int pt_libc_dup_above(int fd, int least);
/* Returns false if the kernel gave fewer bytes. */
bool pt_libc_random(void *ret, size_t bytes);

/* ---- libc_shared.c: looked up; libc_static.c: linked ---- */

/* Looks up all functions of threads below, so that none is looked up later. Called before the
 * process has a second thread. */
void pt_libc_find_threads(void);
/* Like the libc functions of these names; ENOSYS if the process has no such function. */
int pt_libc_key_create(pthread_key_t *ret_key, void (*at_end)(void *));
int pt_libc_setspecific(pthread_key_t key, const void *value);
typedef void *pt_getspecific_fn(pthread_key_t);
pt_getspecific_fn *pt_libc_getspecific(void); /* NULL: the process has none */
int pt_libc_attr_getstacksize(const pthread_attr_t *attr, size_t *ret_bytes);
int pt_libc_attr_setstacksize(pthread_attr_t *attr, size_t bytes);
int pt_libc_getcpuclockid(pthread_t thread, clockid_t *ret_clock);
int pt_libc_join(pthread_t thread);
int pt_libc_atfork(void (*prepare)(void), void (*parent)(void), void (*child)(void));
int pt_libc_at_quick_exit(void (*function)(void));
/* Does libc pass the program's arguments to constructors? glibc does; musl leaves the registers
 * undefined. */
bool pt_libc_hands_arguments(void);
void *pt_libc_main_start(void); /* __libc_start_main; NULL if this libc has no such function */
