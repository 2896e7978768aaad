/* disasm.c: one row an instruction, with the source line above the first one of it. */
#include "render/disasm.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "base/file.h"
#include "render/listing.h"
#include "render/text.h"
#include "render/value.h"

typedef struct {
    pt_out *out;
    const pt_look *look;
    const pt_summary *summary;
    const char *unit;
    int width;  /* of a value's column */
    int digits; /* of an address */
    pt_buf text;
} writer;

static size_t room_left(const writer *w, size_t used)
{
    return w->look->width > used + 20 ? w->look->width - used : 0;
}

static size_t columns_before(const writer *w)
{
    return 2 * ((size_t)w->width + 8) + 3;
}

/* The place of an instruction has changed if its line, or what it is inlined through, has. */
static bool same_place(const pt_disasm_line *a, const pt_disasm_line *b)
{
    if (a->frame_count != b->frame_count) return false;
    for (uint32_t i = 0; i < a->frame_count; i++)
        if (a->frame[i].line != b->frame[i].line || strcmp(a->frame[i].file, b->frame[i].file) != 0)
            return false;
    return true;
}

/* Of a long chain of inlined calls the middle is left out. */
#define LONG_CHAIN 4

/* "; app.cc:28 > square shapes.hh:7  y += x * i;": from the function down to what is inlined. */
static void put_place(writer *w, const pt_disasm_line *line)
{
    if (line->frame_count == 0) return;
    pt_buf_clear(&w->text);
    pt_put_text(&w->text, "; ");
    for (uint32_t i = line->frame_count; i-- > 0;) {
        const pt_code_frame *f = &line->frame[i];
        if (line->frame_count > LONG_CHAIN && i > 1 && i + 1 < line->frame_count) {
            pt_put_text(&w->text, " > ...");
            i = 2;
            continue;
        }
        if (i + 1 < line->frame_count) pt_putf(&w->text, " > %s ", f->brief);
        if (f->file[0] == '\0')
            pt_put_text(&w->text, "?");
        else if (f->line == 0)
            pt_put_text(&w->text, pt_base_name(f->file));
        else
            pt_putf(&w->text, "%s:%u", pt_base_name(f->file), f->line);
    }
    if (line->source != NULL) {
        size_t skip = 0;
        while (skip < line->source_size &&
               (line->source[skip] == ' ' || line->source[skip] == '\t'))
            skip++;
        pt_put_text(&w->text, "  ");
        pt_put_source(&w->text, line->source + skip, line->source_size - skip);
    }
    const size_t before = columns_before(w);
    pt_text_pad(w->out, before);
    pt_text_colour(w->out, w->look, PT_COLOUR_QUIET);
    pt_text_put(w->out, pt_buf_text(&w->text), room_left(w, before));
    pt_text_colour_end(w->out, w->look, PT_COLOUR_QUIET);
    pt_out_char(w->out, '\n');
}

static void put_line(writer *w, const pt_disasm_line *line, const pt_disasm_line *before)
{
    const size_t used = columns_before(w) + (size_t)w->digits + 2;
    if (line->after_gap) {
        pt_text_colour(w->out, w->look, PT_COLOUR_QUIET);
        pt_outf(w->out, "%*s\n", (int)used - 2, "...");
        pt_text_colour_end(w->out, w->look, PT_COLOUR_QUIET);
    }
    if (before == NULL || line->after_gap || !same_place(line, before)) put_place(w, line);
    const bool is_blank = line->self == 0 && line->total == 0;
    const pt_colour colour = is_blank ? PT_COLOUR_NONE : pt_colour_of_share(line->self_share);
    pt_listing_put_values(
        w->out, w->summary, w->width,
        &(pt_listing_values){line->self, line->total, line->self_share, line->total_share});
    pt_outf(w->out, "%*" PRIx64 "  ", w->digits, line->addr);
    pt_buf_clear(&w->text);
    pt_put_source(&w->text, line->text, strlen(line->text));
    pt_text_colour(w->out, w->look, colour);
    pt_text_put(w->out, pt_buf_text(&w->text), room_left(w, used));
    pt_text_colour_end(w->out, w->look, colour);
    pt_out_char(w->out, '\n');
}

static void put_function(writer *w, const pt_disasm_function *f)
{
    pt_listing_put_values(w->out, w->summary, w->width,
                          &(pt_listing_values){f->self, f->total, f->self_share, f->total_share});
    pt_text_colour(w->out, w->look, PT_COLOUR_STRONG);
    pt_text_put_name(w->out, w->look, f->name, 0);
    pt_text_colour_end(w->out, w->look, PT_COLOUR_STRONG);
    pt_text_colour(w->out, w->look, PT_COLOUR_QUIET);
    pt_out_text(w->out, "  ");
    pt_text_put(w->out, f->path, 0);
    pt_outf(w->out, "  0x%" PRIx64 "-0x%" PRIx64, f->start, f->end);
    if (f->error != NULL) {
        pt_outf(w->out, "\n%*s", (int)columns_before(w), "");
        pt_text_put(w->out, f->error, 0);
    }
    pt_text_colour_end(w->out, w->look, PT_COLOUR_QUIET);
    pt_out_char(w->out, '\n');
    w->digits = 4;
    for (uint64_t n = f->end >> 16; n > 0; n >>= 4)
        w->digits++;
    for (size_t i = 0; i < f->line_count && pt_out_ok(w->out); i++)
        put_line(w, &f->line[i], i > 0 ? &f->line[i - 1] : NULL);
}

void pt_disassembly_text(pt_out *out, const pt_look *look, const pt_report_head *head,
                         const pt_disassembly *d)
{
    pt_report_head_text(out, look, head);
    writer w = {.out = out,
                .summary = &head->summary,
                .look = look,
                .unit = head->summary.unit,
                .width = 6};
    for (size_t i = 0; i < d->count; i++) {
        pt_value_fit(&w.width, w.unit, d->function[i].total);
        pt_value_fit(&w.width, w.unit, d->function[i].self);
        for (size_t k = 0; k < d->function[i].line_count; k++) {
            pt_value_fit(&w.width, w.unit, d->function[i].line[k].total);
            pt_value_fit(&w.width, w.unit, d->function[i].line[k].self);
        }
    }
    pt_listing_put_heading(out, look, w.width, "address and instruction");
    for (size_t i = 0; i < d->count && pt_out_ok(out); i++) {
        if (i > 0) pt_out_char(out, '\n');
        put_function(&w, &d->function[i]);
    }
    if (d->more > 0)
        pt_outf(out, "\n%s more function%s (-n 0)\n", pt_count_of(d->more).text,
                d->more == 1 ? "" : "s");
    pt_buf_done(&w.text);
}

/* ---- JSON ---- */

static void put_json_line(pt_json_w *w, const pt_summary *summary, const pt_disasm_line *line)
{
    pt_json_object(w);
    pt_json_key_hex(w, "address", line->addr);
    pt_json_key_uint(w, "size", line->size_bytes);
    pt_json_key_text(w, "text", line->text);
    pt_listing_json_values(
        w, summary,
        &(pt_listing_values){line->self, line->total, line->self_share, line->total_share});
    pt_json_key_array(w, "frames");
    for (uint32_t i = 0; i < line->frame_count; i++) {
        pt_json_object(w);
        pt_json_key_text(w, "function", line->frame[i].function);
        pt_json_key_text(w, "file", line->frame[i].file);
        pt_json_key_uint(w, "line", line->frame[i].line);
        pt_json_object_end(w);
    }
    pt_json_array_end(w);
    pt_json_object_end(w);
}

void pt_disassembly_json(pt_out *out, const pt_report_head *head, const pt_disassembly *d)
{
    pt_json_w w;
    pt_json_w_init(&w, out, PT_JSON_INDENT);
    pt_report_head_json(&w, "disasm", head);
    pt_json_key_array(&w, "functions");
    for (size_t i = 0; i < d->count && pt_out_ok(out); i++) {
        const pt_disasm_function *f = &d->function[i];
        pt_json_object(&w);
        pt_json_key_text(&w, "name", f->name);
        pt_json_key_text(&w, "linkage_name", f->linkage_name);
        pt_json_key_text(&w, "path", f->path);
        pt_json_key_hex(&w, "start", f->start);
        pt_json_key_hex(&w, "end", f->end);
        pt_json_key_text(&w, "error", f->error);
        pt_listing_json_values(
            &w, &head->summary,
            &(pt_listing_values){f->self, f->total, f->self_share, f->total_share});
        pt_json_key_array(&w, "instructions");
        for (size_t k = 0; k < f->line_count; k++)
            put_json_line(&w, &head->summary, &f->line[k]);
        pt_json_array_end(&w);
        pt_json_object_end(&w);
    }
    pt_json_array_end(&w);
    pt_json_key_uint(&w, "more", d->more);
    pt_json_object_end(&w);
    pt_json_w_done(&w);
}
