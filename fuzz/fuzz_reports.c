/* fuzz_reports.c: a profile of any format, and a report on it: whatever its texts are, the report
 * keeps its form (reports_check.h).
 *
 *   profile | report u8 | query u8
 */
#include "reports_check.h"
#include "resident.h"

extern const pt_command pt_command_top, pt_command_tree, pt_command_peek, pt_command_traces,
    pt_command_tags, pt_command_info, pt_command_dump, pt_command_flame, pt_command_graph,
    pt_command_why, pt_command_dcpiprof, pt_command_dcpitopcounts, pt_command_dcpiwhatcg,
    pt_command_dcpitopstalls;

typedef enum { TEXT, JSON, CSV, SVG, DOT, OTHER } form;

static const struct {
    const pt_command *command;
    form form;
    const char *words[4];
} reports[] = {
    {&pt_command_top, TEXT, {"--rows=0"}},
    {&pt_command_top, CSV, {"--csv", "--by=line"}},
    {&pt_command_top, JSON, {"--json", "--by=function-and-file"}},
    {&pt_command_top, TEXT, {"--by=address", "--unnamed=object"}},
    {&pt_command_tree, TEXT, {"--min=0"}},
    {&pt_command_tree, JSON, {"--json", "--by=file"}},
    {&pt_command_peek, TEXT, {"."}},
    {&pt_command_peek, JSON, {"--json", "."}},
    {&pt_command_traces, TEXT, {"--labels", "--lines"}},
    {&pt_command_traces, JSON, {"--json"}},
    {&pt_command_tags, TEXT, {0}},
    {&pt_command_tags, JSON, {"--json"}},
    {&pt_command_info, TEXT, {0}},
    {&pt_command_info, JSON, {"--json"}},
    {&pt_command_dump, TEXT, {0}},
    {&pt_command_dump, JSON, {"--json"}},
    {&pt_command_flame, OTHER, {"--format=html", "--output=-"}},
    {&pt_command_flame, SVG, {"--format=svg", "--output=-"}},
    {&pt_command_graph, DOT, {"--format=dot", "--output=-", "--labels"}},
    {&pt_command_graph, DOT, {"--format=dot", "--output=-", "--by=function-and-file"}},
    {&pt_command_graph, SVG, {"--format=svg", "--output=-", "--engine=own", "--labels"}},
    {&pt_command_graph, OTHER, {"--format=ps", "--output=-", "--engine=own"}},
    {&pt_command_graph, OTHER, {"--format=pdf", "--output=-", "--engine=own"}},
    {&pt_command_dcpiprof, TEXT, {"-p"}},
    {&pt_command_dcpiprof, CSV, {"-csv", "-no_header"}},
    {&pt_command_dcpitopcounts, TEXT, {0}},
    {&pt_command_dcpiwhatcg, TEXT, {0}},
    {&pt_command_dcpitopstalls, TEXT, {0}},
    {&pt_command_why, TEXT, {0}},
    {&pt_command_why, JSON, {"--json", "."}},
};

static const char *const queries[] = {
    NULL,         "--focus=main",   "--ignore=a",     "--hide=b",       "--show-from=main",
    "--relative", "--no-inlines",   "--prune-from=f", "--tag-root=pid", "--tag-leaf=thread,bytes",
    "--event=0",  "--tag-focus=1:", "--all-frames",   "--show=.",       "--time=10%-90%",
};

enum { CHOICES = 2 };

static void check_form(form wanted, const pt_buf *report)
{
    switch (wanted) {
    case TEXT: check_text(report); break;
    case JSON: check_json(report); break;
    case CSV: check_csv(report); break;
    case SVG: check_xml(report, 1); break;
    case DOT: check_dot(report); break;
    case OTHER: break;
    }
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    if (size < CHOICES) return 0;
    const size_t which = data[size - 2] % (sizeof reports / sizeof reports[0]);
    const pt_command *const command = reports[which].command;
    const pt_profile *profile = fuzz_read_any(data, size - CHOICES);
    if (profile == NULL) return 0;
    const char *words[6];
    size_t count = 0;
    const char *query = queries[data[size - 1] % (sizeof queries / sizeof queries[0])];
    if (query != NULL && command->needs & PT_NEEDS_QUERY) words[count++] = query;
    for (size_t i = 0; i < 4 && reports[which].words[i] != NULL; i++)
        words[count++] = reports[which].words[i];
    pt_buf report = PT_BUF_INIT, said = PT_BUF_INIT;
    const int status = fuzz_run(profile, command, words, count, &report, &said);
    if (status == PT_EXIT_USAGE && query == NULL) fuzz_fail(command->name, pt_buf_text(&said));
    if (status == PT_EXIT_OK) check_form(reports[which].form, &report);
    pt_buf_done(&report);
    pt_buf_done(&said);
    pt_profile_unref(profile);
    return 0;
}
