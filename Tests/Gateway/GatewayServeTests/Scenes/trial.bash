#!/usr/bin/env bash
# Files on trial at a gateway that was made by commands: kept, reverted by hand, by time, by a restart, and after kill -9 at each step.
# shellcheck source=Tests/Gateway/GatewayServeTests/Scenes/scene.bash
source "$(dirname "${BASH_SOURCE[0]}")/scene.bash"

mkdir -p /run/state /run/files /run/new
chmod 755 /run /run/files /run/new
gateway() { "$ROAMWARD_BIN/roamward-gateway" "$@" --state /run/state; }
files() { gateway "$@" --files /run/files; }
serve() {
  (exec "$ROAMWARD_BIN/roamward-gateway" serve --state /run/state --files /run/files) >>serve.log 2>&1 &
  serving=$!
  until_so 'the gateway serves' eval 'gateway status | found "  serving$"'
}
says() { # WORDS COMMAND...: a command that is refused, with these words
  local words=$1
  shift
  ! "$@" >out.log 2>&1 || fail "not refused: $*"
  found -F -e "$words" <out.log || fail "$*: $(<out.log)"
}
# Everything of the store that the gateway obeys, with the numbers of rows, and its own settings.
present() {
  local table
  for table in users groups members devices pools leases settings access_rules declarations; do
    sqlite3 -readonly /run/state/gateway.db ".mode list" "SELECT * FROM $table ORDER BY id" | sed "s/^\([0-9]*\)|[0-9]*|/$table \1 /"
  done
  cat /run/state/banner /run/state/relay 2>/dev/null || true
}
is_as_before() { present | diff before - >difference.log; }
on_trial() { gateway status | found '^files  on trial until .*: 10-more.yaml'; }

ip link set lo up
gateway init --endpoint 127.0.0.1 --pool 10.77.0.0/24 >/dev/null 2>&1
{
  gateway user add alice
  gateway group add staff
  gateway group set staff --add alice
  gateway device add alice/phone
  gateway set settings.everybody.routes 10.20.0.0/16
  gateway access add web --from everybody --to 10.20.0.0/16
  gateway access add printers --deny --from everybody --to 10.20.9.0/24 --before web
} >/dev/null 2>&1
echo 'Be kind.' >/run/state/banner
present >before

# Everything that a file can change: a pool that goes takes the addresses of all devices.
cat >/run/new/10-more.yaml <<'END'
version: 1
pools: { other: { prefix: 10.78.0.0/24 } }
users: { bob: }
groups:
  staff: { members: [bob] }
  guests: { members: [] }
settings:
  everybody: { routes: [10.30.0.0/16] }
  groups: { staff: { mtu: 1300 } }
access:
  - { allow: other, from: group:guests, to: 10.30.0.0/16 }
logins: { banner: "Be brief." }
END

says 'no gateway runs, which would revert the files' files apply /run/new/10-more.yaml --confirm-within 1h
serve
says '--confirm-within is for other files' files apply --confirm-within 1h
says 'on trial' files confirm
says 'on trial' gateway revert
is_as_before || fail "a refused trial changes: $(<difference.log)"

# On trial, and reverted by hand.
files apply /run/new/10-more.yaml --confirm-within 1h >out.log || fail "apply: $(<out.log)"
found '^on trial: reverted in 1h unless you run .roamward-gateway confirm.$' <out.log || fail "apply: $(<out.log)"
found '^remove  pool .*10.77.0.0/24' <out.log || fail "apply: $(<out.log)"
on_trial || fail "status: $(gateway status)"
gateway access list | found '^allow other' || fail 'the files are not in force'
says 'on trial until' files apply /run/new/10-more.yaml
says 'on trial until' gateway backup /run/work/backup.tar
says 'trial/files/10-more.yaml' gateway user remove bob
[[ $(</run/state/banner) == 'Be brief.' ]] || fail 'the banner is not on trial'
gateway revert --dry-run >out.log || fail "revert: $(<out.log)"
found '^remove  user bob' <out.log || fail "revert: $(<out.log)"
on_trial || fail 'a dry run ended the trial'
gateway revert >out.log || fail "revert: $(<out.log)"
is_as_before || fail "reverted by hand: $(<difference.log)"
gateway audit | found 'files revert trial' || fail "$(gateway audit)"

# Reverted by time, also by a gateway that was killed meanwhile; a change by others stays.
files apply /run/new/10-more.yaml --confirm-within 3s >/dev/null
gateway user add carol >/dev/null
kill -9 "$serving"
wait "$serving" || true
serve
until_so 'the time is over' eval '! gateway status | found "on trial"'
until_so 'bob is gone' eval '! gateway user list | found "^bob"'
gateway user list | found '^carol' || fail 'a change of another one is gone'
gateway user remove carol >/dev/null
is_as_before || fail "reverted by time: $(<difference.log)"

# An error in a file: nothing changes, and it is named as it was given.
cp /run/new/10-more.yaml /run/new/20-bad.yaml
says '/run/new/20-bad.yaml:' files apply /run/new/20-bad.yaml /run/new/10-more.yaml --confirm-within 1h
rm /run/new/20-bad.yaml
is_as_before || fail "files with an error: $(<difference.log)"

# Files that would not count, and files that leave none.
cp /run/new/10-more.yaml /run/new/more.txt
says '/run/new/more.txt would be ignored in a folder: not .yaml, .yml or .json' files apply /run/new/more.txt --confirm-within 1h
says '/run/new/more.txt would be ignored in a folder' files apply /run/new/more.txt
rm /run/new/more.txt
: >/run/new/20-empty.yaml
says 'there is no file that declares this gateway' files apply /run/new/20-empty.yaml --confirm-within 1h
rm /run/new/20-empty.yaml
is_as_before || fail "files that do not count: $(<difference.log)"

# Killed before and after each thing that a command does to the disk: the gateway takes all of it back.
steps() { # PROGRAM COMMAND...: until it lives through all of them
  local place=0
  while :; do
    place=$((place + 1))
    rm -rf /run/files/*
    [[ $2 != revert ]] || files apply /run/new/10-more.yaml --confirm-within 1h >/dev/null
    if ROAMWARD_DIE_AT=$place "$@" >out.log 2>&1; then
      [[ $2 != apply ]] || gateway revert >/dev/null
      is_as_before || fail "$2: $(<difference.log)"
      break
    fi
    ((place < 200)) || fail "$*: $(<out.log)"
    # One that was killed at its very end has done all of it.
    ! on_trial || gateway revert >/dev/null
    until_so "$2, killed at $place, is taken back" is_as_before
    until_so "$2, killed at $place, leaves nothing" eval '[[ ! -e /run/state/trial ]]'
  done
  ((place > 5)) || fail "$2: $place places are too few"
}
steps files apply /run/new/10-more.yaml --confirm-within 1h
steps gateway revert

# A command that comes before the gateway does so too: nothing of the killed one is lost.
kill -STOP "$serving"
for place in {1..200..4}; do
  rm -rf /run/files/*
  if ROAMWARD_DIE_AT=$place files apply /run/new/10-more.yaml --confirm-within 1h >/dev/null 2>&1; then break; fi
  on_trial || files apply /run/new/10-more.yaml --confirm-within 1h >out.log || fail "killed at $place, then applied: $(<out.log)"
  gateway revert >/dev/null
  is_as_before || fail "killed at $place, then reverted: $(<difference.log)"
done
kill -CONT "$serving"
! on_trial || gateway revert >/dev/null
is_as_before || fail "killed, then reverted: $(<difference.log)"

# Kept: the file is in the folder, and the gateway is as it was on trial.
files apply /run/new/10-more.yaml --confirm-within 1h >/dev/null
files confirm >out.log || fail "confirm: $(<out.log)"
found '^write   /run/files/10-more.yaml$' <out.log || fail "confirm: $(<out.log)"
cmp /run/new/10-more.yaml /run/files/10-more.yaml
[[ $(stat -c %a /run/files/10-more.yaml) == 600 ]] || fail "mode: $(stat -c %a /run/files/10-more.yaml)"
! gateway status | found 'on trial' || fail 'confirmed, and still on trial'
says '/run/files/10-more.yaml:3 declares user bob' gateway user remove bob
files diff >out.log || fail "diff: $(<out.log)"
# A file that masks the only one would end nothing.
mkdir /run/mask
: >/run/mask/10-more.yaml
says 'with these files, none would declare this gateway' files apply /run/mask --confirm-within 1h
files diff >out.log || fail "diff: $(<out.log)"

# Killed at each step of a confirmation: the files are on trial, or confirmed.
for place in {1..200}; do
  sed "s/mtu: [0-9]*/mtu: $((1300 + place))/" /run/files/10-more.yaml >/run/new/10-more.yaml
  files apply /run/new/10-more.yaml --confirm-within 1h >/dev/null
  if ROAMWARD_DIE_AT=$place files confirm >/dev/null 2>&1; then break; fi
  ! on_trial || files confirm >out.log || fail "confirm, killed at $place: $(<out.log)"
  until_so "confirm, killed at $place: the file is in force" eval 'files diff >/dev/null'
  cmp /run/new/10-more.yaml /run/files/10-more.yaml || fail "confirm, killed at $place: another file"
  gateway device show alice/phone | found 'routes 10.30.0.0/16' || fail "confirm, killed at $place: $(gateway device show alice/phone)"
done
((place > 3 && place < 200)) || fail "confirm: $place places"
# Without a trial, a file is written and in force at once.
sed 's/mtu: [0-9]*/mtu: 1280/' /run/files/10-more.yaml >/run/new/more.tmp
mv /run/new/more.tmp /run/new/10-more.yaml
files apply /run/new/10-more.yaml >out.log || fail "apply: $(<out.log)"
found 'mtu .* → 1280' <out.log || fail "apply: $(<out.log)"
cmp /run/new/10-more.yaml /run/files/10-more.yaml

gateway store show --check >check.out || fail "the store: $(<check.out)"
gateway audit --verify >/dev/null || fail 'the audit log is broken'
kill "$serving"
wait "$serving" || fail 'the gateway ends with an error'
gateway cleanup >/dev/null
