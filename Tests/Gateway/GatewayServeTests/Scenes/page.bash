#!/usr/bin/env bash
# A gateway with its page, and two stock clients, each in a network namespace of its own.
#
# $BROWSER is a person at a browser (browser.py), who alone looks at the page then, with $AXE, axe-core; empty: curl(1) asks. $PICTURES is
# where pictures of the page go, if anywhere. $LOGIN is a client that logs in. Answers to curl(1) are put into $DOCUMENTS.
# shellcheck source=Tests/Gateway/GatewayServeTests/Scenes/scene.bash
source "$(dirname "${BASH_SOURCE[0]}")/scene.bash"

gateway() { at gateway "$ROAMWARD_BIN/roamward-gateway" "$@" --state /run/work/state; }
# A stock client with the file that the gateway printed.
connect() { # NAME
  at "$1" wireguard-go "wg-$1" >"$1.log" 2>&1
  at "$1" wg setconf "wg-$1" <(wg-quick strip "./$1.conf")
  local address
  for address in $(sed -n 's/^Address = //p' "$1.conf" | tr , ' '); do ip -n "$1" address add "$address" dev "wg-$1"; done
  ip -n "$1" link set "wg-$1" up
  ip -n "$1" route add 10.77.0.0/24 dev "wg-$1"
  ip -n "$1" route add fd77::/64 dev "wg-$1"
}
page=http://10.77.0.1
# The answer's body, then its status. A person's browser sends these fields.
ask() { # NAME METHOD PATH [OPTION...]
  local name=$1 method=$2 path=$3
  shift 3
  at "$name" curl --silent --max-time 10 --write-out ' %{http_code}' --request "$method" --header 'X-Roamward-Page: 1' \
    --header "Origin: $page" "$@" "$page$path"
}
answers() { # STATUS NAME METHOD PATH [OPTION...]
  local status=$1
  shift
  ask "$@" >answer.out || return
  [[ $(<answer.out) == *" $status" ]]
}
# The last answer, for its published schema.
keep() { sed 's/ [0-9]*$//' answer.out >"$DOCUMENTS/page-$1"; }
expect() { answers "$@" || fail "not $1: ${*:2}: $(<answer.out)"; }
has() { grep -q "$1" answer.out || fail "no $1: $(<answer.out)"; }

for name in gateway alice bob; do ip netns add "$name"; done
ip -n gateway link set lo up
join alice to-alice 192.0.2.2 192.0.2.1
join bob to-bob 198.51.100.2 198.51.100.1
gateway init --endpoint 192.0.2.1 --pool 10.77.0.0/24 --pool fd77::/64 >/dev/null
for name in alice bob; do gateway user add "$name"; done
gateway group add admins
gateway group set admins --add alice
gateway device add alice/laptop >alice.conf
gateway device add bob/laptop | sed 's/^Endpoint = .*/Endpoint = 198.51.100.1:51820/' >bob.conf
(exec ip netns exec gateway "$ROAMWARD_BIN/roamward-gateway" serve --state /run/work/state) >serve.log 2>&1 &
serving=$!
until_so 'there is a link' ip -n gateway link show wg-gateway
connect alice
connect bob

# A real browser.
if [[ -n $BROWSER ]]; then
  gateway set settings.everybody.devices 4 >/dev/null
  gateway set page '{ administrators: admins, operators: admins, title: Example Corp }' >/dev/null
  gateway set logins on >enabled.out
  until_so 'the gateway takes logins' grep -q 'logins: at TCP port' serve.log
  at bob python3 "$LOGIN" 198.51.100.1 51820 "$(sed -n 's/.*pin //p' enabled.out)" "$(key)" tablet token "$(gateway token create bob)" |
    grep -q "^83 1=b'bob' 2=b'tablet'" || fail 'no login'
  gateway access add page --from everybody --to 10.77.0.1 --protocol tcp --port 80
  until_so 'the page is reached' answers 200 alice GET /
  gateway access add web --from user:alice --to 203.0.113.0/24 --protocol tcp --port 443
  at alice python3 "$BROWSER" /run/work/browser "$page/" phone "$AXE" >shown.conf || fail 'the browser'
  grep -q '^PrivateKey = ' shown.conf || fail "the page shows no file: $(<shown.conf)"
  gateway audit | found 'page alice/laptop  device remove alice/phone' || fail 'the browser has removed nothing'
  gateway audit | found 'page alice/laptop  device remove alice/laptop' || fail 'the browser has not removed its own device'
  gateway audit | found 'page alice/laptop  session end bob/tablet' || fail 'the browser has ended no session'
  for act in 'user lock bob  (stolen)' 'user unlock bob' 'user add carol' 'token create carol'; do
    gateway audit | found "page alice/laptop  $act" || fail "the browser has not done this: $act: $(gateway audit)"
  done
  gateway user show bob | found '^user  bob  active$' || fail "bob: $(gateway user show bob)"
  for name in own invitation; do
    zbarimg --quiet --raw "browser/$name.png" 2>/dev/null >scanned.link || fail "the code of the link cannot be scanned: $name"
    diff "browser/$name.link" scanned.link >/dev/null || fail "the code has another link: $(<scanned.link)"
  done
  [[ $(<browser/own.link) == "$(gateway login show --link --user alice)" ]] || fail "another link: $(<browser/own.link)"
  zbarimg --quiet --raw browser/code.png 2>/dev/null >scanned.conf || fail 'the code cannot be scanned'
  diff <(sed '/^$/d' shown.conf) <(sed '/^$/d' scanned.conf) >/dev/null || fail 'the code has another text'
  [[ -z ${PICTURES:-} ]] || cp browser/gateway-*.png "$PICTURES"
  exit
fi

# There is no page before it is enabled, and no way to it before a rule.
! at gateway curl --silent --max-time 2 http://10.77.0.1/ >/dev/null || fail 'a page that is not enabled'
gateway set settings.everybody.devices 4 >/dev/null
gateway set page '{ administrators: admins, names: [gateway.corp.example] }' >enabled.out
grep -q '^title  none$' enabled.out || fail "set page: $(<enabled.out)"
grep -q '^page  http://10.77.0.1/$' enabled.out || fail "set page: $(<enabled.out)"
grep -q 'help: roamward-gateway access add page' enabled.out || fail "no rule is asked for: $(<enabled.out)"
until_so 'the page is there' grep -q 'page: at TCP port 80 of wg-gateway' serve.log
! answers 200 alice GET / --max-time 2 || fail 'the page is reached without a rule'
# The command that `set page on` prints.
command=$(sed -n 's/^ *help: roamward-gateway //p' enabled.out | head -n 1)
# shellcheck disable=SC2086 # words
gateway $command
gateway login show | found note && fail "the rule is not enough: $(gateway login show)"
until_so 'the page is reached' answers 200 alice GET /
has '<title>Gateway</title>'

# The process that reads what browsers send has nothing.
web=$(pgrep -f 'roamward-gateway-web --at-work') || fail 'no process for the page'
grep -q '^CapEff:\s*0000000000000000$' "/proc/$web/status" || fail 'it has capabilities'
grep -q '^Seccomp:\s*2$' "/proc/$web/status" || fail 'it has no filter of system calls'
grep -q '^NoNewPrivs:\s*1$' "/proc/$web/status" || fail 'it may gain privileges'

# From outside of the tunnel it is not there, also not for one who sends to the inner address.
! at alice curl --silent --max-time 2 http://192.0.2.1/ >/dev/null || fail 'the page is outside of the tunnel'
ip -n alice route add 10.77.0.1/32 via 192.0.2.1
! at alice curl --silent --max-time 2 --interface 192.0.2.2 "$page/" >/dev/null || fail 'the page is reached around the tunnel'
ip -n alice route del 10.77.0.1/32 via 192.0.2.1

# Each one is known by the tunnel, in both families.
expect 200 alice GET /api/me
keep 1
has '"user":"alice","device":"laptop","administrator":true,"operator":true,"logins":false'
expect 200 bob GET /api/me
has '"user":"bob","device":"laptop","administrator":false'
! grep -q alice answer.out || fail "bob sees alice: $(<answer.out)"
at bob curl --silent --max-time 10 --header 'X-Roamward-Page: 1' 'http://[fd77::1]/api/me' | found '"user":"bob"' || fail 'not by IPv6'
expect 200 bob GET /api/me --header 'Host: gateway.corp.example'

# Bob changes what is his, and sees nothing more.
for path in devices groups audit 'access?user=alice&to=10.0.0.1'; do expect 403 bob GET "/api/admin/$path"; done
expect 200 bob POST '/api/devices?name=phone'
keep 2
has '"secret":true,"file":"\[Interface\]\\nPrivateKey = [A-Za-z0-9+/]*=\\nAddress = 10.77.0.4/32, fd77::4/128\\n'
until_so 'the new device is a peer' bash -c 'ip netns exec gateway wg show wg-gateway allowed-ips | grep -q 10.77.0.4/32'
expect 409 bob POST '/api/devices?name=phone'
expect 400 bob DELETE '/api/devices?name=alice/laptop'
expect 409 bob DELETE '/api/devices?name=nothing'
gateway device list | found '^alice/laptop ' || fail 'bob has removed a device of alice'
expect 200 bob DELETE '/api/devices?name=phone'
until_so 'the removed device is no peer' bash -c '! ip netns exec gateway wg show wg-gateway allowed-ips | grep -q 10.77.0.4/32'
own=$(wg genkey | wg pubkey)
expect 200 bob POST "/api/devices?name=tablet&key=$(sed 's/+/%2B/g; s/=/%3D/' <<<"$own")"
keep 3
has '"secret":false,.*PrivateKey = (the device.s own private key).*"code":null'
gateway audit | found 'page bob/laptop  device add bob/tablet' || fail "the audit log: $(gateway audit)"

# Other sites' pages in bob's browser.
expect 421 bob GET /api/me --header 'Host: evil.example'
expect 403 bob DELETE '/api/devices?name=laptop' --header 'Origin: http://evil.example'
expect 403 bob DELETE '/api/devices?name=laptop' --header 'X-Roamward-Page;' --header 'X-Roamward-Page:'
expect 403 bob GET /api/me --header 'Sec-Fetch-Site: cross-site'
expect 405 bob OPTIONS /api/devices
expect 413 bob POST '/api/devices?name=phone' --data x

# Alice is an administrator.
expect 200 alice GET '/api/admin/devices?search=bob'
has '"device":"tablet"'
! grep -q '"user":"alice"' answer.out || fail "a search finds others: $(<answer.out)"
expect 200 alice GET '/api/admin/access?user=bob&to=203.0.113.2:443'
has '"allowed":false,.*"rules":\[{"place":1,"rule":"page",.*"mismatch":"for other destinations","declared":null}\]'
keep 4
expect 200 alice GET /api/admin/groups
keep 5
expect 200 alice GET /api/admin/audit
keep 6
expect 200 alice GET '/api/admin/devices?connected=1'
has '"device":"laptop".*"transport":"udp","since":"20'
! grep -q '"state":"never seen"' answer.out || fail "a device that is not connected: $(<answer.out)"
[[ $(gateway status --json | grep -c '"user"') == 3 ]] || fail "status --json: $(gateway status --json)"

# A session is ended by an operator, and by no lesser role. Bob's tablet logs in anew, with its key.
gateway set logins on >enabled.out
until_so 'the gateway takes logins' grep -q 'logins: at TCP port' serve.log
at bob python3 "$LOGIN" 198.51.100.1 51820 "$(sed -n 's/.*pin //p' enabled.out)" "$own" tablet token "$(gateway token create bob)" |
  grep -q "^83 1=b'bob' 2=b'tablet'" || fail 'no login'
session='/api/admin/sessions?device=bob/tablet'
expect 403 bob DELETE "$session"
has 'only operators may ask this'
gateway group add desk
gateway group set desk --add bob
gateway set page.title 'Example Corp' | found -x 'title  Example Corp' || fail 'the title is not shown'
gateway set page.operators desk | found -x 'operators  group desk' || fail 'operators are not shown'
until_so 'bob is an operator' bash -c "ip netns exec bob curl --silent --header 'X-Roamward-Page: 1' $page/api/me | grep -q '\"operator\":true'"
gateway user show bob | found -x 'page  operator (group desk)' || fail "user show: $(gateway user show bob)"
gateway user show alice | found -x 'page  administrator (group admins)' || fail "user show: $(gateway user show alice)"
expect 403 alice DELETE "$session" --header 'Origin: http://evil.example'
expect 409 alice DELETE '/api/admin/sessions?device=bob/laptop'
expect 200 bob DELETE "$session"
gateway device list --sessions | found '^bob/tablet .* session ended ' || fail "sessions: $(gateway device list --sessions)"
gateway audit | found 'page bob/laptop  session end bob/tablet' || fail "the audit log: $(gateway audit)"

# Garbage, and many at once: the page and everybody else go on.
web=$(pgrep -f 'roamward-gateway-web --at-work') || fail 'no process for the page with other settings'
at bob timeout 900 python3 - <<'PYTHON' || fail 'the page is lost with garbage'
import os, socket
held = []
for i in range(200):
    one = socket.create_connection(("10.77.0.1", 80), timeout=5)
    try:
        one.sendall(os.urandom(2000) if i % 2 else b"GET / HTTP/1.1\r\n")
    except OSError:
        pass
    held.append(one)
PYTHON
expect 200 alice GET /api/me
[[ $(pgrep -f 'roamward-gateway-web --at-work') == "$web" ]] || fail 'the process has ended'
pkill -KILL -P "$serving" -f 'roamward-gateway-web --at-work' || fail 'no process for the page'
until_so 'the page is there again' answers 200 alice GET /api/me

# A port that another program has, and settings that are none: the doctor says so; the second change nothing.
doctor_says() { ! gateway doctor >doctor.out 2>&1 && grep -q "^$1" doctor.out; }
listens() { [[ -n $(at gateway ss -Hltn "sport = :$1") ]]; }
at gateway busybox nc -ll -p 8088 -e busybox cat &
until_so 'another program listens' listens 8088
! gateway set page.port 8088 >taken.out 2>&1 || fail "a taken port is not told: $(<taken.out)"
grep -q 'the page is not shown: .*in use' taken.out || fail "a taken port: $(<taken.out)"
until_so 'the doctor says that the port is taken' doctor_says 'the page is not shown: .*in use'
gateway set page.port 80 >/dev/null
until_so 'the page is there again' answers 200 alice GET /api/me
cp state/page page.good
echo nonsense >state/page
touch state/changed
until_so 'the gateway says that its settings are damaged' grep -q 'page: the settings of the page in .* are damaged' serve.log
doctor_says 'the settings of the page in .* are damaged' || fail "the doctor: $(<doctor.out)"
expect 200 alice GET /api/me
cp page.good state/page

# A locked user is out at once, also of the page; without the setting the page is gone.
gateway user lock bob
! answers 200 bob GET /api/me --max-time 2 || fail 'a locked user has the page'
gateway set page off
until_so 'the page is gone' bash -c "! pgrep -f '[r]oamward-gateway-web --at-work'"
! answers 200 alice GET / --max-time 2 || fail 'a disabled page is there'
gateway audit --verify >/dev/null || fail 'the audit log is broken'
kill "$serving"
wait "$serving" || fail 'the gateway ends with an error'
gateway cleanup >/dev/null
