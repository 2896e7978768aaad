/* php.c: see php.h and php_walk.h. tests/cli/php.t.sh runs the PHP that is installed. */
#include "interp/php.h"

#include <string.h>

typedef struct {
    pt_interp_read *read;
    void *arg;
} php_memory;

typedef pt_php_walk php_walking;

#define memory_of(walk) (&(php_memory){(walk)->read, (walk)->arg})

static inline bool fetch_php(php_memory *memory, uint64_t addr, void *to, size_t bytes)
{
    return memory->read(memory->arg, addr, to, bytes);
}

#define delegates_max PT_PHP_DELEGATES_MAX

#include "interp/php_walk.h"

/* ---- frames ---- */

bool pt_php_is_innermost(pt_interp_read *read, void *arg, uint64_t globals, uint64_t frame)
{
    php_memory memory = {read, arg};
    uint64_t innermost;
    return frame != 0 && fetch_php_word(&memory, globals + GLOBALS_FRAME, &innermost) &&
           innermost == frame;
}

pt_interp_step pt_php_walk_begin(pt_php_walk *walk, pt_interp_read *read, void *arg,
                                 uint64_t globals, uint64_t generator_class, uint32_t most)
{
    walk->read = read;
    walk->arg = arg;
    return begin_php_frames(walk, globals, generator_class, most);
}

pt_interp_step pt_php_walk_next(pt_php_walk *walk, pt_php_frame *ret_frame)
{
    pt_interp_step step;
    pt_php_frame frame;
    do
        step = next_php_frame(walk, &frame);
    while (step == PT_INTERP_FRAME_READ && frame.function == 0);
    if (step == PT_INTERP_FRAME_READ) *ret_frame = frame;
    return step;
}

/* ---- functions ---- */

bool pt_php_function_at(pt_interp_read *read, void *arg, uint64_t function, pt_php_function *ret)
{
    return fetch_php_function(&(php_memory){read, arg}, function, ret);
}

int32_t pt_php_line(pt_interp_read *read, void *arg, uint64_t globals, const pt_php_function *f,
                    uint64_t instruction)
{
    return fetch_php_line(&(php_memory){read, arg}, globals, f, instruction);
}

bool pt_php_check(pt_interp_read *read, void *arg, const pt_php_function *f, uint64_t *ret_check)
{
    return check_php_function(&(php_memory){read, arg}, f, ret_check);
}

/* ---- texts ---- */

bool pt_php_text(pt_interp_read *read, void *arg, uint64_t string, char *to, size_t cap,
                 size_t *ret_bytes)
{
    uint64_t length;
    return string % PHP_WORD == 0 &&
           fetch_php_word(&(php_memory){read, arg}, string + STRING_LENGTH, &length) &&
           pt_interp_copy_text(read, arg, string + STRING_TEXT, length, to, cap, ret_bytes);
}

bool pt_php_name(pt_interp_read *read, void *arg, const pt_php_function *f, char *to, size_t cap,
                 size_t *ret_bytes)
{
    size_t held = 0, bytes = 0;
    if (f->name == 0) {
        *ret_bytes = pt_interp_put_text(to, cap, f->kind == PT_PHP_EVAL ? "eval" : "{main}");
        return true;
    }
    if (f->class_name != 0) {
        if (!pt_php_text(read, arg, f->class_name, to, cap, &held)) return false;
        held += pt_interp_put_text(to + held, cap - held, "::");
    }
    if (!pt_php_text(read, arg, f->name, to + held, cap - held, &bytes)) return false;
    *ret_bytes = held + bytes;
    return true;
}
