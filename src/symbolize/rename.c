/* rename.c: names that are in a profile, made as readable as google/pprof makes them. */
#include <string.h>

#include "model/builder.h"
#include "symbolize/symbolize.h"

typedef struct {
    pt_demangle_mode mode;
    bool force;
} how;

/* The name to show, or NULL to leave it: one that differs from the linker's was made readable
 * before (internal/symbolizer: Demangle). Free it. */
static char *new_name(void *context, const pt_profile *p, uint32_t function)
{
    const how *h = context;
    const char *name = pt_text(p, p->function->name[function]);
    const char *system_name = pt_text(p, p->function->system_name[function]);
    if (h->force && name[0] != '\0' && system_name[0] != '\0') name = system_name;
    if (name[0] != '\0' && strcmp(name, system_name) != 0) return NULL;
    return pt_demangle_pprof(system_name, h->mode);
}

pt_status pt_symbolize_rename(const pt_profile *profile, pt_demangle_mode mode, bool force,
                              const pt_profile **ret_profile, pt_error *reterr)
{
    how h = {.mode = mode, .force = force};
    return pt_profile_rename(profile, new_name, &h, ret_profile, reterr);
}
