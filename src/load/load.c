/* load.c: see load.h. Each input is one task: fetch, peel, probe, read, freeze. The calling thread
 * takes the results in the order of the names and folds them into one profile.
 *
 * Names are processed in batches, each with up to PT_FETCH_AT_ONCE servers. All servers of a batch
 * are fetched before its tasks begin, so memory holds the answers of one batch only. */
#include "load/load.h"

#include "base/compress.h"
#include "base/file.h"
#include "base/grow.h"
#include "base/memory.h"
#include "base/text.h"
#include "base/units.h"
#include "base/utf16.h"
#include "load/perf_folder.h"
#include "load/unwind.h"
#include "model/builder.h"
#include "transform/merge.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#define HEAD_BYTES     65536
#define HEAD_BYTES_MIN 64

/* An input up to this size, or this multiple of its file, is decompressed at once, before probing.
 */
#define QUICK_BYTES (UINT64_C(16) << 20)
#define QUICK_RATIO 4
/* Profiles compress to a third, texts of repeated stacks to a hundredth. Beyond FREE_BYTES, a ratio
 * above RATIO_MAX needs a memory limit chosen by the user. */
#define FREE_BYTES (UINT64_C(1) << 30)
#define RATIO_MAX  200

/* Limits for each byte of a file on disk: frames of all samples, inlined ones included, and bytes
 * of all their names. Profiles of real programs reach 0.4 and 36. */
#define FRAMES_A_BYTE 32
#define TEXT_A_BYTE   4096

/* The result of one task. */
typedef struct {
    pt_load_input input;
    const pt_profile *profile; /* NULL for a program, and after a failure */
    pt_diag diag;
    pt_error error; /* becomes input.error if status is not PT_OK */
} input_item;

typedef struct {
    const char *const *names;
    const pt_load_options *options;
    uint64_t max_bytes;
    pt_loaded *loaded;
    const pt_profile *only; /* the first profile, while there is one only */
    const char *only_name;
    pt_merge *merge;
    PT_VECTOR(const pt_profile *) kept; /* options->all_events: one reference each */
    size_t first;                       /* index of the batch's first name */
    size_t count;                       /* of all names */
    pt_fetched *fetched; /* results of the batch, one a name; url NULL: not from a server */
    PT_VECTOR(pt_remote_mapping) remote;
} loading;

/* The memory for all inputs together. */
static uint64_t memory_bytes(void)
{
    const uint64_t limit = pt_memory_limit();
    return limit != UINT64_MAX ? limit : pt_memory_of_machine("") / PT_MEMORY_SHARE;
}

uint64_t pt_load_share(uint64_t bytes, unsigned threads, size_t count)
{
    const uint64_t at_once = threads < count ? threads : count;
    return at_once > 1 ? bytes / at_once : bytes;
}

/* ---- One input ---- */

static const char *stdin_name(const pt_load_options *options)
{
    return options->stdin_name != NULL ? options->stdin_name : "standard input";
}

static bool is_trace_bundle(const char *name)
{
    struct stat st;
    return pt_ends(name, ".trace") && stat(name, &st) == 0 && S_ISDIR(st.st_mode);
}

static pt_status fetch_file(const loading *l, const char *name, pt_fetched *fetched,
                            pt_blob *ret_blob, pt_error *reterr)
{
    if (strcmp(name, "-") == 0)
        return pt_file_read_fd(STDIN_FILENO, stdin_name(l->options), PT_FILE_OF_ANY_SIZE,
                               l->max_bytes, ret_blob, reterr);
    if (l->options->fetch == NULL && strstr(name, "://"))
        return pt_error_set(reterr, PT_ERR_UNSUPPORTED,
                            "names a server; this command does not fetch from servers");
    if ((fetched == NULL || fetched->url == NULL) && pt_perf_folder_is(name))
        return pt_perf_folder_read(name, l->max_bytes, ret_blob, reterr);
    if (fetched == NULL || fetched->url == NULL) {
        if (is_trace_bundle(name))
            return pt_error_set(reterr, PT_ERR_FORMAT,
                                "is a folder of Xcode's Instruments; `xctrace export --input %s "
                                "--xpath '/trace-toc/run/data/table[@schema=\"time-profile\"]'` "
                                "writes its samples as XML, which pitot reads",
                                pt_base_name(name));
        return pt_file_read(name, PT_FILE_OF_ANY_SIZE, l->max_bytes, ret_blob, reterr);
    }
    if (fetched->error.status != PT_OK) {
        if (reterr) *reterr = fetched->error;
        return fetched->error.status;
    }
    if (fetched->body.size == 0)
        return pt_error_set(reterr, PT_ERR_FORMAT, "the server's answer is empty");
    *ret_blob = fetched->body;
    fetched->body = PT_BLOB_INIT;
    return PT_OK;
}

static pt_status probe_format(const uint8_t *data, size_t size, uint64_t file_bytes,
                              const char *name, const pt_format **ret_format, pt_error *reterr)
{
    uint8_t padded[HEAD_BYTES_MIN] = {0};
    pt_probe_input input = {
        .head = data,
        .head_bytes = size < HEAD_BYTES ? size : HEAD_BYTES,
        .file_bytes = file_bytes,
        .name = pt_base_name(name),
    };
    if (size < sizeof padded) {
        if (size > 0) memcpy(padded, data, size);
        input.head = padded;
    }
    return pt_format_probe(&input, ret_format, reterr);
}

/* ---- Peeling ---- */

/* Probes the first decompressed bytes. PT_ERR_FORMAT: no format recognises them. */
static pt_status probe_head(const pt_blob *blob, const char *name, pt_error *reterr)
{
    PT_FREE uint8_t *head = pt_alloc(HEAD_BYTES, 1);
    const pt_format *format;
    size_t bytes;
    pt_status status = pt_peel_head(blob->data, blob->size, head, HEAD_BYTES, &bytes, reterr);
    if (status == PT_ERR_DAMAGED) return PT_OK; /* the peeling reports the damage later */
    if (status == PT_OK) status = probe_format(head, bytes, UINT64_MAX, name, &format, reterr);
    if (status != PT_ERR_FORMAT) return status;
    /* Some formats need the full size. */
    return probe_format(head, bytes, pt_declared_bytes(blob->data, blob->size), name, &format,
                        reterr);
}

static pt_status peel_whole(const loading *l, input_item *item, pt_blob *blob, pt_error *reterr)
{
    const uint64_t file_bytes = item->input.file_bytes;
    uint64_t most = file_bytes < UINT64_MAX / RATIO_MAX ? file_bytes * RATIO_MAX : UINT64_MAX;
    if (most < FREE_BYTES) most = FREE_BYTES;
    const bool is_by_ratio = !pt_memory_is_chosen() && most < l->max_bytes;
    const pt_status status =
        pt_peel(blob, is_by_ratio ? most : l->max_bytes, NULL, &item->diag, reterr);
    if (status == PT_ERR_LIMIT && is_by_ratio && pt_memory_left() > most)
        pt_error_set(reterr, status, "decompresses to more than %d times its size, and 1 GiB%s",
                     RATIO_MAX, pt_memory_hint());
    return status;
}

/* Decompresses an input. PT_ERR_DAMAGED, PT_ERR_LIMIT, PT_ERR_NOMEM as pt_peel; PT_ERR_FORMAT: no
 * format recognises the first bytes; the input stays compressed. */
static pt_status peel_item(const loading *l, input_item *item, pt_blob *blob, pt_error *reterr)
{
    if (item->input.file_bytes == 0 || pt_compression_of(blob->data, blob->size) == PT_PLAIN)
        return PT_OK;
    if (l->options->from != NULL) return peel_whole(l, item, blob, reterr);
    uint64_t quick = item->input.file_bytes * QUICK_RATIO;
    if (quick < QUICK_BYTES) quick = QUICK_BYTES;
    if (quick > l->max_bytes) quick = l->max_bytes;
    pt_peeled peeled = {0};
    const uint64_t declared = pt_declared_bytes(blob->data, blob->size);
    if (declared <= quick || declared == UINT64_MAX) {
        const pt_status status = pt_peel(blob, quick, &peeled, &item->diag, reterr);
        if (status != PT_ERR_LIMIT || peeled.count == PT_PEEL_MAX) return status;
    }
    *reterr = PT_ERROR_INIT;
    const pt_status status = probe_head(blob, item->input.name, reterr);
    return status == PT_OK ? peel_whole(l, item, blob, reterr) : status;
}

enum { STACKS_EACH = 256 }; /* stacks after which progress is reported */

/* The context of a reader's hooks (formats/format.h). */
typedef struct {
    pt_blob *blob;
    const pt_source_options *source;
    pt_load_unwinder *unwinder; /* made on first use */
    pt_progress *progress;
    uint64_t file_bytes;     /* size of the file on disk */
    uint64_t reported_bytes; /* how many of them were reported to progress */
    uint64_t stacks;         /* stacks that were unwound */
} reading;

/* offset: the reader's place in the peeled bytes. */
static void report_progress(void *context, uint64_t offset)
{
    reading *const r = context;
    const double share = r->blob->size > 0 ? (double)offset / (double)r->blob->size : 1;
    const uint64_t bytes = share < 1 ? (uint64_t)(share * (double)r->file_bytes) : r->file_bytes;
    if (bytes <= r->reported_bytes) return;
    pt_progress_add(r->progress, bytes - r->reported_bytes);
    r->reported_bytes = bytes;
}

static void discard_input(void *context, uint64_t upto)
{
    const reading *const r = context;
    report_progress(context, upto);
    pt_blob_discard(r->blob, (size_t)upto);
}

static size_t unwind_stack(void *context, const pt_read_stack *stack, uint64_t *ret_pcs, size_t cap,
                           pt_stack_end *ret_end)
{
    reading *const r = context;
    if (r->unwinder == NULL) r->unwinder = pt_load_unwinder_new(r->source, NULL);
    if (++r->stacks % STACKS_EACH == 0) pt_progress_add_stacks(r->progress, STACKS_EACH);
    return pt_load_unwind(r->unwinder, stack, ret_pcs, cap, ret_end);
}

static uint64_t times_bytes(uint64_t bytes, uint64_t factor)
{
    return bytes < UINT64_MAX / factor ? bytes * factor : UINT64_MAX;
}

static void bound_names(input_item *item, pt_builder *builder)
{
    const uint64_t file_bytes = item->input.file_bytes;
    const uint64_t stacks_cut = pt_builder_stacks_cut(builder);
    pt_diag_add(&item->diag, stacks_cut,
                "stacks cut to their innermost frames: all together have more than %d frames "
                "for each byte of the file",
                FRAMES_A_BYTE);
    const uint64_t left_out =
        pt_builder_bound_inlined(builder, times_bytes(file_bytes, FRAMES_A_BYTE));
    pt_diag_add(&item->diag, left_out,
                "inlined functions left out, the outermost of each address: the samples have "
                "more than %d frames for each byte of the file",
                FRAMES_A_BYTE);
    const uint64_t cut = pt_builder_bound_names(builder, times_bytes(file_bytes, TEXT_A_BYTE));
    pt_diag_add(&item->diag, cut,
                "long names cut: the names of all frames have more than %d bytes for each byte "
                "of the file",
                TEXT_A_BYTE);
}

/* Reads and freezes a profile. PT_ERR_DAMAGED with a profile: only a part was readable. */
static pt_status read_profile(const loading *l, input_item *item, pt_blob *blob,
                              const pt_error *peel, pt_error *reterr)
{
    static const pt_source_options usual = {0};
    const pt_source_options *const source = l->options->source;
    reading context = {.blob = blob,
                       .source = source != NULL ? source : &usual,
                       .progress = l->options->progress,
                       .file_bytes = item->input.file_bytes};
    const pt_read_hooks hooks = {
        .diag = &item->diag,
        .context = &context,
        .discard = discard_input,
        .reach = report_progress,
        .unwind = unwind_stack,
        .inflated_bytes = l->max_bytes,
        .word_bytes = l->options->word_bytes,
        .annotate = l->options->annotate,
        .bins_only = l->options->bins_only,
    };
    pt_reader reader;
    pt_reader_init(&reader, blob->data, blob->size, NULL);
    pt_builder *builder = pt_builder_new();
    pt_builder_limit_frames(builder, times_bytes(item->input.file_bytes, FRAMES_A_BYTE));
    pt_status status = item->input.format->read(&reader, builder, &hooks, reterr);
    pt_load_unwinder_free(context.unwinder);
    report_progress(&context, blob->size);
    if (!pt_blob_intact(blob)) { /* the reader has read zeros in place of the missing part, so its
                                  * result does not count */
        if (status == PT_OK) status = PT_ERR_DAMAGED;
        pt_error_set(reterr, status, PT_FILE_SHRANK "; kept %s",
                     pt_count_noun(pt_builder_sample_count(builder), "samples").text);
    }
    if (status != PT_OK && (status != PT_ERR_DAMAGED || l->options->strict)) {
        pt_builder_free(builder);
        return status;
    }
    bound_names(item, builder);
    /* The provenance that is equal for all formats: the format's name, and damage. */
    pt_provenance *const p = pt_builder_provenance(builder);
    p->damaged |= (status == PT_ERR_DAMAGED || peel->status == PT_ERR_DAMAGED);
    if (p->source_format == 0)
        p->source_format = pt_builder_text(builder, item->input.format->name).v;
    const pt_status frozen = pt_builder_freeze(builder, &item->profile, reterr);
    return frozen == PT_OK ? status : frozen;
}

/* Builds the message of a damaged input: the damage of the compression if that is the cause, and
 * the number of samples kept. */
static void describe_damage(const loading *l, input_item *item, const pt_error *peel,
                            const pt_error *read)
{
    pt_error *const error = &item->error;
    *error = peel->status == PT_ERR_DAMAGED ? *peel : *read;
    char message[sizeof error->message];
    snprintf(message, sizeof message, "%s", error->message);
    if (peel->status == PT_ERR_DAMAGED)
        snprintf(error->message, sizeof error->message, "%.400s; kept %s%s", message,
                 pt_count_noun(item->profile ? item->profile->sample->t.count : 0, "samples").text,
                 l->options->strict ? "" : " (--strict refuses)");
    else if (!l->options->strict)
        snprintf(error->message, sizeof error->message, "%.480s (--strict refuses)", message);
    error->status = PT_ERR_DAMAGED;
}

static pt_status read_peeled(const loading *l, input_item *item, pt_blob *blob,
                             const pt_error *peel, pt_error *reterr)
{
    item->input.format = l->options->from;
    if (blob->size == 0 && peel->status == PT_ERR_DAMAGED) {
        *reterr = *peel;
        return PT_ERR_DAMAGED;
    }
    if (blob->size == 0)
        return pt_error_set(reterr, PT_ERR_FORMAT, "nothing is left after decompression");
    pt_status status = PT_OK;
    if (!item->input.format)
        status = probe_format(blob->data, blob->size, blob->size, item->input.name,
                              &item->input.format, reterr);
    if (status != PT_OK && !pt_blob_intact(blob)) pt_error_set(reterr, status, PT_FILE_SHRANK);
    if (status == PT_OK) status = read_profile(l, item, blob, peel, reterr);
    if (item->input.format) pt_error_where(reterr, NULL, item->input.format->name, -1);
    const bool damaged = status == PT_ERR_DAMAGED || peel->status == PT_ERR_DAMAGED;
    if (!damaged || (status != PT_OK && status != PT_ERR_DAMAGED)) return status;
    describe_damage(l, item, peel, reterr);
    if (l->options->strict || !item->profile) {
        *reterr = item->error;
        return PT_ERR_DAMAGED;
    }
    return PT_OK;
}

static pt_status load_one(const loading *l, input_item *item, pt_fetched *fetched, pt_error *reterr)
{
    PT_AUTO(pt_blob) blob = PT_BLOB_INIT;
    pt_status status = fetch_file(l, item->input.name, fetched, &blob, reterr);
    if (status != PT_OK) return status;
    item->input.file_bytes = blob.size;
    item->input.compression = pt_compression_name(pt_compression_of(blob.data, blob.size));
    if (blob.size >= 4 && memcmp(blob.data, "\177ELF", 4) == 0 && !l->options->from) {
        item->input.is_program = true;
    } else {
        pt_error peeling = PT_ERROR_INIT;
        status = peel_item(l, item, &blob, &peeling);
        if ((status == PT_OK || status == PT_ERR_DAMAGED) && pt_is_utf16(blob.data, blob.size)) {
            pt_error no_room = PT_ERROR_INIT;
            if (pt_blob_to_utf8(&blob, &no_room) != PT_OK) {
                status = no_room.status;
                peeling = no_room;
            }
        }
        item->input.peeled_bytes = blob.size;
        if (status == PT_OK || (status == PT_ERR_DAMAGED && !l->options->strict))
            status = read_peeled(l, item, &blob, &peeling, reterr);
        else
            *reterr = peeling;
    }
    return status;
}

/* ---- All of them ---- */

static void item_done(input_item *item)
{
    PT_FREE_ALL(item->input.name, item->input.url);
    pt_diag_done(&item->diag);
    pt_profile_unref(item->profile);
    free(item);
}

/* True if the load continues without this input. */
static bool may_skip(const loading *l, const input_item *item)
{
    return item->input.url != NULL || l->options->skip_failures;
}

static pt_status produce_item(void *context, unsigned worker, size_t index, void **ret_item,
                              pt_error *reterr)
{
    (void)worker;
    const loading *const l = context;
    pt_fetched *const fetched = l->fetched != NULL ? &l->fetched[index] : NULL;
    input_item *item = pt_alloc(1, sizeof *item);
    item->input.name = pt_strdup(l->names[l->first + index]);
    if (fetched != NULL && fetched->url != NULL) item->input.url = pt_strdup(fetched->url);
    item->error = PT_ERROR_INIT;
    pt_diag_init(&item->diag);
    pt_error error = PT_ERROR_INIT;
    const pt_status status = load_one(l, item, fetched, &error);
    const char *const path = strcmp(item->input.name, "-") == 0 ? stdin_name(l->options)
                             : item->input.url != NULL          ? item->input.url
                                                                : item->input.name;
    if (status != PT_OK && error.path[0] == '\0') pt_error_where(&error, path, NULL, -1);
    if (status != PT_OK && may_skip(l, item)) {
        item->error = error;
        item->input.failed = true;
    } else if (status != PT_OK) {
        if (reterr) *reterr = error;
        item_done(item);
        return status;
    }
    pt_error_where(&item->error, path, NULL, -1);
    if (item->profile != NULL && l->options->prepare != NULL)
        item->profile = l->options->prepare(l->options->prepare_context, item->profile);
    *ret_item = item;
    return PT_OK;
}

static pt_status add_to_merge(loading *l, const pt_profile *profile, const char *name,
                              pt_error *reterr)
{
    const pt_status status = pt_merge_add(l->merge, profile, reterr);
    if (status != PT_OK && reterr) pt_error_where(reterr, name, NULL, -1);
    return status;
}

static pt_status fold_item(loading *l, input_item *item, const char *name, pt_error *reterr)
{
    if (l->options->all_events) {
        PT_PUSH(l->kept, item->profile);
        item->profile = NULL;
        return PT_OK;
    }
    if (!l->only && !l->merge) {
        l->only = item->profile;
        l->only_name = name;
        item->profile = NULL;
        return PT_OK;
    }
    pt_status status = PT_OK;
    if (!l->merge) l->merge = pt_merge_new_by(l->options->rules, &l->loaded->diag);
    if (l->only) {
        status = add_to_merge(l, l->only, l->only_name, reterr);
        pt_profile_unref(l->only);
        l->only = NULL;
    }
    return status == PT_OK ? add_to_merge(l, item->profile, name, reterr) : status;
}

/* Notes which servers can name addresses of this profile's mappings. */
static void note_remote(loading *l, const input_item *item)
{
    const pt_profile *const p = item->profile;
    bool unmapped = false;
    for (uint32_t i = 0; i < p->location->t.count && !unmapped; i++)
        unmapped = p->location->mapping[i] == PT_NONE;
    const uint32_t count = p->mapping->t.count;
    PT_GROW(l->remote, l->remote.count + count + 1);
    for (uint32_t i = 0; i < count + unmapped; i++) {
        const pt_mapping none = {0}, *const m = i < count ? &p->mapping->row[i] : &none;
        const uint32_t key = m->build_id != 0 ? m->build_id : m->file;
        l->remote.items[l->remote.count++] = (pt_remote_mapping){.url = pt_strdup(item->input.url),
                                                                 .key = pt_strdup(pt_text(p, key)),
                                                                 .start = m->start};
    }
}

static pt_status commit_item(void *context, size_t index, void *taken, pt_error *reterr)
{
    loading *const l = context;
    input_item *const item = taken;
    pt_diag_merge(&l->loaded->diag, &item->diag);
    l->loaded->damaged_count += !item->input.failed && item->error.status == PT_ERR_DAMAGED;
    l->loaded->failed_count += item->input.failed;
    l->loaded->remote_count += item->input.url != NULL && !item->input.failed;
    pt_status status = PT_OK;
    if (item->profile && item->input.url) note_remote(l, item);
    if (item->profile) status = fold_item(l, item, l->names[l->first + index], reterr);
    if (item->error.status != PT_OK) {
        item->input.error = pt_alloc(1, sizeof *item->input.error);
        *item->input.error = item->error;
    }
    l->loaded->inputs[l->loaded->input_count++] = item->input;
    if (l->loaded->input_count < l->count)
        pt_progress_rename(l->options->progress, "reading file %zu of %zu",
                           l->loaded->input_count + 1, l->count);
    item->input.name = item->input.url = NULL;
    item_done(item);
    return status;
}

static void drop_item(void *context, void *taken)
{
    (void)context;
    item_done(taken);
}

static pt_status check_names(const char *const *names, size_t count, pt_error *reterr)
{
    if (count == 0) return pt_error_set(reterr, PT_ERR_USAGE, "no profile was named");
    size_t dashes = 0;
    for (size_t i = 0; i < count; i++)
        dashes += strcmp(names[i], "-") == 0;
    if (dashes > 1)
        return pt_error_set(reterr, PT_ERR_USAGE, "standard input (-) can be read once only");
    return PT_OK;
}

/* ---- Batches ---- */

static bool is_remote(const loading *l, const char *name)
{
    return l->options->fetch && strcmp(name, "-") != 0 && access(name, F_OK) != 0 &&
           pt_fetch_is_remote(l->options->fetch->rule, name);
}

/* The number of names from l->first on in the next batch, and the number of servers among them. */
static size_t batch_size(const loading *l, size_t count, size_t *ret_remote)
{
    size_t n = 0, remote = 0;
    for (; l->first + n < count; n++) {
        if (!is_remote(l, l->names[l->first + n])) continue;
        if (remote == PT_FETCH_AT_ONCE) break;
        remote++;
    }
    *ret_remote = remote;
    return n;
}

static void fetch_batch(loading *l, size_t size, size_t remote)
{
    PT_FREE const char **names = pt_alloc(remote, sizeof *names);
    PT_FREE size_t *place = pt_alloc(remote, sizeof *place);
    PT_FREE pt_fetched *answers = pt_alloc(remote, sizeof *answers);
    pt_fetch_options options = *l->options->fetch;
    if (options.max_bytes == 0) options.max_bytes = l->max_bytes;
    l->fetched = pt_alloc(size, sizeof *l->fetched);
    size_t n = 0;
    for (size_t i = 0; i < size; i++) {
        l->fetched[i] = (pt_fetched){.body = PT_BLOB_INIT, .error = PT_ERROR_INIT};
        if (n == remote || !is_remote(l, l->names[l->first + i])) continue;
        names[n] = l->names[l->first + i];
        place[n++] = i;
    }
    pt_fetch_all(names, n, &options, answers);
    for (size_t k = 0; k < n; k++) {
        l->fetched[place[k]] = answers[k];
        if (answers[k].url == NULL) l->fetched[place[k]].url = pt_strdup(names[k]);
    }
}

static pt_status load_batches(loading *l, size_t count, pt_error *reterr)
{
    const pt_ordered how = {
        .ctx = l, .produce = produce_item, .commit = commit_item, .drop = drop_item};
    pt_status status = PT_OK;
    while (l->first < count && status == PT_OK) {
        size_t remote;
        const size_t size = batch_size(l, count, &remote);
        if (remote > 0) fetch_batch(l, size, remote);
        status = pt_pool_ordered(l->options->pool, size, &how, reterr);
        for (size_t i = 0; i < size && l->fetched; i++)
            pt_fetched_done(&l->fetched[i]);
        free(l->fetched);
        l->fetched = NULL;
        l->first += size;
    }
    return status;
}

/* The size of all files together; 0: a name is no file. */
static uint64_t bytes_of_files(const char *const *names, size_t count)
{
    uint64_t bytes = 0;
    for (size_t i = 0; i < count; i++) {
        struct stat st;
        if (stat(names[i], &st) != 0 || !S_ISREG(st.st_mode)) return 0;
        bytes += (uint64_t)st.st_size;
    }
    return bytes;
}

static void begin_progress(pt_progress *p, const char *const *names, size_t count)
{
    if (p == NULL) return;
    const uint64_t bytes = bytes_of_files(names, count);
    if (count == 1)
        pt_progress_begin(p, PT_PROGRESS_BYTES, bytes, "reading %s",
                          strcmp(names[0], "-") == 0 ? "standard input" : pt_base_name(names[0]));
    else
        pt_progress_begin(p, PT_PROGRESS_BYTES, bytes, "reading file 1 of %zu", count);
}

/* All inputs failed: the result is the first failure. */
static pt_status nothing_left(const pt_loaded *loaded, pt_error *reterr)
{
    for (size_t i = 0; i < loaded->input_count; i++) {
        const pt_error *const error = loaded->inputs[i].error;
        if (error == NULL) continue;
        if (reterr) *reterr = *error;
        return error->status;
    }
    return PT_OK;
}

/* Merges the kept profiles with all their events; a single one stays unchanged. */
static pt_status merge_kept(loading *l, pt_error *reterr)
{
    if (l->kept.count > 1)
        return pt_merge_all_events(l->kept.items, l->kept.count, &l->loaded->diag,
                                   &l->loaded->profile, reterr);
    l->loaded->profile = pt_profile_ref(l->kept.items[0]);
    return PT_OK;
}

static pt_status load_names(const char *const *names, size_t count, const pt_load_options *options,
                            pt_loaded *ret_loaded, pt_error *reterr)
{
    *ret_loaded = (pt_loaded){0};
    pt_diag_init(&ret_loaded->diag);
    pt_status status = check_names(names, count, reterr);
    if (status != PT_OK) return status;
    ret_loaded->inputs = pt_alloc(count, sizeof *ret_loaded->inputs);
    loading l = {
        .names = names,
        .count = count,
        .options = options,
        .max_bytes = options->inflated_bytes
                         ? options->inflated_bytes
                         : pt_load_share(memory_bytes(), pt_pool_threads(options->pool), count),
        .loaded = ret_loaded,
    };
    status = load_batches(&l, count, reterr);
    ret_loaded->remote_mappings = l.remote.items;
    ret_loaded->remote_mapping_count = l.remote.count;
    if (l.merge || l.kept.count > 1)
        pt_progress_begin(options->progress, PT_PROGRESS_TIME, 0, "merging %zu profiles", count);
    if (status == PT_OK && l.merge) {
        status = pt_merge_finish(l.merge, &ret_loaded->profile, reterr);
    } else if (status == PT_OK && l.kept.count > 0) {
        status = merge_kept(&l, reterr);
    } else if (status == PT_OK) {
        ret_loaded->profile = l.only;
        return l.only ? PT_OK : nothing_left(ret_loaded, reterr);
    } else {
        pt_merge_free(l.merge);
    }
    pt_profile_unref(l.only);
    for (size_t i = 0; i < l.kept.count; i++)
        pt_profile_unref(l.kept.items[i]);
    free(l.kept.items);
    return status;
}

pt_status pt_load(const char *const *names, size_t count, const pt_load_options *options,
                  pt_loaded *ret_loaded, pt_error *reterr)
{
    begin_progress(options->progress, names, count);
    const pt_status status = load_names(names, count, options, ret_loaded, reterr);
    pt_progress_end(options->progress);
    return status;
}

void pt_loaded_done(pt_loaded *loaded)
{
    for (size_t i = 0; i < loaded->input_count; i++)
        PT_FREE_ALL(loaded->inputs[i].name, loaded->inputs[i].url, loaded->inputs[i].error);
    free(loaded->inputs);
    for (size_t i = 0; i < loaded->remote_mapping_count; i++)
        PT_FREE_ALL(loaded->remote_mappings[i].url, loaded->remote_mappings[i].key);
    free(loaded->remote_mappings);
    pt_profile_unref(loaded->profile);
    pt_diag_done(&loaded->diag);
    *loaded = (pt_loaded){0};
}

const char *pt_loaded_program(const pt_loaded *loaded)
{
    for (size_t i = 0; i < loaded->input_count; i++) {
        if (loaded->inputs[i].is_program) return loaded->inputs[i].name;
    }
    return NULL;
}
