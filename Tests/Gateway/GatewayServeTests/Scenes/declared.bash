#!/usr/bin/env bash
# A gateway that begins with files in its usual folders, and follows them: no `init`, no option. /etc and /var/lib are covered.
# shellcheck source=Tests/Gateway/GatewayServeTests/Scenes/scene.bash
source "$(dirname "${BASH_SOURCE[0]}")/scene.bash"

gateway() { "$ROAMWARD_BIN/roamward-gateway" "$@"; }
# It ends with 1 where it finds something.
doctor() { gateway doctor || true; }
serve() {
  (exec "$ROAMWARD_BIN/roamward-gateway" serve) >>serve.log 2>&1 &
  serving=$!
  until_so 'the gateway serves' eval 'gateway status | found "  serving$"'
}
says() { # WHAT COMMAND...: a command that is refused, with these words
  local words=$1
  shift
  ! "$@" >out.log 2>&1 || fail "not refused: $*"
  found -F "$words" <out.log || fail "$*: $(<out.log)"
}
user_is() { gateway user list | found "^$1  $2"; } # NAME STATE

ip link set lo up
umask 022
cover_folders
rm -rf /var/lib/roamward-gateway /etc/roamward-gateway
mkdir /etc/roamward-gateway
files=/etc/roamward-gateway

cat >$files/10-network.yaml <<'END'
version: 1
gateway: { endpoint: 127.0.0.1 }
pools:
  office: { prefix: 10.77.0.0/24, masquerade: true }
settings:
  everybody: { routes: [10.20.0.0/16] }
access:
  - { deny: printers, from: everybody, to: 10.20.9.0/24 }
  - { allow: office, from: group:staff, to: 10.20.0.0/16 }
expect:
  - alice → 10.20.0.5:443 allowed
  - alice → 10.20.9.5:631 denied
END
cat >$files/20-people.yaml <<'END'
version: 1
users:
  alice:
  bob:
groups:
  staff: { members: [alice, bob] }
END

# Tried, and nothing is made.
gateway check >out.log || fail "check: $(<out.log)"
found -F '2 tests of access passed' <out.log || fail "check: $(<out.log)"
gateway apply --dry-run >out.log || fail "dry run: $(<out.log)"
found -Fx 'add     group staff: member bob' <out.log || fail "dry run: $(<out.log)"
[[ ! -e /var/lib/roamward-gateway ]] || fail 'a dry run made a store'

serve
user_is alice active || fail "users: $(gateway user list)"
gateway diff >out.log || fail "diff: $(<out.log)"
gateway evaluate bob 10.20.0.5:443 >/dev/null || fail 'bob may not pass'
# Life: a device of a user who is declared.
gateway device add bob/laptop >bob.conf 2>added.log
found 'concerns bob, 1 device' <added.log || fail "device add: $(<added.log)"
found -F 'AllowedIPs = 10.20.0.0/16' <bob.conf || fail "the client's file: $(<bob.conf)"

# A person without root reads the files alone, and is told so: what is in the store is not missing.
person() { setpriv --reuid 65534 --regid 65534 --clear-groups "$ROAMWARD_BIN/roamward-gateway" "$@"; }
person check >out.log 2>&1 || fail "check without root: $(<out.log)"
found -F 'note  not tried with the store, which root alone may read' <out.log || fail "check without root: $(<out.log)"
says 'root alone may read the gateway in /var/lib/roamward-gateway' person diff
says 'root alone may read the gateway in /var/lib/roamward-gateway' person apply --dry-run
for command in 'apply' "apply $files/10-network.yaml --confirm-within 1h" 'confirm' 'revert'; do
  # shellcheck disable=SC2086 # A command of several words.
  says 'root alone may read the gateway in /var/lib/roamward-gateway' person $command
done

# A text for people has lines and blanks of its own.
printf 'logins: { banner: "Members only\\n \\nAsk for a badge" }\n' >>$files/20-people.yaml
until_so 'logins are accepted' eval 'gateway login show | found pin'
[[ $(wc -l <<<"$(</var/lib/roamward-gateway/banner)") == 3 ]] || fail "the banner: $(</var/lib/roamward-gateway/banner)"
sed -i '/^logins:/d' $files/20-people.yaml

# A change of the file is in force without a command.
sed -i 's/\[10.20.0.0\/16\]/[10.20.0.0\/16, 10.30.0.0\/16]/' $files/10-network.yaml
until_so 'the routes change' eval 'gateway device show bob/laptop | found "10.30.0.0/16"'

# Commands leave to the files what is theirs, and name the line.
says "$files/20-people.yaml:4 declares user bob" gateway user remove bob
says "$files/10-network.yaml:7 declares the list of rules of access" gateway access add all --from everybody --to everything
says "$files/20-people.yaml:6 declares the list of members of group staff" gateway group set staff --remove bob

# `set` changes the file that declares the setting, and nothing else of it; two administrators at once lose nothing.
sed -i 's/^settings:/settings:   # of clients/' $files/10-network.yaml
cp $files/10-network.yaml before.yaml
gateway set settings.everybody.mtu 1300 --dry-run >out.log || fail "a dry run of set: $(<out.log)"
cmp -s before.yaml $files/10-network.yaml || fail 'a dry run changes the file'
for i in 1 2 3 4 5 6; do gateway set settings.everybody.routes --add "10.4$i.0.0/16" >"set-$i.log" 2>&1 & sets[i]=$!; done
for i in 1 2 3 4 5 6; do wait "${sets[i]}" || fail "set: $(cat set-*.log)"; done
found -Fx "in      $files/10-network.yaml" <set-1.log || fail "set names no file: $(<set-1.log)"
[[ $(gateway device show bob/laptop | grep -oE '10\.4[1-6]\.0\.0/16' | sort -u | wc -l) == 6 ]] || fail "routes: $(gateway device show bob/laptop)"
others() { sed -n '1,/^settings:/p; /^access:/,$p' "$1"; }
diff <(others before.yaml) <(others $files/10-network.yaml) >diff.log || fail "other lines differ: $(<diff.log)"
says 'settings.everybody.routes would lose' gateway set settings.everybody.routes 10.20.0.0/16
says "10-network.yaml:" gateway set settings.everybody.mtu 99
says 'there is no key "rotues" in settings.everybody' gateway set settings.everybody.rotues 10.20.0.0/16
gateway set settings.everybody.routes 10.20.0.0/16 10.30.0.0/16 --replace >/dev/null || fail 'the list is not replaced'
[[ $(gateway device show bob/laptop) == 'routes 10.20.0.0/16, 10.30.0.0/16  from everybody' ]] || fail "routes: $(gateway device show bob/laptop)"
cp before.yaml $files/10-network.yaml
# Beside it, a user who is declared gets an end; the page is declared by no file, and changed in the gateway.
gateway set users.bob.until 2099-01-01 >/dev/null || fail 'the end of a declared user'
grep -q '^  bob: { until: 2099-01-01 }' $files/20-people.yaml || fail "the file: $(<$files/20-people.yaml)"
gateway unset users.bob.until >/dev/null || fail 'the end stays'
# A link to a file stays one.
mkdir /etc/kept
mv $files/20-people.yaml /etc/kept/people.yaml
ln -s /etc/kept/people.yaml $files/20-people.yaml
gateway set users.bob.until 2099-01-01 >linked.log || fail "a linked file: $(<linked.log)"
[[ -L $files/20-people.yaml ]] || fail "the link is replaced: $(ls -l $files)"
grep -q 2099 /etc/kept/people.yaml || fail "the linked file is as before: $(</etc/kept/people.yaml)"
gateway unset users.bob.until >/dev/null || fail 'the end stays in a linked file'
rm $files/20-people.yaml
mv /etc/kept/people.yaml $files/20-people.yaml
sed -i 's/^  bob: .*/  bob:/' $files/20-people.yaml
gateway set page.title 'Example Corp' >/dev/null || fail 'the page is not set'
! grep -rq page $files || fail 'the page is declared'
gateway set page off >/dev/null
# Forwarding is left as it is where a file says so: this machine alone is reached then.
gateway set gateway.forwarding off >/dev/null || fail 'forwarding is not set'
echo 0 >/proc/sys/net/ipv4/ip_forward
grep -qF 'gateway: { endpoint: 127.0.0.1, forwarding: off }' $files/10-network.yaml || fail "the file: $(<$files/10-network.yaml)"
gateway serve --forwarding || fail 'serve --forwarding'
[[ $(</proc/sys/net/ipv4/ip_forward) == 0 ]] || fail 'forwarding is turned on all the same'
! doctor | found forwards || fail "the doctor: $(doctor)"
gateway unset gateway.forwarding >/dev/null
gateway serve --forwarding
[[ $(</proc/sys/net/ipv4/ip_forward) == 1 ]] || fail 'forwarding is not turned on'
cp before.yaml $files/10-network.yaml
# A shell completes keys, with the names that there are.
"$ROAMWARD_BIN/roamward-gateway" ---completion set -- positional@0 0 0 settings. >keys.log || fail 'no completions'
found -x settings.groups.staff <keys.log || fail "completions: $(<keys.log)"
found -x page.title <keys.log || fail "completions: $(<keys.log)"

# The explanation of a decision has the places of the rules.
gateway explain bob 10.20.9.1:631 | found -F "by rule printers (deny printers: everybody to 10.20.9.0/24)  $files/10-network.yaml:8" ||
  fail "$(gateway explain bob 10.20.9.1:631)"

# A mistake in one file changes nothing, also not what is right in the other; the cause is told with its place.
printf 'acces: []\n' >>$files/10-network.yaml
sed -i 's/^  bob:/  bob:\n  carol:/' $files/20-people.yaml
is_told() { doctor | found -F "$files/10-network.yaml:13:1: error: unknown key \"acces\""; }
until_so 'the doctor knows the mistake' is_told
! user_is carol active || fail 'a part of the files is in force'
gateway evaluate bob 10.20.0.5:443 >/dev/null || fail 'the last good rules are gone'
sed -i '/^acces:/d' $files/10-network.yaml
until_so 'the files are in force' user_is carol active
until_so 'the doctor has no word of files' eval '! doctor | found yaml'

# A test of access that fails keeps the files from being carried out.
cp $files/10-network.yaml good.yaml
sed -i 's/deny: printers/allow: printers/' $files/10-network.yaml
says 'expected alice → 10.20.9.5:631 denied, found allowed by rule printers' gateway check
until_so 'the gateway refuses them' eval 'doctor | found "expected alice"'
gateway access list | found '^deny printers' || fail "the rules: $(gateway access list)"
cp good.yaml $files/10-network.yaml

# What others could have written is none of ours.
chown 12345 $files/20-people.yaml
says "$files/20-people.yaml" gateway check
chown 0 $files/20-people.yaml

# A user who is declared no longer is locked at once, and keeps the device; declared again, it is back.
sed -i '/^  bob:/d; s/\[alice, bob\]/[alice]/' $files/20-people.yaml
until_so 'bob is locked' user_is bob locked
gateway audit | found "user lock bob  (declared no longer in $files/20-people.yaml:4)" || fail "$(gateway audit)"
sed -i 's/^  alice:/  alice:\n  bob:/; s/\[alice\]/[alice, bob]/' $files/20-people.yaml
until_so 'bob is back' user_is bob 'active  groups staff  devices laptop'
# Locked by an administrator is locked for good.
gateway user lock bob --reason stolen >/dev/null
sed -i 's/^  carol:/  dave:/' $files/20-people.yaml
until_so 'dave is there' user_is dave active
user_is bob locked || fail 'a file unlocked bob'
user_is carol locked || fail 'carol is declared no longer'

# Killed, and changed meanwhile.
kill -9 "$serving"
wait "$serving" || true
sed -i 's/^  dave:/  dave:\n  erin:/' $files/20-people.yaml
gateway plan >out.log || fail "plan: $(<out.log)"
found '^add     user erin' <out.log || fail "plan: $(<out.log)"
serve
until_so 'erin is there' user_is erin active

# A file of another layer, and one that masks it.
mkdir -p /run/roamward-gateway
cat >/run/roamward-gateway/30-more.yaml <<'END'
version: 1
users: { frank: }
END
until_so 'frank is there' user_is frank active
: >$files/30-more.yaml
until_so 'frank is masked' user_is frank locked
rm $files/30-more.yaml /run/roamward-gateway/30-more.yaml

# Written down as it is, it is the same gateway.
gateway export >all.yaml
until_so 'what is left is in force' eval 'gateway diff >/dev/null'
# Without files nothing is declared any more: a command sees to it where no gateway runs, and a running one does by itself.
kill -9 "$serving"
wait "$serving" || true
rm $files/*.yaml
gateway apply >out.log || fail "apply without files: $(<out.log)"
found '^no file declares this gateway any more' <out.log || fail "apply without files: $(<out.log)"
gateway access add other --from everybody --to 10.41.0.0/16 >/dev/null || fail 'something is declared still'
serve
cp all.yaml $files/gateway.yaml
until_so 'the file is in force' eval '! gateway access list | found other'
rm $files/*.yaml
until_so 'nothing is declared' eval 'gateway access add more --from everybody --to 10.40.0.0/16 >/dev/null'
user_is alice active || fail 'a folder that is empty locks users'
cp all.yaml $files/gateway.yaml
until_so 'the file is in force' eval '! gateway access list | found more'
gateway diff >out.log || fail "diff: $(<out.log)"
says "$files/gateway.yaml" gateway user remove erin

gateway store show --check >check.out || fail "the store: $(<check.out)"
gateway audit --verify >/dev/null || fail 'the audit log is broken'
kill "$serving"
wait "$serving" || fail 'the gateway ends with an error'
gateway cleanup >/dev/null
