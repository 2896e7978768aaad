/* libc.c: see libc.h. The kernel's struct stat is libc's on all 64-bit machines. */
#include "agent/agent.h"

#include <fcntl.h>
#include <sys/syscall.h>
#include <unistd.h>

_Static_assert(sizeof(void *) == 8, "struct stat of a 32-bit libc is not the kernel's");

int pt_libc_fstat(int fd, struct stat *ret)
{
    return (int)syscall(SYS_fstat, fd, ret);
}

int pt_libc_lstat_at(int folder, const char *path, struct stat *ret)
{
    return (int)syscall(SYS_newfstatat, folder, path, ret, AT_SYMLINK_NOFOLLOW);
}

int pt_libc_dup_above(int fd, int least)
{
    return (int)syscall(SYS_fcntl, fd, F_DUPFD_CLOEXEC, least);
}

bool pt_libc_random(void *ret, size_t bytes)
{
    return syscall(SYS_getrandom, ret, bytes, 0) == (long)bytes;
}
