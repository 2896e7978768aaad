/* php.c: see php.h and php_walk.h. tests/cli/php.t.sh runs the PHP that is installed. */
#include "interp/php.h"

#include <string.h>

typedef struct {
    pt_interp_read *read;
    void *arg;
} php_memory;

typedef pt_php_walk php_walking;

#define php_layout_of(walk) ((walk)->layout)

#define memory_of(walk)     (&(php_memory){(walk)->read, (walk)->arg})

static inline bool fetch_php(php_memory *memory, uint64_t addr, void *to, size_t bytes)
{
    return memory->read(memory->arg, addr, to, bytes);
}

#define next_php_delegate climb_php_delegate

#include "interp/php_walk.h"

/* Of builds without threads and without debugging, on 64-bit machines. */
static const pt_php_layout layouts[] = {
    {.api = 20190902, /* 7.4 */
     .before_exception = 0x370,
     .generator_frame = 0x40,
     .generator_placeholder = 0xc8,
     .generator_parent = 0xa0,
     .function_count = 0x3c,
     .function_first = 0x40,
     .function_file = 0x88},
    {.api = 20220829, /* 8.2 */
     .before_exception = 0x370,
     .generator_frame = 0x38,
     .generator_placeholder = 0xb8,
     .generator_parent = 0x98,
     .function_count = 0x50,
     .function_first = 0x58,
     .function_file = 0x98},
    {.api = 20240924, /* 8.4 */
     .before_exception = 0x3b8,
     .generator_frame = 0x38,
     .generator_placeholder = 0xb8,
     .generator_parent = 0x98,
     .function_count = 0x60,
     .function_first = 0x68,
     .function_file = 0xa8},
};

const pt_php_layout *pt_php_layout_of(uint32_t api)
{
    for (size_t i = 0; i < sizeof layouts / sizeof layouts[0]; i++)
        if (layouts[i].api == api) return &layouts[i];
    return NULL;
}

/* ---- frames ---- */

bool pt_php_is_innermost(pt_interp_read *read, void *arg, uint64_t globals, uint64_t frame)
{
    php_memory memory = {read, arg};
    uint64_t innermost;
    return frame != 0 && fetch_php_word(&memory, globals + GLOBALS_FRAME, &innermost) &&
           innermost == frame;
}

pt_interp_step pt_php_walk_begin(pt_php_walk *walk, const pt_php_layout *layout,
                                 pt_interp_read *read, void *arg, uint64_t globals,
                                 uint64_t generator_class, uint32_t most)
{
    walk->layout = layout;
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

bool pt_php_function_at(const pt_php_layout *layout, pt_interp_read *read, void *arg,
                        uint64_t function, pt_php_function *ret)
{
    return fetch_php_function(layout, &(php_memory){read, arg}, function, ret);
}

int32_t pt_php_line(const pt_php_layout *layout, pt_interp_read *read, void *arg, uint64_t globals,
                    const pt_php_function *f, uint64_t instruction)
{
    return fetch_php_line(layout, &(php_memory){read, arg}, globals, f, instruction);
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
