# shellcheck shell=bash
# shellcheck source=Tests/ScenarioTests/Scenes/scene.bash
source "$tests/scene.bash"

go cafe
start_agent
tunnel_is corp connected
on gateway wg set gw0 listen-port 51999
cp -p "$policies"/corp.conf new.conf && sed -i 's/:51820/:51999/' new.conf && mv new.conf "$policies"/corp.conf
within 8 field_is corp endpoint 203.0.113.10:51999
tunnel_is corp connected && within 3 intranet_loads && say "another port"
echo Cafe >>"$policies"/trusted.list
within 1 field_is corp decision ignore && say "trusted"
echo Home >"$policies"/trusted.list
within 1 field_is corp decision connect && say "not any more"
