#!/usr/bin/env bash
# A gateway, an OpenID provider (issuer.py) and clients that log in there (login.py), on loopback addresses.
#
# $LOGIN is the client, $PROVIDER the provider.
# shellcheck source=Tests/Gateway/GatewayServeTests/Scenes/scene.bash
source "$(dirname "${BASH_SOURCE[0]}")/scene.bash"
mkdir provider

tell() {
  cat ./*.out
}
gateway() { "$ROAMWARD_BIN/roamward-gateway" "$@" --state /run/work/state; }
visit() { # PATH: what the person does at the provider
  curl --silent --fail --cacert provider/tls.pem "$issuer/$1" >/dev/null || fail "the provider does not take $1"
}
# Begins a login with a new key; $code is then the person's.
begin() { # DEVICE [ANSWER...]
  : >"$1.out"
  python3 "$LOGIN" 127.0.0.1 51820 "$pin" "$(key)" "$1" openid - "${@:2}" >"$1.out" 2>&1 &
  until_so 'the gateway shows a page' grep -q "^82 1=b'.x06'" "$1.out"
  code=$(sed -n "s/^82 .* 4=b'\([A-Z-]*\)' .*/\1/p" "$1.out")
  [[ $code == ????-???? ]] || fail "no code"
  grep -q "3=b'$issuer/enter' .*6=b'$issuer/enter?code=$code'" "$1.out" || fail 'no page'
}
is_wrong() { until_so "the login of $1 ends" grep -qF "$wrong" "$1.out"; }

ip link set lo up
# No name server answers here: names are those of hosts(5).
echo '127.0.0.1 login.example localhost' >hosts
chmod a+r hosts
mount --bind hosts /etc/hosts
python3 "$PROVIDER" provider >provider.log 2>&1 &
providing=$!
until_so 'the provider serves' test -s provider/port
port=$(cat provider/port)
issuer=https://login.example:$port/person
printf 's3cret/+ä\n' >secret

gateway init --endpoint 127.0.0.1 --pool 10.77.0.0/24 >/dev/null
gateway user add alice
gateway user add bob
gateway group add staff
gateway group add admins
gateway group set admins --add alice
gateway access add web --from group:staff --to 203.0.113.0/24
gateway set logins on >/dev/null
pin=$(gateway login show | sed -n 's/.*pin //p')

# Mistakes are told with their cure.
enable() { # ISSUER [SECRET-FILE [MORE]]
  gateway set --replace logins.openid \
    "{ issuer: \"$1\", client-id: roamward, authority-file: /run/work/provider/tls.pem${2:+, client-secret-file: $2}${3:+, $3} }"
}
! enable http://login.example 2>mistake.out || fail 'a provider without TLS is taken'
grep -q 'is no https URL' mistake.out || fail 'the mistake is not told'
! enable "$issuer" '' 'groups: { nothing: X }' 2>mistake.out || fail 'a missing group is taken'
grep -qF 'roamward-gateway group add nothing' mistake.out || fail 'the cure is not told'
! enable "$issuer" /run/work/none 2>mistake.out || fail 'a missing secret is taken'
chmod a+r secret
! enable "$issuer" /run/work/secret 2>mistake.out || fail 'a secret that all can read is taken'
grep -q 'help: chmod o= /run/work/secret' mistake.out || fail 'the cure is not told'
chmod go= secret
(exec "$ROAMWARD_BIN/roamward-gateway" serve --state /run/work/state) >serve.log 2>&1 &
serving=$!
until_so 'the gateway takes logins' grep -q 'logins: at TCP port' serve.log
enable "$issuer" /run/work/provider/port
! gateway doctor >doctor.out || fail 'the doctor finds nothing wrong with another secret'
grep -q 'openid: .* refuses: invalid_client .*; check the client ID and the secret' doctor.out || fail 'the doctor does not say it'
enable "$issuer" /run/work/secret 'groups: { staff: Engineering, admins: VPN admins }'
gateway doctor >doctor.out || fail "the doctor"
gateway export | found 'admins: VPN admins' || fail "$(gateway export)"

# A name that a person has chosen at the provider makes nobody the user of this name, whatever the provider says of groups: neither with a
# guess, nor with another user's token. The audit log has the cure.
gateway user set alice --password <<<'correct horse'
gateway device add alice/desk >/dev/null
shown=$(gateway user show alice)
begin stranger 'a guess'
visit "approve?code=$code&sub=666&name=alice&groups=Engineering"
is_wrong stranger
begin stranger "$(gateway token create bob)"
visit "approve?code=$code&sub=666&name=alice&groups=Engineering"
is_wrong stranger
[[ $(gateway user show alice) == "$shown" && $(gateway device list | wc -l) == 1 ]] || fail "the stranger changes alice: $(gateway user show alice)"
! gateway user show alice | found '^identity' || fail "identity: $(gateway user show alice)"
! gateway evaluate alice 203.0.113.1:443 >/dev/null || fail 'the stranger puts alice into a group'
gateway audit | found "login refused alice  (notLinked, from 127.0.0.1; user alice exists and is not linked to $issuer 666; .*\`roamward-gateway user set alice --openid=666\`)" ||
  fail "the audit log: $(gateway audit)"

# A person who signs in, and has the user's password: the key is bound, the groups are the provider's.
begin laptop 'correct horse'
worker=$(pgrep -P "$serving" -f 'roamward-gateway-oidc --at-work') || fail 'no process for the provider'
grep -q '^CapEff:\s*0000000000000000$' "/proc/$worker/status" || fail 'it has capabilities'
grep -q '^Seccomp:\s*2$' "/proc/$worker/status" || fail 'it has no filter of system calls'
visit "approve?code=$code&sub=1&name=Alice&groups=Engineering,Sales"
until_so 'the login ends' grep -q "^83 1=b'alice' 2=b'laptop'" laptop.out
grep -q "^82 1=b'.x07' 2=b'Your sign-in is linked to no user of the gateway" laptop.out || fail "the question: $(<laptop.out)"
gateway device list --sessions | found 'alice/laptop .* by openID,password from 127.0.0.1' || fail "sessions: $(gateway device list --sessions)"
gateway audit | found "login  user link alice  ($issuer 1, by openID,password)" || fail "the audit log: $(gateway audit)"
gateway evaluate alice 203.0.113.1:443 >/dev/null || fail 'the provider put nobody into a group'
gateway group list | found 'admins.*alice' && fail 'the provider took nobody out of a group'
gateway user show alice | found -x "identity  $issuer 1" || fail "identity: $(gateway user show alice)"

# The next time nothing is asked. A token of the user links as well, and so does an administrator.
begin tablet
visit "approve?code=$code&sub=1&name=Alice&groups=Engineering,Sales"
until_so 'the login ends' grep -q "^83 1=b'alice' 2=b'tablet'" tablet.out
! grep -q "^82 1=b'.x07'" tablet.out || fail 'a linked person is asked'
begin bobs "$(gateway token create bob)"
visit "approve?code=$code&sub=4&name=bob"
until_so 'the login ends' grep -q "^83 1=b'bob' 2=b'bobs'" bobs.out
gateway user add dave
! gateway user set dave --openid 1 2>mistake.out || fail 'a person is linked twice'
grep -q 'this person is user alice' mistake.out || fail "a person is linked twice: $(<mistake.out)"
gateway user set dave --openid 7
begin daves
visit "approve?code=$code&sub=7&name=another.name"
until_so 'the login ends' grep -q "^83 1=b'dave' 2=b'daves'" daves.out

# Who may not log in here looks the same, whatever the reason; the audit log has it.
begin second 'correct horse'
visit "approve?code=$code&sub=2&name=alice"
is_wrong second
begin third none
visit "approve?code=$code&sub=3&name=nobody"
is_wrong third
gateway user lock bob
begin fourth
visit "approve?code=$code&sub=4&name=bob"
is_wrong fourth
begin fifth
visit "deny?code=$code"
is_wrong fifth
for reason in 'alice.*otherPerson' 'nobody.*unknownName' 'bob.*lockedUser' 'denied'; do
  gateway audit | found "login refused.*$reason" || fail "the audit log does not say $reason: $(gateway audit)"
done
# The same person under another name is the same user.
begin laptop
visit "approve?code=$code&sub=1&name=alice.smith&groups=VPN%20admins"
until_so 'the login ends' grep -q "^83 1=b'alice' 2=b'laptop'" laptop.out
! gateway evaluate alice 203.0.113.1:443 >/dev/null || fail 'a group is left'

# New users are added where that is wanted.
enable "$issuer" /run/work/secret 'create-users: true'
until_so 'the gateway knows it' bash -c "! pgrep -P $serving -f 'roamward-gateway-oidc --at-work'"
begin phone
visit "approve?code=$code&sub=5&name=carol"
until_so 'the login ends' grep -q "^83 1=b'carol' 2=b'phone'" phone.out

# While the provider is away, passwords work, also during a sign-in that waits.
gateway user set alice --password <<<'correct horse'
begin tablet
kill -STOP "$providing"
python3 "$LOGIN" 127.0.0.1 51820 "$pin" "$(key)" desktop alice 'correct horse' >desktop.out
grep -q "^81 .*2=b'.x01.x02.x06'" desktop.out || fail 'the sign-in is not offered'
grep -q "^83 1=b'alice' 2=b'desktop'" desktop.out || fail 'a password does not work'
kill -KILL "$providing"
python3 "$LOGIN" 127.0.0.1 51820 "$pin" "$(key)" other openid - >other.out
grep -q "^84 1=b'.x06'" other.out || fail 'a provider that is away is not told'
until_so 'the log says why' grep -q 'logins: https://login.example.* does not give its description' serve.log
# A process that is killed is started again, and its sign-ins end.
pkill -KILL -P "$serving" -f 'roamward-gateway-oidc --at-work' || fail 'no process for the provider'
until_so 'the sign-in that waited ends' grep -q "^84 1=b'.x06'" tablet.out

gateway unset logins.openid
until_so 'it is not offered any more' bash -c "python3 '$LOGIN' 127.0.0.1 51820 '$pin' \"\$(head -c 32 /dev/urandom | base64)\" x token rw1-wrong | grep -q \"^81 .*2=b'.x01.x02'\""
gateway audit --verify >/dev/null || fail 'the audit log is broken'
kill "$serving"
wait "$serving" || fail 'the gateway ends with an error'
gateway cleanup >/dev/null
