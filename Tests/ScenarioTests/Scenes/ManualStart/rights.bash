# shellcheck shell=bash disable=SC2154
# shellcheck source=Tests/ScenarioTests/Scenes/scene.bash
source "$tests/scene.bash"
# shellcheck source=Tests/ScenarioTests/Scenes/providers.bash
source "$tests/providers.bash"
# shellcheck source=Tests/ScenarioTests/Scenes/manual-start.bash
source "$tests/manual-start.bash"

go cafe
start_server
install_noting
with_group
plain_policy </dev/null
sed -i 's/^        insecure: accept/&\n        start-options: [username, password]/' "$policies/plain.yaml"
roamward check "$policies" >/dev/null
cp "$bin/roamward" .
user=(setpriv --reuid 65534 --regid 65534 --groups 4711)
start_agent
"${user[@]}" ./roamward up plain --option server=203.0.113.66:9999 2>&1 || say $?
"${user[@]}" ./roamward up plain --option routes=0.0.0.0/0 2>&1 || say $?
printf users-secret | "${user[@]}" ./roamward up plain --username alice --password-fd 0 >/dev/null
tunnel_is plain connected
say "$(tail -n 1 "$scene/given")"
"${user[@]}" ./roamward down plain >/dev/null
setpriv --reuid 65534 --regid 65534 --clear-groups ./roamward up plain --username alice >/dev/null 2>&1 || say "no right: $?"
sed -i '/start-options/d' "$policies/plain.yaml"
within 5 eval '[[ $(roamward status --json | jq .policy.generation) -ge 2 ]]'
printf users-secret | "${user[@]}" ./roamward up plain --password-fd 0 2>&1 || say $?
