# shellcheck shell=bash
# Waits in a virtual machine, and what its chapters take.

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
# timed CHAPTER COMMAND …: runs the command, and tells the seconds that it took.
timed() {
  local chapter=$1 began=$SECONDS
  shift
  printf '%4ds  -- %s\n' "$SECONDS" "$chapter"
  "$@"
  printf '%4ds  -- %s took %d s\n' "$SECONDS" "$chapter" "$((SECONDS - began))"
}
# Output of the command is that of the check; this one is the machine's.
exec 3>&1
