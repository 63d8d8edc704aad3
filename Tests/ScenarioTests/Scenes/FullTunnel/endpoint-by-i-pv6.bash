# shellcheck shell=bash
# shellcheck source=Tests/ScenarioTests/Scenes/scene.bash
source "$tests/scene.bash"

sed -i 's|^Address.*|Address = 10.77.0.2/32, 2001:db8:77::2/128|' "$policies"/corp.conf
on gateway wg set gw0 peer "$(on gateway wg show gw0 peers)" allowed-ips 10.77.0.2/32,2001:db8:77::2/128
ip -n gateway address add 2001:db8:77::1/64 dev gw0 nodad
ip -n internet route add 2001:db8:77::/64 via 2001:db8::10
go cafe
start_agent
tunnel_is corp connected
field corp endpoint
way_to 2001:db8::10; way_to 2001:db8::80
ip -6 route get 2001:db8::10 mark 0x52000000 | grep -o 'dev [^ ]*'
"$lab" on laptop curl --silent --max-time 5 "http://[2001:db8::80]/cgi-bin/whoami"
