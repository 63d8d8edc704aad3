# Words for scenes about other writers of resolv.conf, in the café.
# shellcheck shell=bash disable=SC2154,SC2034

file=$laptop/resolv.conf
ours() { grep -q '^nameserver 10.77.0.1' "$file"; }
look_at_file() { stat -c '%F %a %u:%g' "$file"; readlink "$file" || cat "$file"; }
remember_file() { look_at_file >was; }
file_as_before() { look_at_file >is; diff was is; }
# Writes it again and again, as `write_once NUMBER` does, until `peace`.
# No event: the interval of the writes.
war() { rm -f peace; ( for ((i = 0; ; i++)); do sleep 0.02; [[ ! -e peace ]] || exit 0; write_once $i; done ) & war=$!; }
# Not by a signal, which would leave the last write to happen later.
peace() { touch peace; wait "$war"; }
go cafe
