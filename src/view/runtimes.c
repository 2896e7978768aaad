/* runtimes.c: see runtimes.h. Examines each distinct stack once. */
#include "view/runtimes.h"

#include <stdlib.h>
#include <string.h>

#include "base/file.h"
#include "base/text.h"
#include "model/sums.h"
#include "process/path_kind.h"

#define SHARE_MIN 0.05 /* a smaller share is not reported */

typedef struct {
    const char *language;
    const char *files[4]; /* beginning of the base name of the runtime's file */
    const char *loop;     /* the interpreter's function; NULL: compiled code without names */
    const char *advice;
} runtime;

/* If two rows fit a stack, the first counts. */
static const runtime runtimes[] = {
    {"JavaScript",
     {"node", "nodejs"},
     NULL,
     "pitot record --engine=preload names it, and sudo pitot record --engine=bpf -p PID while it "
     "runs"},
    {"Java",
     {"libjvm.so"},
     NULL,
     "pitot record java and sudo pitot record -p PID name it (HotSpot 11 to 22, and 25, on "
     "x86-64)"},
    {".NET", {"libcoreclr.so"}, NULL, "DOTNET_PerfMapEnabled=1 in its environment names it"},
    {"Erlang", {"beam.smp"}, NULL, "erl +JPperf true names it"},
    {"Python",
     {"python3", "libpython3", "python2", "libpython2"},
     "_PyEval_EvalFrameDefault",
     "pitot record --engine=preload names it (3.8 to 3.14), and sudo pitot record --engine=bpf -p "
     "PID while it runs"},
    {"Ruby",
     {"ruby", "libruby"},
     "rb_vm_exec",
     "pitot record --engine=preload names it (2.7, 3.1 and 3.3), and sudo pitot record "
     "--engine=bpf "
     "-p PID while it runs"},
    {"PHP",
     {"php", "libphp", "mod_php"},
     "execute_ex",
     "pitot record --engine=preload names it (7.4, 8.2 and 8.4 without threads), and sudo pitot "
     "record "
     "--engine=bpf -p PID while it runs"},
    {"Perl",
     {"perl", "libperl.so"},
     "Perl_runops_standard",
     "pitot record --engine=preload names it (5.32, 5.36 and 5.40 with threads), and sudo pitot "
     "record "
     "--engine=bpf -p PID while it runs"},
};
enum { RUNTIMES = PT_COUNT(runtimes), NONE = RUNTIMES };
_Static_assert((int)RUNTIMES <= (int)PT_NAMELESS_LANGUAGES_MAX, "each may be told");

/* Is `text`, the end of a file name after the name of a runtime, a version? It is: "" after "node",
 * ".11" after "python3", ".9.so.1.0" after "libpython3", "-fpm8.2" after "php". It is not in the
 * names of other programs, such as node-agent and node_exporter. */
static bool is_version(const char *text)
{
    if (pt_begins(text, "-fpm") || pt_begins(text, "-cgi")) text += 4;
    for (; *text != '\0'; text++) {
        if (pt_begins(text, ".so")) return true;
        if (strchr(".0123456789", *text) == NULL) return false;
    }
    return true;
}

/* The runtime whose file has that path; NONE if there is none. */
static uint8_t runtime_of_file(const char *path)
{
    const char *const name = pt_base_name(path);
    for (size_t r = 0; r < RUNTIMES; r++)
        for (size_t k = 0; k < 4 && runtimes[r].files[k] != NULL; k++) {
            if (pt_begins(name, runtimes[r].files[k]) &&
                is_version(name + strlen(runtimes[r].files[k])))
                return (uint8_t)r;
        }
    return NONE;
}

bool pt_is_runtime_file(const char *path)
{
    return runtime_of_file(path) != NONE;
}

/* The runtime of each mapping's file. The caller frees the array. */
static uint8_t *runtime_of_mappings(const pt_profile *p)
{
    const uint32_t count = p->mapping->t.count;
    uint8_t *const of = pt_alloc(count + 1, sizeof *of);
    for (uint32_t m = 0; m < count; m++)
        of[m] = runtime_of_file(pt_text(p, p->mapping->row[m].file));
    return of;
}

bool pt_is_made_code(const pt_profile *p, uint32_t mapping)
{
    if (mapping == PT_NONE) return false;
    const pt_mapping *const m = &p->mapping->row[mapping];
    const char *const name = pt_text(p, m->file);
    return (m->flags & PT_MAPPING_JIT) != 0 || pt_begins(name, "[anon:") ||
           pt_begins(name, "[memfd:");
}

/* Does the mapping stand for frames that were read from an interpreter? */
static bool is_language_mapping(const pt_profile *p, uint32_t mapping)
{
    const char *const file = mapping != PT_NONE ? pt_text(p, p->mapping->row[mapping].file) : "";
    return pt_mapped_is_language(file);
}

static const char *function_at(const pt_profile *p, uint32_t line)
{
    const uint32_t function = p->line->function[line];
    return function != PT_NONE ? pt_text(p, p->function->name[function]) : "";
}

/* The runtime of a stack whose code has no names; else NONE. */
static uint8_t runtime_of_stack(const pt_profile *p, const uint8_t *of_mapping, uint32_t stack)
{
    const pt_locations *const l = p->location;
    const uint32_t *const frames = pt_stack_frames(p, stack);
    uint8_t file = NONE, loop = NONE;
    bool has_nameless = false;
    for (uint32_t i = 0; i < pt_stack_depth(p, stack); i++) {
        const uint32_t mapping = l->mapping[frames[i]];
        const uint32_t first = l->line_first[frames[i]], end = l->line_first[frames[i] + 1];
        const bool is_compiled = pt_is_made_code(p, mapping);
        if (is_compiled && first < end) return NONE; /* the compiled code has names */
        if (is_language_mapping(p, mapping)) return NONE;
        has_nameless |= is_compiled;
        if (mapping == PT_NONE || of_mapping[mapping] == NONE) continue;
        if (file == NONE) file = of_mapping[mapping];
        const char *const wanted = runtimes[of_mapping[mapping]].loop;
        for (uint32_t k = first; k < end && wanted != NULL; k++)
            if (strcmp(function_at(p, k), wanted) == 0) loop = of_mapping[mapping];
    }
    if (loop != NONE) return loop;
    return has_nameless && file != NONE && runtimes[file].loop == NULL ? file : NONE;
}

PT_ORDER(compare_shares, pt_nameless_language, PT_DOWN(share));

size_t pt_nameless_languages(const pt_profile *profile, uint32_t event,
                             pt_nameless_language ret[PT_NAMELESS_LANGUAGES_MAX])
{
    PT_FREE uint8_t *of_mapping = runtime_of_mappings(profile);
    bool has_any = false;
    for (uint32_t m = 0; m < profile->mapping->t.count; m++)
        has_any |= of_mapping[m] != NONE;
    if (!has_any) return 0;
    const int64_t *const value = pt_profile_stack_values(profile, event);
    double sums[RUNTIMES] = {0}, whole = 0;
    for (uint32_t s = 0; s < profile->stack->t.count; s++) {
        if (value[s] <= 0) continue;
        whole += (double)value[s];
        const uint8_t r = runtime_of_stack(profile, of_mapping, s);
        if (r != NONE) sums[r] += (double)value[s];
    }
    size_t count = 0;
    for (size_t r = 0; r < RUNTIMES; r++)
        if (sums[r] > 0 && sums[r] >= SHARE_MIN * whole)
            ret[count++] =
                (pt_nameless_language){runtimes[r].language, runtimes[r].advice, sums[r] / whole};
    qsort(ret, count, sizeof *ret, compare_shares);
    return count;
}
