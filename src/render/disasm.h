/* disasm.h: instructions with their values, as text and JSON. */
#ifndef PT_RENDER_DISASM_H
#define PT_RENDER_DISASM_H

#include "render/report.h"
#include "view/disasm.h"

/* Source lines stand above their instructions, where they change. */
void pt_disassembly_text(pt_out *out, const pt_look *look, const pt_report_head *head,
                         const pt_disassembly *disassembly);
void pt_disassembly_json(pt_out *out, const pt_report_head *head,
                         const pt_disassembly *disassembly);

#endif
