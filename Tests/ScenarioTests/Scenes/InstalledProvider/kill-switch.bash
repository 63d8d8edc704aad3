# shellcheck shell=bash
# shellcheck source=Tests/ScenarioTests/Scenes/scene.bash
source "$tests/scene.bash"
# shellcheck source=Tests/ScenarioTests/Scenes/providers.bash
source "$tests/providers.bash"

go cafe
start_server
watch_cafe
within 5 watch_sees && say detected
sed -i 's|10.98.0.0/24|0.0.0.0/0|' providers/plain-udp.yaml
plain_policy <<<'    kill-switch: "always"'
sed -i 's|routes: .10.98.0.0/24.|routes: [0.0.0.0/0]|' "$policies/plain.yaml"
printf '    routes: { include: [default] }\n' >>"$policies/plain.yaml"
start_agent
within 5 eval 'nft list table inet roamward >/dev/null'
babble & babbler=$!
trap 'kill $babbler' EXIT
# The provider's own packets are UDP; the watch counts TCP and ICMP.
before=$(clear)
roamward up plain >/dev/null
within 10 field_is plain state connected
within 5 plain_answers
for _ in 1 2 3; do
  kill -KILL "$(plain_process)"
  within 10 field_is plain state connected
done
kill_agent
babbles 1
start_agent
within 10 field_is plain state connected
within 5 plain_answers
kill $babbler
trap - EXIT
say "$(($(clear) - before)) outside"
stop_agent
