/* checked.c: the checked copies (__memcpy_chk, ...) that _FORTIFY_SOURCE calls where the compiler
 * knows the size of the target. musl does not have them, so the shared library has its own. This
 * file is compiled without _FORTIFY_SOURCE. */
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

void *__memcpy_chk(void *to, const void *from, size_t bytes, size_t room);
void *__memmove_chk(void *to, const void *from, size_t bytes, size_t room);
void *__memset_chk(void *to, int value, size_t bytes, size_t room);
int __vsnprintf_chk(char *to, size_t bytes, int flag, size_t room, const char *format,
                    va_list args);
int __snprintf_chk(char *to, size_t bytes, int flag, size_t room, const char *format, ...);

static void check_room(size_t bytes, size_t room)
{
    if (bytes > room) abort();
}

void *__memcpy_chk(void *to, const void *from, size_t bytes, size_t room)
{
    check_room(bytes, room);
    return memcpy(to, from, bytes);
}

void *__memmove_chk(void *to, const void *from, size_t bytes, size_t room)
{
    check_room(bytes, room);
    return memmove(to, from, bytes);
}

void *__memset_chk(void *to, int value, size_t bytes, size_t room)
{
    check_room(bytes, room);
    return memset(to, value, bytes);
}

int __vsnprintf_chk(char *to, size_t bytes, int flag, size_t room, const char *format, va_list args)
{
    check_room(bytes, room);
    return vsnprintf(to, bytes, format, args);
}

int __snprintf_chk(char *to, size_t bytes, int flag, size_t room, const char *format, ...)
{
    va_list args;
    check_room(bytes, room);
    va_start(args, format);
    const int length = vsnprintf(to, bytes, format, args);
    va_end(args);
    return length;
}
