#!/usr/bin/env bash
# What recording costs services under load: wall time of the load and CPU time, in turn with the service alone,
# by each engine. SERVICES_ROUNDS: runs of each kind (5).
. "$(dirname "$0")/../cli/lib.sh"

run pitot record --engine=perf -o probe.pb.gz true
[ "$status" = 0 ] || skip_all "no perf events here: $(stderr | tail -n 1)"
needs python3 || skip_all 'python3 is not installed'

for service in redis postgres nginx node java; do
    it "$service costs at most 1.02 times as much when it is recorded"
    mkdir $service
    said=$(cd $service && python3 "$PITOT_ROOT/tests/torture/record_services.py" "$PITOT" $service "${SERVICES_ROUNDS:-5}" 2>&1)
    case $? in
        0) ;;
        77) skip "$said" ;;
        *) fail "$said" ;;
    esac
    echo "# $t_name: $said"
done
