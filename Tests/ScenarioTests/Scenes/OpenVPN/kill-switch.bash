# shellcheck shell=bash
# shellcheck source=Tests/ScenarioTests/Scenes/scene.bash
source "$tests/scene.bash"
# shellcheck source=Tests/ScenarioTests/Scenes/providers.bash
source "$tests/providers.bash"

go cafe
openvpn_server --push "redirect-gateway def1" --push "route 203.0.113.80 255.255.255.255 net_gateway"
watch_cafe
within 5 watch_sees && say detected
openvpn_policy <<<'    kill-switch: "on"'
printf '    routes: { include: [default] }
' >>"$policies/office.yaml"
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
  replaced 'openvpn --config stdin'
  within 20 field_is office state connected
  replaced "$scene/providers/openvpn"
  within 20 field_is office state connected
done
kill -TERM "$(cat "$scene/pki/server.pid")"
within 30 eval '[[ $(field office state) != connected ]]'
babbles 3
kill $babbler
trap - EXIT
say "$(($(clear) - before)) outside"
stop_agent
