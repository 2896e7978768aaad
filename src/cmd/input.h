/* input.h: loads the profile that a command's arguments name. */
#pragma once

#include "capture/folder.h"
#include "cmd/cmd.h"
#include "transform/scale.h"

/* This name stands for the profile of this user's running recording; if several run, of the
 * youngest. */
#define PT_RECORDING_NAME "@recording"

/* The kind of a file, by its first bytes. */
typedef enum {
    PT_PATH_MISSING,
    PT_PATH_FOLDER,
    PT_PATH_IMAGE,  /* an ELF image: a program or shared object */
    PT_PATH_SCRIPT, /* begins with #! */
    PT_PATH_OTHER,  /* perhaps a profile */
} pt_path_kind;
pt_path_kind pt_path_look(const char *path);

/* A message for users of perf, whose -i names a file. Its arguments for printf: the pattern after
 * -i, the command, the pattern again. */
#define PT_IGNORED_FILE "-i means --ignore=PATTERN; to report on %s: pitot %s %s"

/* Loads context->args (or the default profile, with a message) into ->loaded, ->profile, ->title,
 * and symbolizes if the command needs names. Returns an exit status; the message of a failure has
 * been printed. */
int pt_cmd_load(pt_cmd_context *context);
/* Reads the journals of one recording into one profile. The caller unrefs *ret_profile. */
pt_status pt_cmd_read_recording(const pt_folder_journals *journals, const pt_profile **ret_profile,
                                pt_error *reterr);
/* Returns a context with the command, settings and output of `context`, but without arguments,
 * profile and query.
 */
pt_cmd_context pt_cmd_context_like(const pt_cmd_context *context);

/* The title of the base that ->profile is compared with: the name of the base's file, or "several
 * profiles"; NULL if there is no base. */
const char *pt_cmd_before_title(const pt_cmd_context *context);

/* Makes ->profile the difference to another profile, and keeps both as ->side if the command keeps
 * sides. Returns an exit status; a failure was printed. */
int pt_cmd_subtract(pt_cmd_context *context, const pt_profile *before,
                    const pt_subtract_options *how);

/* Prints the damage of each input; the readable part is used. */
void pt_cmd_say_damage(const pt_loaded *loaded);

/* Adds functions, lines and inlined frames to ->profile, by --symbols and related options. Returns
 * an exit status. */
int pt_cmd_symbolize(pt_cmd_context *context);
