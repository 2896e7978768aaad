/* info.c: pitot info: the contents of a profile, and what it lacks. */
#include "render/info.h"

#include <stddef.h>

#include "cmd/cmd.h"
#include "cmd/shape.h"

typedef struct {
    pt_shape shape;
} info_settings;

static const pt_option info_rows[] = {
    PT_SHAPE_JSON_ROW(info_settings),
};
static const pt_option_table info_options = PT_OPTION_TABLE(info_rows);

static size_t list_files(const pt_loaded *loaded, pt_info_file *files)
{
    size_t count = 0;
    for (size_t i = 0; i < loaded->input_count; i++) {
        const pt_load_input *input = &loaded->inputs[i];
        if (input->is_program || input->failed) continue;
        files[count++] = (pt_info_file){
            .name = input->name,
            .format = input->format->name,
            .compression = input->compression,
            .bytes = input->file_bytes,
            .peeled_bytes = input->peeled_bytes,
            .damage = input->error == NULL ? NULL : input->error->message,
        };
    }
    return count;
}

static int info_run(pt_cmd_context *context, void *own)
{
    const info_settings *settings = own;
    PT_FREE pt_info_file *files = pt_alloc(context->loaded.input_count + 1, sizeof *files);
    const size_t count = list_files(&context->loaded, files);
    PT_AUTO(pt_info) info = pt_info_of(context->profile);
    if (settings->shape == PT_SHAPE_JSON)
        pt_info_json(context->out, context->profile, &info, files, count);
    else
        pt_info_text(context->out, &context->look, context->profile, &info, files, count);
    return PT_EXIT_OK;
}

const pt_command pt_command_info = {
    PT_COMMAND(info),
    .group = PT_GROUP_FILES,
    .summary = "the contents of a profile, and its missing data",
    .arguments = "[PROFILE...]",
    .description =
        "Shows the format, events with their totals, date and command of the recording, number of "
        "samples, depth of stacks, ends of stacks, mapped images with build ids, labels, and a "
        "list of missing data. info shows the file as it is, and looks up no names (top does).",
    .examples = (const char *const[]){"pitot info cpu.pb.gz", "the contents of the file",
                                      "pitot info --json cpu.pb.gz | jq '.mappings[].build_id'",
                                      "the build ids", NULL},
    .needs = PT_NEEDS_PROFILE,
    .max_args = SIZE_MAX,
};
