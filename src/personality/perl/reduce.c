/* reduce.c: makes nodes with values of stacks of addresses. Removes uninteresting frames, applies
 * --focus and --ignore, and names the nodes by the granularity. Each step works once on each
 * address, then once on each stack. */
#include <stdlib.h>
#include <string.h>

#include "base/grow.h"
#include "base/regex.h"
#include "base/text.h"
#include "personality/perl/perl.h"

/* ---- Uninteresting frames ---- */

static const char *const heap_frames[] = {"calloc",
                                          "cfree",
                                          "malloc",
                                          "free",
                                          "memalign",
                                          "posix_memalign",
                                          "pvalloc",
                                          "valloc",
                                          "realloc",
                                          "tc_calloc",
                                          "tc_cfree",
                                          "tc_malloc",
                                          "tc_free",
                                          "tc_memalign",
                                          "tc_posix_memalign",
                                          "tc_pvalloc",
                                          "tc_valloc",
                                          "tc_realloc",
                                          "tc_new",
                                          "tc_delete",
                                          "tc_newarray",
                                          "tc_deletearray",
                                          "tc_new_nothrow",
                                          "tc_newarray_nothrow",
                                          "do_malloc",
                                          "::do_malloc",
                                          "::do_malloc_or_cpp_alloc",
                                          "DoSampledAllocation",
                                          "simple_alloc::allocate",
                                          "__malloc_alloc_template::allocate",
                                          "__builtin_delete",
                                          "__builtin_new",
                                          "__builtin_vec_delete",
                                          "__builtin_vec_new",
                                          "operator new",
                                          "operator new[]",
                                          "malloc_zone_malloc",
                                          "malloc_zone_calloc",
                                          "malloc_zone_valloc",
                                          "malloc_zone_realloc",
                                          "malloc_zone_memalign",
                                          "malloc_zone_free",
                                          "__start_google_malloc",
                                          "__stop_google_malloc",
                                          "__start_malloc_hook",
                                          "__stop_malloc_hook",
                                          NULL};
static const char *const contention_frames[] = {"base::RecordLockProfileData",
                                                "base::SubmitMutexProfileData",
                                                "base::SubmitSpinLockProfileData",
                                                "Mutex::Unlock",
                                                "Mutex::UnlockSlow",
                                                "Mutex::ReaderUnlock",
                                                "MutexLock::~MutexLock",
                                                "SpinLock::Unlock",
                                                "SpinLock::SlowUnlock",
                                                "SpinLockHolder::~SpinLockHolder",
                                                NULL};
static const char *const cpu_frames[] = {"ProfileData::Add",
                                         "ProfileData::prof_handler",
                                         "CpuProfiler::prof_handler",
                                         "__FRAME_END__",
                                         "__pthread_sighandler",
                                         "__restore",
                                         NULL};

static bool is_listed(const char *const *list, const char *name)
{
    for (; *list != NULL; list++)
        if (strcmp(*list, name) == 0) return true;
    return false;
}

static bool is_uninteresting(const pt_perl_session *s, const char *name)
{
    switch (s->kind) {
    case PT_PERL_HEAP:
    case PT_PERL_GROWTH:
        return is_listed(heap_frames, name) ||
               (name[0] == '_' && is_listed(heap_frames, name + 1)) ||
               strstr(name, "TCMalloc") != NULL || pt_begins(name, "tcmalloc::");
    case PT_PERL_CONTENTION: return is_listed(contention_frames, name);
    case PT_PERL_CPU: return !s->settings->no_auto_signal_frames && is_listed(cpu_frames, name);
    }
    return false;
}

static void replace_profile(pt_perl_profile *profile, pt_perl_profile *by)
{
    pt_perl_profile_done(profile);
    *profile = *by;
}

typedef PT_VECTOR(uint32_t) frame_list;

/* The depth of a stack without the `dropped` frames that follow its leaf. *ret_frames: all frames
 * of the stack. */
static size_t remaining_depth(const pt_perl_session *s, uint32_t stack, uint32_t dropped,
                              const uint32_t **ret_frames)
{
    size_t depth;
    *ret_frames = pt_perl_frames(s, stack, &depth);
    return depth - dropped;
}

/* The address that is the second one on every stack, or PT_NONE. dropped: for each stack of the
 * profile, the number of removed frames that follow its leaf. */
static uint32_t common_second(const pt_perl_session *s, const pt_perl_profile *profile,
                              const uint32_t *dropped)
{
    uint32_t second = PT_NONE;
    for (size_t i = 0; i < profile->count; i++) {
        const uint32_t *frames;
        if (remaining_depth(s, profile->stack[i], dropped[i], &frames) < 2) return PT_NONE;
        const uint32_t own = frames[1 + dropped[i]];
        if (second != PT_NONE && second != own) return PT_NONE;
        second = own;
    }
    return second;
}

static void drop_second(const pt_perl_session *s, const pt_perl_profile *profile, uint32_t *dropped)
{
    for (size_t i = 0; i < profile->count; i++) {
        const uint32_t *frames;
        const size_t depth = remaining_depth(s, profile->stack[i], dropped[i], &frames);
        /* The third frame may be the leaf again, moved back by a byte as a return address. */
        const bool twice =
            depth > 3 && pt_perl_pc(s, frames[2 + dropped[i]]) + 1 == pt_perl_pc(s, frames[0]);
        dropped[i] += twice ? 2 : 1;
    }
}

static void build_shorter_stacks(pt_perl_session *s, pt_perl_profile *profile,
                                 const uint32_t *dropped)
{
    pt_perl_profile result = {0};
    frame_list kept = {0};
    for (size_t i = 0; i < profile->count; i++) {
        const uint32_t *frames;
        const size_t depth = remaining_depth(s, profile->stack[i], dropped[i], &frames);
        kept.count = 0;
        PT_GROW(kept, depth);
        kept.items[kept.count++] = frames[0];
        for (size_t k = 1; k < depth; k++)
            kept.items[kept.count++] = frames[k + dropped[i]];
        pt_perl_profile_add(&result, pt_perl_stack(s, kept.items, kept.count), profile->value[i]);
    }
    free(kept.items);
    replace_profile(profile, &result);
}

/* Removes the address that is second on all stacks, as long as there is one. The shorter stacks are
 * built once, at the end: if all frames of the stacks are one address, this loop removes each of
 * them. */
static void drop_signal_frames(pt_perl_session *s, pt_perl_profile *profile)
{
    char hex[17];
    PT_FREE uint32_t *dropped = pt_alloc(profile->count + 1, sizeof *dropped);
    bool any = false;
    for (uint32_t second; (second = common_second(s, profile, dropped)) != PT_NONE; any = true) {
        size_t count;
        const pt_perl_name *names = pt_perl_names_of(s, second, &count);
        const char *name = count > 0 ? pt_perl_text_of(s, names[0].short_name)
                                     : pt_perl_hex(s, pt_perl_pc(s, second), hex);
        if (s->settings->no_auto_signal_frames) {
            pt_perl_say("All second stack frames are same: `%s'.\nMight be stack trace capturing "
                        "bug.\n",
                        name);
            return;
        }
        pt_perl_say("Removing %s from all stack traces.\n", name);
        drop_second(s, profile, dropped);
    }
    if (any) build_shorter_stacks(s, profile, dropped);
}

void pt_perl_remove_uninteresting(pt_perl_session *session, pt_perl_profile *profile)
{
    if (session->kind == PT_PERL_CPU) drop_signal_frames(session, profile);
    PT_FREE bool *dropped = pt_alloc(session->addresses.count + 1, sizeof *dropped);
    for (uint32_t i = 0; i < session->addresses.count; i++) {
        size_t count;
        const pt_perl_name *names = pt_perl_names_of(session, i, &count);
        if (count == 0) continue;
        const char *name = pt_perl_text_of(session, names[0].short_name);
        const bool has_list = session->kind == PT_PERL_HEAP || session->kind == PT_PERL_GROWTH;
        dropped[i] =
            is_uninteresting(session, name) || (!has_list && strstr(name, "NOMATCH") != NULL);
    }
    pt_perl_profile result = {0};
    frame_list kept = {0};
    for (size_t i = 0; i < profile->count; i++) {
        size_t depth;
        const uint32_t *frames = pt_perl_frames(session, profile->stack[i], &depth);
        kept.count = 0;
        PT_GROW(kept, depth + 1);
        for (size_t k = 0; k < depth; k++)
            if (!dropped[frames[k]]) kept.items[kept.count++] = frames[k];
        const uint32_t stack = kept.count == depth ? profile->stack[i]
                                                   : pt_perl_stack(session, kept.items, kept.count);
        pt_perl_profile_add(&result, stack, profile->value[i]);
    }
    free(kept.items);
    replace_profile(profile, &result);
}

/* ---- Focus and ignore ---- */

typedef struct {
    const pt_perl_session *session;
    const pt_regex *pattern;
    pt_error error;
    uint8_t *known; /* by word: 0 not tested yet, 1 does not match, 2 matches */
} matcher;

static bool text_matches(matcher *m, const char *text)
{
    bool match = false;
    if (m->error.status == PT_OK) pt_regex_match(m->pattern, text, strlen(text), &match, &m->error);
    return match;
}

static bool word_matches(matcher *m, uint32_t word)
{
    if (m->known[word] == 0)
        m->known[word] = text_matches(m, pt_perl_text_of(m->session, word)) ? 2 : 1;
    return m->known[word] == 2;
}

static bool address_matches(matcher *m, uint32_t address)
{
    char hex[17];
    if (text_matches(m, pt_perl_hex(m->session, pt_perl_pc(m->session, address), hex))) return true;
    size_t count;
    const pt_perl_name *names = pt_perl_names_of(m->session, address, &count);
    return PT_ANY(i, count,
                  word_matches(m, names[i].short_name) || word_matches(m, names[i].file_line));
}

bool pt_perl_filter(pt_perl_session *session, pt_perl_profile *profile, const char *pattern,
                    bool keep)
{
    pt_regex *regex = NULL;
    matcher m = {.session = session, .error = PT_ERROR_INIT};
    if (pt_regex_new(pattern, 0, &regex, &m.error) != PT_OK) {
        pt_fail(&m.error);
        return false;
    }
    m.pattern = regex;
    m.known = pt_alloc(pt_builder_string_count(session->tables) + 1, 1);
    PT_FREE bool *matches = pt_alloc(session->addresses.count + 1, sizeof *matches);
    for (uint32_t i = 0; i < session->addresses.count; i++)
        matches[i] = address_matches(&m, i);
    pt_perl_profile result = {0};
    for (size_t i = 0; i < profile->count; i++) {
        size_t depth;
        const uint32_t *frames = pt_perl_frames(session, profile->stack[i], &depth);
        bool found = false;
        for (size_t k = 0; k < depth && !found; k++)
            found = matches[frames[k]];
        if (found == keep) pt_perl_profile_add(&result, profile->stack[i], profile->value[i]);
    }
    replace_profile(profile, &result);
    free(m.known);
    pt_regex_free(regex);
    if (m.error.status == PT_OK) return true;
    pt_fail(&m.error);
    return false;
}

/* ---- Short names that stand for several functions ---- */

/* Does the name end in an address in brackets, as "f(int)<0000000000401136>" does? */
static bool ends_in_address(const char *full)
{
    const size_t length = strlen(full);
    if (length < 3 || full[length - 1] != '>') return false;
    size_t at = length - 1;
    while (at > 0 && strchr("0123456789abcdefABCDEF", full[at - 1]) != NULL)
        at--;
    return at > 0 && at < length - 1 && full[at - 1] == '<';
}

/* The text between the angle brackets that end the name, without leading zeros; NULL when it does
 * not end in brackets. The caller frees. */
static char *last_bracket(const char *full)
{
    const size_t length = strlen(full);
    if (length == 0 || full[length - 1] != '>') return NULL;
    size_t from = length - 1;
    while (from > 0 && full[from - 1] != '>')
        from--;
    const char *open = memchr(full + from, '<', length - 1 - from);
    if (open == NULL) return NULL;
    const char *text = open + 1;
    while (*text == '0')
        text++;
    return pt_strndup(text, (size_t)(full + length - 1 - text));
}

/* For each word of a full name: the word of the name to show; PT_NONE if that is the short name. */
static uint32_t *ambiguous_names(pt_perl_session *s)
{
    const size_t words = pt_builder_string_count(s->tables), count = s->addresses.count;
    PT_FREE uint32_t *once = pt_alloc(words + 1, sizeof *once); /* by short name: the word of a full
                                                                 * name with this short name, plus
                                                                 * 1 */
    PT_FREE bool *several = pt_alloc(words + 1, sizeof *several);
    uint32_t *shown = pt_alloc(words + 1, sizeof *shown);
    memset(shown, 0xff, (words + 1) * sizeof *shown);
    for (uint32_t i = 0; i < count; i++) {
        size_t names;
        const pt_perl_name *name = pt_perl_names_of(s, i, &names);
        if (names == 0 || !ends_in_address(pt_perl_text_of(s, name->full_name))) continue;
        if (once[name->short_name] != 0 && once[name->short_name] != name->full_name + 1)
            several[name->short_name] = true;
        else
            once[name->short_name] = name->full_name + 1;
    }
    for (uint32_t i = 0; i < count; i++) {
        size_t names;
        const pt_perl_name *name = pt_perl_names_of(s, i, &names);
        if (names == 0 || !several[name->short_name] || shown[name->full_name] != PT_NONE) continue;
        PT_FREE char *address = last_bracket(pt_perl_text_of(s, name->full_name));
        if (address == NULL) continue;
        PT_FREE char *text = pt_strf("%s@%s", pt_perl_text_of(s, name->short_name), address);
        shown[name->full_name] = pt_perl_wordz(s, text);
    }
    return shown;
}

/* ---- Nodes ---- */

/* The text of a node; the caller frees. address: in hexadecimal. */
static char *node_text(const pt_perl_session *s, const char *address, const char *function,
                       const char *file_line)
{
    const bool unknown = strcmp(function, "??") == 0;
    const bool no_line = strcmp(file_line, "??:0") == 0;
    const bool shows_address = s->settings->show_addresses;
    switch (s->grain) {
    case PT_BY_ADDRESS: return pt_strf("%s %s %s", address, function, file_line);
    case PT_BY_LINE:
        if (unknown && no_line) return pt_strdup(address);
        return shows_address ? pt_strf("%s %s (%s)", function, file_line, address)
                             : pt_strf("%s %s", function, file_line);
    case PT_BY_FUNCTION:
        if (unknown) return pt_strdup(address);
        return shows_address ? pt_strf("%s (%s)", function, address) : pt_strdup(function);
    case PT_BY_FILE:
    case PT_BY_FILEFUNCTION: /* the Perl pprof has no such granularity */
    case PT_BY_MAPPING: break;
    }
    if (no_line || file_line[0] == '\0') return pt_strdup(address);
    const char *colon = strrchr(file_line, ':');
    const bool numbered =
        colon != NULL && colon[1] != '\0' && strspn(colon + 1, "0123456789") == strlen(colon + 1);
    return numbered ? pt_strndup(file_line, (size_t)(colon - file_line)) : pt_strdup(file_line);
}

static bool is_callback_run(const char *function)
{
    const size_t length = strlen(function);
    return length >= 5 && strcmp(function + length - 5, "::Run") == 0 &&
           strstr(function, "Callback") != NULL &&
           strstr(function, "Callback") + 8 <= function + length - 5;
}

/* The nodes of each address, callee first: node[first[address]] up to node[first[address + 1]]. */
typedef struct {
    uint32_t *first; /* [address count + 1] */
    uint32_t *node;
    size_t count, cap;
    const uint32_t *ambiguous; /* ambiguous_names */
    bool *by_caller;           /* by address: a node of the address is a Callback::Run */
} translation;

/* Appends the nodes of an address. caller: the address of the frame before it on the stack, which
 * numbers Callback::Run; 0 for the leaf. */
static void translate_address(pt_perl_session *s, translation *t, uint32_t address, uint64_t caller,
                              bool *ret_by_caller)
{
    char hex[17];
    pt_perl_hex(s, pt_perl_pc(s, address), hex);
    size_t count;
    const pt_perl_name *names = pt_perl_names_of(s, address, &count);
    const bool plain = s->mode == PT_PERL_LIST || s->mode == PT_PERL_DISASM;
    const size_t entries = plain || count == 0 ? 1 : count;
    t->node = pt_grow(t->node, &t->cap, t->count + entries, sizeof *t->node);
    for (size_t i = entries; i-- > 0;) {
        PT_FREE char *text = NULL;
        if (plain) {
            text = pt_strdup(hex);
        } else if (count == 0) {
            text = node_text(s, hex, hex, "");
        } else {
            const uint32_t shown = t->ambiguous[names[i].full_name];
            const char *name = pt_perl_text_of(s, shown != PT_NONE ? shown : names[i].short_name);
            PT_FREE char *function = i > 0 ? pt_strf("%s (inline)", name) : pt_strdup(name);
            if (is_callback_run(function)) {
                *ret_by_caller = true;
                size_t k = 0;
                while (k < s->run_count && s->run_callers[k] != caller)
                    k++;
                if (k == s->run_count) {
                    s->run_callers = pt_grow(s->run_callers, &s->run_cap, s->run_count + 1,
                                             sizeof *s->run_callers);
                    s->run_callers[s->run_count++] = caller;
                }
                free(function);
                function = pt_strf("Run#%zu", k + 1);
            }
            text = node_text(s, hex, function, pt_perl_text_of(s, names[i].file_line));
        }
        t->node[t->count++] = pt_perl_wordz(s, text);
    }
}

/* Is the address left out? The original shows no addresses from 2^63 on. */
static bool is_skipped(const pt_perl_session *s, uint64_t address)
{
    return s->address_digits > 8 && address > INT64_MAX;
}

void pt_perl_each_stack(pt_perl_session *session, const pt_perl_profile *profile,
                        pt_perl_nodes_fn *fn, void *context)
{
    const size_t count = session->addresses.count;
    PT_FREE uint32_t *ambiguous = ambiguous_names(session);
    translation t = {.first = pt_alloc(count + 1, sizeof *t.first),
                     .by_caller = pt_alloc(count + 1, sizeof *t.by_caller),
                     .ambiguous = ambiguous};
    for (uint32_t i = 0; i < count; i++) {
        t.first[i] = (uint32_t)t.count;
        const size_t runs = session->run_count;
        if (!is_skipped(session, pt_perl_pc(session, i)))
            translate_address(session, &t, i, 0, &t.by_caller[i]);
        if (t.by_caller[i]) session->run_count = runs;
    }
    t.first[count] = (uint32_t)t.count;
    translation own = {.ambiguous = ambiguous}; /* nodes that depend on the stack */
    frame_list nodes = {0};
    for (size_t i = 0; i < profile->count; i++) {
        size_t depth;
        const uint32_t *frames = pt_perl_frames(session, profile->stack[i], &depth);
        nodes.count = 0;
        for (size_t k = 0; k < depth; k++) {
            size_t more = t.first[frames[k] + 1] - t.first[frames[k]];
            /* t.node is NULL when no frame has a node. */
            const uint32_t *from = more > 0 ? t.node + t.first[frames[k]] : NULL;
            if (t.by_caller[frames[k]]) {
                bool by_caller;
                own.count = 0;
                translate_address(session, &own, frames[k],
                                  k > 0 ? pt_perl_pc(session, frames[k - 1]) : 0, &by_caller);
                from = own.node;
                more = own.count;
            }
            PT_GROW(nodes, nodes.count + more + 1);
            for (size_t n = 0; n < more; n++)
                nodes.items[nodes.count++] = from[n];
        }
        fn(context, nodes.items, nodes.count, profile->value[i]);
    }
    PT_FREE_ALL(nodes.items, own.node, t.first, t.node, t.by_caller);
}

/* ---- Flat and cumulative values ---- */

typedef struct {
    pt_perl_session *session;
    pt_perl_reduced *reduced;
    uint32_t *mark; /* by node: the last stack with the node, + 1 */
    size_t mark_cap;
    uint32_t stack;
} reducing;

static uint32_t node_row(reducing *r, uint32_t word)
{
    pt_perl_reduced *d = r->reduced;
    d->row = pt_grow(d->row, &d->row_cap, (size_t)word + 1, sizeof *d->row);
    while (d->row_count <= word)
        d->row[d->row_count++] = PT_NONE;
    if (d->row[word] != PT_NONE) return d->row[word];
    d->node = pt_grow(d->node, &d->node_cap, d->count + 1, sizeof *d->node);
    d->flat = pt_grow(d->flat, &d->flat_cap, d->count + 1, sizeof *d->flat);
    d->cum = pt_grow(d->cum, &d->cum_cap, d->count + 1, sizeof *d->cum);
    r->mark = pt_grow(r->mark, &r->mark_cap, d->count + 1, sizeof *r->mark);
    d->node[d->count] = word;
    d->flat[d->count] = d->cum[d->count] = 0;
    r->mark[d->count] = 0;
    return d->row[word] = (uint32_t)d->count++;
}

static void reduce_stack(void *context, const uint32_t *nodes, size_t count, double value)
{
    reducing *r = context;
    const uint32_t stack = ++r->stack;
    bool is_leaf = true;
    for (size_t i = 0; i < count; i++) {
        if (pt_perl_text_of(r->session, nodes[i])[0] == '\0') continue;
        const uint32_t row = node_row(r, nodes[i]);
        if (is_leaf) {
            r->reduced->flat[row] += value;
            r->reduced->total += value;
        }
        is_leaf = false;
        if (r->mark[row] == stack) continue;
        r->mark[row] = stack;
        r->reduced->cum[row] += value;
    }
}

void pt_perl_reduce(pt_perl_session *session, const pt_perl_profile *profile,
                    pt_perl_reduced *ret_reduced)
{
    *ret_reduced = (pt_perl_reduced){0};
    reducing r = {.session = session, .reduced = ret_reduced};
    pt_perl_each_stack(session, profile, reduce_stack, &r);
    free(r.mark);
}

void pt_perl_reduced_done(pt_perl_reduced *reduced)
{
    PT_FREE_ALL(reduced->node, reduced->flat, reduced->cum, reduced->row);
    *reduced = (pt_perl_reduced){0};
}
