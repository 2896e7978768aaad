/* serve.c: pitot serve: one profile in a browser. */
#include <stddef.h>

#include "cmd/cmd.h"
#include "cmd/input.h"
#include "cmd/query.h"
#include "cmd/web.h"

typedef struct {
    const char *http;
    bool no_browser, live, intel;
    const char *source_path, *trim_path;
} serve_settings;

static const pt_option serve_options[] = {
    PT_ROW("http", STRING, serve_settings, http, .metavar = "HOST:PORT",
           .help = "serve at this address (default: a free port of localhost)",
           .details = "HOST: or :PORT is enough. The printed address holds a token. Only browsers "
                      "with the token may read the profile."),
    PT_ROW("no-browser", FLAG, serve_settings, no_browser, .help = "only print the address",
           .details = "Without it pitot opens the page in the program that the variable BROWSER "
                      "names, or in the usual browser if there is a display."),
    PT_ROW("live", FLAG, serve_settings, live,
           .help = "read the profiles again each second when they have changed",
           .details = "The page keeps zoom, chosen function and scrolling. @recording is your "
                      "recording that goes on."),
    PT_ROW("source-path", STRING, serve_settings, source_path, .metavar = "DIR[:DIR...]",
           .help = "where source files are (default: the current folder)",
           .details = "The source views show files below these folders and the current folder, and "
                      "files that the debug information of a program names. They show no file that "
                      "only the profile names.",
           .group = "Sources and instructions"),
    PT_ROW("trim-path", STRING, serve_settings, trim_path, .metavar = "PREFIX[:PREFIX...]",
           .help = "remove these prefixes from the names of source files",
           .details = "pitot removes the first prefix that matches, then searches for the file."),
    PT_ROW("intel", FLAG, serve_settings, intel, .help = "x86 instructions in Intel's syntax",
           .details =
               "The target comes first. The default is AT&T's syntax: the target comes last."),
};
static const pt_option_table serve_table = PT_OPTION_TABLE(serve_options);

static void say_url(const char *url)
{
    pt_say("serving at %s (Ctrl-C to stop)", url);
}

static int serve_run(pt_cmd_context *context, void *settings_)
{
    const serve_settings *settings = settings_;
    pt_web_live live = {.state = PT_LIVE_NOT};
    int status = settings->live ? pt_web_live_load(context, &live) : pt_cmd_load(context);
    /* With --live the query is not checked, since it may match samples that come later. */
    if (status == PT_EXIT_OK && !settings->live) status = pt_cmd_ask(context);
    if (status != PT_EXIT_OK) return status;
    const pt_web_default defaults[] = {
        {"source-path", settings->source_path != NULL ? settings->source_path : ""},
        {"trim-path", settings->trim_path != NULL ? settings->trim_path : ""},
        {"intel", settings->intel ? "t" : "f"},
    };
    const pt_web_options options = {
        .address = settings->http,
        .no_browser = settings->no_browser,
        .takes_files = true,
        .live = settings->live ? &live : NULL,
        .query = context->query,
        .defaults = defaults,
        .default_count = PT_COUNT(defaults),
    };
    return pt_web_serve(context, &options, say_url);
}

const pt_command pt_command_serve = {
    .name = "serve",
    .group = PT_GROUP_ANSWER,
    .summary = "all reports on one profile, in a browser",
    .arguments = "[PROGRAM] [PROFILE...]",
    .description =
        "Reads the profile once and serves a page on this machine until Ctrl-C: flame graph, "
        "table, call graph, tree, callers and callees, source, instructions, stacks, labels. The "
        "address in the browser holds the whole query: keep it or send it.\n\n"
        "/api/VIEW returns a report. Its parameters are options of the command: "
        "/api/top?focus=parse&json=1. /download returns the profile.",
    .examples =
        (const char *const[]){"pitot serve app.pb.gz", "opens a browser",
                              "pitot serve --http=:8080 --no-browser --base=old.pb.gz new.pb.gz",
                              "a difference, at port 8080", "pitot serve --live @recording",
                              "a program while `pitot record` records it", NULL},
    .needs = PT_NEEDS_PROFILE | PT_NEEDS_SYMBOLS | PT_NEEDS_QUERY | PT_KEEPS_READ | PT_MARKS_BASE |
             PT_KEEPS_SIDES | PT_ANSWERS_LINES | PT_LOADS_ITSELF,
    .max_args = SIZE_MAX,
    .options = &serve_table,
    .settings_bytes = sizeof(serve_settings),
    .run = serve_run,
};
