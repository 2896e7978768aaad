/* config.c: the tables of pprof's options (its "configuration") and of its commands. */
#include "personality/pprof/pprof.h"

#define ROW(field_, type_, initial_, help_)                                                        \
    PT_ROW(#field_, type_, pt_pprof_config, field_, .initial = initial_, .help = help_)

static const pt_option rows[] = {
    ROW(call_tree, FLAG, NULL, "create a context-sensitive call tree"),
    ROW(compact_labels, FLAG, NULL, "show minimal headers"),
    ROW(divide_by, DOUBLE, "1", "divide all samples by this before they are shown"),
    ROW(drop_negative, FLAG, NULL, "leave out what is below 0"),
    ROW(edgefraction, DOUBLE, "0.001", "hide edges below this share of the total"),
    ROW(focus, STRING, NULL, "keep samples with a frame that matches"),
    ROW(hide, STRING, NULL, "take out frames that match"),
    ROW(ignore, STRING, NULL, "drop samples with a frame that matches"),
    ROW(intel_syntax, FLAG, NULL, "disassemble in Intel syntax"),
    ROW(mean, FLAG, NULL, "divide by the first event: the average"),
    ROW(nodecount, INT, "-1", "show at most this many nodes"),
    ROW(nodefraction, DOUBLE, "0.005", "hide nodes below this share of the total"),
    ROW(noinlines, FLAG, NULL, "count inlined functions for the function that they are in"),
    ROW(normalize, FLAG, NULL, "scale the profile to the total of the base"),
    ROW(output, STRING, NULL, "write the report to this file"),
    ROW(prune_from, STRING, NULL, "cut stacks below the frame that matches"),
    ROW(relative_percentages, FLAG, NULL, "percentages of what the filters leave"),
    ROW(sample_index, STRING, NULL, "event to show, by number or name"),
    ROW(show, STRING, NULL, "keep only frames that match"),
    ROW(show_from, STRING, NULL, "cut stacks above the outermost frame that matches"),
    ROW(showcolumns, FLAG, NULL, "show columns with lines"),
    ROW(source_path, STRING, NULL, "where source files are looked for"),
    ROW(tagfocus, STRING, NULL, "keep samples with a label in a range or that matches"),
    ROW(taghide, STRING, NULL, "leave out labels whose key matches"),
    ROW(tagignore, STRING, NULL, "drop samples with a label in a range or that matches"),
    ROW(tagleaf, STRING, NULL, "make frames of these labels, at the leaf"),
    ROW(tagroot, STRING, NULL, "make frames of these labels, at the root"),
    ROW(tagshow, STRING, NULL, "keep only labels whose key matches"),
    ROW(trim, FLAG, "true", "honour nodecount, nodefraction and edgefraction"),
    ROW(trim_path, STRING, NULL, "what to take off paths of source files"),
    ROW(unit, STRING, "minimum", "show figures in this unit"),
    ROW(functions, FLAG, NULL, "a row a function"),
    ROW(filefunctions, FLAG, NULL, "a row a function of a file"),
    ROW(files, FLAG, NULL, "a row a file"),
    ROW(lines, FLAG, NULL, "a row a line of code"),
    ROW(addresses, FLAG, NULL, "a row an address"),
    ROW(cum, FLAG, NULL, "by cumulative value"),
    ROW(flat, FLAG, NULL, "by own value"),
};
const pt_option_table pt_pprof_config_options = PT_OPTION_TABLE(rows);

typedef struct {
    const char *name;
    bool set;
} choice;

static pt_status check_group(const choice *choices, size_t count, pt_error *reterr)
{
    PT_AUTO(pt_buf) set = PT_BUF_INIT;
    size_t chosen = 0;
    for (size_t i = 0; i < count; i++)
        if (choices[i].set) pt_putf(&set, "%s%s", chosen++ > 0 ? " " : "", choices[i].name);
    if (chosen > 1)
        pt_error_set(reterr, PT_ERR_USAGE, "conflicting options set: [%s]", pt_buf_text(&set));
    return chosen > 1 ? PT_ERR_USAGE : PT_OK;
}

pt_status pt_pprof_config_check(const pt_pprof_config *config, pt_error *reterr)
{
    const choice sort[] = {{"cum", config->cum}, {"flat", config->flat}};
    const choice granularity[] = {{"functions", config->functions},
                                  {"filefunctions", config->filefunctions},
                                  {"files", config->files},
                                  {"lines", config->lines},
                                  {"addresses", config->addresses}};
    const pt_status status = check_group(sort, 2, reterr);
    return status != PT_OK ? status : check_group(granularity, 5, reterr);
}

/* ---- Commands ---- */

const pt_pprof_command pt_pprof_commands[] = {
    {"callgrind", PT_PPROF_CALLGRIND, .file_suffix = "callgraph.out",
     .help = "a graph for KCachegrind"},
    {"collapsed", PT_PPROF_COLLAPSED, .help = "folded stacks, for flame graphs"},
    {"comments", PT_PPROF_COMMENTS, .help = "the comments in the profile"},
    {"disasm", PT_PPROF_DISASM, .takes_pattern = true, .help = "instructions with samples"},
    {"dot", PT_PPROF_DOT, .help = "a graph in the language of Graphviz"},
    {"eog", PT_PPROF_DOT, .graphviz = "svg", .viewer = "eog", .help = "a graph, shown by eog"},
    {"evince", PT_PPROF_DOT, .graphviz = "pdf", .viewer = "evince",
     .help = "a graph, shown by evince"},
    {"gif", PT_PPROF_DOT, .graphviz = "gif", .file_suffix = "gif", .help = "a graph as GIF"},
    {"gv", PT_PPROF_DOT, .graphviz = "ps", .viewer = "gv --noantialias",
     .help = "a graph, shown by gv"},
    {"kcachegrind", PT_PPROF_CALLGRIND, .viewer = "kcachegrind",
     .help = "a graph, shown by KCachegrind"},
    {"list", PT_PPROF_LIST, .takes_pattern = true, .help = "source lines with samples"},
    {"pdf", PT_PPROF_DOT, .graphviz = "pdf", .file_suffix = "pdf", .help = "a graph as PDF"},
    {"peek", PT_PPROF_TREE, .takes_pattern = true,
     .help = "callers and callees of functions that match"},
    {"png", PT_PPROF_DOT, .graphviz = "png", .file_suffix = "png", .help = "a graph as PNG"},
    {"proto", PT_PPROF_PROTO, .file_suffix = "pb.gz", .help = "the profile, as profile.proto"},
    {"ps", PT_PPROF_DOT, .graphviz = "ps", .file_suffix = "ps", .help = "a graph as PostScript"},
    {"raw", PT_PPROF_RAW, .help = "all there is in the profile, as text"},
    {"svg", PT_PPROF_DOT, .graphviz = "svg", .file_suffix = "svg", .help = "a graph as SVG"},
    {"tags", PT_PPROF_TAGS, .help = "all labels"},
    {"text", PT_PPROF_TEXT, .help = "the flat table"},
    {"top", PT_PPROF_TEXT, .help = "the flat table"},
    {"topproto", PT_PPROF_TOPPROTO, .file_suffix = "pb.gz",
     .help = "the flat table, as profile.proto"},
    {"traces", PT_PPROF_TRACES, .help = "every sample with its stack"},
    {"tree", PT_PPROF_TREE, .help = "each function between its callers and callees"},
    {"web", PT_PPROF_DOT, .graphviz = "svg", .viewer = "browser",
     .help = "a graph, shown by a browser"},
    {"weblist", PT_PPROF_WEBLIST, .takes_pattern = true, .viewer = "browser",
     .help = "source lines and instructions, shown by a browser"},
};
const size_t pt_pprof_command_count = PT_COUNT(pt_pprof_commands);

const pt_pprof_command *pt_pprof_command_find(const char *name)
{
    for (size_t i = 0; i < pt_pprof_command_count; i++)
        if (strcmp(pt_pprof_commands[i].name, name) == 0) return &pt_pprof_commands[i];
    return NULL;
}
