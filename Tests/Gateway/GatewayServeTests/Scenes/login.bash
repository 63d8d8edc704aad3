#!/usr/bin/env bash
# A gateway and a client that logs in (login.py), on loopback addresses.
#
# $LOGIN is the client. Documents for programs are put into $DOCUMENTS, as COMMAND-NUMBER.
# shellcheck source=Tests/Gateway/GatewayServeTests/Scenes/scene.bash
source "$(dirname "${BASH_SOURCE[0]}")/scene.bash"

gateway() { "$ROAMWARD_BIN/roamward-gateway" "$@" --state /run/work/state; }
# Logs in with a new key, or with $key.
login() { # DEVICE METHOD ARGUMENT [ANSWER...]
  python3 "$LOGIN" 127.0.0.1 "${port:-51820}" "$pin" "${key:-$(key)}" "$@"
}
# With the capabilities of its unit.
serve() {
  (exec setpriv --bounding-set "-all,$capabilities" --no-new-privs "$ROAMWARD_BIN/roamward-gateway" serve --state /run/work/state) \
    >"$1.log" 2>&1 &
  serving=$!
}
is_wrong() { [[ $(login laptop "$@" | tail -n 1) == "$wrong "* ]]; }

capabilities=$(sed -n 's/^CapabilityBoundingSet=//p' "$UNIT" | tr '[:upper:]' '[:lower:]' | sed 's/cap_/+/g; s/ /,/g')
[[ $capabilities == +net_admin,* && $capabilities != *kill* ]] || fail "the capabilities of the unit: $capabilities"
ip link set lo up
gateway init --endpoint 127.0.0.1 --pool 10.77.0.0/24 --pool fd77::/64 >/dev/null
gateway user add alice
gateway user add bob
gateway user set alice --password <<<'correct horse'
gateway user set bob --password <<<'battery staple'
! gateway user set alice --password <<<'short' 2>/dev/null || fail 'a short password is taken'
gateway set settings.everybody '{ routes: 203.0.113.0/24, dns: 10.77.0.1, search: corp.example, mtu: 1380 }'
serve first
(exec "$ROAMWARD_BIN/roamward-gateway" monitor --json --state /run/work/state) >"$DOCUMENTS/monitor-1" 2>&1 &
gateway status --json >"$DOCUMENTS/status-1"
gateway set logins on >/dev/null
pin=$(gateway login show | sed -n 's/.*pin //p')
[[ $pin == sha256//* ]] || fail "no pin: $pin"
until_so 'the gateway takes logins' grep -q 'logins: at TCP port' first.log

# The process that reads what clients send is nobody.
auth=$(pgrep -f 'roamward-gateway-auth --at-work') || fail 'no process for logins'
grep -q '^CapEff:\s*0000000000000000$' "/proc/$auth/status" || fail 'it has capabilities'
grep -q '^Seccomp:\s*2$' "/proc/$auth/status" || fail 'it has no filter of system calls'
grep -q '^NoNewPrivs:\s*1$' "/proc/$auth/status" || fail 'it may gain privileges'
for task in "/proc/$auth/task"/*; do grep -q '^Seccomp:\s*2$' "$task/status" || fail 'a thread has no filter'; done

# A password binds a key, and gives what WireGuard needs.
laptop=$(key)
key=$laptop login laptop alice 'correct horse' >done.out || fail 'a login fails'
grep -q "^83 1=b'alice' 2=b'laptop' .* 8=b'corp.example' 9=b'\\\\x05d'" done.out || fail "no settings: $(cat done.out)"
until_so 'the key is a peer' bash -c "'$ROAMWARD_BIN/roamward-gateway' status --state /run/work/state | grep -q 'alice/laptop  10.77.0.2, fd77::2'"
gateway device list --sessions | found 'alice/laptop .* by password from 127.0.0.1' || fail "sessions: $(gateway device list --sessions)"

# A session that was ended: the key is refused, and a new login with it connects again.
wanted() { "$ROAMWARD_BIN/roamward-gateway" plan --table --state /run/work/state | grep -c "$1" || true; }
[[ $(wanted 10.77.0.2) == 2 ]] || fail 'the address is not there'
gateway session end alice 2>ended.log || fail "session end: $(<ended.log)"
[[ $(wanted 10.77.0.2) == 0 ]] || fail 'the address of an ended session is there'
gateway device list --sessions | found 'alice/laptop  10.77.0.2, fd77::2  session ended  login .* ended ' || fail "sessions: $(gateway device list --sessions)"
gateway device list --sessions --json | tee "$DOCUMENTS/sessions-1" | python3 -c '
import json, sys
(one,) = json.load(sys.stdin)
assert one["state"] == "session ended" and one["login"]["ended"] is not None, one' || fail 'device list --sessions --json'
! gateway session end bob 2>ended.log || fail 'a session that is none was ended'
grep -q 'bob has no session' ended.log || fail "a refusal without a reason: $(<ended.log)"
until_so 'the gateway is done' bash -c "[[ -z \$('$ROAMWARD_BIN/roamward-gateway' plan --state /run/work/state) ]]"
key=$laptop login laptop alice 'correct horse' >/dev/null || fail 'no login after the end of a session'
[[ $(wanted 10.77.0.2) == 2 ]] || fail 'a new login does not connect'
gateway audit | found 'session end alice/laptop' || fail 'the audit log does not say it'

# Who locked a user, and why; where settings come from.
gateway set settings.users.alice.mtu 1300 --dry-run --json >"$DOCUMENTS/change-1"
gateway set settings.users.alice.mtu 1300 --json >"$DOCUMENTS/change-2"
gateway user lock alice --reason 'laptop stolen'
gateway user show alice >shown.out
for line in '^user  alice  locked since 2.* by root (0): laptop stolen$' '^login  password$' '^setting  mtu 1300  from user alice$' \
  '^setting  routes 203.0.113.0/24  from everybody$' '^device  alice/laptop  .*  refused$' '^session  alice/laptop  login .* by password '; do
  grep -q "$line" shown.out || fail "user show has no '$line': $(<shown.out)"
done
gateway status --json >"$DOCUMENTS/status-2"
for list in user group device access; do gateway "$list" list --json >"$DOCUMENTS/list-$list"; done
gateway user list --tokens --json >"$DOCUMENTS/list-token"
gateway store show --json >"$DOCUMENTS/store-1"
gateway login show --json >"$DOCUMENTS/login-1"
gateway export --json >exported.json
gateway check --json --files exported.json >"$DOCUMENTS/check-1" || fail "the exported JSON: $(<"$DOCUMENTS/check-1")"
printf 'version: 1\npage: { port: 0 }\n' >wrong.yaml
! gateway check --json --files wrong.yaml >"$DOCUMENTS/check-2" || fail 'a port of 0 is taken'
gateway user show bob --json >"$DOCUMENTS/user-1"
gateway audit --json >"$DOCUMENTS/audit-1"
gateway doctor --json >"$DOCUMENTS/doctor-1" || true
gateway plan --json >"$DOCUMENTS/plan-1"
gateway device show alice/laptop --json >"$DOCUMENTS/settings-1"
gateway explain bob 10.20.1.2:443 --json >"$DOCUMENTS/access-1"
! gateway evaluate bob 10.20.1.2:443 --json >"$DOCUMENTS/access-2" || fail 'without a rule, something is reachable'
! gateway evaluate alice/laptop 10.20.1.2:443 --json >"$DOCUMENTS/evaluation-1" || fail 'without a rule, a packet passes'
until_so 'the monitor tells of the lock' grep -q '"verb":"user lock"' "$DOCUMENTS/monitor-1"
gateway user show alice --json | tee "$DOCUMENTS/user-2" | python3 -c '
import json, sys
user = json.load(sys.stdin)
assert user["locked"]["reason"] == "laptop stolen" and user["login"]["password"], user
assert {"setting": "mtu", "values": ["1300"], "from": "user alice"} in user["settings"], user' || fail 'user show --json'
gateway device show alice/laptop | found -x 'mtu 1300  from user alice' || fail "device show: $(gateway device show alice/laptop)"
gateway user unlock alice
gateway user show alice | found -x 'user  alice  active' || fail 'an unlocked user is not shown so'

# What is wrong looks the same.
is_wrong alice 'wrong horse' || fail 'a wrong password is told'
is_wrong nobody 'wrong horse' || fail 'an unknown name is told'
is_wrong 'no name!' 'wrong horse' || fail 'an impossible name is told'
gateway user lock bob
is_wrong bob 'battery staple' || fail 'a locked user is told'
gateway user unlock bob
is_wrong token rw1-wrong || fail 'a wrong token is told'
gateway audit | found 'login refused.*bob.*lockedUser' || fail "the audit log does not say it: $(gateway audit)"
gateway audit | found 'login refused.*nobody.*unknownName' || fail 'the audit log does not say it'

# A name cannot look like another line of the log: it is no message, and is not judged.
! is_wrong $'x\n9  2026-01-01T00:00:00.000Z  root (0)  user lock bob' 'wrong horse' || fail 'a name of two lines is judged'
! gateway audit | found '^9  2026-01-01' || fail "a stranger writes lines: $(gateway audit)"

# A token works once.
token=$(gateway token create bob)
[[ $token == rw1-* ]] || fail "token: $token"
login phone token "$token" | found "^83 1=b'bob' 2=b'phone'" || fail 'a token does not work'
[[ -z $(gateway user list --tokens) ]] || fail 'a used token is left'

# A code, used once; a changed password; a text to accept.
secret=$(gateway user set bob --totp | sed 's/.*secret=\([A-Z2-7]*\).*/\1/')
code() { python3 -c '
import base64, hashlib, hmac, struct, sys, time
secret = base64.b32decode(sys.argv[1]); mac = hmac.new(secret, struct.pack(">Q", int(time.time()) // 30), hashlib.sha1).digest()
print("%06d" % ((struct.unpack(">I", mac[mac[19] & 15:][:4])[0] & 0x7fffffff) % 1000000))' "$secret"; }
gateway user set bob --password --must-change <<<'battery staple'
echo 'Company use only.' >state/banner
now=$(code)
login tablet bob 'battery staple' "$now" short 'another staple' yes >bob.out || fail 'a login with everything fails'
[[ $(cut -c 1-2 bob.out | tr '\n' ' ') == '81 82 82 82 82 83 ' ]] || fail "the conversation: $(cat bob.out)"
login tablet bob 'another staple' "$now" | tail -n 1 | found -F "$wrong" || fail 'a code is accepted twice'
rm state/banner

# A recovery code stands for a code once, and ends with the secret.
gateway user set bob --recovery >recovery.out
[[ $(grep -cE '^([0-9a-z]{4}-){3}[0-9a-z]{4}$' recovery.out) == 10 ]] || fail "recovery codes: $(<recovery.out)"
paper=$(head -n 1 recovery.out)
login tablet bob 'another staple' "${paper^^}" | found '^83 ' || fail 'a recovery code does not work'
login tablet bob 'another staple' "$paper" | tail -n 1 | found -F "$wrong" || fail 'a recovery code is accepted twice'
gateway user show bob | found '^login  password, one-time code (9 recovery codes)$' || fail "user show: $(gateway user show bob)"
gateway audit | found 'user recovery bob  (a code was used, 9 left)' || fail "the audit log: $(gateway audit)"
! grep -rqF "$paper" state || fail 'the store has a recovery code'
gateway user set bob --no-totp
! gateway user set bob --recovery 2>refused.log || fail 'recovery codes without a one-time code'
grep -q 'bob is asked for no one-time codes' refused.log || fail "a refusal without a reason: $(<refused.log)"

# Neither a new gateway nor a new process for logins asks anybody again (G-5): the peer is there without a login.
kill -KILL "$serving"
wait "$serving" 2>/dev/null || true
before=$(gateway audit | wc -l)
serve second
until_so 'the second gateway takes logins' grep -q 'logins: at TCP port' second.log
[[ -z $(gateway plan) ]] || fail "drift: $(gateway plan)"
[[ $(gateway audit | wc -l) == "$before" ]] || fail 'a restart logs somebody in'
gateway device list --sessions | found 'alice/laptop .* by password' || fail 'a restart forgets a login'

# Strangers' bytes end their connection alone; an ended process is started again.
head -c 5000 /dev/urandom | timeout 5 bash -c 'cat >/dev/tcp/127.0.0.1/51820' || true
key=$laptop login laptop alice 'correct horse' | found '^83 ' || fail 'no login after nonsense'
pkill -KILL -P "$serving" -f 'roamward-gateway-auth --at-work' || fail 'no process of the second gateway'
until_so 'the process for logins is started again' bash -c "grep -c 'logins: at TCP port' second.log | grep -q 2"
key=$laptop login laptop alice 'correct horse' | found '^83 ' || fail 'no login after a restart of the process'

# A relay: only where it is allowed, only for WireGuard's messages, and few at once for a stranger; logins go on at its port.
relay() { python3 "$RELAY" 127.0.0.1 "$@"; }
[[ $(relay 51820 ask) == '84 03' ]] || fail "a relay that is not allowed: $(relay 51820 ask)"
gateway set relay.port 4443
until_so 'the gateway relays' grep -q 'relay: at TCP port 4443' second.log
gateway login show | found -x 'relay  TCP port 4443' || fail "it is not shown: $(gateway login show)"
[[ $(relay 4443 ask) == '85 01' && $(relay 51820 ask) == '85 01' ]] || fail 'a relay that is allowed is refused'
[[ $(relay 4443 nonsense) == closed ]] || fail 'what is no message of WireGuard is taken'
crowd=$(relay 4443 crowd)
[[ $crowd == '20 16' ]] || fail "of 20 relays, a stranger gets and keeps $crowd"
port=4443 key=$laptop login laptop alice 'correct horse' >relayed.out || fail 'no login at the port of relays'
grep -qF " 11=b'\x11[" relayed.out || fail "the port is not told: $(cat relayed.out)"
auth=$(pgrep -P "$serving" -f 'roamward-gateway-auth --at-work')
grep -q '^Seccomp:\s*2$' "/proc/$auth/status" || fail 'it has no filter of system calls with relays'
ss -Huanp | grep "pid=$auth," >sockets.out || fail 'it has no UDP sockets'
[[ $(wc -l <sockets.out) == 500 && $(grep -c '127.0.0.1:51820 ' sockets.out) == 500 ]] ||
  fail 'a UDP socket leads elsewhere'
gateway status | found 'relay  TCP port 4443, 0 connected by it' || fail "status: $(gateway status)"
python3 -m http.server --bind 127.0.0.1 4444 >/dev/null 2>&1 & web=$!
until_so 'a web server takes the port' bash -c 'echo >/dev/tcp/127.0.0.1/4444'
! gateway set relay.port 4444 >taken.out 2>&1 || fail "a taken port is not told: $(<taken.out)"
grep -q 'nothing is relayed: .*4444: Address already in use' taken.out || fail "a taken port: $(<taken.out)"
until_so 'the doctor knows why nothing is relayed' bash -c "'$ROAMWARD_BIN/roamward-gateway' doctor --state /run/work/state | grep -q 'nothing is relayed: .*4444'"
kill "$web"
key=$laptop login laptop alice 'correct horse' | found '^83 ' || fail 'no login without the port of relays'
gateway set relay off
until_so 'the gateway relays nothing' bash -c "! '$ROAMWARD_BIN/roamward-gateway' status --state /run/work/state | grep -q '^relay'"
# The process for logins begins anew without relays: a connection in that moment has no answer.
has_answer() { relay 51820 ask >asked.out 2>/dev/null && [[ -s asked.out ]]; }
until_so 'the gateway answers again' has_answer
[[ $(<asked.out) == '84 03' ]] || fail "a relay that was allowed once: $(<asked.out)"

# No answer is earlier than 250 ms, however little there was to check.
for name in alice nobody 'no name!'; do
  login laptop "$name" 'wrong' | sed -n "s/^84 .* 255=b'\([0-9]*\)'/\1/p"
done >times.out
[[ $(wc -l <times.out) == 3 ]] || fail 'an answer has no time'
awk '$1 < 245 { exit 1 }' times.out || fail "times: $(tr '\n' ' ' <times.out)"

# What was counted is there for a monitoring system within the gateway's next look.
has_metric() { gateway metrics | found -xE "$1"; }
until_so 'logins are counted' has_metric 'roamward_gateway_logins_accepted_total\{methods="password"\} [1-9]'
until_so 'refusals are counted' has_metric 'roamward_gateway_logins_refused_total\{reason="unknownName"\} [1-9][0-9]*'
until_so 'the time of logins is counted' has_metric 'roamward_gateway_login_seconds_count [1-9][0-9]*'

# A process that does not listen any more is ended too, though the unit has no CAP_KILL.
auth=$(pgrep -P "$serving" -f 'roamward-gateway-auth --at-work') || fail 'no process for logins'
kill -STOP "$auth"
gateway unset logins
until_so 'a stopped process is ended' bash -c "! kill -0 $auth"
until_so 'logins end' bash -c '! echo 2>/dev/null >/dev/tcp/127.0.0.1/51820'
gateway access add web --from everybody --to 203.0.113.0/24
gateway doctor >doctor.out || fail "the doctor: $(<doctor.out)"
gateway audit --verify >/dev/null || fail 'the audit log is broken'
kill "$serving"
wait "$serving" || fail 'the gateway ends with an error'
gateway cleanup >/dev/null
