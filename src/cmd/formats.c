/* formats.c: pitot formats: the formats that pitot reads and writes, and their capabilities. */
#include <stddef.h>

#include "base/json.h"
#include "base/text.h"
#include "cmd/cmd.h"
#include "cmd/shape.h"
#include "render/text.h"

typedef struct {
    pt_shape shape;
} formats_settings;

static const pt_option formats_rows[] = {
    PT_SHAPE_JSON_ROW(formats_settings),
};
static const pt_option_table formats_options = PT_OPTION_TABLE(formats_rows);

static void put_words(pt_out *out, const char *heading, const char *words)
{
    if (words != NULL) pt_outf(out, "    %s %s\n", heading, words);
}

/* Puts the table: a row for each format, a column for each capability, which has a letter. */
static void put_table(pt_out *out)
{
    pt_outf(out, "\n%-14s", "");
    for (size_t i = 0; i < pt_capability_count; i++)
        pt_outf(out, " %c", (char)('a' + i));
    for (size_t f = 0; f < pt_format_count; f++) {
        pt_outf(out, "\n%-14s", pt_formats[f]->name);
        for (size_t i = 0; i < pt_capability_count; i++)
            pt_outf(out, " %c", pt_formats[f]->capabilities & pt_capabilities[i].bit ? 'x' : '.');
    }
    pt_out_text(out, "\n\n");
    for (size_t i = 0; i < pt_capability_count; i++)
        pt_outf(out, "    %c  %-10s %s\n", (char)('a' + i), pt_capabilities[i].name,
                pt_capabilities[i].help);
}

static void put_format(pt_cmd_context *context, const pt_format *format)
{
    pt_out *out = context->out;
    const char *can = format->read == NULL    ? "write only"
                      : format->write == NULL ? "read only"
                                              : "read, write";
    pt_text_colour(out, &context->look, PT_COLOUR_STRONG);
    pt_out_text(out, format->name);
    pt_text_colour_end(out, &context->look, PT_COLOUR_STRONG);
    pt_outf(out, " (%s): %s\n", can, format->summary);
    put_words(out, "other names", format->aliases);
    put_words(out, "file names", format->extensions);
}

static void put_text(pt_cmd_context *context)
{
    for (size_t i = 0; i < pt_format_count; i++)
        put_format(context, pt_formats[i]);
    put_table(context->out);
}

static void put_list(pt_json_w *w, const char *key, const char *words)
{
    const char *word;
    pt_json_key_array(w, key);
    for (size_t n; (n = pt_next_word(&words, &word)) > 0;)
        pt_json_text_n(w, word, n);
    pt_json_array_end(w);
}

static void put_format_json(pt_json_w *w, const pt_format *format)
{
    pt_json_object(w);
    pt_json_key_text(w, "name", format->name);
    pt_json_key_text(w, "summary", format->summary);
    pt_json_key_bool(w, "reads", format->read != NULL);
    pt_json_key_bool(w, "writes", format->write != NULL);
    put_list(w, "aliases", format->aliases);
    put_list(w, "extensions", format->extensions);
    PT_JSON_EACH (w, "holds", i, pt_capability_count)
        if (format->capabilities & pt_capabilities[i].bit) pt_json_text(w, pt_capabilities[i].name);
    pt_json_object_end(w);
}

static void put_json(pt_out *out)
{
    PT_AUTO(pt_json_w) w;
    pt_report_json_begin(&w, out, "formats");
    PT_JSON_EACH (&w, "formats", i, pt_format_count)
        put_format_json(&w, pt_formats[i]);
    pt_json_object_end(&w);
}

static int formats_run(pt_cmd_context *context, void *own)
{
    const formats_settings *settings = own;
    if (settings->shape == PT_SHAPE_JSON)
        put_json(context->out);
    else
        put_text(context);
    return PT_EXIT_OK;
}

const pt_command pt_command_formats = {
    PT_COMMAND(formats),
    .group = PT_GROUP_FILES,
    .summary = "the formats that pitot reads and writes",
    .arguments = "",
    .description = "A table shows the data that each format can hold. Other data of a profile is "
                   "lost when it is written, and convert prints the losses.\n\npitot recognises "
                   "formats by content; --from=FORMAT overrides this. The end of a file's name, or "
                   "--to=FORMAT, chooses the format to write.",
};
