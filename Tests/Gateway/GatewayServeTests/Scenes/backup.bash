#!/usr/bin/env bash
# A gateway moves to a bare machine by one file: its clients know it by the old pin, and their devices are connected. /etc and /var/lib of
# each machine are covered. Backup and restore are killed before and after each of their steps.
#
# $LOGIN is a client.
# shellcheck source=Tests/Gateway/GatewayServeTests/Scenes/scene.bash
source "$(dirname "${BASH_SOURCE[0]}")/scene.bash"

gateway() { "$ROAMWARD_BIN/roamward-gateway" "$@"; }
serve() {
  (exec "$ROAMWARD_BIN/roamward-gateway" serve) >>serve.log 2>&1 &
  serving=$!
  until_so 'the gateway serves' eval 'gateway status | found "  serving$"'
}
login() { python3 "$LOGIN" 127.0.0.1 51820 "$pin" "$@"; }
says() { # WHAT COMMAND...: a command that is refused, with these words
  local words=$1
  shift
  ! "$@" >out.log 2>&1 || fail "not refused: $*"
  found -F -- "$words" <out.log || fail "$*: $(<out.log)"
}
# Another machine: the folders are empty.
bare() {
  rm -rf /var/lib/roamward-gateway* /etc/roamward-gateway*
  mkdir /etc/roamward-gateway
}
# The folders of the gateway, and those beside them.
folders() { find /var/lib /etc -mindepth 1 -maxdepth 1 -name 'roamward-gateway*'; }
# The state of the machine in words: the gateway that is there.
state() {
  if [[ -e /var/lib/roamward-gateway/gateway.db ]]; then
    gateway user list
    wg pubkey </var/lib/roamward-gateway/private.key
    gateway store show --check
  else
    echo bare
  fi
}
declared() { (cd /etc/roamward-gateway 2>/dev/null && cat ./*.yaml) || true; }

ip link set lo up
umask 022
cover_folders
bare
files=/etc/roamward-gateway

# --- a gateway with everything -----------------------------------------------------------------------------------

cat >$files/10-people.yaml <<'END'
version: 1
gateway: { endpoint: 127.0.0.1 }
pools:
  office: { prefix: 10.77.0.0/24, masquerade: true }
users: { alice: }
END
chmod 640 $files/10-people.yaml
serve
gateway user add bob >/dev/null
gateway user set alice --password <<<'correct horse' >/dev/null
gateway user set bob --password <<<'battery staple' >/dev/null
gateway set logins on >/dev/null
pin=$(gateway login show | sed -n 's/.*pin //p')
[[ $pin == sha256//* ]] || fail "no pin: $pin"
until_so 'the gateway takes logins' grep -q 'logins: at TCP port' serve.log
gateway set relay.port 8443 >/dev/null
laptop=$(key)
login "$laptop" laptop alice 'correct horse' | found '^83 ' || fail 'a login fails'
public=$(wg pubkey </var/lib/roamward-gateway/private.key)

# --- while it serves ---------------------------------------------------------------------------------------------

echo 'a long passphrase' >passphrase
chmod 644 passphrase
says 'other users may read passphrase' gateway backup sealed --passphrase-file passphrase
chmod 600 passphrase
gateway backup plain >out.log 2>&1 || fail "backup: $(<out.log)"
found -x "pin $pin" <out.log || fail "backup: $(<out.log)"
found 'keep it as secret, or use --encrypt' <out.log || fail "no warning: $(<out.log)"
gateway backup sealed --encrypt <passphrase >out.log 2>&1 || fail "backup: $(<out.log)"
says 'plain is there already' gateway backup plain
[[ $(stat -c %a plain sealed) == $'600\n600' ]] || fail "modes: $(stat -c %a plain sealed)"
[[ $(tar tf plain | tr '\n' ' ') == 'roamward-gateway-backup declared/10-people.yaml gateway.db login.pem private.key relay ' ]] ||
  fail "the archive: $(tar tf plain)"
! grep -qaF "$(</var/lib/roamward-gateway/private.key)" sealed || fail 'the encrypted backup has the key'
says 'a gateway runs with' gateway restore plain --replace
wanted=$(state)
kill "$serving"
wait "$serving" || fail 'the gateway ends with an error'
gateway cleanup >/dev/null

# --- a bare machine ----------------------------------------------------------------------------------------------

bare
printf 'another passphrase\n' >wrong
chmod 600 wrong
says 'the passphrase is wrong' gateway restore sealed --passphrase-file wrong
says 'this is no backup of a gateway' gateway restore passphrase
[[ $(state) == bare ]] || fail 'a refused restore leaves something'
gateway restore sealed --passphrase-file passphrase --dry-run >out.log 2>&1 || fail "dry run: $(<out.log)"
found -Fx 'a dry run: nothing was changed' <out.log || fail "dry run: $(<out.log)"
[[ $(state) == bare && -z $(declared) ]] || fail 'a dry run restores'
gateway restore sealed --passphrase-file passphrase >out.log 2>&1 || fail "restore: $(<out.log)"
for line in "pin $pin" "key $public" 'users 2' 'devices 1' 'endpoint 127.0.0.1:51820' 'files 10-people.yaml'; do
  found -Fx "add     gateway: $line" <out.log || fail "restore does not say $line: $(<out.log)"
done
[[ $(state) == "$wanted" ]] || fail "another gateway: $(state)"
[[ $(stat -c %a $files $files/10-people.yaml | tr '\n' ' ') == '755 640 ' ]] || fail "the declared files: $(stat -c %a $files/*)"
[[ $(folders | wc -l) == 2 ]] || fail "a prepared folder is left: $(folders)"
serve
gateway diff >out.log || fail "the files are not in force: $(<out.log)"
# By the old pin, with an old password; the device that logged in is there by its key.
until_so 'the old pin' eval "login '$(key)' tablet bob 'battery staple' | found '^83 '"
wg show wg-gateway peers | found -Fx "$laptop" || fail 'the laptop is no peer'
gateway login show | found 8443 || fail "the relay: $(gateway login show)"
kill "$serving"
wait "$serving" || fail 'the gateway ends with an error'
says 'a gateway is in /var/lib/roamward-gateway already' gateway restore plain

# --- in the place of another gateway ---------------------------------------------------------------------------

gateway user add carol >/dev/null
rm $files/*.yaml
echo 'version: 1' >$files/other.yaml
gateway restore plain --replace >out.log 2>&1 || fail "restore: $(<out.log)"
found -Fx 'change  gateway: users 3 → 2' <out.log || fail "restore: $(<out.log)"
kept=$(echo /var/lib/roamward-gateway.2*)
"$ROAMWARD_BIN/roamward-gateway" user list --state "$kept" | found '^carol' || fail "not kept: $(folders)"
[[ -e $(echo $files.2*)/other.yaml ]] || fail "the declared files are not kept: $(folders)"
[[ $(state) == "$wanted" ]] || fail "another gateway: $(state)"

# --- killed before and after each step ------------------------------------------------------------------------

die_at() { # NUMBER COMMAND...: whether it was killed there
  local number=$1 code=0
  shift
  { ROAMWARD_DIE_AT=$number "$ROAMWARD_BIN/roamward-gateway" "$@" >killed.out 2>&1; } 2>/dev/null || code=$?
  [[ $code == 0 || $code == 137 ]] || fail "killed at $number: $* ends with $code: $(<killed.out)"
  [[ $code == 137 ]]
}

# A backup is there as a whole, or not at all, and the next one is made.
rm -f killed.backup
places=0
while die_at $((places + 1)) backup killed.backup --replace; do
  places=$((places + 1))
  [[ ! -e killed.backup ]] || gateway restore killed.backup --replace --dry-run >out.log 2>&1 || fail "half a backup: $(<out.log)"
done
((places > 5)) || fail "only $places places of a backup"
echo "backup: killed at $places places"
[[ ! -e killed.backup.roamward-new && ! -e /var/lib/roamward-gateway/backup.new ]] || fail 'something of a killed backup is left'
gateway restore killed.backup --replace --dry-run >out.log 2>&1 || fail "the backup: $(<out.log)"

# Killed after the last step: nothing is to be finished.
is_done() { [[ $present == "$wanted" && ! -e /var/lib/roamward-gateway/.roamward-new ]]; }

# A bare machine is bare or has the gateway; the same command again restores it.
wanted_files=$(tar xOf plain declared/10-people.yaml)
places=0
bare
while die_at $((places + 1)) restore plain; do
  places=$((places + 1))
  present=$(state)
  [[ $present == bare || $present == "$wanted" ]] || fail "killed at $places: $present"
  is_done || gateway restore plain >out.log 2>&1 || fail "killed at $places, and not again: $(<out.log)"
  [[ $(state) == "$wanted" && $(declared) == "$wanted_files" ]] || fail "killed at $places: $(state) $(declared)"
  [[ $(folders | wc -l) == 2 ]] || fail "killed at $places, left: $(folders)"
  bare
done
((places > 10)) || fail "only $places places of a restore"
echo "restore: killed at $places places"

# In the place of another gateway: it is the old one or the new one, and the old one is kept.
cp -a /var/lib/roamward-gateway restored
cp -a $files restored-files
gateway user add dave >/dev/null
cp -a /var/lib/roamward-gateway old
old=$(state)
places=0
again() {
  rm -rf /var/lib/roamward-gateway* $files*
  cp -a old /var/lib/roamward-gateway
  mkdir $files
  echo 'version: 1' >$files/other.yaml
}
again
while die_at $((places + 1)) restore plain --replace; do
  places=$((places + 1))
  present=$(state)
  [[ $present == "$old" || $present == "$wanted" ]] || fail "killed at $places: $present"
  if compgen -G '/var/lib/roamward-gateway*/.roamward-new' >/dev/null; then
    gateway doctor >out.log 2>&1 || true
    found 'a restore was interrupted' <out.log || fail "killed at $places, doctor: $(<out.log)"
  fi
  is_done || gateway restore plain --replace >out.log 2>&1 || fail "killed at $places, and not again: $(<out.log)"
  [[ $(state) == "$wanted" && $(declared) == "$wanted_files" ]] || fail "killed at $places: $(state) $(declared)"
  kept=$(echo /var/lib/roamward-gateway.2*)
  "$ROAMWARD_BIN/roamward-gateway" user list --state "$kept" | found '^dave' || fail "killed at $places: the old gateway is gone"
  [[ -e $(echo $files.2*)/other.yaml ]] || fail "killed at $places: the old files are gone"
  [[ $(folders | wc -l) == 4 ]] || fail "killed at $places, left: $(folders)"
  again
done
((places > 10)) || fail "only $places places of a restore"
echo "restore in the place of another: killed at $places places"
