/* perl.c: see perl.h and perl_walk.h. tests/cli/perl.t.sh runs the Perl that is installed. */
#include "interp/perl.h"

typedef struct {
    pt_interp_read *read;
    void *arg;
} perl_memory;

typedef pt_perl_walk perl_walking;

#define perl_memory_of(walk) (&(perl_memory){(walk)->read, (walk)->arg})
#define perl_layout_of(walk) ((walk)->layout)

static inline bool fetch_perl(perl_memory *memory, uint64_t addr, void *to, size_t bytes)
{
    return memory->read(memory->arg, addr, to, bytes);
}

#include "interp/perl_walk.h"

static const pt_perl_layout layouts[] = {
    {.minor = 32,
     .statement = 0xe0,
     .stack = 0xf0,
     .phase = 0x9e4,
     .context_bytes = 104,
     .first_statement = 195,
     .second_statement = 196},
    {.minor = 36,
     .statement = 0xd0,
     .stack = 0xe0,
     .phase = 0x9d0,
     .context_bytes = 104,
     .stash_names = 0x20,
     .first_statement = 195,
     .second_statement = 196},
    {.minor = 40,
     .statement = 0xd0,
     .stack = 0xe0,
     .phase = 0x8a8,
     .context_bytes = 104,
     .stash_names = 0x20,
     .first_statement = 198,
     .second_statement = 199},
};

const pt_perl_layout *pt_perl_layout_of(unsigned minor)
{
    for (size_t i = 0; i < sizeof layouts / sizeof layouts[0]; i++)
        if (layouts[i].minor == minor) return &layouts[i];
    return NULL;
}

/* ---- frames ---- */

pt_interp_step pt_perl_walk_begin(pt_perl_walk *walk, const pt_perl_layout *layout,
                                  pt_interp_read *read, void *arg, uint64_t interpreter,
                                  uint32_t most)
{
    *walk = (pt_perl_walk){.layout = layout, .read = read, .arg = arg};
    return begin_perl_frames(walk, interpreter, most);
}

pt_interp_step pt_perl_walk_next(pt_perl_walk *walk, pt_perl_frame *ret_frame)
{
    pt_interp_step step;
    bool is_frame;
    do
        step = next_perl_frame(walk, ret_frame, &is_frame);
    while (step == PT_INTERP_FRAME_READ && !is_frame);
    return step;
}

/* ---- code ---- */

bool pt_perl_code_at(const pt_perl_layout *layout, pt_interp_read *read, void *arg,
                     const pt_perl_frame *frame, pt_perl_code *ret)
{
    return fetch_perl_code(layout, &(perl_memory){read, arg}, frame, ret);
}

bool pt_perl_check(pt_interp_read *read, void *arg, const pt_perl_code *code, uint64_t *ret_check)
{
    return check_perl_code(&(perl_memory){read, arg}, code, ret_check);
}

/* ---- texts ---- */

static bool copy_shared_text(pt_interp_read *read, void *arg, uint64_t text, char *to, size_t cap,
                             size_t *ret_bytes)
{
    uint64_t length;
    return fetch_perl_word(&(perl_memory){read, arg}, text + TEXT_LENGTH, &length) &&
           length >> 32 <= TEXT_MAX &&
           pt_interp_copy_text(read, arg, text + TEXT_BYTES, length >> 32, to, cap, ret_bytes);
}

bool pt_perl_name(pt_interp_read *read, void *arg, const pt_perl_code *code, char *to, size_t cap,
                  size_t *ret_bytes)
{
    size_t held = 0, bytes = 0;
    if (code->kind != PT_PERL_SUB) {
        *ret_bytes = pt_interp_put_text(to, cap, code->kind == PT_PERL_MAIN ? "{main}" : "(eval)");
        return true;
    }
    if (code->package != 0) {
        if (!copy_shared_text(read, arg, code->package, to, cap, &held)) return false;
        held += pt_interp_put_text(to + held, cap - held, "::");
    }
    if (code->name == 0)
        bytes = pt_interp_put_text(to + held, cap - held, "__ANON__");
    else if (!copy_shared_text(read, arg, code->name, to + held, cap - held, &bytes))
        return false;
    *ret_bytes = held + bytes;
    return true;
}

bool pt_perl_file(pt_interp_read *read, void *arg, const pt_perl_code *code, char *to, size_t cap,
                  size_t *ret_bytes)
{
    *ret_bytes = 0;
    return code->file == 0 ||
           pt_interp_copy_text(read, arg, code->file, UINT64_MAX, to, cap, ret_bytes);
}
