# shellcheck shell=bash
# shellcheck source=Tests/ScenarioTests/Scenes/scene.bash
source "$tests/scene.bash"
# shellcheck source=Tests/ScenarioTests/Scenes/inner.bash
source "$tests/inner.bash"

go cafe
remember
start_agent
inner_works() { busybox ping -c 1 -W 1 10.88.0.1 >/dev/null; }
say "$(field corp state) $(field lab state)"
# It outlasts every network, and the agent.
roamward up lab --until resume --wait 20 >/dev/null
within 5 inner_works && say "$(way_to 10.88.0.1), $(inner_packets) outside"
roamward status | grep -E '^ *(through|because):' | sed 's/  *(.*//; s/^ *//'
"$bin/roamward" diff --policies "$policies" "${inputs[@]}" --state-dir "$scene/state" >diff.out && say "no drift" || cat diff.out
network_link_is() { [[ $(roamward status --json | jq -r .primary.link) == "$1" ]]; }
for place in mobile:wwan0 home:eth0 cafe:wlan0; do
  go ${place%:*}
  within 5 network_link_is ${place#*:}
  within 20 inner_works
done
say "roamed: $(inner_packets)"
for link in corp lab corp; do
  kill -KILL "$(engine_pid $link)"
  sleep 1
  within 40 inner_works
done
say "killed: $(inner_packets)"
kill -KILL "$(agent_pid)"
within 5 test -s "$scene/agent.exit"
busybox ping -c 2 -i 0.2 -W 1 10.88.0.1 >/dev/null || true
say "without an agent: $(inner_packets)"
start_agent
within 20 field_is lab state connected
within 10 inner_works
roamward down corp --wait 20 >/dev/null
say "$(field lab state), $(field lab code): $(inner_packets)"
roamward resume corp >/dev/null
within 20 field_is lab state connected
roamward down lab --wait 20 >/dev/null
within 10 field_is corp state disconnected
say "$(stop_agent): $(inner_packets) outside"
prove_watch
say "$(inner_packets)"
as_before
