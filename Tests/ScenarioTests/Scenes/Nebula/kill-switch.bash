# shellcheck shell=bash
# shellcheck source=Tests/ScenarioTests/Scenes/scene.bash
source "$tests/scene.bash"
# shellcheck source=Tests/ScenarioTests/Scenes/providers.bash
source "$tests/providers.bash"
# shellcheck source=Tests/ScenarioTests/Scenes/nebula.bash
source "$tests/nebula.bash"

go cafe
nebula_server
watch_cafe
within 5 watch_sees && say detected
nebula_policy laptop <<<'    kill-switch: "on"'
printf '    routes: { include: [default] }\n' >>"$policies/office.yaml"
start_agent
babble & babbler=$!
trap 'kill $babbler' EXIT
roamward up office >/dev/null
within 5 eval 'nft list table inet roamward >/dev/null'
# What was sent before may still be on its way.
within 5 watch_rests; before=$(clear)
within 20 field_is office state connected
within 5 office_answers
say "$(way_to 203.0.113.80)"
for _ in 1 2; do
  replaced 'nebula -config /tmp/roamward'
  within 20 field_is office state connected
  replaced "$scene/providers/nebula"
  within 30 field_is office state connected
done
babbles 3
kill $babbler
trap - EXIT
say "$(($(clear) - before)) outside"
stop_agent
