/* fuzz_cells.c: any bytes as a cell of a report, and in any pieces on their way to a terminal: no
 * character that a terminal obeys comes out, and a cell has the width that was said.
 *
 *   limit u8 | size of a piece u8 | text
 */
#include "base/utf8.h"
#include "base/visible.h"
#include "formats_fuzz.h"
#include "render/text.h"

enum { HEAD_BYTES = 2 };

/* UTF-8 of visible characters; spaces of lines only where they may stand. */
static void check_visible(const pt_buf *shown, bool has_lines)
{
    for (size_t at = 0; at < shown->size;) {
        uint32_t character;
        int is_valid;
        const size_t bytes =
            pt_utf8_decode(shown->data + at, shown->size - at, &character, &is_valid);
        if (!is_valid) fuzz_fail("cell", "no UTF-8");
        const bool is_line = has_lines && (character == '\n' || character == '\t');
        if (!is_line && !pt_is_visible(character)) fuzz_fail("cell", "a terminal obeys it");
        at += bytes;
    }
}

static void check_cell(const char *text, size_t limit)
{
    pt_buf cell = PT_BUF_INIT;
    pt_out out;
    pt_out_to_buf(&out, &cell);
    pt_text_put(&out, text, limit);
    pt_out_done(&out, NULL);
    check_visible(&cell, false);
    const size_t width = pt_text_width(text), shown = pt_text_width(pt_buf_text(&cell));
    if (limit == 0 && shown != width) fuzz_fail("cell", "another width than was said");
    if (limit >= 8 && shown > limit) fuzz_fail("cell", "wider than it may be");
    pt_buf_done(&cell);
}

static pt_status keep(void *context, const void *data, size_t size, pt_error *reterr)
{
    pt_put(context, data, size);
    return PT_OK;
}

static void check_terminal(const uint8_t *text, size_t size, size_t piece)
{
    pt_buf shown = PT_BUF_INIT;
    pt_out out;
    pt_out_to_fn(&out, keep, &shown);
    out.is_terminal = true;
    for (size_t at = 0; at < size; at += piece)
        pt_out_put(&out, text + at, size - at < piece ? size - at : piece);
    pt_out_done(&out, NULL);
    check_visible(&shown, true);
    pt_buf_done(&shown);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    if (size < HEAD_BYTES) return 0;
    const size_t limit = data[0] % 40, piece = 1 + data[1] % 8;
    PT_FREE char *text = pt_strndup((const char *)data + HEAD_BYTES, size - HEAD_BYTES);
    check_cell(text, 0);
    check_cell(text, limit);
    check_terminal(data + HEAD_BYTES, size - HEAD_BYTES, piece);
    return 0;
}
