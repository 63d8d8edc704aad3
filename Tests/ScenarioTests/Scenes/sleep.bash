# Words for scenes with a double of systemd-logind.
# shellcheck shell=bash disable=SC2154

start_logind() {
  rm -f "$scene/locks"
  touch "$scene/locks"
  "$tests/login-manager" "$scene" </dev/null >>"$scene/login-manager.log" 2>&1 &
  logind=$!
  export DBUS_SYSTEM_BUS_ADDRESS=unix:path=$scene/bus
  within 5 test -S "$scene/bus"
}

# Announces a sleep, and its end.
falls_asleep() { kill -USR1 "$logind"; }
wakes() { kill -USR2 "$logind"; }

last_of_locks() { [[ $(tail -n 1 "$scene/locks") == "$1"* ]]; }
