/* policy.c: see policy.h. The build makes embed_hashes.h (tools/embed-hashes). */
#include "render/policy.h"

#include "embed_hashes.h"

#define NOTHING             "default-src 'none'; base-uri 'none'; form-action 'none'; object-src 'none'"
#define ONLY(script, style) NOTHING "; script-src " script "; style-src " style

const char pt_policy_app[] = ONLY(PT_HASH_APP_SCRIPT, PT_HASH_APP_STYLE);
const char pt_policy_flame[] = ONLY(PT_HASH_FLAME_SCRIPT, PT_HASH_FLAME_STYLE);
const char pt_policy_picture[] = ONLY(PT_HASH_PICTURE_SCRIPT, "'none'");
const char pt_policy_weblist[] = ONLY(PT_HASH_WEBLIST_SCRIPT, PT_HASH_WEBLIST_STYLE);
const char pt_policy_nothing[] = NOTHING;
