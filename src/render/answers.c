/* answers.c: answers as llvm-symbolizer and addr2line print them. Spaces, empty lines and the words
 * for unknown facts are those of LLVM 14 and binutils 2.40. */
#include <inttypes.h>
#include <stdio.h>

#include "base/file.h"
#include "base/json.h"
#include "render/answers.h"

static const char *shown_file(const pt_answer_printer *p, const char *file)
{
    if (file[0] == '\0') return "??";
    return p->basenames ? pt_base_name(file) : file;
}

/* Puts a decimal number without pt_outf: a large batch spends most of its time here. */
static void put_number(pt_out *out, uint32_t value)
{
    char text[10];
    size_t at = sizeof text;
    do {
        text[--at] = (char)('0' + value % 10);
        value /= 10;
    } while (value > 0);
    pt_out_put(out, text + at, sizeof text - at);
}

static void put_function(const pt_answer_printer *p, const char *name)
{
    if (!p->functions) return;
    pt_out_text(p->out, name[0] != '\0' ? name : "??");
    pt_out_text(p->out, p->pretty ? " at " : "\n");
}

/* ---- addr2line ---- */

static void addr2line_place(const pt_answer_printer *p, const pt_answer_frame *f)
{
    pt_out_text(p->out, shown_file(p, f->file));
    pt_out_char(p->out, ':');
    if (f->line != 0)
        put_number(p->out, f->line);
    else
        pt_out_char(p->out, '?');
    pt_out_char(p->out, '\n');
}

static void addr2line_answer(const pt_answer_printer *p, const pt_answer *a)
{
    if (p->addresses)
        pt_outf(p->out, "0x%0*" PRIx64 "%s", a->is_32 ? 8 : 16, a->addr, p->pretty ? ": " : "\n");
    if (a->frame_count == 0) {
        if (p->functions) pt_out_text(p->out, p->pretty ? "?? " : "??\n");
        pt_out_text(p->out, "??:0\n");
    }
    for (size_t i = 0; i < a->frame_count; i++) {
        if (i > 0 && p->pretty) pt_out_text(p->out, " (inlined by) ");
        put_function(p, a->frames[i].function);
        addr2line_place(p, &a->frames[i]);
    }
}

/* ---- llvm-symbolizer, and what it calls GNU ---- */

static void llvm_frame(const pt_answer_printer *p, const pt_answer_frame *f)
{
    put_function(p, f->function);
    pt_out_text(p->out, shown_file(p, f->file));
    pt_out_char(p->out, ':');
    put_number(p->out, f->line);
    if (p->style != PT_STYLE_GNU) {
        pt_out_char(p->out, ':');
        put_number(p->out, f->column);
    }
    pt_out_char(p->out, '\n');
}

static void llvm_answer(const pt_answer_printer *p, const pt_answer *a)
{
    static const pt_answer_frame unknown = {.function = "", .file = ""};
    if (p->addresses) pt_outf(p->out, "0x%" PRIx64 "%s", a->addr, p->pretty ? ": " : "\n");
    if (a->is_data) {
        pt_outf(p->out, "%s\n", a->data != NULL ? a->data->name : "??");
        pt_outf(p->out, "%" PRIu64 " %" PRIu64 "\n", a->data != NULL ? a->data->addr : 0,
                a->data != NULL ? a->data->size_bytes : 0);
    } else if (a->frame_count == 0) {
        llvm_frame(p, &unknown);
    }
    for (size_t i = 0; i < a->frame_count && !a->is_data; i++) {
        if (i > 0 && p->pretty) pt_out_text(p->out, " (inlined by) ");
        llvm_frame(p, &a->frames[i]);
    }
    if (p->style == PT_STYLE_LLVM) pt_out_char(p->out, '\n');
}

/* ---- JSON ---- */

static void json_hex(pt_json_w *w, const char *key, uint64_t value, bool is_known)
{
    char text[32] = "";
    if (is_known) snprintf(text, sizeof text, "0x%" PRIx64, value);
    pt_json_key_text(w, key, text);
}

static void json_frame(pt_json_w *w, const pt_answer_printer *p, const pt_answer_frame *f)
{
    pt_json_object(w);
    pt_json_key_uint(w, "Column", f->column);
    pt_json_key_uint(w, "Discriminator", 0);
    pt_json_key_text(w, "FileName", f->file[0] != '\0' ? shown_file(p, f->file) : "");
    pt_json_key_text(w, "FunctionName", f->function);
    pt_json_key_uint(w, "Line", f->line);
    json_hex(w, "StartAddress", f->start_addr, f->start_addr != 0);
    pt_json_key_text(w, "StartFileName",
                     f->start_line != 0 && f->file[0] != '\0' ? shown_file(p, f->file) : "");
    pt_json_key_uint(w, "StartLine", f->start_line);
    pt_json_object_end(w);
}

static void json_data(pt_json_w *w, const pt_data_symbol *data)
{
    pt_json_key_object(w, "Data");
    pt_json_key_text(w, "Name", data != NULL ? data->name : "");
    json_hex(w, "Size", data != NULL ? data->size_bytes : 0, true);
    json_hex(w, "Start", data != NULL ? data->addr : 0, true);
    pt_json_object_end(w);
}

static void json_answer(const pt_answer_printer *p, const pt_answer *a)
{
    static const pt_answer_frame unknown = {.function = "", .file = ""};
    pt_json_w w;
    pt_json_w_init(&w, p->out, a->is_alone && p->pretty ? PT_JSON_INDENT : 0);
    pt_json_object(&w);
    json_hex(&w, "Address", a->addr, true);
    if (a->is_data) json_data(&w, a->data);
    pt_json_key_text(&w, "ModuleName", a->module);
    if (!a->is_data) {
        pt_json_key_array(&w, "Symbol");
        for (size_t i = 0; i < a->frame_count; i++)
            json_frame(&w, p, &a->frames[i]);
        if (a->frame_count == 0) json_frame(&w, p, &unknown);
        pt_json_array_end(&w);
    }
    pt_json_object_end(&w);
    pt_json_w_done(&w);
    if (a->is_alone && !p->pretty) pt_out_char(p->out, '\n');
}

void pt_print_begin(pt_answer_printer *p)
{
    if (p->style == PT_STYLE_JSON) pt_out_char(p->out, '[');
}

void pt_print_end(pt_answer_printer *p)
{
    if (p->style == PT_STYLE_JSON) pt_out_text(p->out, "]\n");
}

void pt_print_answer(pt_answer_printer *p, const pt_answer *a)
{
    switch (p->style) {
    case PT_STYLE_ADDR2LINE: addr2line_answer(p, a); break;
    case PT_STYLE_JSON:
        if (!a->is_alone && p->printed > 0) pt_out_char(p->out, ',');
        json_answer(p, a);
        break;
    case PT_STYLE_LLVM:
    case PT_STYLE_GNU: llvm_answer(p, a); break;
    }
    p->printed++;
}
