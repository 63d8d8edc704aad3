# shellcheck shell=bash
# shellcheck source=Tests/ScenarioTests/Scenes/scene.bash
source "$tests/scene.bash"
# shellcheck source=Tests/ScenarioTests/Scenes/providers.bash
source "$tests/providers.bash"
# shellcheck source=Tests/ScenarioTests/Scenes/client.bash
source "$tests/client.bash"

company_gateway vpn.corp.example
go cafe
how_to_policy 1
start_agent
within 30 field_is corp 'questions[0].kind' password
mkfifo typed
(script --quiet --return --command "$bin/roamward answer corp" /dev/null <typed >said 2>&1 && echo 0 >end || echo $? >end) &
exec 7>typed
prompts() { [[ $(grep -o 'Answer (not shown): ' said | wc -l) == "$1" ]]; }
within 10 prompts 1
printf 'wrong horse\n' >&7
within 30 prompts 2
printf 'wrong again\n' >&7
within 30 prompts 3
printf 'correct horse\n' >&7
within 30 test -s end
exec 7>&-
say "end $(cat end), $(grep -c 'does not accept the name' said) refused, $(grep -cE 'horse|wrong' said || true) shown"
grep -o 'corp: connected' said
say "override $(field corp override), decision $(field corp decision)"
within 5 office_answers
stop_agent
