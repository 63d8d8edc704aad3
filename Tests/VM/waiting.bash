# shellcheck shell=bash
# Waits in a virtual machine.

# within_seconds N COMMAND …: waits until the command succeeds. N is meant for a quiet machine, and is no limit: the processor is emulated,
# and another machine runs beside this one. So the wait ends after four times as long, a minute at least, and one that took longer than N
# is reported.
within_seconds() {
  local meant=$1 began=$SECONDS limit
  shift
  limit=$((4 * meant > 60 ? 4 * meant : 60))
  until "$@"; do
    ((SECONDS < began + limit)) || return 1
    sleep 0.1
  done
  ((SECONDS <= began + meant)) || printf '%4ds  late: meant within %d s, took %d s: %.100s\n' "$SECONDS" "$meant" "$((SECONDS - began))" "$*" >&3
}
# Output of the command is that of the check; this one is the machine's.
exec 3>&1
