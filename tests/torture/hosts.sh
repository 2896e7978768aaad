#!/usr/bin/env bash
# Each kind of host in every mode of the library (tests/abi/hosts.t.sh tries two modes of each).
PITOT_ALL_HOSTS=1 exec bash "$(dirname "$0")/../abi/hosts.t.sh"
