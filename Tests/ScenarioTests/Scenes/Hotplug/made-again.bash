# shellcheck shell=bash
# shellcheck source=Tests/ScenarioTests/Scenes/scene.bash
source "$tests/scene.bash"
# shellcheck source=Tests/ScenarioTests/Scenes/Hotplug/connected.bash
source "$tests/Hotplug/connected.bash"


old=$(link_index wlan0)
kill -STOP "$(agent_pid)"
ip link del wlan0
ip link add wlan0 index "$old" address 02:00:5e:20:00:02 type veth peer name lan0 address 02:00:5e:10:00:02 netns cafe
"$lab" serve cafe lan0
"$lab" lease cafe wlan0
sleep 1.2
kill -CONT "$(agent_pid)"
within 5 eval '[[ $(states | tail -n 2 | tr "\n" " ") == "from=connected to=reasserting from=reasserting to=connected " ]]'
say "$(field corp state) $(($(link_index wlan0) - old)) $(($(link_index corp) - index))"
intranet_loads && say intranet
