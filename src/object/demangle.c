/* demangle.c: libiberty's parsers, with limits on what a hostile name can cost.
 *
 * libiberty can leave the parameters of the outermost function away, and no more. The rest is done
 * on its component tree before it is printed: a template's node is replaced by its name's node, the
 * signature of an enclosing function by that function's name. */
#include "object/demangle.h"

#include <libiberty/demangle.h>
#include <setjmp.h>
#include <stdlib.h>
#include <string.h>

#include "base/buf.h"

#define NAME_BYTES_MAX   16384 /* of input; parsers recurse once or twice a byte */
#define OUTPUT_BYTES_MAX 65536
#define TREE_STEPS_MAX   65536 /* visits while trimming; the tree shares nodes */

bool pt_demangle_mode_named(const char *text, pt_demangle_mode *ret_mode)
{
    static const struct {
        const char *text;
        pt_demangle_mode mode;
    } names[] = {{"templates", PT_DEMANGLE_TEMPLATES},
                 {"simple", PT_DEMANGLE_SIMPLE},
                 {"full", PT_DEMANGLE_FULL},
                 {"none", PT_DEMANGLE_NONE}};
    for (size_t i = 0; i < sizeof names / sizeof names[0]; i++) {
        if (strcmp(text, names[i].text) == 0) {
            *ret_mode = names[i].mode;
            return true;
        }
    }
    return false;
}

/* ---- printing with a limit ---- */

typedef struct {
    pt_buf text;
    jmp_buf too_long;
} printer;

/* libiberty's printers have no way to be stopped. They hold no memory of their own while they print
 * (one short identifier in Rust's), so leaving them by a jump is safe. */
static void put_piece(const char *piece, size_t size_bytes, void *opaque)
{
    printer *p = opaque;
    if (p->text.size + size_bytes > OUTPUT_BYTES_MAX) longjmp(p->too_long, 1);
    pt_put(&p->text, piece, size_bytes);
}

static char *printed(printer *p, bool ok)
{
    if (ok && p->text.size > 0) return pt_buf_take(&p->text, NULL);
    pt_buf_done(&p->text);
    return NULL;
}

static char *print_tree(struct demangle_component *tree, int options)
{
    printer p = {.text = PT_BUF_INIT};
    if (setjmp(p.too_long) != 0) return printed(&p, false);
    const int ok = cplus_demangle_print_callback(options, tree, put_piece, &p);
    return printed(&p, ok != 0);
}

/* ---- C++ ---- */

static bool qualifies_this(enum demangle_component_type type)
{
    return type == DEMANGLE_COMPONENT_RESTRICT_THIS || type == DEMANGLE_COMPONENT_VOLATILE_THIS ||
           type == DEMANGLE_COMPONENT_CONST_THIS || type == DEMANGLE_COMPONENT_REFERENCE_THIS ||
           type == DEMANGLE_COMPONENT_RVALUE_REFERENCE_THIS ||
           type == DEMANGLE_COMPONENT_TRANSACTION_SAFE || type == DEMANGLE_COMPONENT_NOEXCEPT ||
           type == DEMANGLE_COMPONENT_THROW_SPEC;
}

/* The name of a function whose signature encloses something. */
static struct demangle_component *without_signature(struct demangle_component *c)
{
    while (c != NULL && qualifies_this(c->type))
        c = c->u.s_binary.left;
    if (c != NULL && c->type == DEMANGLE_COMPONENT_TYPED_NAME) c = c->u.s_binary.left;
    while (c != NULL && qualifies_this(c->type))
        c = c->u.s_binary.left;
    return c;
}

/* Nodes whose children are parts of the name that is printed, not of types or expressions. */
static bool holds_names(enum demangle_component_type type)
{
    switch (type) {
    case DEMANGLE_COMPONENT_QUAL_NAME:
    case DEMANGLE_COMPONENT_LOCAL_NAME:
    case DEMANGLE_COMPONENT_TYPED_NAME:
    case DEMANGLE_COMPONENT_TAGGED_NAME:
    case DEMANGLE_COMPONENT_VTABLE:
    case DEMANGLE_COMPONENT_VTT:
    case DEMANGLE_COMPONENT_TYPEINFO:
    case DEMANGLE_COMPONENT_THUNK:
    case DEMANGLE_COMPONENT_VIRTUAL_THUNK:
    case DEMANGLE_COMPONENT_COVARIANT_THUNK:
    case DEMANGLE_COMPONENT_GUARD:
    case DEMANGLE_COMPONENT_TLS_INIT:
    case DEMANGLE_COMPONENT_TLS_WRAPPER:
    case DEMANGLE_COMPONENT_HIDDEN_ALIAS:
    case DEMANGLE_COMPONENT_GLOBAL_CONSTRUCTORS:
    case DEMANGLE_COMPONENT_GLOBAL_DESTRUCTORS:
    case DEMANGLE_COMPONENT_TRANSACTION_CLONE:
    case DEMANGLE_COMPONENT_NONTRANSACTION_CLONE: return true;
    default: return qualifies_this(type);
    }
}

/* Takes signatures of enclosing functions out of the tree, and template arguments if asked. False
 * when the tree is too large or too deep for that; it can still be printed. */
static bool trim(struct demangle_component *root, bool drop_templates)
{
    struct demangle_component *todo[256];
    unsigned depth = 0, steps = 0;
    todo[depth++] = root;
    while (depth > 0) {
        struct demangle_component *c = todo[--depth];
        if (c == NULL) continue;
        if (++steps > TREE_STEPS_MAX || depth + 2 > sizeof todo / sizeof todo[0]) return false;
        while (c->type == DEMANGLE_COMPONENT_TEMPLATE) {
            struct demangle_component *name = c->u.s_binary.left;
            if (name == NULL || ++steps > TREE_STEPS_MAX) return false;
            if (drop_templates)
                *c = *name;
            else
                c = name;
        }
        if (drop_templates && c->type == DEMANGLE_COMPONENT_SUB_STD) {
            const char *args = memchr(c->u.s_string.string, '<', (size_t)c->u.s_string.len);
            if (args != NULL) c->u.s_string.len = (int)(args - c->u.s_string.string);
        }
        if (!holds_names(c->type)) continue;
        if (c->type == DEMANGLE_COMPONENT_LOCAL_NAME)
            c->u.s_binary.left = without_signature(c->u.s_binary.left);
        todo[depth++] = c->u.s_binary.left;
        if (c->type != DEMANGLE_COMPONENT_TAGGED_NAME && c->type != DEMANGLE_COMPONENT_TYPED_NAME)
            todo[depth++] = c->u.s_binary.right;
    }
    return true;
}

static char *print_cxx(const char *name, pt_demangle_mode mode)
{
    const bool full = mode == PT_DEMANGLE_FULL || mode == PT_DEMANGLE_BINUTILS;
    const int options = DMGL_ANSI | (full ? DMGL_PARAMS : 0);
    void *memory = NULL;
    struct demangle_component *tree = cplus_demangle_v3_components(name, options, &memory);
    if (tree == NULL) return NULL;
    while (mode != PT_DEMANGLE_BINUTILS && tree->type == DEMANGLE_COMPONENT_CLONE &&
           tree->u.s_binary.left != NULL)
        tree = tree->u.s_binary.left;
    if (!full) trim(tree, mode == PT_DEMANGLE_SIMPLE);
    char *text = print_tree(tree, options);
    free(memory);
    return text;
}

static char *demangle_cxx(const char *name, pt_demangle_mode mode)
{
    char *text = print_cxx(name, mode);
    /* A conversion operator may be named by a template argument that is gone now. */
    return text == NULL && mode != PT_DEMANGLE_FULL ? print_cxx(name, PT_DEMANGLE_FULL) : text;
}

/* ---- Rust ---- */

/* Where the "<...>" that begins at text ends, or NULL. */
static const char *past_angles(const char *text)
{
    unsigned depth = 0;
    for (const char *c = text; *c != '\0'; c++) {
        if (*c == '<')
            depth++;
        else if (*c == '>' && c[-1] != '-' && --depth == 0)
            return c + 1;
    }
    return NULL;
}

/* Removes each "::<...>": there v0 prints the arguments of functions. */
static void drop_turbofish(char *text)
{
    char *to = text;
    bool balanced = true;
    for (const char *from = text; *from != '\0';) {
        const char *end = balanced && strncmp(from, "::<", 3) == 0 ? past_angles(from + 2) : from;
        balanced = end != NULL;
        if (balanced && end != from)
            from = end;
        else
            *to++ = *from++;
    }
    *to = '\0';
}

static char *demangle_rust(const char *name, pt_demangle_mode mode)
{
    printer p = {.text = PT_BUF_INIT};
    if (setjmp(p.too_long) != 0) return printed(&p, false);
    const int ok = rust_demangle_callback(name, DMGL_RUST, put_piece, &p);
    char *text = printed(&p, ok != 0);
    if (text != NULL && mode == PT_DEMANGLE_SIMPLE) drop_turbofish(text);
    return text;
}

static char *demangle_plain(const char *name, pt_demangle_mode mode)
{
    const bool may_be_cxx = strncmp(name, "_Z", 2) == 0 || strncmp(name, "_GLOBAL_", 8) == 0;
    const bool may_be_rust = strncmp(name, "_R", 2) == 0 || strncmp(name, "_ZN", 3) == 0;
    char *text = may_be_rust ? demangle_rust(name, mode) : NULL;
    return text == NULL && may_be_cxx ? demangle_cxx(name, mode) : text;
}

char *pt_demangle(const char *name, pt_demangle_mode mode)
{
    if (mode == PT_DEMANGLE_NONE || name[0] != '_' ||
        strnlen(name, NAME_BYTES_MAX + 1) > NAME_BYTES_MAX)
        return NULL;
    const char *suffix = strchr(name, '@');
    if (suffix == NULL) return demangle_plain(name, mode);
    PT_FREE char *mangled = pt_strndup(name, (size_t)(suffix - name));
    char *text = demangle_plain(mangled, mode);
    if (text == NULL || strcmp(suffix, "@plt") != 0) return text;
    char *with_suffix = pt_strf("%s@plt", text);
    free(text);
    return with_suffix;
}

static bool is_name_byte(char c)
{
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '_';
}

char *pt_demangle_source_name(const char *name, pt_demangle_mode mode)
{
    static const char word[] = "operator";
    char *text = pt_strdup(name);
    if (mode != PT_DEMANGLE_SIMPLE) return text;
    char *to = text;
    bool balanced = true;
    for (const char *from = name; *from != '\0';) {
        const size_t done = (size_t)(from - name);
        const bool is_operator =
            done >= sizeof word - 1 && memcmp(from - (sizeof word - 1), word, sizeof word - 1) == 0;
        const bool opens = *from == '<' && done > 0 && is_name_byte(from[-1]) && !is_operator;
        const char *end = balanced && opens ? past_angles(from) : from;
        balanced = end != NULL;
        if (balanced && end != from)
            from = end;
        else
            *to++ = *from++;
    }
    *to = '\0';
    return text;
}
