# cause: starting-programs
# shellcheck shell=bash disable=SC2001,SC2034
# A program is started for each line.
for i in $(seq 300); do
    x=$(echo "$i" | sed s/1/2/)
done
