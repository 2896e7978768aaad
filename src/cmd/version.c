/* version.c: pitot version: prints the version, and the libraries that pitot was built with. */
#include <libdeflate.h>
#include <zlib.h>
#include <zstd.h>

#define PCRE2_CODE_UNIT_WIDTH 8
#include <pcre2.h>

#include "cmd/cmd.h"
#include "formats/format.h"
#include "load/fetch.h"
#include "object/disasm.h"
#include "object/object.h"

typedef struct {
    bool features;
} version_settings;

static const pt_option version_rows[] = {
    PT_ROW(
        "features", FLAG, version_settings, features, .help = "also list formats and libraries",
        .details =
            "Formats that can be read and written, and the libraries this program was built with."),
};
static const pt_option_table version_options = PT_OPTION_TABLE(version_rows);

static int version_run(pt_cmd_context *context, void *own)
{
    const version_settings *settings = own;
    pt_outf(context->out, "pitot %s\n", PT_VERSION);
    if (!settings->features) return PT_EXIT_OK;
    for (size_t i = 0; i < pt_format_count; i++) {
        const pt_format *f = pt_formats[i];
        pt_outf(context->out, "format  %-12s %s\n", f->name,
                f->read != NULL && f->write != NULL ? "read, write"
                : f->read != NULL                   ? "read"
                                                    : "write");
    }
    pt_outf(context->out, "gzip    libdeflate %s, zlib %s\n", LIBDEFLATE_VERSION_STRING,
            zlibVersion());
    pt_outf(context->out, "zstd    libzstd %s\n", ZSTD_versionString());
    const char *xz = pt_object_xz_version();
    pt_outf(context->out, "xz      %s%s\n", xz != NULL ? "liblzma " : "",
            xz != NULL ? xz : "not built in: no names from .gnu_debugdata");
    pt_outf(context->out, "servers libcurl %s\n",
            pt_fetch_version() != NULL ? pt_fetch_version() : "not built in");
#ifdef PT_WITH_MICROHTTPD
    pt_out_text(context->out, "pages   libmicrohttpd\n");
#else
    pt_out_text(context->out, "pages   without libmicrohttpd: no pitot serve\n");
#endif
#ifdef PT_WITH_LIBEDIT
    pt_out_text(context->out, "shell   libedit\n");
#else
    pt_out_text(context->out, "shell   without libedit: no editing, history, completion\n");
#endif
    pt_outf(context->out, "regular expressions  pcre2 %d.%d\n", PCRE2_MAJOR, PCRE2_MINOR);
    const char *disasm = pt_disasm_version();
    pt_outf(context->out, "disassembly  %s\n", disasm != NULL ? disasm : "by objdump");
    return PT_EXIT_OK;
}

const pt_command pt_command_version = {
    PT_COMMAND(version),
    .group = PT_GROUP_HELP,
    .summary = "which pitot this is, and what it was built with",
    .arguments = "",
    .description = "`pitot --version` is the same.",
    .max_args = 0,
};
