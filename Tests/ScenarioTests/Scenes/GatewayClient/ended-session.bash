# shellcheck shell=bash
# shellcheck source=Tests/ScenarioTests/Scenes/scene.bash
source "$tests/scene.bash"
# shellcheck source=Tests/ScenarioTests/Scenes/providers.bash
source "$tests/providers.bash"
# shellcheck source=Tests/ScenarioTests/Scenes/client.bash
source "$tests/client.bash"

company_gateway
go cafe
client_policy ', username: alice' '' </dev/null
start_agent
log_in() {
  within 40 field_is office 'questions[0].kind' password
  printf 'correct horse\n' | roamward answer office >/dev/null 2>&1
  within 20 field_is office state connected
  within 5 office_answers
}
roamward up office >/dev/null
log_in
busybox ping -i 0.05 10.95.0.1 >"$scene/flow" & flow=$!
trap 'kill $flow' EXIT
answers() { grep -c ttl= "$scene/flow"; }
within 5 eval '(($(answers) > 3))'
company session end alice/laptop >/dev/null
within 5 not is_peer 10.95.0.2
# What had been answered may still be on its way to the program that counts.
# shellcheck disable=SC2155
has_stopped() { local before=$(answers); sleep 0.5; (($(answers) == before)); } # no event: answers that are on their way
within 2 has_stopped
before=$(answers)
sleep 0.5 # no event: answers that must not come
say "answers after that: $(($(answers) - before))"
say "$(company device list --sessions | grep -o 'alice/laptop  10.95.0.2, .*  session ended')"
kill $flow
trap - EXIT
# It is told by a word of the gateway: a person is asked again, without another start, and the address is the same.
within 10 field_is office 'questions[0].kind' password
say "$(grep -o 'the gateway 203.0.113.10:51821 has ended the session; it needs another login' "$scene/agent.log" | sort -u)"
log_in
is_peer 10.95.0.2
# A lock that is taken back costs no other one.
company user lock alice >/dev/null
within 5 not is_peer 10.95.0.2
company user unlock alice >/dev/null
within 5 is_peer 10.95.0.2
within 40 office_answers
say "$(logins) logins"
stop_agent
