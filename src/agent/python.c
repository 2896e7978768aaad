/* python.c: finds the facts of the CPython in the process: the program itself, or a library.
 *
 *   image with _PyRuntime -> version -> layout (interp/python.h) -> types -> facts for the handler
 */
#include "agent/languages.h"

static pt_tick_python_facts python;

extern const char loaded_python[] __asm__("_PyRuntime") __attribute__((weak));
static const char *const volatile loaded = loaded_python;

/* Since 3.11 the image contains its version; before, its file's name does. */
static bool version_of(const pt_language_image *in, unsigned *ret_major, unsigned *ret_minor)
{
    uint64_t addr;
    unsigned long version;
    if (pt_language_symbol(in->image, "Py_Version", &addr) &&
        pt_maps_peek(addr, &version, sizeof version)) {
        *ret_major = (unsigned)(version >> 24 & 0xff);
        *ret_minor = (unsigned)(version >> 16 & 0xff);
        return true;
    }
    return pt_python_version_of_name(in->path, ret_major, ret_minor);
}

/* Finds the symbols and the version of the CPython in an image, and judges whether its frames can
 * be read. */
static pt_python_refusal judge_image(const pt_language_image *in, pt_python_build *build)
{
    uint64_t addr;
    build->has_version = version_of(in, &build->major, &build->minor);
    build->is_unlocked = pt_language_symbol(in->image, PT_PYTHON_UNLOCKED_MARK, &addr);
    build->is_debug = pt_language_symbol(in->image, PT_PYTHON_DEBUG_MARK, &addr);
    build->has_types = pt_language_symbol(in->image, "_PyRuntime", &python.runtime) &&
                       pt_language_symbol(in->image, "PyCode_Type", &python.code_type) &&
                       pt_language_symbol(in->image, "PyUnicode_Type", &python.text_type) &&
                       pt_language_symbol(in->image, "PyBytes_Type", &python.bytes_type);
    build->has_told =
        build->has_types && pt_maps_peek(python.runtime, build->told, sizeof build->told);
    return pt_python_judge(build);
}

static const void *attach_python(const pt_language_image *in, char why[PT_LANGUAGE_WHY_BYTES])
{
    pt_python_build build = {.has_version = false};
    pt_python_refusal refusal = judge_image(in, &build);
    if (refusal == PT_PYTHON_READABLE) {
        python.layout = pt_python_layout_of(build.major, build.minor);
        pt_libc_find_threads();
        python.getspecific = pt_libc_getspecific();
        python.codes = in->codes;
        if (python.getspecific != NULL) return &python;
        refusal = PT_PYTHON_NO_KEYS;
    }
    pt_python_reason(refusal, &build, why, PT_LANGUAGE_WHY_BYTES);
    return NULL;
}

const pt_language pt_language_python = {
    .file = "python",
    .mark = "_PyRuntime",
    .loaded = &loaded,
    .evaluator = "_PyEval_EvalFrameDefault",
    .missing = PT_PYTHON_MISSING,
    .lie = PT_PYTHON_LIE,
    .wrong_looks = PT_TICK_PYTHON_WRONG_LOOKS,
    .cache_bytes = sizeof(pt_tick_python_cache),
    .attach = attach_python,
};
