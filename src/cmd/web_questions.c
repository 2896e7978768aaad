/* web_questions.c: see web_questions.h.
 *
 * A line of the file is a question: NAME TAB VIEW?PARAMETERS
 */
#include "cmd/web_questions.h"

#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <sys/file.h>
#include <unistd.h>

#include "base/file.h"
#include "base/grow.h"
#include "base/json.h"
#include "base/place.h"
#include "base/span.h"
#include "base/units.h"
#include "terminal/message.h"
#include "terminal/state.h"

#define FILE_NAME "questions"

enum { NAME_MAX_BYTES = 100, AT_MAX_BYTES = 4096, QUESTIONS_MAX = 100, FILE_MAX_BYTES = 1 << 20 };

typedef struct {
    pt_span name, at;
} question;

typedef struct {
    char *path; /* owned; NULL if there is no folder for the file */
    pt_blob blob;
    PT_VECTOR(question) item;
    uint64_t unread; /* the number of lines that are no questions */
    bool is_lost;    /* the file could not be read, so it must not be replaced */
} questions;

static bool is_name(pt_span name)
{
    for (size_t i = 0; i < name.size; i++)
        if ((unsigned char)name.at[i] < ' ' || name.at[i] == '\x7f') return false;
    return name.size > 0 && name.size <= NAME_MAX_BYTES;
}

/* Is the text a view with parameters, in characters of a query (RFC 3986, section 3.4) and without
 * the parameter of the server's token? Names of parameters may not have escapes (%), since an
 * escape could hide the token's name. */
static bool is_address(pt_span at)
{
    static const char others[] = "-._~%=&?+*!'();:@$,/";
    size_t view = 0;
    while (view < at.size && ((at.at[view] >= 'a' && at.at[view] <= 'z') || at.at[view] == '-'))
        view++;
    if (view == 0 || at.size > AT_MAX_BYTES || (view < at.size && at.at[view] != '?')) return false;
    bool in_name = true;
    for (size_t i = view; i < at.size; i++) {
        const char c = at.at[i];
        const bool is_plain =
            (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9');
        if (c == '\0' || (!is_plain && strchr(others, c) == NULL) || (in_name && c == '%'))
            return false;
        if (c == '=' || c == '&') in_name = c == '&';
        if ((c == '?' || c == '&') && pt_span_begins(pt_span_from(at, at.at + i + 1), "t="))
            return false;
    }
    return true;
}

static void take_line(questions *q, pt_span line)
{
    const char *const tab = memchr(line.at, '\t', line.size);
    const question one = {.name = pt_span_upto(line, tab != NULL ? tab : line.at),
                          .at = pt_span_from(line, tab != NULL ? tab + 1 : line.at)};
    if (tab == NULL || !is_name(one.name) || !is_address(one.at) || q->item.count == QUESTIONS_MAX)
        q->unread++;
    else
        PT_PUSH(q->item, one);
}

/* Reads the file of questions; a missing file has none. Follows links, as the writer does. */
static questions read_questions(void)
{
    questions q = {.path = pt_state_path(FILE_NAME), .blob = PT_BLOB_INIT};
    struct stat st;
    pt_error error = PT_ERROR_INIT;
    if (q.path == NULL) return q;
    PT_CLOSE int fd = pt_open_regular(q.path, &st);
    if (fd < 0 && errno == ENOENT) return q;
    q.is_lost = true;
    if (fd < 0) {
        pt_say("%s: cannot read: %s", q.path,
               errno == EINVAL ? "it is not a regular file" : strerror(errno));
    } else if (!pt_owner_is_trusted(st.st_uid)) {
        pt_say("%s: the file belongs to another user", q.path);
    } else if (pt_file_read_fd(fd, q.path, PT_FILE_EMPTY_OK, FILE_MAX_BYTES, &q.blob, &error) !=
               PT_OK) {
        pt_fail(&error);
    } else {
        q.is_lost = false;
        pt_reader r;
        pt_reader_init(&r, q.blob.data, q.blob.size, &error);
        for (pt_span line; pt_span_line(&r, &line);)
            take_line(&q, line);
    }
    if (q.unread > 0)
        pt_say("%s: left out %s: not kept views, or beyond the first %d", q.path,
               pt_count_noun(q.unread, "lines").text, QUESTIONS_MAX);
    return q;
}

static void free_questions(questions *q)
{
    PT_FREE_ALL(q->path, q->item.items);
    pt_blob_done(&q->blob);
}

void pt_web_list_questions(pt_buf *json)
{
    questions q = read_questions();
    pt_out out;
    pt_json_w w;
    pt_out_to_buf(&out, json);
    pt_json_w_init(&w, &out, 0);
    pt_json_object(&w);
    PT_JSON_OBJECTS (&w, "questions", i, q.item.count) {
        pt_json_key_text_n(&w, "name", q.item.items[i].name.at, q.item.items[i].name.size);
        pt_json_key_text_n(&w, "at", q.item.items[i].at.at, q.item.items[i].at.size);
    }
    pt_json_object_end(&w);
    pt_json_w_done(&w);
    pt_out_done(&out, NULL);
    free_questions(&q);
}

static bool write_questions(const questions *q)
{
    pt_error error = PT_ERROR_INIT;
    pt_file_writer writer;
    if (pt_file_create(q->path, PT_MODE_PRIVATE, &writer, &error) != PT_OK) {
        pt_fail(&error);
        return false;
    }
    for (size_t i = 0; i < q->item.count; i++) {
        const question *const one = &q->item.items[i];
        pt_outf(&writer.out, "%.*s\t%.*s\n", (int)one->name.size, one->name.at, (int)one->at.size,
                one->at.at);
    }
    const bool is_written = pt_file_commit(&writer, true, &error) == PT_OK;
    if (!is_written) pt_fail(&error);
    return is_written;
}

/* Sets, adds or removes a question. Returns false after it has printed a reason. */
static bool set_question(questions *q, question one)
{
    size_t i = 0;
    while (i < q->item.count && !pt_span_equals(q->item.items[i].name, one.name))
        i++;
    if (one.at.size == 0) {
        if (i == q->item.count) {
            pt_say("there is no kept view of this name");
            return false;
        }
        for (q->item.count--; i < q->item.count; i++)
            q->item.items[i] = q->item.items[i + 1];
    } else if (i < q->item.count) {
        q->item.items[i] = one;
    } else if (q->item.count < QUESTIONS_MAX) {
        PT_PUSH(q->item, one);
    } else {
        pt_say(
            "%d views are kept under Questions, which is the most: remove one by its cross first",
            QUESTIONS_MAX);
        return false;
    }
    return true;
}

/* Waits until no other process changes the questions. Returns a descriptor to close, or -1. */
static int lock_folder(void)
{
    PT_FREE char *folder = pt_state_path(".");
    const int fd = folder != NULL ? open(folder, O_RDONLY | O_DIRECTORY | O_CLOEXEC) : -1;
    while (fd >= 0 && flock(fd, LOCK_EX) != 0 && errno == EINTR)
        continue;
    return fd;
}

bool pt_web_keep_question(const char *name, const char *at)
{
    const question one = {.name = pt_span_of(name != NULL ? name : ""),
                          .at = pt_span_of(at != NULL ? at : "")};
    if (!is_name(one.name) || (one.at.size > 0 && !is_address(one.at))) {
        pt_say("name= is 1 to %d bytes without control characters, at= a view with its parameters "
               "(top?f=parse), at most %d bytes",
               NAME_MAX_BYTES, AT_MAX_BYTES);
        return false;
    }
    PT_CLOSE int lock = lock_folder();
    questions q = read_questions();
    bool is_kept = q.path != NULL && !q.is_lost;
    if (q.path == NULL)
        pt_say("the view is not kept: neither XDG_STATE_HOME nor HOME names a folder of yours");
    is_kept = is_kept && set_question(&q, one) && write_questions(&q);
    free_questions(&q);
    return is_kept;
}
