/* ruby.c: see ruby.h and ruby_walk.h. tests/cli/ruby.t.sh runs the Ruby that is installed. */
#include "interp/ruby.h"

typedef struct {
    pt_interp_read *read;
    void *arg;
} ruby_memory;

typedef pt_ruby_walk ruby_walking;

#define ruby_memory_of(walk) (&(ruby_memory){(walk)->read, (walk)->arg})
#define ruby_layout_of(walk) ((walk)->layout)
#define find_ruby_variable   search_ruby_variable
#define ruby_depth_max       32
#define ruby_entries_max     64

static inline bool fetch_ruby(ruby_memory *memory, uint64_t addr, void *to, size_t bytes)
{
    return memory->read(memory->arg, addr, to, bytes);
}

#include "interp/ruby_walk.h"

static const pt_ruby_layout layouts[] = {
    {.major = 2,
     .minor = 7,
     .context_thread = 0x38,
     .thread_number = 0x48,
     .frame_bytes = 0x38,
     .body_location = 0x40,
     .body_insns = 0x78,
     .body_local = 0xb0,
     .insn_bytes = 8,
     .class_ext = 0x18,
     .singleton_mask = 1,
     .ext_variables = 8},
    {.major = 3,
     .minor = 1,
     .frame_bytes = 0x40,
     .body_location = 0x40,
     .body_insns = 0x78,
     .body_local = 0xb0,
     .insn_bytes = 12,
     .class_ext = 0x18,
     .singleton_mask = 1,
     .ext_variables = 8},
    {.major = 3,
     .minor = 3,
     .frame_bytes = 0x38,
     .body_location = 0x40,
     .body_insns = 0x70,
     .body_local = 0xa8,
     .insn_bytes = 12,
     .has_plain_line = true,
     .has_length = true,
     .class_ext = 0x20,
     .is_ext_within = true,
     .singleton_mask = 1,
     .ext_variables = 0,
     .ext_name = 0x78,
     .ext_attached = 0x60},
};

const pt_ruby_layout *pt_ruby_layout_of(unsigned major, unsigned minor)
{
    for (size_t i = 0; i < sizeof layouts / sizeof layouts[0]; i++)
        if (layouts[i].major == major && layouts[i].minor == minor) return &layouts[i];
    return NULL;
}

/* ---- frames ---- */

uint64_t pt_ruby_context(const pt_ruby_layout *layout, pt_interp_read *read, void *arg,
                         uint64_t holder, uint64_t pointer)
{
    return fetch_ruby_context(layout, &(ruby_memory){read, arg}, holder, pointer);
}

pt_interp_step pt_ruby_walk_begin(pt_ruby_walk *walk, const pt_ruby_layout *layout,
                                  pt_interp_read *read, void *arg, uint64_t context, uint32_t most)
{
    *walk = (pt_ruby_walk){.layout = layout, .read = read, .arg = arg};
    return begin_ruby_frames(walk, context, most);
}

pt_interp_step pt_ruby_walk_next(pt_ruby_walk *walk, pt_ruby_frame *ret_frame)
{
    pt_interp_step step;
    do
        step = next_ruby_frame(walk, ret_frame);
    while (step == PT_INTERP_FRAME_READ && ret_frame->body == 0);
    return step;
}

/* ---- code ---- */

bool pt_ruby_code_at(const pt_ruby_layout *layout, pt_interp_read *read, void *arg, uint64_t body,
                     pt_ruby_code *ret)
{
    return fetch_ruby_code(layout, &(ruby_memory){read, arg}, body, ret);
}

int32_t pt_ruby_line(const pt_ruby_layout *layout, pt_interp_read *read, void *arg,
                     const pt_ruby_code *code, uint64_t pc)
{
    return fetch_ruby_line(layout, &(ruby_memory){read, arg}, code, pc);
}

uint64_t pt_ruby_owner(pt_interp_read *read, void *arg, uint64_t env)
{
    return fetch_ruby_owner(&(ruby_memory){read, arg}, env);
}

bool pt_ruby_keys_find(const pt_ruby_layout *layout, pt_interp_read *read, void *arg,
                       uint64_t object, uint64_t string, pt_ruby_keys *ret_keys)
{
    return find_ruby_keys(layout, &(ruby_memory){read, arg}, object, string, ret_keys);
}

bool pt_ruby_check(const pt_ruby_layout *layout, pt_interp_read *read, void *arg,
                   const pt_ruby_keys *keys, const pt_ruby_code *code, uint64_t owner,
                   uint64_t *ret_check)
{
    return check_ruby_code(layout, &(ruby_memory){read, arg}, keys, code, owner, ret_check);
}

/* ---- names ---- */

bool pt_ruby_names_at(const pt_ruby_layout *layout, pt_interp_read *read, void *arg,
                      const pt_ruby_keys *keys, const pt_ruby_code *code, uint64_t owner,
                      pt_ruby_names *ret)
{
    return fetch_ruby_names(layout, &(ruby_memory){read, arg}, keys, code, owner, ret);
}

bool pt_ruby_name(pt_interp_read *read, void *arg, const pt_ruby_names *names, char *to, size_t cap,
                  size_t *ret_bytes)
{
    const pt_ruby_text *const label = &names->label;
    size_t held = 0, bytes = 0;
    const bool has_class =
        names->class_name.bytes > 0 && names->before < label->bytes && names->before < cap;
    if (!has_class)
        return pt_interp_copy_text(read, arg, label->addr, label->bytes, to, cap, ret_bytes);
    if (!pt_interp_copy_text(read, arg, label->addr, names->before, to, cap, &held) ||
        !pt_interp_copy_text(read, arg, names->class_name.addr, names->class_name.bytes, to + held,
                             cap - held, &bytes))
        return false;
    held += bytes;
    held += pt_interp_put_text(to + held, cap - held, names->is_singleton ? "." : "#");
    if (!pt_interp_copy_text(read, arg, label->addr + names->before, label->bytes - names->before,
                             to + held, cap - held, &bytes))
        return false;
    *ret_bytes = held + bytes;
    return true;
}

bool pt_ruby_path(pt_interp_read *read, void *arg, const pt_ruby_names *names, char *to, size_t cap,
                  size_t *ret_bytes)
{
    return pt_interp_copy_text(read, arg, names->path.addr, names->path.bytes, to, cap, ret_bytes);
}
