/* sets.c: see sets.h. Each set is loaded into a pt_cmd_context of its own, as pitot diff loads each
 * of its profiles. */
#include "personality/dcpi/sets.h"

#include <stdlib.h>
#include <string.h>

#include "base/grow.h"
#include "cmd/input.h"

/* Loads and counts a set. names: its profiles, joined by commas; program: NULL, or the program
 * among the arguments. */
static int add_set(pt_cmd_context *context, const pt_dcpi_settings *settings, const char *names,
                   const char *program, pt_dcpi_sets *sets)
{
    PT_GROW(*sets, sets->count + 1);
    pt_dcpi_set *const set = &sets->items[sets->count++];
    *set = (pt_dcpi_set){.context = pt_cmd_context_like(context)};
    pt_cmd_context *const own = &set->context;
    size_t room = 3;
    for (const char *at = names; *at != '\0'; at++)
        room += *at == ',';
    set->names = pt_alloc(room, sizeof *set->names);
    while (*names != '\0') {
        const size_t length = strcspn(names, ",");
        if (length > 0) set->names[own->arg_count++] = pt_strndup(names, length);
        names += length + (names[length] == ',');
    }
    if (program != NULL) set->names[own->arg_count++] = pt_strdup(program);
    own->args = (const char *const *)set->names;
    int status = pt_cmd_load(own);
    if (status == PT_EXIT_OK) status = pt_dcpi_count(own, settings, &set->counts, &set->column);
    context->loaded.damaged_count += own->loaded.damaged_count;
    pt_diag_merge(&context->diag, &own->diag);
    return status;
}

int pt_dcpi_sets_load(pt_cmd_context *context, const pt_dcpi_settings *settings,
                      const pt_option_list *given, size_t skip, pt_dcpi_sets *ret_sets)
{
    const char *program = NULL;
    *ret_sets = (pt_dcpi_sets){0};
    for (size_t i = skip; i < context->arg_count; i++)
        if (pt_path_look(context->args[i]) == PT_PATH_IMAGE) program = context->args[i];
    int status = PT_EXIT_OK;
    for (size_t i = 0; i < given->count && status == PT_EXIT_OK; i++)
        status = add_set(context, settings, given->items[i], program, ret_sets);
    for (size_t i = skip; i < context->arg_count && status == PT_EXIT_OK; i++) {
        if (context->args[i] == program) continue;
        if (given->count > 0)
            return pt_cmd_usage(context, "%s: '%s' is in no -set", context->command->name,
                                context->args[i]);
        status = add_set(context, settings, context->args[i], program, ret_sets);
    }
    return status;
}

void pt_dcpi_sets_done(pt_dcpi_sets *sets)
{
    for (size_t i = 0; i < sets->count; i++) {
        pt_dcpi_set *const set = &sets->items[i];
        if (set->counts.profile != NULL) pt_counts_done(&set->counts);
        pt_profile_unref(set->context.profile);
        pt_loaded_done(&set->context.loaded);
        pt_diag_done(&set->context.diag);
        pt_pool_free(set->context.pool);
        free(set->context.title_memory);
        for (size_t k = 0; set->names != NULL && set->names[k] != NULL; k++)
            free(set->names[k]);
        free(set->names);
    }
    free(sets->items);
    *sets = (pt_dcpi_sets){0};
}
