#!/usr/bin/env bash
# A gateway whose passwords a module of PAM checks (pam_scene.c), and clients that log in (login.py), on loopback addresses.
#
# $LOGIN is the client, $MODULE the module's source, $UNIT the gateway's unit.
# shellcheck source=Tests/Gateway/GatewayServeTests/Scenes/scene.bash
source "$(dirname "${BASH_SOURCE[0]}")/scene.bash"

tell() { cat ./*.out; }
gateway() { "$ROAMWARD_BIN/roamward-gateway" "$@" --state /run/work/state; }
login() { # NAME PASSWORD [ANSWER...]
  python3 "$LOGIN" 127.0.0.1 51820 "$pin" "$(key)" "${device:-laptop}" "$@"
}
is_in() { grep -q "^83 1=b'$1'" "$1.out" || fail "$1 does not log in: $(cat "$1.out")"; }
workers() { pgrep -P "$serving" -f 'roamward-gateway-pam --at-work'; }

# A machine of its own in mounts: its services, its modules, its users.
own_machine
cc -shared -fPIC -Wall -Werror -o pam_scene.so "$MODULE" -lpam
install -m 644 pam_scene.so security/
printf 'auth required pam_scene.so\naccount required pam_scene.so\n' >/etc/pam.d/roamward
chmod 644 /etc/pam.d/roamward
if python3 -c 'import ctypes, sys; sys.exit(ctypes.CDLL(None).syscall(444, None, 0, 1) <= 0)'; then : >/etc/has-landlock; fi
[[ -r /var/lib/dpkg/status ]] || fail 'there is no file that a module may not read'
ip link set lo up
gateway init --endpoint 127.0.0.1 --pool 10.77.0.0/24 >/dev/null
for name in alice asker away crash endless escape expired hang informed locked noise renew rename; do gateway user add "$name"; done
gateway user add own
gateway user set own --password <<<'a password here'
gateway user lock locked
gateway set logins on >/dev/null
pin=$(gateway login show | sed -n 's/.*pin //p')

# What cannot work is refused with file, line, reason and cure.
enable() { gateway set logins.pam "{ service: $1, create-users: ${2:-false}, timeout: 2 }"; }
! enable none 2>mistake.out || fail 'a missing file is taken'
grep -q 'there is no file /etc/pam.d/none' mistake.out || fail 'a missing file is not told'
printf 'auth sufficient pam_scene.so\n@include common-auth\naccount required pam_scene.so\n' >/etc/pam.d/root
printf '# Debian.\nauth [success=1 default=ignore] pam_unix.so nullok\n' >/etc/pam.d/common-auth
chmod 644 /etc/pam.d/root /etc/pam.d/common-auth
! enable root 2>mistake.out || fail 'pam_unix is taken'
grep -q 'pam: /etc/pam.d/common-auth:2: pam_unix reads /etc/shadow, which root alone can' mistake.out || fail 'pam_unix is not told'
grep -q 'help: use a service whose modules ask the network' mistake.out || fail 'no cure is told'
printf 'auth required pam_none.so\naccount required pam_scene.so\n' >/etc/pam.d/gone
chmod 644 /etc/pam.d/gone
! enable gone 2>mistake.out || fail 'a missing module is taken'
grep -q 'pam: /etc/pam.d/gone:1: the module pam_none.so is missing' mistake.out || fail 'a missing module is not told'

capabilities=$(sed -n 's/^CapabilityBoundingSet=//p' "$UNIT" | tr '[:upper:]' '[:lower:]' | sed 's/cap_/+/g; s/ /,/g')
(exec setpriv --bounding-set "-all,$capabilities" --no-new-privs "$ROAMWARD_BIN/roamward-gateway" serve --state /run/work/state) \
  >serve.log 2>&1 &
serving=$!
until_so 'the gateway takes logins' grep -q 'logins: at TCP port' serve.log
enable roamward
# The right password of an account makes nobody the user of its name. The audit log has the command that does.
gateway device add alice/desk >/dev/null
gateway access add web --from everybody --to 203.0.113.0/24
shown=$(gateway user show alice)
is_stranger() {
  SOURCE=127.0.2.1 login alice right >stranger.out
  grep -qF "$wrong" stranger.out && gateway audit | found notLinked
}
until_so 'an account is refused' is_stranger
[[ $(gateway user show alice) == "$shown" ]] || fail "the account changes alice: $(gateway user show alice)"
gateway audit | found "login refused alice  (notLinked, .* is not linked to pam roamward alice; .*roamward-gateway user set alice --pam=alice" ||
  fail "the audit log: $(gateway audit)"
for name in alice asker away crash endless escape expired hang informed locked noise renew rename; do gateway user set "$name" --pam "$name"; done
gateway user set own --pam own 2>own.out
grep -q 'own has a password here, which alone counts' own.out || fail "a link without effect is not told: $(<own.out)"
gateway user set own --no-identity
gateway export | found 'pam: { service: roamward' || fail "$(gateway export)"
gateway doctor >doctor.out || fail 'the doctor finds something'
# The doctor sees what has changed since.
mv /etc/pam.d/roamward kept
install -m 644 /etc/pam.d/root /etc/pam.d/roamward
! gateway doctor >doctor.out || fail 'the doctor finds nothing'
grep -q 'pam: /etc/pam.d/common-auth:2: pam_unix' doctor.out || fail 'the doctor does not tell it'
mv kept /etc/pam.d/roamward
ready() { login own 'a password here' | found '^83 '; }
ready || fail 'a password of the gateway'"'"'s own does not work'

# The process of a check has no privileges; what hangs ends, and nothing else waits for it.
until_so 'no check runs' eval '! workers'
login hang right >hang.out &
until_so 'a check runs' workers
worker=$(workers)
until_so 'it is confined' grep -q '^Seccomp:\s*2$' "/proc/$worker/status"
grep -q '^CapEff:\s*0000000000000000$' "/proc/$worker/status" || fail 'it has capabilities'
grep -q '^NoNewPrivs:\s*1$' "/proc/$worker/status" || fail 'it may gain privileges'
[[ $(stat -c %U "/proc/$worker/mem") == root ]] || fail 'others can look into it'
grep -q '^Uid:\s*990\s990\s990\s990$' "/proc/$worker/status" || fail "its user: $(grep Uid "/proc/$worker/status")"
for name in alice noise escape informed; do login "$name" right yes >"$name.out" & done
login asker right blue '123 456' >asker.out &
until_so 'what hangs ends' grep -q "^84 1=b'.x06'" hang.out
for name in alice noise escape informed asker; do
  until_so "the login of $name ends" grep -qE '^8[34] ' "$name.out"
  is_in "$name"
done
grep -q 'the PAM service roamward: the service has not answered for 2 s' serve.log || fail 'the log does not say why'
grep -q "^82 1=b'.x04' 2=b'Your accountends in 3 days.'" informed.out || fail "a message is not shown: $(cat informed.out)"
grep -q "^82 1=b'.x07' 2=b'\[31mTwo questions follow..nColour?' 3=b'.x01'" asker.out || fail "a question: $(cat asker.out)"
grep -q "^82 1=b'.x07' 2=b'Token?' 3=b'.x00'" asker.out || fail "a second question: $(cat asker.out)"
gateway device list --sessions | found 'asker/laptop .* by password,prompt from 127.0.0.1' || fail "sessions: $(gateway device list --sessions)"
gateway user show alice | found -x 'identity  pam roamward alice' || fail "identity: $(gateway user show alice)"
until_so 'no process is left' eval '! workers'

# A failure is no refusal.
for name in crash away rename; do login "$name" right >"$name.out" & done
for name in crash away rename; do until_so "$name is a failure" grep -q "^84 1=b'.x06'" "$name.out"; done

# What is wrong looks the same, at the same time, for names of both kinds; the audit log has the reason.
#
# Only the name that has a password here needs a hash, which may take longer than these 3 s on a busy machine; then its answer comes at a
# later multiple. ConversationTests compare times without a clock.
at_its_time() { # NAME MILLISECONDS
  (($2 >= 2900)) && [[ $1 == own* || $2 -lt 5900 ]]
}
cases=('alice wrong' 'unknown right' 'locked right' 'expired right' 'renew right' 'nobody right' 'own wrong')
until_so 'all clients have ended' bash -c '! pgrep -x python3'
for number in "${!cases[@]}"; do
  # shellcheck disable=SC2086
  login ${cases[number]} >"wrong$number.out" &
done
for number in "${!cases[@]}"; do
  until_so "the login of ${cases[number]} ends" grep -qF "$wrong" "wrong$number.out"
  time=$(sed -n "s/^84 .*255=b'\([0-9]*\)'/\1/p" "wrong$number.out")
  at_its_time "${cases[number]}" "$time" || fail "${cases[number]}: after $time ms"
done
for reason in 'alice.*wrongPassword' 'unknown.*unknownName' 'locked.*lockedUser' 'expired.*expiredAccount' 'renew.*expiredPassword' \
  'nobody.*unknownName' 'own.*wrongPassword'; do
  gateway audit | found "login refused.*$reason" || fail "the audit log does not say $reason: $(gateway audit)"
done

# So it is while the service is away, and where it asks everybody something: nothing shows that the gateway has a password of a name.
place=0
alike() { # WHAT TRIES
  local what=$1 name number
  for name in own unknown escape; do
    place=$((place + 1))
    (export SOURCE=127.0.1.$place
      for ((number = 0; number < $2; number++)); do login "$name" wrong 123; done >"$what-$name.out") &
  done
  for name in own unknown escape; do
    until_so "the logins of $name end" bash -c "(( \$(grep -c '^84 ' $what-$name.out) == $2 ))"
    # Without the times, which are compared by their multiples of 3 s.
    sed "s/ 255=b'[0-9]*'//" "$what-$name.out" >"$what-$name.shown"
    cmp "$what-own.shown" "$what-$name.shown" || fail "$what: own: $(<"$what-own.out") $name: $(<"$what-$name.out")"
  done
  for name in own unknown; do
    sed -n "s/^84 1=b'.x0[16]'.* 255=b'\([0-9]*\)'/\1/p" "$what-$name.out" >times.out
    while read -r time; do at_its_time $name "$time" || fail "$what: $name: $(xargs <times.out)"; done <times.out
  done
}
touch /etc/service-asks
alike asking 1
grep -q "^82 1=b'.x07' 2=b'Token?'" asking-own.out || fail "nothing is asked: $(<asking-own.out)"
mv /etc/service-asks /etc/service-is-away
alike away 6
[[ $(grep -c "^84 1=b'.x06' 2=b'.x00.x0f'" away-own.out) -ge 3 ]] || fail "it is not away: $(<away-own.out)"
until_so 'a right password of the gateway works while the service is away' ready
rm /etc/service-is-away
login endless right a b c d e f g h i j >endless.out &
endless=$!

# Names belong to whom they belonged first. New users only where that is wanted.
enable roamward true
until_so 'a new user is added' bash -c "python3 '$LOGIN' 127.0.0.1 51820 '$pin' \"\$(head -c 32 /dev/urandom | base64)\" d newcomer right | grep -q '^83 '"
cp /etc/pam.d/roamward /etc/pam.d/other-service
chmod 600 /etc/pam.d/other-service
! enable other-service 2>mistake.out || fail 'a file that its user cannot read is taken'
grep -q 'help: chmod 644 /etc/pam.d/other-service' mistake.out || fail 'a file that its user cannot read is not told'
chmod 644 /etc/pam.d/other-service
enable other-service
until_so 'the gateway asks the other service' bash -c "python3 '$LOGIN' 127.0.0.1 51820 '$pin' \"\$(head -c 32 /dev/urandom | base64)\" d noise right | grep -q '^84 '"
gateway audit | found 'login refused.*noise.*otherPerson' || fail "the audit log: $(gateway audit)"
wait "$endless" || fail 'a module asks without end'
[[ $(grep -c "^82 1=b'.x07'" endless.out) == 8 && $(tail -n 1 endless.out) == "$wrong "* ]] || fail "endless: $(cat endless.out)"

gateway unset logins.pam
until_so 'passwords of PAM are wrong' bash -c "python3 '$LOGIN' 127.0.0.1 51820 '$pin' \"\$(head -c 32 /dev/urandom | base64)\" d informed right | grep -q '^84 1=.*01'"
ready || fail 'a password of the gateway does not work any more'
gateway audit --verify >/dev/null || fail 'the audit log is broken'
kill "$serving"
wait "$serving" || fail 'the gateway ends with an error'
gateway cleanup >/dev/null
