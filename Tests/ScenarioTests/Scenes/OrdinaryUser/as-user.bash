# Runs a command of `roamward` as an ordinary user, with the installed folders.
# shellcheck shell=bash disable=SC2154,SC2034

user=(setpriv --reuid 65534 --regid 65534 --clear-groups)
as_user() { "${user[@]}" "$bin/roamward" "$@" </dev/null; }
# The lines of a command on standard error, and its status where that is not 0.
try() { as_user "$@" 2>err >out || say "$1 $?"; sed 's/^/! /' err; }
