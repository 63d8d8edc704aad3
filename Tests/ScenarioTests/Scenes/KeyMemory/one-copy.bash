# shellcheck shell=bash
# shellcheck source=Tests/ScenarioTests/Scenes/scene.bash
source "$tests/scene.bash"
# shellcheck source=Tests/ScenarioTests/Scenes/KeyMemory/words.bash
source "$tests/KeyMemory/words.bash"

go cafe
start_agent
tunnel_is corp connected
count 1 'connected'
[[ $(roamward status --json | jq -r '.tunnels[0].engine') == kernel ]] ||
  count 1 'in the engine' "$(pgrep -f '^roamward-wireguard --at-work corp')" >engine.log || cat engine.log
[[ $(grep VmLck /proc/"$(agent_pid)"/status | tr -dc 0-9) -gt 0 ]] && say locked
# The device is read back, reports are made, the machine moves to another network and back.
roamward status >/dev/null
go home
tunnel_is corp disconnected
go cafe
tunnel_is corp connected
count 1 'moved'
# The same key read again from the file, and from the last good copy of a broken one.
touch "$policies"/corp.conf
echo 'nonsense: [' >>"$policies"/corp.yaml
within 5 eval '[[ $(roamward status --json | jq -r ".policy[\"stand-ins\"] | length") == 1 ]]'
count 1 'last known good'
kill_agent
start_agent
tunnel_is corp connected
count 1 'read from the state folder'
sed -i '$d' "$policies"/corp.yaml
within 5 eval '[[ $(roamward status --json | jq -r ".policy[\"stand-ins\"] | length") == 0 ]]'
# A set that comes over the local socket.
mkdir new && cp -p "$policies"/* new/
roamward apply --confirm-within 60s new >/dev/null
tunnel_is corp connected
count 1 'on trial'
roamward revert >/dev/null
tunnel_is corp connected
rm "$policies"/corp.yaml
within 5 field_is corp name ''
within 5 not ip link show corp
count 0 'removed'
