/* python.c: the CPython that is in the process: the program itself, or a library of that name.
 *
 *   mapped image with _PyRuntime -> version -> layout (interp/python.h)
 *                                -> types, the evaluator's code -> facts for the handler
 *   frames in a ring             -> merged with native ones; their code into the journal
 *
 * The facts that the handler is given are never freed: it may be reading them at any time.
 */
#include <stdatomic.h>
#include <stdio.h>
#include <string.h>

#include "agent/images.h"
#include "unwind/split.h"

enum { CODE_MAX_BYTES = 1 << 20 }; /* of an evaluator */

static struct {
    uint32_t changes; /* of the maps, when they were last looked at */
    bool is_said;
    uint64_t inode; /* of the interpreter that was found or refused; 0 = none */
    pt_tick_python_facts facts;
    pt_interp_evaluator evaluator;
} python;

/* ---- finding it ---- */

/* The loader's answer for what the program begins with: dlsym would call malloc to say no. */
extern const char loaded_python[] __asm__("_PyRuntime") __attribute__((weak));

bool pt_python_is_there(void)
{
    const char *volatile const loaded = loaded_python; /* NULL if there is none */
    return loaded != NULL || python.inode != 0;
}

static bool symbol_at(const pt_image *image, const char *name, uint64_t *ret_addr)
{
    uint64_t bytes;
    return pt_image_symbol(image, name, ret_addr, &bytes);
}

/* Since 3.11 it says so itself; before, its file's name does. */
static bool version_of(const pt_image *image, const char *path, unsigned *ret_major,
                       unsigned *ret_minor)
{
    uint64_t addr;
    unsigned long version;
    if (symbol_at(image, "Py_Version", &addr) && pt_maps_peek(addr, &version, sizeof version)) {
        *ret_major = (unsigned)(version >> 24 & 0xff);
        *ret_minor = (unsigned)(version >> 16 & 0xff);
        return true;
    }
    return pt_python_version_of_name(path, ret_major, ret_minor);
}

static void find_evaluator(const pt_image *image)
{
    uint64_t addr, bytes;
    pt_interp_evaluator *const evaluator = &python.evaluator;
    *evaluator = (pt_interp_evaluator){0};
    if (!pt_image_symbol(image, "_PyEval_EvalFrameDefault", &addr, &bytes) ||
        bytes > CODE_MAX_BYTES)
        return;
    evaluator->low[0] = addr;
    evaluator->limit[0] = addr + bytes;
    uint32_t count;
    size_t map_bytes;
    uint64_t *const starts = pt_image_entries(image, &count, &map_bytes);
    uint8_t *const code = pt_agent_map((size_t)bytes);
    if (starts != NULL && code != NULL && pt_maps_peek(addr, code, (size_t)bytes))
        pt_unwind_split_part(image->machine, code, bytes, addr, starts, count, &evaluator->low[1],
                             &evaluator->limit[1]);
    pt_agent_unmap(starts, map_bytes);
    pt_agent_unmap(code, (size_t)bytes);
}

static void refuse_python(const char *what)
{
    if (!python.is_said) pt_agent_say("%s: its own frames will be missing", what);
    python.is_said = true;
}

static void take_interpreter(const pt_image *image, const char *path)
{
    pt_tick_python_facts *const facts = &python.facts;
    unsigned major = 0, minor = 0;
    char text[96];
    if (!version_of(image, path, &major, &minor)) {
        refuse_python("a Python whose version its file does not tell");
        return;
    }
    facts->layout = sizeof(void *) == 8 ? pt_python_layout_of(major, minor) : NULL;
    if (facts->layout == NULL) {
        snprintf(text, sizeof text, "Python %u.%u is not known to this version of pitot", major,
                 minor);
        refuse_python(text);
        return;
    }
    if (!symbol_at(image, "_PyRuntime", &facts->runtime) ||
        !symbol_at(image, "PyCode_Type", &facts->code_type) ||
        !symbol_at(image, "PyUnicode_Type", &facts->text_type) ||
        !symbol_at(image, "PyBytes_Type", &facts->bytes_type)) {
        refuse_python("this Python does not tell where its types are");
        return;
    }
    pt_libc_find_threads();
    facts->getspecific = pt_libc_getspecific();
    if (facts->getspecific == NULL) {
        refuse_python("a Python in a process without threads");
        return;
    }
    find_evaluator(image);
    facts->codes = pt_codes_for_handlers();
    if (facts->codes == NULL) {
        refuse_python("there is no memory for Python's names");
        return;
    }
    atomic_store(&pt_tick_python.facts, facts);
    pt_threads_each(pt_threads_want_python, NULL);
}

static void look_at_image(const pt_maps_live *live, void *arg)
{
    (void)arg;
    char path[PATH_MAX];
    uint64_t addr;
    pt_image image;
    if (python.inode != 0 || !pt_images_path(live, path) || !pt_images_may_be("python", path) ||
        !pt_image_look(live, &image) || !symbol_at(&image, "_PyRuntime", &addr))
        return;
    python.inode = live->inode;
    take_interpreter(&image, path);
}

void pt_python_update(void)
{
    const uint32_t changes = pt_maps_changes();
    if (python.inode != 0 || changes == python.changes) return;
    python.changes = changes;
    pt_maps_each_live(look_at_image, NULL);
}

void pt_python_review(void)
{
    enum { WRONG_ENOUGH = 16 };
    char text[96];
    if (python.is_said || atomic_load(&pt_tick_python.wrong) < WRONG_ENOUGH ||
        atomic_load(&pt_tick_python.right) > 0)
        return;
    snprintf(text, sizeof text,
             "this Python 3.%u keeps its frames in another way than the builds that pitot knows",
             python.facts.layout->minor);
    refuse_python(text);
}

pt_tick_python_cache *pt_python_cache_new(void)
{
    return atomic_load(&pt_tick_python.facts) != NULL ? pt_agent_map(sizeof(pt_tick_python_cache))
                                                      : NULL;
}

/* ---- joining ---- */

uint32_t pt_python_merge(const uint64_t *words, uint32_t native, uint32_t frames, bool is_whole,
                         uint64_t *ret_chain, bool *ret_certain)
{
    uint32_t count = native;
    *ret_certain = true;
    if (frames == 0) {
        memcpy(ret_chain, words, native * sizeof words[0]);
        return count;
    }
    *ret_certain = pt_interp_merge(&python.evaluator, words, native, is_whole, words + native,
                                   frames, ret_chain, &count) == PT_MERGE_CERTAIN;
    return count;
}
