/* own_code.c: see own_code.h. */
#include "view/own_code.h"

#include <stdlib.h>
#include <string.h>

#include "base/grow.h"
#include "base/hash.h"
#include "base/index.h"
#include "base/text.h"
#include "model/sums.h"
#include "process/path_kind.h"
#include "view/runtimes.h"
#include "view/table.h"
#include "view/why_causes.h"

/* ---- Own code ---- */

/* Beginnings of the paths of system libraries. */
static const char *const system_folders[] = {"/lib/", "/lib64/", "/lib32/", "/usr/lib", NULL};

/* Parts of the paths of installed packages: of their sources and of their shared libraries. */
#define PACKAGE_FOLDERS                                                                            \
    "/lib/python", "/lib/ruby/", "/gems/", "/share/perl", "/perl5/", "/site-packages/",            \
        "/dist-packages/", "/node_modules/"
static const char *const package_folders[] = {PACKAGE_FOLDERS, NULL};

/* Beginnings of the names of functions of compilers and runtimes. */
static const char *const foreign_names[] = {
    "std::",       "__gnu_cxx::",  "__cxxabiv1::",
    "boost::",                               /* C++ */
    "<core::",     "<alloc::",     "<std::", /* Rust, whose source files are a better sign */
    "hashbrown::", "<hashbrown::", "Builtin:",
    "Stub:",       "RegExp:",      "BytecodeHandler:", /* V8 */
    "java.",       "javax.",       "jdk.",
    "sun.",        "com.sun.",     NULL,
};

/* Parts of the paths of source files that are not the program's. */
static const char *const foreign_sources[] = {
    "/usr/include/",
    "/usr/lib/",
    "/rustc/",
    "/rust/deps/",
    "/.cargo/registry/",
    "/go/pkg/mod/",
    PACKAGE_FOLDERS,
    "<frozen ",
    "<internal:",
    "node:",
    NULL,
};

/* Parts of names that contain their file, as names of Python and V8 do. */
static const char *const foreign_in_names[] = {
    PACKAGE_FOLDERS,
    ":<frozen ",
    " node:",
    NULL,
};

/* The type ends at a space; spaces within <> belong to template arguments. */
const char *pt_without_return_type(const char *name)
{
    const char *begin = name;
    int depth = 0;
    for (const char *at = name; *at != '\0' && *at != '('; at++) {
        if (*at == '<') depth++;
        if (*at == '>' && at > name && at[-1] != '-') depth--;
        if (*at == ' ' && depth == 0 && pt_begins(at + 1, "std::")) begin = at + 1;
        if (*at == ' ' && depth == 0 && pt_begins(at + 1, "__gnu_cxx::")) begin = at + 1;
    }
    return begin;
}

bool pt_is_compilers_suffix(const char *dot)
{
    static const char *const suffixes[] = {"part", "constprop", "isra", "cold", "lto_priv", "llvm"};
    return PT_ANY(i, PT_COUNT(suffixes),
                  pt_begins(dot + 1, suffixes[i]) &&
                      strchr(".", dot[1 + strlen(suffixes[i])]) != NULL);
}

static bool begins_with_any(const char *text, const char *const *list)
{
    for (; *list != NULL; list++)
        if (pt_begins(text, *list)) return true;
    return false;
}

static bool contains_any(const char *text, const char *const *list)
{
    for (; *list != NULL; list++)
        if (strstr(text, *list) != NULL) return true;
    return false;
}

/* First parts of the packages of Go's library (pkg.go.dev/std). */
static const char *const go_packages[] = {
    "archive",  "bufio",   "bytes",   "cmp",      "compress", "container", "context", "crypto",
    "database", "debug",   "embed",   "encoding", "errors",   "expvar",    "flag",    "fmt",
    "go",       "hash",    "html",    "image",    "index",    "internal",  "io",      "iter",
    "log",      "maps",    "math",    "mime",     "net",      "os",        "path",    "plugin",
    "reflect",  "regexp",  "runtime", "slices",   "sort",     "strconv",   "strings", "structs",
    "sync",     "syscall", "testing", "text",     "time",     "unicode",   "unique",  "unsafe",
    "vendor",   "weak",
};

/* Is the function in Go's library, as "net/http.(*conn).serve" is? The path of any other package
 * begins with a server's name, which has a dot before the first slash. Package main is the program
 * itself. */
static bool is_go_library(const char *name, const char *file)
{
    if (!pt_ends(file, ".go") && !pt_ends(file, ".s")) return false;
    const size_t first = strcspn(name, "/.");
    if (name[first] == '.' && strchr(name, '/') > name + first) return false;
    return PT_ANY(i, PT_COUNT(go_packages), pt_equals_n(name, first, go_packages[i]));
}

/* Is the path a system library? Files in further folders below /usr/lib may be programs. */
static bool is_system_library(const char *path)
{
    const char *const slash = strrchr(path, '/');
    return begins_with_any(path, system_folders) && slash != NULL && strstr(slash, ".so") != NULL;
}

static bool is_kernel_mapping(const pt_mapping *m, const char *path)
{
    return (m->flags & PT_MAPPING_KERNEL) != 0 || pt_begins(path, "[kernel");
}

bool pt_is_kernel_code(const pt_profile *p, uint32_t location)
{
    if ((p->location->flags[location] & PT_LOCATION_KERNEL) != 0) return true;
    const uint32_t m = p->location->mapping[location];
    return m != PT_NONE &&
           is_kernel_mapping(&p->mapping->row[m], pt_text(p, p->mapping->row[m].file));
}

static bool is_own_mapping(const pt_mapping *m, const char *path)
{
    if (is_kernel_mapping(m, path) || strcmp(path, "[vdso]") == 0 ||
        strcmp(path, "[vsyscall]") == 0)
        return false;
    return !is_system_library(path) && !pt_is_runtime_file(path) &&
           !(strstr(path, ".so") != NULL && contains_any(path, package_folders));
}

/* Has the profile functions that libprofiler.so.0 read from V8? Then compiled code without a name
 * belongs to a regular expression or a stub of V8, and not to the program. */
static bool has_functions_of_v8(const pt_profile *p)
{
    return PT_ANY(m, p->mapping->t.count,
                  strcmp(pt_text(p, p->mapping->row[m].file), PT_MAPPED_JAVASCRIPT) == 0);
}

static bool *own_mappings(const pt_profile *p)
{
    bool *const own = pt_alloc(p->mapping->t.count + 1, sizeof *own);
    for (uint32_t m = 0; m < p->mapping->t.count; m++)
        own[m] = is_own_mapping(&p->mapping->row[m], pt_text(p, p->mapping->row[m].file));
    return own;
}

bool *pt_own_nameless(const pt_profile *p)
{
    bool *const own = own_mappings(p);
    const bool has_v8 = has_functions_of_v8(p);
    for (uint32_t m = 0; m < p->mapping->t.count && has_v8; m++)
        own[m] = own[m] && !pt_is_made_code(p, m);
    return own;
}

static bool is_own_function(const char *name, const char *file)
{
    if (name[0] == '\0' || strcmp(name, "_start") == 0) return false;
    if (begins_with_any(pt_without_return_type(name), foreign_names)) return false;
    if (contains_any(name, foreign_in_names)) return false;
    return !contains_any(file, foreign_sources) && !is_go_library(name, file);
}

static bool *own_functions(const pt_profile *p, bool by_names)
{
    const pt_functions *const f = p->function;
    bool *const own = pt_alloc(f->t.count + 1, sizeof *own);
    for (uint32_t i = 0; i < f->t.count; i++) {
        const char *const name = pt_text(p, f->name[i]), *const file = pt_text(p, f->file[i]);
        own[i] = is_own_function(name, file);
        if (own[i] && by_names && file[0] == '\0')
            own[i] = pt_why_cause_of(name, pt_text(p, f->system_name[i]), file, PT_WHY_OF_LIBRARY) <
                     PT_WHY_FIRST_CAUSE;
    }
    return own;
}

/* Is the function PHP's own, such as array_map, or code that Java has made, such as a stub?
 * Such functions have no source file. */
static bool is_language_itself(const pt_profile *p, uint32_t mapping, uint32_t function)
{
    const char *const path = mapping != PT_NONE ? pt_text(p, p->mapping->row[mapping].file) : "";
    return (strcmp(path, PT_MAPPED_PHP) == 0 || strcmp(path, PT_MAPPED_JAVA) == 0) &&
           pt_text(p, p->function->file[function])[0] == '\0';
}

/* Are functions of system libraries recognizable by their mapped files? They are not in a program
 * that is linked statically with these libraries, nor in a profile that has only names. */
static bool has_system_library(const pt_profile *p)
{
    return PT_ANY(m, p->mapping->t.count, is_system_library(pt_text(p, p->mapping->row[m].file)));
}

bool *pt_own_lines(const pt_profile *profile, bool by_names)
{
    const pt_locations *const l = profile->location;
    PT_FREE bool *mapping = own_mappings(profile);
    PT_FREE bool *function = own_functions(profile, by_names && !has_system_library(profile));
    bool *const own = pt_alloc(profile->line->t.count + 1, sizeof *own);
    for (uint32_t i = 0; i < l->t.count; i++) {
        const bool is_own = (l->flags[i] & PT_LOCATION_KERNEL) == 0 &&
                            (l->mapping[i] == PT_NONE || mapping[l->mapping[i]]);
        for (uint32_t k = l->line_first[i]; k < l->line_first[i + 1]; k++) {
            const uint32_t f = profile->line->function[k];
            own[k] = (l->flags[i] & PT_LOCATION_LABEL) != 0 ||
                     (is_own && f != PT_NONE && function[f] &&
                      !is_language_itself(profile, l->mapping[i], f));
        }
    }
    return own;
}

/* ---- Callers ---- */

typedef struct {
    uint32_t wanted, caller; /* the row's index in the list; the caller's row of the fold */
    int64_t sum, most;       /* the value of all stacks; the value of the heaviest stack */
    uint32_t line;           /* the line in the heaviest stack */
} edge;

typedef struct {
    const pt_fold *fold;
    bool *own;          /* per line */
    uint32_t *place_of; /* per row of the fold: in the list, or PT_NONE */
    PT_VECTOR(edge) edge;
    pt_index index;
} calling;

/* The first own line of the stack, from the leaf outwards; PT_NONE if there is none. */
static uint32_t own_line_above(const calling *c, uint32_t stack, uint32_t *ret_location)
{
    const pt_profile *const p = c->fold->profile;
    const uint32_t *const frames = pt_stack_frames(p, stack);
    for (uint32_t i = 0; i < pt_stack_depth(p, stack); i++) {
        const uint32_t first = p->location->line_first[frames[i]];
        const uint32_t end = p->location->line_first[frames[i] + 1];
        for (uint32_t k = first; k < end; k++)
            if (c->own[k]) {
                *ret_location = frames[i];
                return k;
            }
    }
    return PT_NONE;
}

/* The fold's row of a line of a location. */
static uint32_t row_of_line(const pt_fold *fold, uint32_t location, uint32_t line)
{
    uint32_t one, count;
    const uint32_t *const rows = pt_fold_rows(fold, location, &one, &count);
    const uint32_t at = line - fold->profile->location->line_first[location];
    return rows[at < count ? at : count - 1];
}

/* Adds the value of a stack, whose leaf row is in the list, to the program's own function that
 * called this row. */
static void add_call(calling *c, uint32_t stack, uint32_t wanted, int64_t value)
{
    uint32_t location;
    const uint32_t line = own_line_above(c, stack, &location);
    if (line == PT_NONE) return;
    const uint32_t caller = row_of_line(c->fold, location, line);
    const uint64_t hash = pt_hash_u32_pair(wanted, caller);
    uint32_t id =
        PT_INDEX_FIND(&c->index, hash, at,
                      c->edge.items[at].wanted == wanted && c->edge.items[at].caller == caller);
    if (id == PT_NONE)
        id = PT_INDEX_PUSH(&c->index, hash, c->edge,
                           (edge){.wanted = wanted, .caller = caller, .line = line});
    edge *const e = &c->edge.items[id];
    e->sum = pt_saturating_add(e->sum, value);
    if (value <= e->most) return;
    e->most = value;
    e->line = line;
}

/* Gives each row the caller with the largest share. If the row's own code has the largest share (a
 * row can be own code in one place and a library's in another), the row gets no caller. */
static void choose_callers(const calling *c, const int64_t *self, pt_top *top)
{
    const pt_profile *const p = c->fold->profile;
    for (size_t i = 0; i < c->edge.count; i++) {
        const edge *const e = &c->edge.items[i];
        pt_own_caller *const to = &top->row[e->wanted].caller;
        const double share = pt_share(e->sum, self[e->wanted]);
        if (share <= to->share) continue;
        free(to->name);
        *to = (pt_own_caller){.share = share};
        if (e->caller == top->row[e->wanted].id) continue;
        const uint32_t function = p->line->function[e->line];
        to->name = pt_fold_text(c->fold, e->caller);
        to->file = pt_text(p, p->function->file[function]);
        to->line = p->line->line[e->line];
    }
}

pt_status pt_own_callers(pt_top *top, const pt_profile *profile, uint32_t event,
                         const pt_fold_rule *rule, pt_error *reterr)
{
    PT_AUTO(pt_fold) fold = {0};
    const pt_status status = pt_fold_init(&fold, profile, rule, reterr);
    if (status != PT_OK) return status;
    PT_FREE int64_t *self = pt_alloc(top->count + 1, sizeof *self);
    calling c = {.fold = &fold,
                 .own = pt_own_lines(profile, false),
                 .place_of = pt_alloc(fold.count + 1, sizeof *c.place_of)};
    pt_index_init(&c.index);
    memset(c.place_of, 0xff, fold.count * sizeof *c.place_of);
    for (size_t i = 0; i < top->count; i++)
        if (top->row[i].self != 0) c.place_of[top->row[i].id] = (uint32_t)i;
    const int64_t *const value = pt_profile_stack_values(profile, event);
    for (uint32_t s = 0; s < profile->stack->t.count; s++) {
        if (value[s] <= 0 || pt_stack_depth(profile, s) == 0) continue;
        uint32_t one, lines;
        const uint32_t leaf = pt_fold_rows(&fold, pt_stack_frames(profile, s)[0], &one, &lines)[0];
        const uint32_t wanted = c.place_of[leaf];
        if (wanted == PT_NONE) continue;
        self[wanted] = pt_saturating_add(self[wanted], value[s]);
        add_call(&c, s, wanted, value[s]);
    }
    choose_callers(&c, self, top);
    PT_FREE_ALL(c.own, c.place_of, c.edge.items);
    pt_index_done(&c.index);
    return PT_OK;
}
