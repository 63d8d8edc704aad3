#!/usr/bin/env bash
# A gateway that is declared in files, with its page; an administrator (alice) and an operator (bob) at it, by curl(1), and a person who
# logs in with an invitation.
#
# $LOGIN is a client that logs in. Answers to curl(1) are put into $DOCUMENTS.
# shellcheck source=Tests/Gateway/GatewayServeTests/Scenes/scene.bash
source "$(dirname "${BASH_SOURCE[0]}")/scene.bash"

gateway() { at gateway "$ROAMWARD_BIN/roamward-gateway" "$@"; }
page=http://10.77.0.1
# The answer's body, then its status. A person's browser sends these fields.
ask() { # NAME METHOD PATH
  at "$1" curl --silent --max-time 10 --write-out ' %{http_code}' --request "$2" --header 'X-Roamward-Page: 1' --header "Origin: $page" \
    "$page$3"
}
answers() { # STATUS NAME METHOD PATH
  ask "${@:2}" >answer.out && [[ $(<answer.out) == *" $1" ]]
}
expect() { answers "$@" || fail "not $1: ${*:2}: $(<answer.out)"; }
has() { found -F "$1" <answer.out || fail "no $1: $(<answer.out)"; }
has_not() { ! found -F "$1" <answer.out || fail "$1: $(<answer.out)"; }
keep() { sed 's/ [0-9]*$//' answer.out >"$DOCUMENTS/page-$1"; }
value() { sed 's/ [0-9]*$//' answer.out | python3 -c 'import json, sys; print(json.load(sys.stdin)[sys.argv[1]])' "$1"; }
log_in() { # LINK DEVICE: with the token of the link
  at carol python3 "$LOGIN" 203.0.113.1 51820 "$pin" "$(key)" "$2" token "$(grep -o 'rw1-[a-z2-7]*' <<<"$1")"
}

for name in gateway alice bob carol; do ip netns add "$name"; done
ip -n gateway link set lo up
join alice to-alice 192.0.2.2 192.0.2.1
join bob to-bob 198.51.100.2 198.51.100.1
join carol to-carol 203.0.113.2 203.0.113.1
umask 022
cover_folders
rm -rf /var/lib/roamward-gateway /etc/roamward-gateway
mkdir /etc/roamward-gateway
files=/etc/roamward-gateway
cat >$files/10-gateway.yaml <<'END'
version: 1
gateway: { endpoint: 192.0.2.1 }
pools:
  office: { prefix: 10.77.0.0/24 }
groups:
  admins: { precedence: 10 }
  desk:
access:
  - { allow: page, from: everybody, to: 10.77.0.1, protocol: tcp, ports: 80 }
  - { deny: rest, from: group:desk, to: everything }
page: { administrators: admins, operators: desk, title: Example Corp }
END
(exec ip netns exec gateway "$ROAMWARD_BIN/roamward-gateway" serve) >serve.log 2>&1 &
serving=$!
until_so 'there is a link' ip -n gateway link show wg-gateway
umask 077
for name in alice bob; do gateway user add "$name" >/dev/null; done
sed -i -e 's/^  admins: .*/  admins: { precedence: 10, members: [alice] }/' -e 's/^  desk:.*/  desk: { members: [bob] }/' $files/10-gateway.yaml
gateway device add alice/laptop >alice.conf 2>/dev/null
gateway device add bob/laptop 2>/dev/null | sed 's/^Endpoint = .*/Endpoint = 198.51.100.1:51820/' >bob.conf
connect alice
connect bob
until_so 'alice is an administrator' eval 'answers 200 alice GET /api/me && found -F "\"administrator\":true" <answer.out'
until_so 'bob is an operator' eval 'answers 200 bob GET /api/me && found -F "\"operator\":true" <answer.out'
expect 200 alice GET /api/me

# Without logins there is no link, and the page offers none.
has '"administrator":true,"operator":true,"logins":false'
expect 409 alice GET /api/link
has 'the gateway takes no logins'
expect 409 alice POST '/api/admin/invitations?user=carol'
expect 200 alice GET /api/admin/groups
has_not '"user":"carol"'
echo 'logins: {}' >>$files/10-gateway.yaml
until_so 'logins are taken' found -F 'logins: at TCP port' serve.log

# The link of a person's own is the one that the command prints. It has no token.
expect 200 bob GET /api/me
has '"administrator":false,"operator":true,"logins":true'
expect 200 bob GET /api/link
keep 1
[[ $(value link) == "$(gateway login show --link --user bob)" ]] || fail "another link: $(<answer.out)"
has '"new":false,"token":null,"until":null'
pin=sha256//$(value link | sed 's/.*pin=//' | tr '_-' '/+')=

# An operator sees everything, and neither invites nor locks.
expect 200 bob GET /api/admin/rules
keep 2
has "\"place\":1,\"rule\":\"page\",\"text\":\"allow page: everybody to 10.77.0.1/32 tcp 80\",\"declared\":\"$files/10-gateway.yaml:9\""
has "\"declared\":\"$files/10-gateway.yaml:10\""
expect 200 bob GET '/api/admin/access?user=bob&to=10.20.0.5:443'
has '"allowed":false,"decision":"denied by rule rest (deny rest: group desk to everything)","rules":[{"place":1,"rule":"page"'
has '"mismatch":"for other destinations"'
for change in 'POST invitations?user=carol' 'POST locks?user=alice' 'DELETE locks?user=alice'; do
  expect 403 bob "${change% *}" "/api/admin/${change#* }"
  has 'only administrators may ask this'
done

# An administrator invites a person who is no user yet. The link lives for an hour, and logs in once.
before=$(date +%s)
expect 200 alice POST '/api/admin/invitations?user=carol'
after=$(date +%s)
keep 3
has '"user":"carol"' && has '"new":true'
link=$(value link)
[[ $link == roamward://192.0.2.1/\?user=carol\&token=rw1-*\&pin=* ]] || fail "the link: $link"
until=$(date --date "$(value until)" +%s)
((until >= before + 3600 && until <= after + 3600)) || fail "it lives until $(value until)"
gateway user show carol | found "^login  token $(value token) (1 use)" || fail "the token: $(gateway user show carol)"
expect 200 alice GET /api/admin/audit
has '"actor":"page alice/laptop","request":"user add","object":"carol"'
has '"actor":"page alice/laptop","request":"token create","object":"carol"'
log_in "$link" laptop | found "^83 1=b'carol' 2=b'laptop'" || fail "no login: $(log_in "$link" laptop)"
log_in "$link" phone | found -F "$wrong" || fail 'it logs in a second time'
! found rw1- serve.log || fail 'the journal has a token'

# The same by the command; and a user who is there.
gateway token create carol --link 2>/dev/null | found '^roamward://192.0.2.1/?user=carol&token=rw1-[a-z2-7]*&pin=' || fail 'token create --link'
expect 200 alice POST '/api/admin/invitations?user=bob'
has '"new":false'
# Not without end. A person has ten changes a minute: this scene makes no more.
for _ in 1 2 3 4; do gateway token create bob >/dev/null 2>&1; done
expect 409 alice POST '/api/admin/invitations?user=bob'
has 'bob has 5 tokens already'

# The files declare the users: each of them may be invited and locked, and no other one is added. What they declare stays as it is.
cat >$files/20-people.yaml <<'END'
version: 1
users:
  alice:
  bob:
  eve:
END
until_so 'the users are those of the files' gateway user show eve
expect 409 alice POST '/api/admin/invitations?user=mallory'
has "there is no user mallory, and $files/20-people.yaml:3 declares the users"
! gateway user show mallory >/dev/null 2>&1 || fail 'a user is added beside the files'
expect 200 alice POST '/api/admin/invitations?user=eve'
log_in "$(value link)" phone | found "^83 1=b'eve' 2=b'phone'" || fail 'no login of a declared user'

# A lock acts at once, with its reason; not on the one who locks.
expect 409 alice POST '/api/admin/locks?user=alice'
has 'you cannot lock yourself'
expect 200 alice POST '/api/admin/locks?user=bob&reason=laptop%20stolen'
! answers 200 bob GET /api/me || fail 'a locked user has the page'
gateway user show bob | found '^user  bob  locked since .* by page alice/laptop: laptop stolen' || fail "user show: $(gateway user show bob)"
expect 409 alice POST '/api/admin/invitations?user=bob'
has 'bob is locked, and cannot log in'
expect 200 alice GET '/api/admin/groups?search=bo'
keep 4
has '"user":"bob","state":"locked"'
has_not '"user":"alice"'
has "\"declared\":\"$files/20-people.yaml:4\""
expect 200 alice GET /api/admin/groups
has "\"group\":\"admins\",\"precedence\":10,\"users\":[\"alice\"],\"declared\":\"$files/10-gateway.yaml:6\""
gateway diff >diff.out || fail "the files are not in force: $(<diff.out)"
expect 200 alice DELETE '/api/admin/locks?user=bob'
until_so 'an unlocked user has the page' answers 200 bob GET /api/me

# Characters that are none of a text are refused, and end no process.
web=$(pgrep -f 'roamward-gateway-web --at-work') || fail 'no process for the page'
expect 400 alice GET '/api/admin/devices?search=%01'
expect 400 bob GET '/api/admin/groups?search=%0a'
expect 400 bob POST '/api/admin/locks?user=bob&reason=%1b'
expect 200 bob GET /api/me
[[ $(pgrep -f 'roamward-gateway-web --at-work') == "$web" ]] || fail 'the process has ended'
kill "$serving"
wait "$serving" || fail 'the gateway ends with an error'
