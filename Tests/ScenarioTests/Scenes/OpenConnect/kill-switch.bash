# shellcheck shell=bash
# shellcheck source=Tests/ScenarioTests/Scenes/scene.bash
source "$tests/scene.bash"
# shellcheck source=Tests/ScenarioTests/Scenes/providers.bash
source "$tests/providers.bash"
# shellcheck source=Tests/ScenarioTests/Scenes/openconnect.bash
source "$tests/openconnect.bash"

go cafe
ocserv_server <<<'route = default'
printf 'pass word\n' >"$policies/office.password"
chmod 0600 "$policies/office.password"
watch_cafe
within 5 watch_sees && say detected
openconnect_policy "username: alice, server-certificate: '$server_pin'" "password: office.password" <<<'    kill-switch: "on"'
printf '    routes: { include: [default] }\n' >>"$policies/office.yaml"
# Of the tunnel itself, to the server: the handshake over TCP.
on cafe nft 'insert rule inet watch c ip daddr 203.0.113.10 tcp dport 443 accept'
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
  replaced 'openconnect --cookie-on-stdin'
  within 20 field_is office state connected
  replaced "$scene/providers/openconnect"
  within 30 field_is office state connected
done
end_ocserv
within 60 eval '[[ $(field office state) != connected ]]'
babbles 3
kill $babbler
trap - EXIT
say "$(($(clear) - before)) outside"
stop_agent
