/* registry.c: the list of formats, and the choice of an input's format. */
#include "formats/format.h"

#include <strings.h>

#include "base/file.h"
#include "base/options.h"
#include "base/text.h"

#define X(name) extern const pt_format pt_format_##name;
#include "formats/formats.def"
#undef X

const pt_format *const pt_formats[] = {
#define X(name) &pt_format_##name,
#include "formats/formats.def"
#undef X
};
const size_t pt_format_count = PT_COUNT(pt_formats);

const char *pt_format_near(const char *name)
{
    const char *names[PT_COUNT(pt_formats)];
    for (size_t i = 0; i < pt_format_count; i++)
        names[i] = pt_formats[i]->name;
    return pt_nearest(name, names, pt_format_count);
}

const pt_format *pt_format_find(const char *name)
{
    for (size_t i = 0; i < pt_format_count; i++) {
        if (strcasecmp(pt_formats[i]->name, name) == 0) return pt_formats[i];
        const char *alias, *rest = pt_formats[i]->aliases;
        for (size_t n; (n = pt_next_word(&rest, &alias)) > 0;)
            if (strlen(name) == n && strncasecmp(alias, name, n) == 0) return pt_formats[i];
    }
    return NULL;
}

const pt_format *pt_format_for_path(const char *path)
{
    const char *const name = pt_base_name(path);
    const size_t name_bytes = strlen(name);
    const pt_format *best = NULL;
    size_t best_bytes = 0;
    for (size_t i = 0; i < pt_format_count; i++) {
        const char *extension, *rest = pt_formats[i]->extensions;
        for (size_t bytes; (bytes = pt_next_word(&rest, &extension)) > 0;) {
            if (bytes > best_bytes && bytes < name_bytes &&
                strncasecmp(name + name_bytes - bytes, extension, bytes) == 0) {
                best = pt_formats[i];
                best_bytes = bytes;
            }
        }
    }
    return best;
}

/* ---- Probing ---- */

/* Files of other profilers, recognized by their first bytes or by a text in their first lines, with
 * advice on the tool that reads them. */
static const struct {
    const char *magic;
    size_t bytes;
    bool is_inside;
    const char *description;
} known[] = {
    {"\177ELF", 4, false, "it is an ELF image: a program, not a profile"},
    {"heap profile:", 13, false,
     "it begins like a gperftools heap profile, but its first line has no counts"},
    {"Nettrace", 8, false,
     "it is .NET's trace: `dotnet-trace convert --format speedscope` converts it"},
    {"adcg", 4, false,
     "it is gcc's counts of a run (.gcda): `gcov` prints them; no profile of time"},
    {"gcda", 4, false,
     "it is gcc's counts of a run (.gcda): `gcov` prints them; no profile of time"},
    {"\201rforpl\377", 8, false,
     "it is clang's counts of a run (.profraw): `llvm-profdata merge` and `llvm-cov` read it"},
    {"\377lprofi\201", 8, false,
     "it is clang's counts of runs (.profdata): `llvm-profdata show` and `llvm-cov` read it"},
    {"memray\0", 7, false, "it is memray's file: `memray flamegraph` and `memray stats` read it"},
    {"{\"dhatFileVersion\"", 18, false, "it is valgrind's dhat: dh_view.html shows it"},
    {"\ntime_unit: ", 12, true, "it is valgrind's massif: `ms_print` prints it"},
    {"\4\10{", 3, false, "it is Ruby's stackprof: `stackprof --stackcollapse` folds it"},
    {"JAVA PROFILE 1.0", 16, false, "it is a heap dump of Java: objects, not a profile"},
    {"hdrb", 4, false, "it is GHC's event log: hs-speedscope converts it for speedscope"},
    {"\211PNG", 4, false, "it is a picture"},
    {"PK\3\4", 4, false, "it is a zip archive"},
    {"#!", 2, false, "it is a script"},
    {"<", 1, false, "it looks like HTML or XML"},
    {"{\"snapshot\":", 12, false, "it is V8's heap snapshot: objects, not a profile"},
    {"{", 1, false, "it looks like JSON"},
};

/* Files of other profilers without a magic number, recognized by the end of their names. */
static const struct {
    const char *end, *description;
} known_names[] = {
    {".etl", "it is a trace of Windows: PerfView opens it and saves its stacks for speedscope"},
};

static bool is_known(const pt_probe_input *input, size_t row)
{
    enum { FIRST_LINES = 512 };
    const size_t look = input->head_bytes < FIRST_LINES ? input->head_bytes : FIRST_LINES;
    if (known[row].is_inside)
        return memmem(input->head, look, known[row].magic, known[row].bytes) != NULL;
    return look >= known[row].bytes && memcmp(input->head, known[row].magic, known[row].bytes) == 0;
}

/* Describes bytes in an unknown format, for the message. */
static const char *describe_bytes(const pt_probe_input *input)
{
    for (size_t i = 0; i < PT_COUNT(known); i++)
        if (is_known(input, i)) return known[i].description;
    for (size_t i = 0; i < PT_COUNT(known_names); i++)
        if (pt_ends(input->name, known_names[i].end)) return known_names[i].description;
    size_t text = 0;
    const size_t look = input->head_bytes < 512 ? input->head_bytes : 512;
    for (size_t i = 0; i < look; i++)
        text += (input->head[i] >= 0x20 && input->head[i] != 0x7f) || input->head[i] == '\n' ||
                input->head[i] == '\t' || input->head[i] == '\r';
    return text == look ? "it is other text" : "it is another binary file";
}

static pt_status set_tie(const pt_format *a, const pt_format *b, pt_error *reterr)
{
    return pt_error_set(reterr, PT_ERR_FORMAT,
                        "could be %s or %s; choose with --from=%s or --from=%s", a->name, b->name,
                        a->name, b->name);
}

pt_status pt_format_probe(const pt_probe_input *input, const pt_format **ret_format,
                          pt_error *reterr)
{
    static const pt_probe_kind order[] = {PT_PROBE_MAGIC, PT_PROBE_HEURISTIC};
    for (size_t k = 0; k < PT_COUNT(order); k++) {
        const pt_format *best = NULL, *tied = NULL;
        int best_score = 0;
        for (size_t i = 0; i < pt_format_count; i++) {
            const pt_format *const format = pt_formats[i];
            if (format->kind != order[k] || !format->probe) continue;
            const int score = format->probe(input);
            if (score == 0 || score < best_score) continue;
            tied = score == best_score ? best : NULL;
            best = format;
            best_score = score;
        }
        if (tied) return set_tie(tied, best, reterr);
        if (best) {
            *ret_format = best;
            return PT_OK;
        }
    }
    return pt_error_set(reterr, PT_ERR_FORMAT,
                        "not a profile in any format known here (%s); pitot formats lists them, "
                        "--from=FORMAT reads it as one",
                        describe_bytes(input));
}
