#!/usr/bin/env bash
# A user who logs in with as many devices as the gateway takes, and others beside that: in a pool of 13 places, on loopback addresses.
#
# $LOGIN is a client that logs in.
# shellcheck source=Tests/Gateway/GatewayServeTests/Scenes/scene.bash
source "$(dirname "${BASH_SOURCE[0]}")/scene.bash"

gateway() { "$ROAMWARD_BIN/roamward-gateway" "$@" --state /run/work/state; }
log_in() { # USER/DEVICE ARGUMENT...
  python3 "$LOGIN" 127.0.0.1 51820 "$pin" "$(key)" "${1#*/}" "${@:2}" >login.out
}
is_in() { # USER/DEVICE
  log_in "$1" "${1%/*}" "password of ${1%/*}"
  grep -q "^83 1=b'${1%/*}' 2=b'${1#*/}'" login.out || fail "$1 does not log in: $(<login.out)"
}
is_refused() { # REASON USER/DEVICE [ARGUMENT...]
  log_in "$2" "${@:3}"
  grep -qF "84 1=b'$1'" login.out || fail "$2: $(<login.out)"
}

ip link set lo up
gateway init --endpoint 127.0.0.1 --pool 10.77.0.0/28 >/dev/null
for name in alice bob mallory; do
  gateway user add "$name"
  gateway user set "$name" --password <<<"password of $name"
done
gateway access add web --from everybody --to 203.0.113.0/24
gateway set logins on >enabled.out
pin=$(sed -n 's/.*pin //p' enabled.out)
(exec "$ROAMWARD_BIN/roamward-gateway" serve --state /run/work/state) >serve.log 2>&1 &
serving=$!
until_so 'the gateway takes logins' grep -q 'logins: at TCP port' serve.log

# The tenth is the last, by a password and by a token, whose use is not lost; others log in.
for i in {0..9}; do is_in "mallory/m$i"; done
for i in {10..13}; do is_refused '\t' "mallory/m$i" mallory 'password of mallory'; done
token=$(gateway token create mallory)
is_refused '\t' mallory/m10 token "$token"
gateway user list --tokens | found ' mallory  1 use ' || fail "the token is used: $(gateway user list --tokens)"
gateway audit | found 'login refused mallory  (deviceLimit, from 127.0.0.1)' || fail "the audit log: $(gateway audit)"
has_metric() { gateway metrics | found -xE "$1"; }
until_so 'it is counted' has_metric 'roamward_gateway_logins_refused_total\{reason="deviceLimit"\} 5'
is_in alice/laptop
# A device that is known logs in with another key.
is_in mallory/m3

# An administrator may add more, and change the limit, in one place for logins and the page.
gateway device add mallory/server >/dev/null
is_refused '\t' mallory/m10 mallory 'password of mallory'
gateway device remove mallory/server
gateway set page on >/dev/null
gateway set settings.everybody.devices 1 >/dev/null
gateway login show | found -x 'devices  up to 1 for each user' || fail "login show: $(gateway login show)"
is_refused '\t' alice/phone alice 'password of alice'
gateway set settings.users.mallory.devices 12
is_in mallory/m10
is_in mallory/m11
gateway device show mallory/m0 | found -x 'devices 12  from user mallory' || fail "settings: $(gateway device show mallory/m0)"

# All 13 addresses are in use. What the doctor says helps at once, also a user who never had an address.
is_refused '\x05' bob/laptop bob 'password of bob'
! gateway doctor >doctor.out || fail 'the doctor does not see that the pool is full'
grep -A 1 '^pool .* is full' doctor.out | found 'roamward-gateway device remove USER/NAME' || fail "the doctor: $(<doctor.out)"
gateway device remove mallory/m4
is_in bob/laptop
gateway device list | found '^bob/laptop  10.77.0.6$' || fail "the address: $(gateway device list)"
is_refused '\x05' mallory/m4 mallory 'password of mallory'
gateway store show --check >check.out || fail "the store: $(<check.out)"
gateway audit --verify >/dev/null || fail 'the audit log is broken'
kill "$serving"
wait "$serving" || fail 'the gateway ends with an error'
gateway cleanup >/dev/null
