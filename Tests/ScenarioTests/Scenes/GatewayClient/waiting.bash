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
roamward up office >/dev/null
within 30 field_is office 'questions[0].kind' password
engine=$(pgrep -f 'roamward-wireguard --stand-by')
say "$(awk '/^Uid|^CapPrm|^CapEff|^NoNewPrivs/ { print $1 $2 }' /proc/"$engine"/status | xargs)"
grep -o 'tunnel-office$' "/proc/$engine/cgroup"
[[ $(cat "/proc/$engine/cgroup") == "$(cat "/proc/$(pgrep -f "$scene/providers/client$")/cgroup")" ]]
printf 'correct horse\n' | roamward answer office >/dev/null 2>&1
within 20 field_is office state connected
within 5 office_answers
say "it is the engine: $(pgrep -f 'roamward-wireguard --at-work office' | grep -c "^$engine$")"
roamward down office >/dev/null
within 15 field_is office state disconnected
rm -f "$scene"/state/kept/*
roamward up office >/dev/null
within 30 field_is office 'questions[0].kind' password
engine=$(pgrep -f 'roamward-wireguard --stand-by')
kill -KILL "$(pgrep -f "$scene/providers/client$")"
within 5 not test -e "/proc/$engine/exe"
stop_agent
