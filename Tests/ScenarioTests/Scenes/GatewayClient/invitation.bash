# shellcheck shell=bash
# shellcheck source=Tests/ScenarioTests/Scenes/scene.bash
source "$tests/scene.bash"
# shellcheck source=Tests/ScenarioTests/Scenes/providers.bash
source "$tests/providers.bash"
# shellcheck source=Tests/ScenarioTests/Scenes/client.bash
source "$tests/client.bash"
# shellcheck source=Tests/ScenarioTests/Scenes/as-installed.bash
source "$tests/as-installed.bash"

invitation() { company token create bob --link 2>/dev/null; }
# The status of a login without a terminal, and what it says of the token.
log_in() {
  local status=0
  roamward login "$@" >said 2>&1 || status=$?
  say "$status $(grep -oE 'does not accept the token|asked for no password|corp: connected' said | paste -sd ,)"
}

company_gateway vpn.corp.example
company user add bob >/dev/null 2>&1
go cafe
as_packaged
start_agent

link=$(invitation)
say "$(sed -E 's/pin=[A-Za-z0-9_-]{43}/pin=PIN/; s/rw1-[a-z2-7]{32}/TOKEN/' <<<"$link")"

# Another token is refused, and no password is asked for in its place.
log_in "${link/rw1-????/rw1-aaaa}" </dev/null

# The right one connects without a question. Meanwhile no other user of the machine sees it: the network lets the login wait.
on cafe nft 'table inet block { chain c { type filter hook forward priority 0; tcp dport { 443, 51821 } drop; }; }'
"$bin/roamward" login "$link" </dev/null >said 2>&1 &
login=$!
arguments() { tr '\0' '\n' <"/proc/$login/cmdline"; }
within 2 eval 'arguments | grep -q "token=x"'
arguments | sed -nE 's/.*(user=.*)&pin=.*/\1/p'
on cafe nft delete table inet block
wait "$login" || say "the login: $? $(<said)"
say "$(grep -oE 'corp: connected|login:   bob|no password' said | paste -sd ,)"
within 5 office_answers
# It is nowhere: not in the policy, nor anywhere else of the agent; and the gateway has no token any more.
token=$(grep -oE 'rw1-[a-z2-7]{32}' <<<"$link")
say "$(grep -rlF "$token" "$scene" /etc/roamward | wc -l) files, $(company user show bob | grep '^login')"
grep -c 'username: bob' local/corp.yaml

# The same again: connected, and the gateway asks for nothing. After the end of the session it logs in no second time.
log_in "$link" </dev/null
company session end "bob/$(hostname)" >/dev/null 2>&1
within 20 field_is corp 'questions[0].kind' password
log_in "$link" </dev/null
# A click on a link shows its policy and asks first; only a whole yes logs in.
click() { PATH=$bin:$PATH "$tests/typist" "$tests/../../../packaging/desktop/open-link" "$1" >typed || true; }
printf '%s\t%s\n' '[yes/no] ' y 'window. ' '' | click "${link/corp.example/evil.example}"
grep -acF 'server: "vpn.evil.example:51821"' typed
say "$(grep -aoE 'nothing was changed$' typed | tail -n 1), $(find local -name '*.yaml' | wc -l) files"
printf '%s\t%s\n' 'window. ' '' | click $'roamward://vpn.evil.example/?pin=\e[1m'
grep -ao 'this is no link of a gateway' typed
printf '%s\t%s\n' '[yes/no] ' yes 'window. ' '' | click "$(invitation)"
grep -ao 'corp: connected' typed
company session end "bob/$(hostname)" >/dev/null 2>&1
within 20 field_is corp 'questions[0].kind' password
# Another one does, from standard input, where nobody sees it.
log_in - <<<"$(invitation)"
within 5 office_answers
company device list --sessions | grep -o 'bob/.* by token' | sed -E "s/$(hostname)/HOST/; s/connected .* by/connected by/; s/, fd95::2//"
stop_agent
