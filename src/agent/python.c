/* python.c: the CPython that is in the process: the program itself, or a library of that name.
 *
 *   image with _PyRuntime -> version -> layout (interp/python.h) -> types -> facts for the handler
 */
#include <stdio.h>

#include "agent/languages.h"

static pt_tick_python_facts python;

extern const char loaded_python[] __asm__("_PyRuntime") __attribute__((weak));
static const char *const volatile loaded = loaded_python;

/* Since 3.11 it says so itself; before, its file's name does. */
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

static const void *attach_python(const pt_language_image *in, char why[PT_LANGUAGE_WHY_BYTES])
{
    unsigned major = 0, minor = 0;
    if (!version_of(in, &major, &minor)) {
        snprintf(why, PT_LANGUAGE_WHY_BYTES, "a Python whose version its file does not tell");
        return NULL;
    }
    python.layout = pt_python_layout_of(major, minor);
    if (python.layout == NULL) {
        snprintf(why, PT_LANGUAGE_WHY_BYTES, "Python %u.%u is not known to this version of pitot",
                 major, minor);
        return NULL;
    }
    if (!pt_language_symbol(in->image, "_PyRuntime", &python.runtime) ||
        !pt_language_symbol(in->image, "PyCode_Type", &python.code_type) ||
        !pt_language_symbol(in->image, "PyUnicode_Type", &python.text_type) ||
        !pt_language_symbol(in->image, "PyBytes_Type", &python.bytes_type)) {
        snprintf(why, PT_LANGUAGE_WHY_BYTES, "this Python does not tell where its types are");
        return NULL;
    }
    pt_libc_find_threads();
    python.getspecific = pt_libc_getspecific();
    python.codes = in->codes;
    if (python.getspecific != NULL) return &python;
    snprintf(why, PT_LANGUAGE_WHY_BYTES, "a Python in a process without threads");
    return NULL;
}

const pt_language pt_language_python = {
    .file = "python",
    .mark = "_PyRuntime",
    .loaded = &loaded,
    .evaluator = "_PyEval_EvalFrameDefault",
    .missing = "its own frames will be missing",
    .lie = "this Python keeps its frames in another way than the builds of its version that pitot "
           "knows",
    .wrong_looks = PT_TICK_PYTHON_WRONG_LOOKS,
    .cache_bytes = sizeof(pt_tick_python_cache),
    .attach = attach_python,
};
