/* resident.h: commands run on a profile in memory, as `pitot shell` and `pitot serve` run them: no
 * files, nothing printed. */
#pragma once

#include "cmd/cmd.h"
#include "cmd/options.h"
#include "formats_fuzz.h"

/* Bytes of any format that its probe knows; NULL if they are none, or none can be read. */
static inline const pt_profile *fuzz_read_any(const uint8_t *data, size_t size)
{
    uint8_t padded[64] = {0};
    pt_probe_input input = {
        .head = data,
        .head_bytes = size < 65536 ? size : 65536,
        .file_bytes = size,
        .name = "",
    };
    if (size < sizeof padded) {
        if (size > 0) memcpy(padded, data, size);
        input.head = padded;
    }
    const pt_format *format = NULL;
    pt_status status;
    if (pt_format_probe(&input, &format, NULL) != PT_OK || format->read == NULL) return NULL;
    return fuzz_read(format, data, size, &status);
}

/* The answer is put to `report`, what the command says to `said`; returns its exit status. */
static inline int fuzz_run(const pt_profile *profile, const pt_command *command,
                           const char *const *words, size_t count, pt_buf *report, pt_buf *said)
{
    static pt_input_settings input;
    static pt_symbol_settings symbol;
    static pt_place_settings place;
    static const pt_look look;
    pt_cmd_context base = {
        .input = &input, .symbol = &symbol, .place = &place, .profile = profile, .title = "title"};
    pt_out out;
    pt_out_to_buf(&out, report);
    pt_say_into(said);
    const int status = pt_cmd_run_resident(&base, command, words, count, &out, &look);
    pt_say_into(NULL);
    pt_out_done(&out, NULL);
    if (status != PT_EXIT_OK && status != PT_EXIT_DAMAGED && said->size == 0)
        fuzz_fail(command->name, "it failed and said nothing");
    return status;
}
