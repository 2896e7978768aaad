/* symbolize.c: pitot symbolize: addresses in, names and lines out. */
#include <errno.h>
#include <inttypes.h>
#include <poll.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/grow.h"
#include "base/units.h"
#include "cmd/input.h"
#include "cmd/symbolize_int.h"

#define READ_BYTES      65536
#define BATCH_BYTES_MAX (64u << 20) /* the most bytes of input that are answered together */
#define BULK_BYTES      16384       /* if this much input comes at once, more is expected soon */
#define BULK_PAUSE_MS   10

static const pt_option symbolize_rows[] = {
    PT_ROW("exe", STRING, symbolize_settings, file, .letter = 'e', .aliases = "obj",
           .metavar = "FILE", .help = "the program or library of the addresses",
           .details = "Without it each line of input names the file: FILE ADDRESS.",
           .group = "Addresses"),
    PT_ROW("pid", INT, symbolize_settings, pid, .letter = 'P', .min = 0, .max = INT32_MAX,
           .metavar = "PID", .help = "addresses belong to this running process",
           .details = "pitot reads the process's mappings from /proc, and opens files in the "
                      "process's file system, also in a container."),
    PT_ROW("section", STRING, symbolize_settings, section, .letter = 'j', .metavar = "NAME",
           .help = "addresses are offsets in this section",
           .details = "Such as .text, as in objdump and linker maps of object files."),
    PT_ROW("adjust-vma", STRING, symbolize_settings, adjust, .metavar = "OFFSET",
           .help = "subtract this from each address",
           .details = "For a program that was loaded elsewhere: its address in memory minus its "
                      "linked address. 0x... is hexadecimal."),
    PT_ROW("relative-address", FLAG, symbolize_settings, relative, .flags = PT_OPT_NEGATABLE,
           .help = "addresses count from the program's first segment",
           .details = "Matters for programs that are linked to a fixed address."),
    PT_ROW("output-style", CHOICE, symbolize_settings, style, .initial = "LLVM",
           .choices = "LLVM GNU JSON addr2line", .metavar = "STYLE",
           .help = "the tool whose output to print",
           .details =
               "LLVM, GNU and JSON are the styles of llvm-symbolizer. addr2line has the output and "
               "the defaults of addr2line: no functions without -f, no inlined calls without -i, "
               "no readable names without -C, hexadecimal addresses, and a.out without -e.",
           .group = "Output"),
    PT_ROW("functions", CHOICE, symbolize_settings, names, .letter = 'f', .flags = PT_OPT_NEGATABLE,
           .initial = "auto", .bare = "linkage", .choices = "none short linkage auto",
           .metavar = "HOW", .help = "print names of functions",
           .details = "linkage: the linker's name, made readable by --demangle. short: the name in "
                      "the source without its scopes. auto: linkage, or none for addr2line."),
    PT_ROW("inlines", CHOICE, symbolize_settings, inlines, .letter = 'i', .flags = PT_OPT_NEGATABLE,
           .initial = "auto", .bare = "yes", .choices = "no yes auto", .aliases = "inlining",
           .metavar = "WHETHER", .help = "print inlined calls, too",
           .details = "The innermost function first. auto: yes, or no for addr2line."),
    PT_ROW("demangle", CHOICE, symbolize_settings, demangle, .letter = 'C',
           .flags = PT_OPT_NEGATABLE, .initial = "auto", .bare = "full",
           .choices = "none full templates simple auto", .metavar = "HOW",
           .help = "print readable names",
           .details = "full: with parameters. templates: no parameters. simple: neither parameters "
                      "nor template arguments. auto: full, or none for addr2line."),
    PT_ROW("addresses", FLAG, symbolize_settings, addresses, .letter = 'a',
           .flags = PT_OPT_NEGATABLE, .aliases = "print-address",
           .help = "print each address before its result",
           .details = "As in the input; addr2line prints all digits."),
    PT_ROW("basenames", FLAG, symbolize_settings, basenames, .letter = 's',
           .flags = PT_OPT_NEGATABLE, .help = "print source files without their folders",
           .details = "Only the part after the last slash."),
    PT_ROW("pretty-print", FLAG, symbolize_settings, pretty, .letter = 'p',
           .flags = PT_OPT_NEGATABLE, .help = "print one line for each function",
           .details = "FUNCTION at FILE:LINE, and (inlined by) before callers."),
    PT_ROW("threads", INT, symbolize_settings, threads, .min = 0, .max = 1024, .aliases = "jobs",
           .help = "work with this many threads",
           .details = "0, the default, means one thread for each processor. The number does not "
                      "change the output.",
           .group = "Other"),
    PT_ROW("cache-info", FLAG, symbolize_settings, cache_info,
           .help = "show the folder and the size of the cache",
           .details = "No address is looked up."),
    PT_ROW("cache-clear", FLAG, symbolize_settings, cache_clear, .help = "remove the cache",
           .details = "pitot fills it again when needed. No address is looked up."),
};
static const pt_option_table symbolize_options = PT_OPTION_TABLE(symbolize_rows);

/* ---- answering ---- */

/* Resolves the batch's addresses in one image. */
static void resolve_image(symbolize_job *j, image_entry *image)
{
    size_t count = 0;
    PT_FREE size_t *asking = pt_alloc(j->requests.count + 1, sizeof *asking);
    PT_FREE uint64_t *addrs = pt_alloc(j->requests.count + 1, sizeof *addrs);
    for (size_t i = 0; i < j->requests.count; i++) {
        const request *r = &j->requests.items[i];
        if (r->image != image || r->kind != REQUEST_CODE) continue;
        asking[count] = i;
        addrs[count++] = r->linked;
    }
    PT_FREE uint32_t *rows = pt_alloc(count + 1, sizeof *rows);
    pt_chains_resolve_all(image->chains, addrs, count, rows);
    for (size_t i = 0; i < count; i++)
        j->requests.items[asking[i]].row = rows[i];
}

/* A clone's suffix, as each tool's demangler shows it: "f() [clone .cold]", "f() (.cold)". */
static void put_suffix(const symbolize_job *j, pt_buf *text, const char *suffix)
{
    if (!j->is_addr2line) pt_putf(text, " (%s)", suffix);
    for (const char *at = suffix; j->is_addr2line && *at != '\0';) {
        size_t n = 1 + strcspn(at + 1, ".");
        while (at[n] == '.' && at[n + 1] >= '0' && at[n + 1] <= '9')
            n += 1 + strcspn(at + n + 1, ".");
        pt_putf(text, " [clone %.*s]", (int)n, at);
        at += n;
    }
}

/* The function's name in the requested form. If the name has to be composed, it is put into
 * `text`. */
static const char *function_name(const symbolize_job *j, image_entry *image, uint32_t id,
                                 pt_buf *text)
{
    const pt_chain_function f = pt_chains_function(image->chains, id);
    /* llvm-symbolizer shows no short names of functions that only the symbol table has. */
    if (j->is_short && f.file[0] == '\0' && !j->is_addr2line) return "";
    if (j->is_short && f.name[0] != '\0') return pt_name_unscoped(f.name);
    if (!j->is_readable) return f.linkage_name;
    const char *name = pt_chains_readable(image->chains, id);
    const bool may_be_clone =
        j->images.how.demangle == PT_DEMANGLE_FULL && f.linkage_name[0] == '_' && name[0] != '_';
    const char *suffix = may_be_clone ? strchr(f.linkage_name, '.') : NULL;
    if (suffix == NULL) return name;
    pt_buf_clear(text);
    pt_put_text(text, name);
    put_suffix(j, text, suffix);
    return pt_buf_text(text);
}

/* Prints the frames of a row. */
static void print_chain(symbolize_job *j, const request *r, pt_answer *a)
{
    const pt_chain chain = pt_chains_at(r->image->chains, r->row);
    const uint32_t count = chain.frame_count > 1 && !j->names_inlines ? 1 : chain.frame_count;
    while (j->texts.count < count) { /* a place for each frame's name */
        PT_PUSH(j->texts, PT_BUF_INIT);
        PT_GROW(j->frames, j->texts.count);
    }
    for (uint32_t i = 0; i < count; i++) {
        /* Without --inlines one frame is printed. The frame's line is the line of the innermost
         * inlined call. The frame's function is the function that holds the code; in addr2line's
         * style, the innermost function. */
        const pt_chain_frame *line = &chain.frames[i];
        const pt_chain_frame *named =
            j->names_inlines || j->is_addr2line ? line : &chain.frames[chain.frame_count - 1];
        const pt_chain_function f = pt_chains_function(r->image->chains, line->function);
        const bool is_outermost = i + 1 == chain.frame_count || !j->names_inlines;
        j->frames.items[i] = (pt_answer_frame){
            .function = function_name(j, r->image, named->function, &j->texts.items[i]),
            .file = f.file,
            .line = line->line,
            .column = line->column,
            .start_line = f.start_line,
            .start_addr = is_outermost ? chain.symbol.addr : 0};
    }
    a->frames = j->frames.items;
    a->frame_count = count;
    pt_print_answer(&j->printer, a);
}

/* If no file is known, addr2line prints the nearest function symbol before the address: prints that
 * and returns true. Returns false if the row has a file. */
static bool print_nearest(symbolize_job *j, const request *r, const pt_answer *a)
{
    const pt_chain chain = pt_chains_at(r->image->chains, r->row);
    const bool has_place =
        chain.frame_count > 1 ||
        (chain.frame_count == 1 &&
         pt_chains_function(r->image->chains, chain.frames[0].function).file[0] != '\0');
    if (has_place) return false;
    pt_object_nearest nearest;
    if (!pt_object_nearest_symbol(pt_chains_object(r->image->chains), r->linked, &nearest)) {
        pt_print_answer(&j->printer, a);
        return true;
    }
    const pt_demangle_mode mode = j->images.how.demangle;
    PT_FREE char *readable =
        pt_demangle(nearest.name, mode == PT_DEMANGLE_FULL ? PT_DEMANGLE_BINUTILS : mode);
    const pt_answer_frame frame = {.function = readable != NULL ? readable : nearest.name,
                                   .file = nearest.file != NULL ? nearest.file : ""};
    pt_answer named = *a;
    named.frames = &frame;
    named.frame_count = 1;
    pt_print_answer(&j->printer, &named);
    return true;
}

static void print_request(symbolize_job *j, request *r)
{
    if (r->kind == REQUEST_ECHO) {
        pt_outf(j->context->out, "%s\n", r->text);
        return;
    }
    pt_answer a = {.module = r->text != NULL   ? r->text
                             : j->file != NULL ? j->file
                                               : "",
                   .addr = r->asked,
                   .is_data = r->kind == REQUEST_DATA,
                   .is_alone = j->is_stream};
    const bool is_open = r->image != NULL && r->image->chains != NULL;
    if (is_open) a.is_32 = !pt_chains_elf(r->image->chains)->is_64;
    pt_object_data found;
    pt_data_symbol data;
    if (a.is_data && is_open &&
        pt_object_data_at(pt_chains_object(r->image->chains), r->linked, &found)) {
        data = (pt_data_symbol){found.addr, found.size_bytes, found.name};
        a.data = &data;
    }
    if (is_open && r->row != PT_NONE) {
        if (!j->is_addr2line || !print_nearest(j, r, &a)) print_chain(j, r, &a);
        return;
    }
    if (r->code == NULL) {
        pt_print_answer(&j->printer, &a);
        return;
    }
    PT_FREE char *readable =
        j->is_readable ? pt_demangle(r->code->name, j->images.how.demangle) : NULL;
    const pt_answer_frame frame = {.function = readable != NULL ? readable : r->code->name,
                                   .file = r->code->file,
                                   .line = r->code->line,
                                   .start_addr = r->code->addr};
    a.frames = &frame;
    a.frame_count = 1;
    pt_print_answer(&j->printer, &a);
}

/* Prefetches the memory of answers that are printed a little later, one step for each answer. */
static void expect_answer(const symbolize_job *j, size_t at)
{
    enum { AHEAD = 4 }; /* how many requests each step is ahead of the printed request */
    for (unsigned step = 0; step < PT_CHAINS_STEPS; step++) {
        const size_t later = at + (size_t)(PT_CHAINS_STEPS - step) * AHEAD;
        if (later >= j->requests.count) continue;
        const request *r = &j->requests.items[later];
        if (r->image != NULL && r->image->chains != NULL && r->row != PT_NONE)
            pt_chains_expect(r->image->chains, r->row, step);
    }
}

static void answer_batch(symbolize_job *j)
{
    for (size_t i = 0; i < j->images.count; i++)
        if (j->images.items[i]->chains != NULL) resolve_image(j, j->images.items[i]);
    for (size_t i = 0; i < j->requests.count; i++) {
        expect_answer(j, i);
        print_request(j, &j->requests.items[i]);
        PT_FREE_ALL(j->requests.items[i].text, j->requests.items[i].code);
    }
    j->requests.count = 0;
    pt_out_flush(j->context->out, NULL);
}

/* ---- standard input ---- */

/* Takes whole lines out of pending, which ends with a NUL that size does not count. */
static void take_lines(symbolize_job *j, pt_buf *pending, bool is_end)
{
    size_t done = 0;
    pt_buf_text(pending);
    while (done < pending->size) {
        char *line = (char *)pending->data + done;
        char *end = memchr(line, '\n', pending->size - done);
        if (end == NULL && !is_end) break;
        const size_t length = end != NULL ? (size_t)(end - line) : pending->size - done;
        line[length] = '\0';
        if (length > 0 && line[length - 1] == '\r') line[length - 1] = '\0';
        read_request(j, line);
        done += length + (end != NULL);
    }
    memmove(pending->data, pending->data + done, pending->size - done);
    pending->size -= done;
}

/* Whenever the input pauses, answers the requests that were read so far. So a client that waits for
 * one answer gets this answer, and requests that come together are resolved together. */
static int answer_input(symbolize_job *j)
{
    PT_AUTO(pt_buf) pending = PT_BUF_INIT;
    size_t batch_bytes = 0;
    int status = PT_EXIT_OK;
    for (bool is_end = false; !is_end && pt_out_ok(j->context->out);) {
        struct pollfd in = {.fd = STDIN_FILENO, .events = POLLIN};
        const int pause_ms = batch_bytes >= BULK_BYTES ? BULK_PAUSE_MS : 0;
        if (j->requests.count > 0 &&
            (batch_bytes >= BATCH_BYTES_MAX || poll(&in, 1, pause_ms) == 0)) {
            answer_batch(j);
            batch_bytes = 0;
        }
        pt_buf_reserve(&pending, READ_BYTES + 1);
        const ssize_t n = read(STDIN_FILENO, pending.data + pending.size, READ_BYTES);
        if (n < 0 && errno == EINTR) continue;
        if (n < 0) {
            pt_say("cannot read standard input: %s", strerror(errno));
            status = PT_EXIT_FAILED;
        }
        is_end = n <= 0;
        if (n > 0) pending.size += (size_t)n;
        if (n > 0) batch_bytes += (size_t)n;
        take_lines(j, &pending, is_end);
        if (pending.size > BATCH_BYTES_MAX) { /* a line without end */
            pt_say("standard input: a line has more than %u bytes", BATCH_BYTES_MAX);
            status = PT_EXIT_FAILED;
            is_end = true;
        }
    }
    answer_batch(j);
    return status;
}

/* ---- the command ---- */

static pt_demangle_mode demangle_of(const symbolize_settings *s)
{
    switch (s->demangle) {
    case PT_SHOWN_NONE: return PT_DEMANGLE_NONE;
    case PT_SHOWN_TEMPLATES: return PT_DEMANGLE_TEMPLATES;
    case PT_SHOWN_SIMPLE: return PT_DEMANGLE_SIMPLE;
    case PT_SHOWN_FULL: return PT_DEMANGLE_FULL;
    case PT_SHOWN_AUTO: break;
    }
    return s->style == PT_STYLE_ADDR2LINE ? PT_DEMANGLE_NONE : PT_DEMANGLE_FULL;
}

static int show_cache(const pt_cmd_context *context, const pt_lookup *lookup, bool clear)
{
    pt_name_cache_facts facts;
    if (lookup->cache.folder == NULL) {
        pt_say("there is no cache: %s", context->place->cache
                                            ? "neither XDG_CACHE_HOME nor HOME is set"
                                            : "--no-cache was given");
        return PT_EXIT_FAILED;
    }
    pt_name_cache_look(&lookup->cache, clear, &facts);
    pt_outf(context->out, "%s: %s, %" PRIu64 " bytes%s\n", lookup->cache.folder,
            pt_count_noun(facts.file_count, "files").text, facts.file_bytes,
            clear ? " removed" : "");
    return PT_EXIT_OK;
}

/* Takes the image to resolve addresses in from the arguments. */
static void choose_file(symbolize_job *j)
{
    pt_cmd_context *context = j->context;
    j->file = j->settings->file;
    if (j->file != NULL || j->settings->pid != 0) return;
    if (context->arg_count > 0 && pt_path_look(context->args[0]) == PT_PATH_IMAGE) {
        j->file = context->args[0];
        context->args++;
        context->arg_count--;
    } else if (j->is_addr2line) {
        j->file = "a.out";
    }
}

static int prepare_job(symbolize_job *j, const pt_lookup *lookup, pt_pool *pool)
{
    const symbolize_settings *s = j->settings;
    const bool is_addr2line = s->style == PT_STYLE_ADDR2LINE;
    const pt_name_kind names = s->names != PT_NAMES_AUTO ? s->names
                               : is_addr2line            ? PT_NAMES_NONE
                                                         : PT_NAMES_LINKAGE;
    if (s->file != NULL && s->pid != 0)
        return pt_cmd_usage(j->context, "--exe and --pid exclude each other");
    if (s->adjust != NULL) {
        char *end;
        errno = 0;
        j->adjust = strtoull(s->adjust, &end, 0);
        if (errno != 0 || end == s->adjust || *end != '\0')
            return pt_cmd_usage(j->context, "--adjust-vma=%s is not a number", s->adjust);
    }
    j->is_addr2line = is_addr2line;
    j->names_inlines = s->inlines == PT_SWITCH_AUTO ? !is_addr2line : s->inlines == PT_SWITCH_ON;
    j->is_short = names == PT_NAMES_SHORT;
    j->images.how = (pt_chains_options){.detail = PT_OBJECT_LINES,
                                        .demangle = demangle_of(s),
                                        .cache = &lookup->cache,
                                        .pool = pool,
                                        .keeps_clones = !is_addr2line};
    j->is_readable = j->images.how.demangle != PT_DEMANGLE_NONE;
    j->images.source = &lookup->source;
    j->printer = (pt_answer_printer){.out = j->context->out,
                                     .style = s->style,
                                     .functions = names != PT_NAMES_NONE,
                                     .addresses = s->addresses,
                                     .basenames = s->basenames,
                                     .pretty = s->pretty};
    choose_file(j);
    return PT_EXIT_OK;
}

static int symbolize_run(pt_cmd_context *context, void *own)
{
    const symbolize_settings *settings = own;
    PT_LOOKUP pt_lookup lookup;
    pt_lookup_init(&lookup, context->place);
    if (settings->cache_info || settings->cache_clear)
        return show_cache(context, &lookup, settings->cache_clear);
    symbolize_job j = {.settings = settings, .context = context};
    context->pool = pt_pool_new((unsigned)settings->threads);
    int status = prepare_job(&j, &lookup, context->pool);
    if (status != PT_EXIT_OK) return status;
    pt_error error = PT_ERROR_INIT;
    if (settings->pid != 0) {
        if (pt_process_open(settings->pid, &j.process, &error) != PT_OK) return pt_fail(&error);
        lookup.source.is_this_boot = true;
        j.images.pid = settings->pid;
    }
    j.is_stream = context->arg_count == 0;
    if (j.is_stream) {
        status = answer_input(&j);
    } else {
        for (size_t i = 0; i < context->arg_count; i++)
            read_request(&j, context->args[i]);
        pt_print_begin(&j.printer);
        answer_batch(&j);
        pt_print_end(&j.printer);
    }
    images_done(&j.images, &context->diag);
    pt_process_done(&j.process);
    pt_code_names_done(&j.code.kernel);
    pt_code_names_done(&j.code.dump);
    pt_code_names_done(&j.code.map);
    PT_FREE_ALL(j.requests.items, j.frames.items);
    for (size_t i = 0; i < j.texts.count; i++)
        pt_buf_done(&j.texts.items[i]);
    free(j.texts.items);
    return status;
}

const pt_command pt_command_symbolize = {
    PT_COMMAND(symbolize),
    .group = PT_GROUP_FILES,
    .summary = "names, files and lines of addresses in programs",
    .arguments = "[FILE] [ADDRESS...]",
    .description =
        "Prints the function, the source file and line, and the inlined functions of each address, "
        "in the form of llvm-symbolizer or addr2line. Without ADDRESS it reads standard input, one "
        "address a line: [CODE|DATA] [FILE] ADDRESS. Other lines are printed unchanged. The output "
        "keeps the order of the input, and appears as soon as the input pauses.\n\n"
        "Addresses are the program's linked addresses, or with --pid those of a running process. "
        "Separate debug files are found as for reports. Names are cached for the next run.",
    .examples =
        (const char *const[]){
            "pitot symbolize -e prog 0x1139", "one address",
            "pitot symbolize -e prog -p < addresses", "many, a line for each function",
            "pitot symbolize --pid 812 7f8a1c0e2b40", "of a running process",
            "pitot symbolize --output-style=addr2line -Cfi -e prog 1139", "as addr2line", NULL},
    .needs = PT_OFFERS_PLACES,
    .max_args = SIZE_MAX,
};
