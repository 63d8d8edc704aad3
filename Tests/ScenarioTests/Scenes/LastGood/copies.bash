# shellcheck shell=bash
# shellcheck source=Tests/ScenarioTests/Scenes/scene.bash
source "$tests/scene.bash"

go cafe
start_agent
within 5 field_is other decision connect
kill_agent
cp state/policies whole
# Removed: it does not come back, though another file is broken.
rm "$policies"/other.yaml
echo 'nonsense: [' >>"$policies"/corp.yaml
start_agent
within 5 field_is corp decision connect
say "$(roamward status --json | jq -r '[.tunnels[].name] | join(" ")')"
kill_agent
# Torn, as by a power cut: nothing is in force, the firewall stays as it is, and status says both.
head -c 300 whole >state/policies
start_agent
roamward status | sed -n 1p
roamward status | grep -o 'state/policies is damaged and is ignored' | sort -u
nft list table inet roamward >/dev/null && say 'still locked'
ls state | grep damaged
sed -i '$d' "$policies"/corp.yaml
within 5 field_is corp decision connect
tunnel_is corp connected
stop_agent
