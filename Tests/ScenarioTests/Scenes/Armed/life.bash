# shellcheck shell=bash
# shellcheck source=Tests/ScenarioTests/Scenes/scene.bash
source "$tests/scene.bash"
# shellcheck source=Tests/ScenarioTests/Scenes/armed.bash
source "$tests/armed.bash"

go cafe
count_datagrams
start_agent
tunnel_is corp armed

# The counters see a handshake where there is one.
roamward up corp >/dev/null
tunnel_is corp connected
(($(datagrams) > 0)) && say "counted"
sleep 22 # no event: a tunnel that is up by hand outlasts the idle time of 20 s
say "by hand: $(field corp state)"
roamward resume corp >/dev/null
tunnel_is corp armed
say "sessions $(sessions)"
count_datagrams
for place in mobile nothing cafe mobile cafe; do
  go $place
  within 5 network_link_is "${link[$place]}"
  say "$place $(field corp state)"
done
sleep 6 # no event: datagrams that must not come: a handshake is tried every five seconds
say "armed: $(datagrams) datagrams, 10.77.0.1 $(way_to 10.77.0.1), handshakes $(sessions)"
within 2 asks && say "answered"
tunnel_is corp connected
intranet_loads && say "intranet"
(($(datagrams) > 0)) && say "counted"
tunnel_is corp armed
count_datagrams
sleep 6 # no event: datagrams that must not come: a handshake is tried every five seconds
say "again: $(datagrams) datagrams, sessions $(sessions), keepalive $(on laptop wg show corp persistent-keepalive | cut -f 2)"
intranet_loads && say "intranet"
tunnel_is corp connected
say "keepalive $(on laptop wg show corp persistent-keepalive | cut -f 2)"
