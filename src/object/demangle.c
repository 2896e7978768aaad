/* demangle.c: calls libiberty's demanglers, with limits on the cost of a hostile name.
 *
 * libiberty can omit only the parameters of the outermost function. All other parts are removed
 * from its component tree before the tree is printed: the node of a template is replaced by the
 * node of the template's name, and the signature of an enclosing function by that function's name.
 */
#include "object/demangle.h"

#include <libiberty/demangle.h>
#include <setjmp.h>
#include <stdlib.h>
#include <string.h>

#include "base/buf.h"
#include "base/text.h"
#include "object/object_int.h"

#define NAME_BYTES_MAX     16384 /* of input; the demanglers recurse once or twice a byte */
#define OUTPUT_BYTES_MAX   65536
#define D_OUTPUT_BYTES_MAX (16u << 20)
#define TREE_STEPS_MAX     65536 /* visits during trimming; the tree shares nodes */

/* ---- printing with a limit ---- */

typedef struct {
    pt_buf text;
    jmp_buf too_long;
} printer;

/* libiberty's printers cannot be stopped. They own no memory while they print (in Rust, one short
 * identifier), so a jump out of a printer is safe. */
static void put_piece(const char *piece, size_t size_bytes, void *opaque)
{
    printer *p = opaque;
    if (p->text.size + size_bytes > OUTPUT_BYTES_MAX) longjmp(p->too_long, 1);
    pt_put(&p->text, piece, size_bytes);
}

static char *take_printed(printer *p, bool ok)
{
    if (ok && p->text.size > 0) return pt_buf_take(&p->text, NULL);
    pt_buf_done(&p->text);
    return NULL;
}

static char *print_tree(struct demangle_component *tree, int options)
{
    printer p = {.text = PT_BUF_INIT};
    if (setjmp(p.too_long) != 0) return take_printed(&p, false);
    const int ok = cplus_demangle_print_callback(options, tree, put_piece, &p);
    return take_printed(&p, ok != 0);
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

/* The name of an enclosing function, without its signature. */
static struct demangle_component *without_signature(struct demangle_component *c)
{
    while (c != NULL && qualifies_this(c->type))
        c = c->u.s_binary.left;
    if (c != NULL && c->type == DEMANGLE_COMPONENT_TYPED_NAME) c = c->u.s_binary.left;
    while (c != NULL && qualifies_this(c->type))
        c = c->u.s_binary.left;
    return c;
}

/* True for nodes whose children are parts of the printed name, not of types or expressions. */
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

/* The nodes of a tree that are still to be visited. */
typedef struct {
    struct demangle_component *todo[512];
    unsigned depth, steps;
    bool is_too_large; /* or too deep */
} tree_walk;

/* Takes the next node to visit, and makes room for two more nodes. Returns NULL if there is no next
 * node, or the tree is too large.
 */
static struct demangle_component *take_node(tree_walk *walk)
{
    while (walk->depth > 0 && !walk->is_too_large) {
        struct demangle_component *const c = walk->todo[--walk->depth];
        if (c == NULL) continue;
        walk->is_too_large =
            ++walk->steps > TREE_STEPS_MAX || walk->depth + 2 > PT_COUNT(walk->todo);
        if (!walk->is_too_large) return c;
    }
    return NULL;
}

/* Replaces a template's node by the node of its name. Returns false after too many steps. */
static bool drop_arguments(tree_walk *walk, struct demangle_component *c)
{
    while (c->type == DEMANGLE_COMPONENT_TEMPLATE) {
        const struct demangle_component *const name = c->u.s_binary.left;
        if (name == NULL || ++walk->steps > TREE_STEPS_MAX) return false;
        *c = *name;
    }
    if (c->type == DEMANGLE_COMPONENT_SUB_STD) {
        const char *args = memchr(c->u.s_string.string, '<', (size_t)c->u.s_string.len);
        if (args != NULL) c->u.s_string.len = (int)(args - c->u.s_string.string);
    }
    return true;
}

/* Removes the signatures of enclosing functions from the tree, and with drop_templates template
 * arguments. Returns false if the tree is too large or too deep; the tree can still be printed. */
static bool trim_tree(struct demangle_component *root, bool drop_templates)
{
    tree_walk walk = {.todo = {root}, .depth = 1};
    for (struct demangle_component *c; (c = take_node(&walk)) != NULL;) {
        if (drop_templates && !drop_arguments(&walk, c)) return false;
        while (c->type == DEMANGLE_COMPONENT_TEMPLATE) {
            c = c->u.s_binary.left;
            if (c == NULL || ++walk.steps > TREE_STEPS_MAX) return false;
        }
        if (!holds_names(c->type)) continue;
        if (c->type == DEMANGLE_COMPONENT_LOCAL_NAME)
            c->u.s_binary.left = without_signature(c->u.s_binary.left);
        walk.todo[walk.depth++] = c->u.s_binary.left;
        if (c->type != DEMANGLE_COMPONENT_TAGGED_NAME && c->type != DEMANGLE_COMPONENT_TYPED_NAME)
            walk.todo[walk.depth++] = c->u.s_binary.right;
    }
    return !walk.is_too_large;
}

/* ---- C++, as google/pprof shows it ---- */

static bool is_pprof(pt_demangle_mode mode)
{
    return mode >= PT_DEMANGLE_PPROF && mode <= PT_DEMANGLE_PPROF_FULL;
}

/* True for nodes that do not have two nodes as children. */
static bool is_leaf(enum demangle_component_type type)
{
    switch (type) {
    case DEMANGLE_COMPONENT_NAME:
    case DEMANGLE_COMPONENT_TEMPLATE_PARAM:
    case DEMANGLE_COMPONENT_FUNCTION_PARAM:
    case DEMANGLE_COMPONENT_CTOR:
    case DEMANGLE_COMPONENT_DTOR:
    case DEMANGLE_COMPONENT_SUB_STD:
    case DEMANGLE_COMPONENT_BUILTIN_TYPE:
    case DEMANGLE_COMPONENT_EXTENDED_BUILTIN_TYPE:
    case DEMANGLE_COMPONENT_OPERATOR:
    case DEMANGLE_COMPONENT_EXTENDED_OPERATOR:
    case DEMANGLE_COMPONENT_CHARACTER:
    case DEMANGLE_COMPONENT_NUMBER:
    case DEMANGLE_COMPONENT_FIXED_TYPE:
    case DEMANGLE_COMPONENT_LAMBDA:
    case DEMANGLE_COMPONENT_DEFAULT_ARG:
    case DEMANGLE_COMPONENT_UNNAMED_TYPE: return true;
    default: return false;
    }
}

/* Empties the parentheses of an enclosing function; the function's qualifiers stay. */
static void empty_signature(struct demangle_component *c)
{
    while (c != NULL && qualifies_this(c->type))
        c = c->u.s_binary.left;
    if (c == NULL || c->type != DEMANGLE_COMPONENT_TYPED_NAME) return;
    for (c = c->u.s_binary.right; c != NULL && qualifies_this(c->type);)
        c = c->u.s_binary.left;
    if (c != NULL && c->type == DEMANGLE_COMPONENT_FUNCTION_TYPE)
        c->u.s_binary.left = c->u.s_binary.right = NULL;
}

/* Like trim_tree, but in the whole tree. */
static bool trim_everywhere(struct demangle_component *root, bool drop_templates)
{
    tree_walk walk = {.todo = {root}, .depth = 1};
    for (struct demangle_component *c; (c = take_node(&walk)) != NULL;) {
        if (drop_templates && !drop_arguments(&walk, c)) return false;
        if (c->type == DEMANGLE_COMPONENT_LAMBDA || c->type == DEMANGLE_COMPONENT_DEFAULT_ARG)
            walk.todo[walk.depth++] = c->u.s_unary_num.sub;
        if (is_leaf(c->type)) continue;
        if (c->type == DEMANGLE_COMPONENT_LOCAL_NAME) empty_signature(c->u.s_binary.left);
        walk.todo[walk.depth++] = c->u.s_binary.left;
        walk.todo[walk.depth++] = c->u.s_binary.right;
    }
    return !walk.is_too_large;
}

/* Replaces ">>" that closes two argument lists by "> >". Takes over text. */
static char *with_spaced_angles(char *text)
{
    pt_buf out = PT_BUF_INIT;
    static const char word[] = "operator";
    unsigned depth = 0;
    if (strstr(text, ">>") == NULL) return text;
    for (const char *c = text; *c != '\0'; c++) {
        if (pt_begins(c, word)) { /* the operator's sign is not a bracket */
            const size_t n = sizeof word - 1 + strspn(c + sizeof word - 1, "<>=-");
            pt_put(&out, c, n);
            c += n - 1;
            continue;
        }
        const bool closes = *c == '>' && c > text && c[-1] != '-' && depth > 0;
        if (*c == '<') depth++;
        if (closes) depth--;
        pt_put_u8(&out, (uint8_t)*c);
        if (closes && c[1] == '>' && depth > 0) pt_put_u8(&out, ' ');
    }
    free(text);
    return pt_buf_take(&out, NULL);
}

static char *print_cxx(const char *name, pt_demangle_mode mode)
{
    const bool full =
        mode == PT_DEMANGLE_FULL || mode == PT_DEMANGLE_BINUTILS || mode == PT_DEMANGLE_PPROF_FULL;
    const int options = DMGL_ANSI | (full ? DMGL_PARAMS : 0);
    void *memory = NULL;
    struct demangle_component *tree = cplus_demangle_v3_components(name, options, &memory);
    if (tree == NULL) return NULL;
    while (mode != PT_DEMANGLE_BINUTILS && tree->type == DEMANGLE_COMPONENT_CLONE &&
           tree->u.s_binary.left != NULL)
        tree = tree->u.s_binary.left;
    if (is_pprof(mode)) {
        if (!full) trim_everywhere(tree, mode == PT_DEMANGLE_PPROF);
    } else if (!full) {
        trim_tree(tree, mode == PT_DEMANGLE_SIMPLE);
    }
    char *text = print_tree(tree, options);
    free(memory);
    return text != NULL && is_pprof(mode) ? with_spaced_angles(text) : text;
}

static char *demangle_cxx(const char *name, pt_demangle_mode mode)
{
    char *text = print_cxx(name, mode);
    /* Printing fails if a conversion operator's or a lambda's parameter refers to a template
     * argument that was removed. Then the arguments are removed from the printed text. */
    if (text == NULL && mode == PT_DEMANGLE_PPROF) {
        text = print_cxx(name, PT_DEMANGLE_PPROF_TEMPLATES);
        char *simple = text != NULL ? pt_demangle_source_name(text, PT_DEMANGLE_SIMPLE) : NULL;
        if (simple != NULL) free(text);
        return simple;
    }
    const pt_demangle_mode last = is_pprof(mode) ? PT_DEMANGLE_PPROF_FULL : PT_DEMANGLE_FULL;
    return text == NULL && mode != last ? print_cxx(name, last) : text;
}

/* ---- Rust ---- */

/* The end of the "<...>" at text, or NULL. */
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

/* Removes each "::<...>", which v0 prints for the arguments of functions. */
static void drop_turbofish(char *text)
{
    char *to = text;
    bool balanced = true;
    for (const char *from = text; *from != '\0';) {
        const char *end = balanced && pt_begins(from, "::<") ? past_angles(from + 2) : from;
        balanced = end != NULL;
        if (balanced && end != from)
            from = end;
        else
            *to++ = *from++;
    }
    *to = '\0';
}

/* Empties generic arguments as google/pprof does: the angles stay, except those of <Type as Trait>.
 */
static void empty_generics(char *text)
{
    char *to = text;
    for (const char *from = text; *from != '\0';) {
        const bool opens = *from == '<' && from > text && from[-1] != '<' && from[-1] != ' ' &&
                           from[-1] != '&' && from[-1] != '(' && from[-1] != '[';
        const char *end = opens ? past_angles(from) : NULL;
        if (end == NULL) {
            *to++ = *from++;
            continue;
        }
        *to++ = '<';
        *to++ = '>';
        from = end;
    }
    *to = '\0';
}

/* ianlancetaylor/demangle mistakes an underscore at the start of an old-style part for the
 * separator of the part's length, and drops it. */
static void drop_first_underscores(char *text)
{
    char *to = text;
    for (const char *from = text; *from != '\0'; from++) {
        const bool begins = from - text >= 2 && from[-1] == ':' && from[-2] == ':';
        if (!(begins && *from == '_')) *to++ = *from;
    }
    *to = '\0';
}

static char *demangle_rust(const char *name, pt_demangle_mode mode)
{
    printer p = {.text = PT_BUF_INIT};
    if (name[1] == 'R' ? !pt_rust_name_is_bounded(name) : strstr(name, "17h") == NULL) return NULL;
    if (setjmp(p.too_long) != 0) return take_printed(&p, false);
    const int ok = rust_demangle_callback(name, DMGL_RUST, put_piece, &p);
    char *text = take_printed(&p, ok != 0);
    if (text != NULL && mode == PT_DEMANGLE_SIMPLE) drop_turbofish(text);
    if (text != NULL && mode == PT_DEMANGLE_PPROF && name[1] == 'R') empty_generics(text);
    if (text != NULL && is_pprof(mode) && name[1] == 'Z') drop_first_underscores(text);
    return text;
}

/* ---- D ---- */

/* Is the printed form of a D name short enough? libiberty's printer of D names cannot be stopped. A
 * reference ('Q') repeats an earlier part of the name, and that part may itself contain references:
 * so every three references make the output at most three times as long. */
static bool may_be_printed(const char *name)
{
    uint64_t most = strlen(name);
    unsigned references = 0;
    for (const char *c = name; *c != '\0'; c++)
        if (*c == 'Q' && ++references % 3 == 0) most *= 3;
    return references < 60 && most <= D_OUTPUT_BYTES_MAX;
}

/* Removes the last parentheses of "a.b!(int).c(int, char[])"; with drop_templates also those after
 * "!".
 */
static void trim_d(char *text, bool drop_templates)
{
    size_t length = strlen(text);
    unsigned depth = 0;
    if (length > 0 && text[length - 1] == ')') {
        size_t at = length;
        do {
            at--;
            depth += text[at] == ')';
            depth -= text[at] == '(';
        } while (at > 0 && depth > 0);
        if (depth == 0 && at > 0 && text[at - 1] != '!') text[at] = '\0';
    }
    if (!drop_templates) return;
    char *to = text;
    depth = 0;
    for (const char *from = text; *from != '\0'; from++) {
        if (depth == 0 && from[0] == '!' && from[1] == '(') {
            depth = 1;
            from++;
        } else if (depth > 0) {
            depth += *from == '(';
            depth -= *from == ')';
        } else {
            *to++ = *from;
        }
    }
    *to = '\0';
}

static char *demangle_d(const char *name, pt_demangle_mode mode)
{
    if (is_pprof(mode) || !may_be_printed(name)) return NULL;
    char *text = dlang_demangle(name, DMGL_DLANG | DMGL_PARAMS);
    if (text != NULL && mode != PT_DEMANGLE_FULL && mode != PT_DEMANGLE_BINUTILS)
        trim_d(text, mode == PT_DEMANGLE_SIMPLE);
    return text;
}

static char *demangle_plain(const char *name, pt_demangle_mode mode)
{
    if (name[1] == 'D') return demangle_d(name, mode);

    const bool may_be_cxx = pt_begins(name, "_Z") || pt_begins(name, "_GLOBAL_");
    const bool may_be_rust = pt_begins(name, "_R") || pt_begins(name, "_ZN");
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

/* ---- names in profiles, in google/pprof's form ---- */

/* Java's "class.<init>" and Go's "foo.(*Bar[...]).Method" are not C++ (google/pprof:
 * looksLikeDemangledCPlusPlus).
 */
static bool looks_like_cxx(const char *name)
{
    if (strstr(name, ".<") != NULL || strstr(name, "]).") != NULL) return false;
    return strpbrk(name, "<>[]") != NULL || strstr(name, "::") != NULL;
}

/* Removes brackets and their content; stops at a mismatch (google/pprof: removeMatching). */
static void remove_matching(char *name, char open, char close)
{
    PT_FREE char *result = pt_strdup(name);
    size_t length = 0, start = 0;
    int nesting = 0;
    for (const char *c = name; *c != '\0'; c++) {
        result[length++] = *c;
        if (*c == open && ++nesting == 1) start = length - 1;
        if (*c != close) continue;
        if (--nesting < 0) { /* a mismatch; earlier removals stay */
            memcpy(name, result, length);
            memmove(name + length, c + 1, strlen(c + 1) + 1);
            return;
        }
        if (nesting == 0) length = start;
    }
    result[length] = '\0';
    memcpy(name, result, length + 1);
}

char *pt_demangle_pprof(const char *name, pt_demangle_mode mode)
{
    char *text = pt_demangle(name, mode);
    if (text != NULL) return text;
    text = pt_strdup(name);
    if (!is_pprof(mode) || mode == PT_DEMANGLE_PPROF_FULL || !looks_like_cxx(name)) return text;
    remove_matching(text, '(', ')');
    if (mode == PT_DEMANGLE_PPROF) remove_matching(text, '<', '>');
    return text;
}

const char *pt_name_unscoped(const char *name)
{
    const char *last = name;
    int depth = 0;
    for (const char *c = name; *c != '\0'; c++) {
        if (*c == '<' || *c == '(')
            depth++;
        else if (*c == '>' || *c == ')')
            depth -= depth > 0;
        else if (depth == 0 && c[0] == ':' && c[1] == ':')
            last = c + 2;
    }
    return last;
}
