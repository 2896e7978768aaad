/* serve.c: pitot serve: one profile in a browser. */
#include <stddef.h>

#include "cmd/cmd.h"
#include "cmd/web.h"

typedef struct {
    const char *http;
    bool no_browser, intel;
    const char *source_path, *trim_path;
} serve_settings;

static const pt_option serve_options[] = {
    {.name = "http",
     .type = PT_OPT_STRING,
     .offset = offsetof(serve_settings, http),
     .metavar = "HOST:PORT",
     .help = "serve there (default: a free port of localhost)",
     .details = "HOST: or :PORT is enough. Whoever has the address that is printed is answered; it "
                "holds a token, without which no other user of the machine is."},
    {.name = "no-browser",
     .type = PT_OPT_FLAG,
     .offset = offsetof(serve_settings, no_browser),
     .help = "only say the address",
     .details =
         "Without it the program in BROWSER is started, or the usual one if there is a display."},
    {.name = "source-path",
     .type = PT_OPT_STRING,
     .offset = offsetof(serve_settings, source_path),
     .metavar = "DIR[:DIR...]",
     .help = "where source files are (default: the current folder)",
     .details =
         "The views of source show files below these folders and the current one, and those whose "
         "names come from the debug information of a file, but none that the profile alone names.",
     .group = "Sources and instructions"},
    {.name = "trim-path",
     .type = PT_OPT_STRING,
     .offset = offsetof(serve_settings, trim_path),
     .metavar = "PREFIX[:PREFIX...]",
     .help = "take these off the names of source files",
     .details = "The first that a name begins with goes, before files are looked for."},
    {.name = "intel",
     .type = PT_OPT_FLAG,
     .offset = offsetof(serve_settings, intel),
     .help = "instructions of x86 in Intel's syntax",
     .details = "The target comes first. Without it AT&T's syntax, in which it comes last."},
};
static const pt_option_table serve_table = PT_OPTION_TABLE(serve_options);

static void say_url(const char *url)
{
    pt_cmd_say("%s shows it; Ctrl-C ends", url);
}

static int serve_run(pt_cmd_context *context, void *settings_)
{
    const serve_settings *settings = settings_;
    const pt_web_default defaults[] = {
        {"source-path", settings->source_path != NULL ? settings->source_path : ""},
        {"trim-path", settings->trim_path != NULL ? settings->trim_path : ""},
        {"intel", settings->intel ? "t" : "f"},
    };
    const pt_web_options options = {
        .address = settings->http,
        .no_browser = settings->no_browser,
        .query = context->query,
        .defaults = defaults,
        .default_count = sizeof defaults / sizeof *defaults,
    };
    return pt_web_serve(context, &options, say_url);
}

const pt_command pt_command_serve = {
    .name = "serve",
    .group = PT_GROUP_ANSWER,
    .summary = "all reports on one profile, in a browser",
    .arguments = "[PROGRAM] [PROFILE...]",
    .description =
        "Reads and names the profile once, and serves a page on this machine until Ctrl-C: flame "
        "graph, table, call graph, tree, callers and callees, source, instructions, stacks, "
        "labels. What is asked for stands in the address, which can be kept and sent.\n\n"
        "The reports themselves are at /api/VIEW, with the options of the commands as parameters: "
        "/api/top?focus=parse&json=1. /download is the profile.",
    .examples =
        (const char *const[]){"pitot serve app.pb.gz", "opens a browser",
                              "pitot serve --http=:8080 --no-browser --base=old.pb.gz new.pb.gz",
                              "a difference, at a port of your choice", NULL},
    .needs = PT_NEEDS_PROFILE | PT_NEEDS_SYMBOLS | PT_NEEDS_QUERY | PT_KEEPS_READ,
    .max_args = SIZE_MAX,
    .options = &serve_table,
    .settings_bytes = sizeof(serve_settings),
    .run = serve_run,
};
