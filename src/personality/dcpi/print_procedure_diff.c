/* print_procedure_diff.c: prints a row for each block or source line. */
#include "personality/dcpi/print_procedure_diff.h"

#include <inttypes.h>

#include "base/file.h"
#include "personality/dcpi/print_counts.h"
#include "render/report.h"
#include "render/text.h"

void pt_procedure_diff_text(pt_out *out, const pt_look *look, const pt_procedure *p,
                            const char *what, const pt_procedure_diff *d)
{
    pt_text_put_name(out, look, pt_counts_name(p->code.name), 0);
    pt_outf(out, "  %s  %s by %s\n", p->code.path, what,
            d->by_line ? "source line, since the code differs" : "basic block");
    pt_outf(out, "%8s %12s %12s %9s  %s\n", "range%", "set 1", "set 2", "ratio",
            d->by_line ? "line" : "       block  line");
    for (size_t i = 0; i < d->count && pt_out_ok(out); i++) {
        const pt_diff_place *const at = &d->place[i];
        pt_outf(out, "%7.2f%% %12.6g %12.6g ", 100 * at->range, at->value[0], at->value[1]);
        if (at->value[0] > 0)
            pt_outf(out, "%9.3f  ", at->value[1] / at->value[0]);
        else
            pt_outf(out, "%9s  ", "-");
        if (!d->by_line) pt_outf(out, "%12" PRIx64 "  ", at->addr);
        pt_text_put(out, at->file[0] != '\0' ? pt_base_name(at->file) : "(no line)", 0);
        if (at->line > 0) pt_outf(out, ":%" PRId64, at->line);
        pt_out_char(out, '\n');
    }
}

void pt_procedure_diff_csv(pt_out *out, const pt_procedure *p, const pt_procedure_diff *d,
                           bool head)
{
    if (head) pt_out_text(out, "range,first,second,procedure,block,file,line\n");
    for (size_t i = 0; i < d->count && pt_out_ok(out); i++) {
        const pt_diff_place *const at = &d->place[i];
        pt_outf(out, "%.6g,%.15g,%.15g,", at->range, at->value[0], at->value[1]);
        pt_csv_put(out, p->code.name);
        if (d->by_line)
            pt_out_char(out, ',');
        else
            pt_outf(out, ",0x%" PRIx64, at->addr);
        pt_out_char(out, ',');
        pt_csv_put(out, at->file);
        pt_outf(out, ",%" PRId64 "\n", at->line);
    }
}
