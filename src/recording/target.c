/* target.c: finds the image that a command would run, and whether a preloaded library works in it.
 */
#include "recording/recording.h"

#include <elf.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/xattr.h>
#include <unistd.h>

#include "base/buf.h"
#include "base/file.h"
#include "base/program.h"
#include "capture/interp_image.h"
#include "elf/image.h"
#include "interp/perl.h"
#include "interp/php.h"
#include "interp/python.h"
#include "interp/ruby.h"
#include "interp/v8.h"
#include "machine/machine.h"

#define SCRIPTS_MAX 4 /* the kernel's limit: an interpreter may itself be a script */
#define IMAGE_MAX   (UINT64_C(4) << 30)

/* ---- finding ---- */

static char *find_in_path(const char *command)
{
    return pt_program_find(command, getenv("PATH"));
}

/* The interpreter of a script "#!INTERPRETER [ARGUMENT]"; for env, the program that its argument
 * names. */
static char *script_interpreter(const uint8_t *head, size_t size)
{
    if (size < 3 || head[0] != '#' || head[1] != '!') return NULL;
    const char *line = (const char *)head + 2;
    const char *const end = memchr(line, '\n', size - 2);
    PT_FREE char *text = pt_strndup(line, end != NULL ? (size_t)(end - line) : size - 2);
    char *state = NULL;
    const char *const first = strtok_r(text, " \t\r", &state);
    if (first == NULL) return NULL;
    const char *const slash = strrchr(first, '/');
    const char *word = first;
    if (slash != NULL && strcmp(slash, "/env") == 0) {
        do
            word = strtok_r(NULL, " \t\r", &state);
        while (word != NULL && (word[0] == '-' || strchr(word, '=') != NULL));
    }
    return find_in_path(word != NULL ? word : first);
}

/* ---- judging ---- */

static bool is_privileged(const char *path)
{
    struct stat st;
    char capabilities[64];
    if (stat(path, &st) != 0) return false;
    if ((st.st_mode & S_ISUID) != 0 && st.st_uid != getuid()) return true;
    if ((st.st_mode & S_ISGID) != 0 && (st.st_mode & S_IXGRP) != 0 && st.st_gid != getgid())
        return true;
    return getuid() != 0 &&
           getxattr(path, "security.capability", capabilities, sizeof capabilities) > 0;
}

static bool is_go(const pt_elf *elf)
{
    pt_elf_section section;
    return pt_elf_section_named(elf, ".go.buildinfo", &section) ||
           pt_elf_section_named(elf, ".note.go.buildid", &section) ||
           pt_elf_section_named(elf, ".gopclntab", &section);
}

/* Finds the definition of a name in the table of dynamic symbols. */
static bool find_symbol(const pt_elf *elf, const char *name, pt_elf_symbol *ret)
{
    pt_elf_symbols symbols;
    return pt_elf_symbols_open(elf, SHT_DYNSYM, &symbols) &&
           pt_elf_symbol_defined(&symbols, name, ret) != 0;
}

/* Is there a dynamic symbol whose name begins with that text, defined or not? */
static bool has_symbol(const pt_elf *elf, const char *name)
{
    pt_elf_symbols symbols;
    pt_elf_symbol symbol;
    if (!pt_elf_symbols_open(elf, SHT_DYNSYM, &symbols)) return false;
    for (uint32_t i = 0; pt_elf_symbol_at(&symbols, i, &symbol); i++)
        if (strncmp(symbol.name, name, strlen(name)) == 0) return true;
    return false;
}

/* The minor version of the CPython that a program called python3.N runs, if the program defines or
 * needs symbols of the interpreter; 0 if it does not, or if the version's layout is not known. */
static unsigned python_minor_of(const char *path, const pt_elf *elf)
{
    unsigned major, minor;
    if (!pt_python_version_of_name(path, &major, &minor) ||
        pt_python_layout_of(major, minor) == NULL)
        return 0;
    return has_symbol(elf, "Py_") ? minor : 0; /* Py_BytesMain or a similar one */
}

/* Is it a program called node or nodejs, with V8's symbols in it or in its library (libnode.so.N)?
 */
static bool is_node(const char *path, const pt_elf *elf)
{
    pt_elf_symbol mark;
    const char *const name = pt_base_name(path);
    return (strcmp(name, "node") == 0 || strcmp(name, "nodejs") == 0) &&
           (find_symbol(elf, PT_V8_MARK, &mark) || has_symbol(elf, PT_V8_NODE));
}

/* Is it a program called php, php8.2 or the like, of a build that the library knows? */
static bool is_php(const char *path, const pt_elf *elf)
{
    pt_elf_symbol mark;
    return pt_php_is_file(path) && find_symbol(elf, PT_PHP_MARK, &mark) &&
           pt_interp_php_layout(elf) != NULL;
}

/* The layout of a Ruby. Its version comes from its file name (ruby3.1), or from the image if the
 * program contains the interpreter. Returns NULL if the layout is not known. */
static const pt_ruby_layout *ruby_layout_of(const char *path, const pt_elf *elf)
{
    pt_elf_symbol symbol;
    uint64_t off;
    char text[8] = "";
    if (!pt_ruby_is_file(path)) return NULL;
    const char *const version = pt_base_name(path) + strlen("ruby");
    if (*version != '\0') return has_symbol(elf, "ruby_") ? pt_ruby_layout_of_text(version) : NULL;
    if (!find_symbol(elf, PT_RUBY_VERSION, &symbol) ||
        !pt_elf_offset_of_addr(elf, symbol.value, &off) || off > elf->size_bytes ||
        elf->size_bytes - off < sizeof text)
        return NULL;
    memcpy(text, elf->bytes + off, sizeof text - 1);
    return pt_ruby_layout_of_text(text);
}

/* The layout of a Perl that contains the interpreter; a byte in the file has its version. */
static const pt_perl_layout *perl_layout_of(const char *path, const pt_elf *elf)
{
    uint64_t off;
    pt_elf_symbol symbol;
    if (!pt_perl_is_file(path) || !find_symbol(elf, PT_PERL_MARK, &symbol) ||
        !find_symbol(elf, PT_PERL_VERSION, &symbol) ||
        !pt_elf_offset_of_addr(elf, symbol.value, &off) || off >= elf->size_bytes)
        return NULL;
    return pt_perl_layout_of(elf->bytes[off]);
}

/* Notes which interpreter the image is, if any. */
static void judge_interpreter(const char *path, const pt_blob *image, pt_target *target)
{
    pt_elf elf;
    const size_t size = sizeof target->interpreter;
    PT_FREE char *real = realpath(path, NULL);
    if (real == NULL || pt_elf_open(image->data, image->size, &elf) != PT_ELF_OK) return;
    const unsigned minor = python_minor_of(real, &elf);
    const pt_ruby_layout *const ruby = ruby_layout_of(real, &elf);
    const pt_perl_layout *const perl = perl_layout_of(real, &elf);
    if (minor != 0) snprintf(target->interpreter, size, "Python 3.%u", minor);
    if (is_node(real, &elf)) snprintf(target->interpreter, size, "Node");
    if (is_php(real, &elf)) snprintf(target->interpreter, size, "PHP");
    if (perl != NULL) snprintf(target->interpreter, size, "Perl 5.%u", perl->minor);
    if (ruby != NULL) snprintf(target->interpreter, size, "Ruby %u.%u", ruby->major, ruby->minor);
}

/* Is the script called like an interpreter (python, python3.12, ruby), as scripts of version
 * managers are? Such a script runs the version of the interpreter that the user chose for the
 * present folder. */
static void judge_script(pt_target *target)
{
    static const char *const interpreters[][2] = {{"python", "Python"}, {"ruby", "Ruby"}};
    const char *const name = target->script != NULL ? pt_base_name(target->script) : "";
    for (size_t i = 0; i < sizeof interpreters / sizeof interpreters[0]; i++) {
        const size_t bytes = strlen(interpreters[i][0]);
        if (strncmp(name, interpreters[i][0], bytes) == 0 &&
            name[bytes + strspn(name + bytes, "0123456789.")] == '\0')
            snprintf(target->interpreter, sizeof target->interpreter, "a script for %s",
                     interpreters[i][1]);
    }
}

static pt_target_kind judge_target(const char *path, const pt_blob *image)
{
    pt_elf elf;
    if (pt_elf_open(image->data, image->size, &elf) != PT_ELF_OK) return PT_TARGET_OK;
    if (is_go(&elf)) return PT_TARGET_GO;
    if (!pt_elf_has_interpreter(&elf)) return PT_TARGET_STATIC;
    if (elf.machine != PT_MACHINE_HOST->elf_machine || !elf.is_64) return PT_TARGET_FOREIGN;
    return is_privileged(path) ? PT_TARGET_PRIVILEGED : PT_TARGET_OK;
}

void pt_target_look(const char *command, pt_target *ret_target)
{
    *ret_target = (pt_target){.kind = PT_TARGET_OK, .path = find_in_path(command)};
    for (int depth = 0; ret_target->path != NULL && depth < SCRIPTS_MAX; depth++) {
        pt_blob image = PT_BLOB_INIT;
        if (pt_file_read(ret_target->path, PT_FILE_EMPTY_OK | PT_FILE_MAP, IMAGE_MAX, &image,
                         NULL) != PT_OK)
            return;
        char *const interpreter = script_interpreter(image.data, image.size);
        if (interpreter == NULL) {
            ret_target->kind = judge_target(ret_target->path, &image);
            judge_interpreter(ret_target->path, &image, ret_target);
            if (ret_target->interpreter[0] == '\0') judge_script(ret_target);
            if (ret_target->kind != PT_TARGET_OK) ret_target->interpreter[0] = '\0';
        }
        pt_blob_done(&image);
        if (interpreter == NULL) return;
        if (ret_target->script == NULL)
            ret_target->script = ret_target->path;
        else
            free(ret_target->path);
        ret_target->path = interpreter;
    }
}

void pt_target_done(pt_target *target)
{
    free(target->path);
    free(target->script);
    *target = (pt_target){0};
}

/* ---- our library ---- */

char *pt_record_library(pt_error *reterr)
{
    /* Debian's package has a private copy, since gperftools' library may be installed under the
     * same name. */
    static const char *const places[] = {
        "libprofiler.so.0", "../" PT_LIBDIR "/pitot/libprofiler.so.0", "../lib/libprofiler.so.0",
        "../" PT_LIBDIR "/libprofiler.so.0"};
    char self[4096];
    const ssize_t length = readlink("/proc/self/exe", self, sizeof self - 1);
    if (length <= 0) {
        pt_error_errno(reterr, errno, "cannot find the folder of pitot by /proc/self/exe");
        return NULL;
    }
    self[length] = '\0';
    char *const slash = strrchr(self, '/');
    *slash = '\0';
    for (size_t i = 0; i < sizeof places / sizeof places[0]; i++) {
        PT_FREE char *path = pt_strf("%s/%s", self, places[i]);
        char *const real = realpath(path, NULL);
        if (real != NULL) return real;
    }
    pt_error_set(reterr, PT_ERR_NOTFOUND,
                 "libprofiler.so.0 is neither in %s nor in %s/../lib; install both together", self,
                 self);
    return NULL;
}
