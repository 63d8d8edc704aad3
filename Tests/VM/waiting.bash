# shellcheck shell=bash
# Waits in a virtual machine, and its chapters: their order, the journal of each, and what they take.

# within_seconds N COMMAND …: waits until the command succeeds. N is meant for a quiet machine, and is no limit: the processor is emulated,
# and another machine runs beside this one. So the wait ends after four times as long, a minute at least, and one that took longer than N
# is reported. It pauses for a tenth of the time that has passed, 0.1 to 0.9 s: a look takes long there, from what it waits for.
within_seconds() {
  local meant=$1 began=$SECONDS limit tenths
  shift
  limit=$((4 * meant > 60 ? 4 * meant : 60))
  until "$@"; do
    ((SECONDS < began + limit)) || return 1
    tenths=$((SECONDS - began))
    sleep "0.$((tenths < 1 ? 1 : tenths > 9 ? 9 : tenths))"
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
# play NAME PLAYER CHAPTER …: `PLAYER CHAPTER` for each, which passes alone and after any other.
play() {
  local name=$1 player=$2 chapter
  shift 2
  for chapter; do
    journal_begins
    timed "$chapter" "$player" "$chapter"
  done
  echo "$name: all is well"
}

# choose NAME ARGUMENTS -- CHAPTERS: leaves in `chapters` those that are to run. Chapters that are named run in the order of the names.
# Without a name all run, shuffled: the seed is random, or that of `--seed N`.
choose() {
  local name=$1 seed=$RANDOM asked=()
  shift
  while [[ $1 != -- ]]; do
    if [[ $1 == --seed ]]; then seed=$2 && shift 2; else asked+=("$1") && shift; fi
  done
  shift
  if ((${#asked[@]} > 0)); then
    chapters=("${asked[@]}")
    return
  fi
  mapfile -t chapters < <(printf '%s\n' "$@" | awk -v seed="$seed" 'BEGIN { srand(seed) } { print rand() "\t" $0 }' | sort -g | cut -f 2)
  echo "$name: in the order of --seed $seed: ${chapters[*]}"
}

# The journal since the chapter began, which it says itself: an earlier chapter's entries are not its doing. Not --after-cursor: with a
# filter, journalctl 252 also leaves out the first entry that matches.
journal_begins() {
  [[ -d /run/systemd/system ]] || return 0
  logger --tag chapter begins
  journalctl --sync
  journal_cursor=$(journalctl --quiet --identifier=chapter --lines=1 --show-cursor | sed -n 's/^-- cursor: //p')
  [[ -n $journal_cursor ]]
}
journal() { journalctl --quiet --cursor="$journal_cursor" "$@"; }
# Output of the command is that of the check; this one is the machine's.
exec 3>&1
