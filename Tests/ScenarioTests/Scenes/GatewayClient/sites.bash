# shellcheck shell=bash
# shellcheck source=Tests/ScenarioTests/Scenes/scene.bash
source "$tests/scene.bash"
# shellcheck source=Tests/ScenarioTests/Scenes/providers.bash
source "$tests/providers.bash"
# shellcheck source=Tests/ScenarioTests/Scenes/client.bash
source "$tests/client.bash"
# shellcheck source=Tests/ScenarioTests/Scenes/sites.bash
source "$tests/sites.bash"

two_sites
secret office.password 'correct horse'
go cafe
watch_others_of_sites
client_policy ', username: alice' 'password: office.password' <<<'    kill-switch: "on"'
# It logs in at the far one.
delay paris 40
delay lyon 6
start_agent
roamward up office >/dev/null
within 20 field_is office state connected
within 5 reaches_inner
before=$(clear)
uses paris && say "$(ip -j address show office | jq -r '[.[].addr_info[] | select(.family == "inet").local] | join(" ")')"
within 60 uses lyon
within 10 reaches_inner
within 5 field_is office state connected
say "$(ip -j address show office | jq -r '[.[].addr_info[] | select(.family == "inet").local] | join(" ")')"
within 20 eval 'field office transport | grep -q "gateway lyon, .* ms; paris, .* ms"'
# It dies while packets flow.
(while sleep 0.1; do busybox ping -c 1 -W 1 -s 400 10.96.0.1 >/dev/null 2>&1 || true; done) & flow=$!
trap 'kill $flow' EXIT
kill_site lyon
died=$SECONDS
within 20 uses paris
within 5 reaches_inner
echo "dead for $((SECONDS - died)) s" >&2
within 20 eval 'field office transport | grep -q "gateway paris, .* ms; lyon does not answer"'
kill $flow
trap - EXIT
say "$(($(clear) - before)) outside, $(site paris audit | grep -cE ' login [a-z]') login"
within 20 provider_is_connected
jq -c '[.connected, .gateway, ."signed-in-now"]' provider.status
stop_agent
