# shellcheck shell=bash
# shellcheck source=Tests/ScenarioTests/Scenes/scene.bash
source "$tests/scene.bash"
# shellcheck source=Tests/ScenarioTests/Scenes/leaks.bash
source "$tests/leaks.bash"

watch_places
listen_to_strays
go cafe; see_leaks; go home; see_leaks
say seen
# What began before there was anything to hold it back goes on, as a stream of each family.
start_strays; early=$strays
within 10 eval '(( $(streams) >= 2 ))'
start_agent
tunnel_is corp connected
within 5 is_quiet; forget_leaks
start_strays
strays_try; say "up $(leaked)"
roamward down corp >/dev/null; within 5 field_is corp state disconnected; strays_try
roamward resume corp >/dev/null; tunnel_is corp connected
say "down and up $(leaked)"
go cafe; tunnel_is corp connected; go nothing; strays_try; go home; tunnel_is corp connected; go mobile; tunnel_is corp connected
say "roamed $(leaked)"
kill_agent; strays_try; start_agent; tunnel_is corp connected
say "agent killed $(leaked)"
[[ -z $(engine_pid corp) ]] || kill -KILL "$(engine_pid corp)"
strays_try; tunnel_is corp connected
say "engine killed $(leaked)"
sed -i 's/include: .default./include: [default], exclude: [192.0.2.77]/' "$policies"/corp.yaml
within 5 eval 'ip route show table 21750 | grep -F "throw 192.0.2.77"'
sed -i 's/^PersistentKeepalive.*/PersistentKeepalive = 10/' "$policies"/corp.conf
within 10 eval 'wg show corp persistent-keepalive | grep "[[:space:]]10$"'; tunnel_is corp connected
say "reconfigured $(leaked)"
stop_agent >/dev/null
strays_try; say "stopped $(leaked)"
stop_strays; strays=$early; stop_strays
