/* macos_sample.c: reads the report of macOS's command `sample`, which Activity Monitor also saves.
 *
 *   Analysis of sampling shop (pid 812) every 1 millisecond
 *   ...
 *   Call graph:
 *       2757 Thread_1166804   DispatchQueue_1: com.apple.main-thread  (serial)
 *       + 2757 start  (in dyld) + 1942  [0x18f0a3fd8]
 *       +   2500 main  (in shop) + 910  [0x1000017be]  main.c:35
 *       +   ! 2000 price  (in shop) + 83  [0x100000b53]
 *
 *   Binary Images:
 *          0x100000000 -        0x100002fff +shop (0) <7DBD2D57-A2D7-...> /Users/a/shop
 *
 * Reference: the manual of sample(1), which says that the signs before the numbers ("+ ! : |") only
 * draw lines. The column in which the number begins is the depth of the function. A function's own
 * samples are its number minus the numbers of its callees. There is no specification: frames are
 * parsed from the right, because names may contain blanks and parentheses. */

#include "base/plain/ascending.h"
#include "base/text.h"
#include "base/units.h"
#include "formats/legacy.h"
#include "formats/plain.h"

#define MAGIC "Analysis of sampling "

typedef struct {
    uint64_t start, end;
    uint32_t row; /* mapping */
} image;

/* A function or a thread whose callees are being read. */
typedef struct {
    size_t column;
    uint32_t node; /* PT_NONE = a thread */
    int64_t left;  /* the function's samples minus those of its callees read so far */
} level;

typedef struct {
    pt_builder *b;
    pt_plain_tree tree;
    PT_VECTOR(image) image; /* ascending */
    PT_VECTOR(level) level;
    int64_t interval_ns;
    uint32_t pid, tid, comm;
    uint64_t odd, first_odd;
    uint64_t exceeded; /* number of functions whose callees have more samples than the function */
} sample_reader;

/* ---- The images ---- */

PT_ORDER(compare_images, image, PT_UP(start));

/* Reads an image: "0x100000000 -        0x100002fff +shop (0) <7DBD2D57-...> /Users/a/shop" */
static void read_image(sample_reader *s, pt_span line)
{
    uint64_t start, last;
    pt_span rest = pt_span_trim(line);
    if (!pt_span_skip(&rest, "0x") || !pt_span_hex(&rest, &start)) return;
    pt_span_skip_blanks(&rest);
    if (!pt_span_skip(&rest, "-")) return;
    pt_span_skip_blanks(&rest);
    if (!pt_span_skip(&rest, "0x") || !pt_span_hex(&rest, &last) || last < start) return;
    const char *const open = memchr(rest.at, '<', rest.size);
    const char *const close =
        open != NULL ? memchr(open, '>', pt_span_from(rest, open).size) : NULL;
    if (close == NULL) return;
    const pt_span path = pt_span_trim(pt_span_from(rest, close + 1));
    const pt_mapping mapping = {
        .start = start,
        .limit = last < UINT64_MAX ? last + 1 : last,
        .file = pt_builder_string(s->b, path.at, path.size).v,
        .build_id = pt_plain_build_id(s->b, (pt_span){open, (size_t)(close - open)}).v,
        .flags = PT_MAPPING_HAS_FUNCTIONS,
    };
    PT_PUSH(s->image, (image){.start = start,
                              .end = mapping.limit,
                              .row = pt_builder_append_mapping(s->b, &mapping).v});
}

/* Reads the images, which come last. */
static void read_images(sample_reader *s, pt_reader lines)
{
    pt_span line;
    bool in_images = false;
    while (pt_span_line(&lines, &line)) {
        if (in_images) read_image(s, line);
        in_images |= pt_span_begins(line, "Binary Images:");
    }
    PT_SORT(s->image, compare_images);
}

static uint32_t find_image(const sample_reader *s, uint64_t address)
{
    const size_t after = PT_FIRST_AFTER(s->image.items, s->image.count, start, address);
    const image *const found = after > 0 ? &s->image.items[after - 1] : NULL;
    return found != NULL && address < found->end ? found->row : PT_NONE;
}

/* ---- The tree ---- */

/* The last occurrence of `text` in the span; NULL if there is none. */
static const char *find_last(pt_span s, const char *text)
{
    const size_t size = strlen(text);
    for (size_t i = s.size >= size ? s.size - size + 1 : 0; i > 0; i--)
        if (memcmp(s.at + i - 1, text, size) == 0) return s.at + i - 1;
    return NULL;
}

/* Reads "main.c:35", which follows the address. */
static void take_place(sample_reader *s, pt_span place, pt_function *function, int64_t *line)
{
    const char *const colon = find_last(place, ":");
    if (colon == NULL) return;
    pt_span digits = pt_span_from(place, colon + 1);
    if (!pt_span_number(&digits, false, line)) return;
    function->file = pt_builder_string(s->b, place.at, (size_t)(colon - place.at)).v;
}

/* The location of "main  (in shop) + 910  [0x1000017be]  main.c:35". */
static uint32_t make_location(sample_reader *s, pt_span text)
{
    pt_function function = {0};
    pt_location location = {.mapping = PT_NONE};
    int64_t line = 0;
    const char *const open = find_last(text, "  [0x");
    if (open != NULL) {
        pt_span rest = pt_span_from(text, open + 5);
        const char *const close = memchr(rest.at, ']', rest.size);
        if (close != NULL && pt_span_hex(&rest, &location.address)) { /* a list of addresses: the
                                                                       * first counts */
            take_place(s, pt_span_trim(pt_span_from(text, close + 1)), &function, &line);
            text = pt_span_upto(text, open);
        }
    }
    const char *const in = find_last(text, "  (in ");
    const pt_span name = pt_span_trim(in != NULL ? pt_span_upto(text, in) : text);
    if (location.address != 0) location.mapping = find_image(s, location.address);
    const bool is_known = !pt_span_begins(name, "???");
    if (is_known || location.address == 0)
        function.name = pt_builder_string(s->b, name.at, name.size).v;
    return pt_plain_mapped_location(s->b, &location, &function, line);
}

/* Begins a thread: "Thread_1166804   DispatchQueue_1: com.apple.main-thread  (serial)", "Thread_7:
 * worker" */
static void begin_thread(sample_reader *s, pt_span text)
{
    int64_t number = 0;
    pt_span_skip(&text, "Thread_");
    s->tid = pt_span_number(&text, false, &number) && number < PT_NONE ? (uint32_t)number : PT_NONE;
    const char *const colon = memchr(text.at, ':', text.size);
    if (colon != NULL) text = pt_span_from(text, colon + 1);
    const char *const kind = find_last(text, "  (");
    if (kind != NULL) text = pt_span_upto(text, kind);
    text = pt_span_trim(text);
    s->comm = pt_builder_string(s->b, text.at, text.size).v;
}

/* Ends the innermost open function or thread: adds a sample with the count of the function's own
 * samples. */
static void end_level(sample_reader *s)
{
    const level at = s->level.items[--s->level.count];
    s->exceeded += at.left < 0;
    if (at.left <= 0) return;
    const pt_sample sample = {.stack = pt_plain_tree_stack(&s->tree, at.node).v,
                              .values = (int64_t[]){at.left, at.left < INT64_MAX / s->interval_ns
                                                                 ? at.left * s->interval_ns
                                                                 : INT64_MAX},
                              .pid = s->pid,
                              .tid = s->tid,
                              .cpu = PT_NONE,
                              .comm = s->comm};
    pt_builder_timed_sample(s->b, &sample);
}

/* Reads a line of the tree; false for another line. */
static bool read_node(sample_reader *s, pt_span line)
{
    size_t column = 0;
    int64_t count;
    while (column < line.size && strchr(" +!:|*", line.at[column]) != NULL)
        column++;
    pt_span rest = {line.at + column, line.size - column};
    if (!pt_span_number(&rest, false, &count) || !pt_span_skip(&rest, " ")) return false;
    while (s->level.count > 0 && s->level.items[s->level.count - 1].column >= column)
        end_level(s);
    const bool is_thread = s->level.count == 0;
    level *const above = is_thread ? NULL : &s->level.items[s->level.count - 1];
    if (above != NULL)
        above->left = above->left > INT64_MIN + count ? above->left - count : INT64_MIN;
    rest = pt_span_trim(rest);
    level here = {.column = column, .node = PT_NONE, .left = count};
    if (is_thread && pt_span_begins(rest, "Thread_")) {
        begin_thread(s, rest);
    } else {
        here.node = pt_plain_tree_add(&s->tree, above != NULL ? above->node : PT_NONE,
                                      make_location(s, rest));
    }
    PT_PUSH(s->level, here);
    return true;
}

/* Reads "Analysis of sampling shop (pid 812) every 1 millisecond". */
static void read_title(sample_reader *s, pt_span line)
{
    int64_t number;
    const char *at = find_last(line, "(pid ");
    const pt_span none = {"", 0};
    pt_span rest = at != NULL ? pt_span_from(line, at + 5) : none;
    if (pt_span_number(&rest, false, &number) && number < PT_NONE) s->pid = (uint32_t)number;
    at = find_last(line, " every ");
    rest = at != NULL ? pt_span_from(line, at + 7) : none;
    const bool is_number = pt_span_number(&rest, false, &number);
    pt_span_skip_blanks(&rest);
    if (is_number && number > 0 && number < 1000000)
        s->interval_ns = number * (pt_span_begins(rest, "microsecond") ? 1000 : 1000000);
}

static void read_tree(sample_reader *s, pt_reader *lines)
{
    pt_span line;
    bool in_tree = false;
    for (uint64_t at = pt_reader_offset(lines); pt_span_line(lines, &line);
         at = pt_reader_offset(lines)) {
        const bool is_empty = pt_span_trim(line).size == 0;
        if (pt_span_begins(line, MAGIC)) read_title(s, line);
        if (in_tree && is_empty && s->level.count > 0) break;
        if (in_tree && !is_empty && !read_node(s, line) && s->odd++ == 0) s->first_odd = at;
        in_tree |= pt_span_begins(line, "Call graph:");
    }
    while (s->level.count > 0)
        end_level(s);
}

static pt_status macos_sample_read(pt_reader *reader, pt_builder *builder,
                                   const pt_read_hooks *hooks, pt_error *reterr)
{
    if (!pt_plain_begins(reader, MAGIC, reterr)) return PT_ERR_FORMAT;
    sample_reader s = {.b = builder, .interval_ns = 1000000, .pid = PT_NONE, .tid = PT_NONE};
    pt_plain_tree_init(&s.tree, builder);
    pt_plain_event(builder, "samples", "count");
    pt_plain_event(builder, "time", "nanoseconds");
    read_images(&s, *reader);
    read_tree(&s, reader);
    pt_status status = pt_malformed_lines(builder, s.odd, s.first_odd, reterr);
    if (status == PT_OK && s.exceeded > 0)
        status =
            pt_error_set(reterr, PT_ERR_DAMAGED, "%s with more samples than the callers; kept %s",
                         pt_count_noun(s.exceeded, "functions").text,
                         pt_count_noun(pt_builder_sample_count(builder), "samples").text);
    pt_plain_tree_done(&s.tree);
    PT_FREE_ALL(s.image.items, s.level.items);
    return status;
}

static int probe_macos_sample(const pt_probe_input *input)
{
    return pt_begins_n((const char *)input->head, input->head_bytes, MAGIC) ? 90 : 0;
}

const pt_format pt_format_macos_sample = {
    .name = "macos-sample",
    .aliases = "macos",
    .summary = "the report of macOS's command sample",
    .kind = PT_PROBE_HEURISTIC,
    .capabilities = PT_CAN_STACKS | PT_CAN_EVENTS | PT_CAN_LINES | PT_CAN_ADDRESSES |
                    PT_CAN_MAPPINGS | PT_CAN_TIME | PT_CAN_NAMES | PT_CAN_UNITS,
    .probe = probe_macos_sample,
    .read = macos_sample_read,
};
