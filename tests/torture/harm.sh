#!/usr/bin/env bash
# The profile of a running program is harmed in every way, a thousand times. PITOT_HARM_ROUNDS is another number.
. "$(dirname "$0")/../abi/lib.sh"

rounds=${PITOT_HARM_ROUNDS:-1000}
${CC:-cc} $flags -D_GNU_SOURCE -Wall "$here/harm_host.c" -o host || exit 1

it "a program gives what it gives alone, in $rounds rounds"
python3 "$here/harm.py" "$rounds" ./host "$PITOT_BUILD/libprofiler.so.0" "$PITOT" >harmed || fail "$(grep -v '^#' harmed)"
cat harmed
