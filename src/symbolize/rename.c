/* rename.c: makes the names in a profile readable as google/pprof does. */
#include <string.h>

#include "model/builder.h"
#include "symbolize/symbolize.h"

typedef struct {
    pt_demangle_mode mode;
    bool force;
} renaming;

/* The readable name, which the caller frees, or NULL to keep the name. A name that differs from the
 * linker's was made readable before (internal/symbolizer: Demangle). */
static char *new_name(void *context, const pt_profile *p, uint32_t function)
{
    const renaming *h = context;
    const char *name = pt_text(p, p->function->name[function]);
    const char *system_name = pt_text(p, p->function->system_name[function]);
    if (h->force && name[0] != '\0' && system_name[0] != '\0') name = system_name;
    if (name[0] != '\0' && strcmp(name, system_name) != 0) return NULL;
    return pt_demangle_pprof(system_name, h->mode);
}

pt_status pt_symbolize_rename(const pt_profile *profile, pt_demangle_mode mode, bool force,
                              const pt_profile **ret_profile, pt_error *reterr)
{
    renaming h = {.mode = mode, .force = force};
    return pt_profile_rename(profile, new_name, &h, ret_profile, reterr);
}
