/* files.c: see files.h. */
#include "personality/gprof/files.h"

#include <stdlib.h>
#include <string.h>

#include "base/file.h"
#include "base/grow.h"
#include "base/text.h"
#include "formats/gmon_sum.h"
#include "terminal/message.h"

#define TEXT_MAX ((uint64_t)1 << 30)

/* ---- Tables ---- */

/* Reads a file as a text that the caller may change and frees; NULL after a message. */
static char *read_text(const pt_gprof_settings *s, const char *path)
{
    PT_AUTO(pt_blob) blob = PT_BLOB_INIT;
    pt_error error = PT_ERROR_INIT;
    if (pt_file_read(path, 0, TEXT_MAX, &blob, &error) != PT_OK) {
        if (error.status == PT_ERR_LIMIT)
            pt_gprof_say(s, "%s: %s", path, error.message);
        else
            pt_gprof_say(s, "could not open %s.", path);
        return NULL;
    }
    char *text = pt_strndup((const char *)blob.data, blob.size);
    if (!pt_blob_intact(&blob)) {
        pt_gprof_say(s, "%s: " PT_FILE_SHRANK, path);
        free(text);
        text = NULL;
    }
    return text;
}

static bool take_symbol(char *line, pt_gprof_external *ret)
{
    char *rest = NULL;
    const char *const address = strtok_r(line, " \t\r", &rest);
    const char *const type = strtok_r(NULL, " \t\r", &rest);
    const char *const name = strtok_r(NULL, " \t\r", &rest);
    if (name == NULL || (type[0] != 't' && type[0] != 'T')) return false;
    *ret = (pt_gprof_external){
        .addr = strtoull(address, NULL, 16), .name = name, .is_static = type[0] == 't'};
    return true;
}

bool pt_gprof_read_symbols(const pt_gprof_settings *s, const char *path, pt_gprof_table_file *ret)
{
    size_t cap = 0;
    *ret = (pt_gprof_table_file){.text = read_text(s, path)};
    if (ret->text == NULL) return false;
    char *rest = NULL;
    for (char *line = strtok_r(ret->text, "\n", &rest); line != NULL;
         line = strtok_r(NULL, "\n", &rest)) {
        ret->external = pt_grow(ret->external, &cap, ret->count + 1, sizeof *ret->external);
        ret->count += take_symbol(line, &ret->external[ret->count]);
    }
    if (ret->count > 0) return true;
    pt_gprof_say(s, "file `%s' has no symbols", path);
    pt_gprof_table_file_done(ret);
    return false;
}

PT_ORDER(by_function, pt_gprof_mapped, PT_TEXT_UP(function) ?: PT_TEXT_UP(file));

/* Splits "FILE.o:ADDRESS TYPE NAME". Returns false if the line has another form. *ret_is_code is
 * true if the type is a type of code.
 */
static bool cut_mapped(char *line, pt_gprof_mapped *ret, bool *ret_is_code)
{
    char *const colon = strchr(line, ':');
    const char *const space = colon != NULL ? strrchr(colon, ' ') : NULL;
    if (space == NULL) return false;
    const bool has_type = space - colon >= 2 && (space[-2] == ' ' || space[-2] == ':');
    *ret_is_code = !has_type || strchr("tTwW", space[-1]) != NULL;
    *colon = '\0';
    *ret = (pt_gprof_mapped){.file = line, .function = space + 1};
    return true;
}

bool pt_gprof_read_map(const pt_gprof_settings *s, const char *path, pt_gprof_table_file *ret)
{
    size_t cap = 0;
    *ret = (pt_gprof_table_file){.text = read_text(s, path)};
    if (ret->text == NULL) return false;
    char *rest = NULL;
    for (char *line = strtok_r(ret->text, "\n", &rest); line != NULL;
         line = strtok_r(NULL, "\n", &rest)) {
        pt_gprof_mapped row;
        bool is_code;
        if (pt_begins(line, "No symbols in ")) continue;
        if (!cut_mapped(line, &row, &is_code)) {
            pt_gprof_say(s, "unable to parse mapping file %s.", path);
            pt_gprof_table_file_done(ret);
            return false;
        }
        if (!is_code) continue;
        ret->mapped = pt_grow(ret->mapped, &cap, ret->count + 1, sizeof *ret->mapped);
        row.is_first = ret->count == 0 || strcmp(ret->mapped[ret->count - 1].file, row.file) != 0;
        ret->mapped[ret->count++] = row;
    }
    if (ret->count > 0) qsort(ret->mapped, ret->count, sizeof *ret->mapped, by_function);
    return true;
}

void pt_gprof_table_file_done(pt_gprof_table_file *file)
{
    PT_FREE_ALL(file->text, file->external, file->mapped);
    *file = (pt_gprof_table_file){0};
}

/* ---- Source ---- */

/* Reads a regular file only: the name comes from the program and may lead anywhere. */
static bool read_source(const char *path, pt_blob *ret)
{
    return pt_file_read(path, PT_FILE_REGULAR, TEXT_MAX, ret, NULL) == PT_OK;
}

/* Finds the source file by its name, then by its name in each folder of -I, then by its base name
 * in each of these folders. */
static bool find_source(const pt_gprof_settings *s, const char *name, pt_blob *ret)
{
    const char *const slash = strrchr(name, '/');
    if (read_source(name, ret)) return true;
    for (unsigned pass = name[0] == '/' ? 1 : 0; pass < (slash != NULL ? 2 : 1); pass++) {
        for (size_t i = 0; i < s->folder.count; i++) {
            PT_FREE char *path = pt_strf("%s/%s", s->folder.items[i], pass == 1 ? slash + 1 : name);
            if (read_source(path, ret)) return true;
        }
    }
    pt_gprof_say(s, "could not locate `%s'", name);
    return false;
}

/* Writes NAME-ann in the current folder. */
static void annotate_apart(const pt_gprof *g, const pt_gprof_source *source,
                           pt_gprof_annotation *how, const pt_blob *text)
{
    PT_FREE char *path = pt_strf("%s-ann", pt_base_name(g->file.items[source->file]));
    pt_file_writer writer;
    pt_error error = PT_ERROR_INIT;
    pt_status status = pt_file_create(path, PT_MODE_USUAL, &writer, &error);
    if (status == PT_OK) {
        pt_gprof_source_text(&writer.out, g, source, how, (const char *)text->data, text->size);
        status = pt_file_commit(&writer, true, &error);
    }
    if (status != PT_OK) pt_print_error("%s: %s\n", path, error.message);
}

void pt_gprof_annotate(pt_gprof_settings *s, const pt_gprof *g, pt_out *out)
{
    pt_gprof_annotation how = {.all_lines = s->all_lines,
                               .min_count = s->min_count,
                               .table_length = (uint64_t)s->table_length};
    size_t count = 0;
    bool is_first = true;
    pt_gprof_source *const sources = pt_gprof_sources(g, &count);
    for (size_t i = 0; i < count; i++) {
        const char *const name = g->file.items[sources[i].file];
        PT_AUTO(pt_blob) text = PT_BLOB_INIT;
        if (!s->look.all && sources[i].calls == 0) continue;
        if (!find_source(s, name, &text)) continue;
        if (s->separate_files) {
            annotate_apart(g, &sources[i], &how, &text);
        } else {
            if (!is_first) pt_out_char(out, '\n');
            is_first = false;
            pt_gprof_begin_output(out, &s->look);
            pt_outf(out, "*** File %s:\n", name);
            pt_gprof_source_text(out, g, &sources[i], &how, (const char *)text.data, text.size);
        }
        if (!pt_blob_intact(&text)) pt_gprof_say(s, "%s: " PT_FILE_SHRANK, name);
    }
    pt_gprof_sources_free(sources);
}

/* ---- gmon.sum ---- */

bool pt_gprof_write_sum(const pt_gprof_settings *s, const pt_profile *const *profiles)
{
    static const char path[] = "gmon.sum";
    const bool bsd = s->from != NULL && strcmp(s->from->name, "gmon-bsd") == 0;
    PT_AUTO(pt_buf) sum = PT_BUF_INIT;
    PT_AUTO(pt_diag) diag;
    pt_error error = PT_ERROR_INIT;
    pt_diag_init(&diag);
    bool ok = pt_gmon_sum(profiles, s->profile_count, bsd, &sum, &diag, &error) == PT_OK;
    for (size_t i = 0; i < diag.count; i++)
        pt_gprof_say(s, "%llu %s", (unsigned long long)diag.facts[i].count, diag.facts[i].text);
    if (ok) ok = pt_file_replace(path, sum.data, sum.size, &error) == PT_OK;
    if (!ok) pt_gprof_say(s, "%s: %s", path, error.message);
    return ok;
}
