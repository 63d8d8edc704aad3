# shellcheck shell=bash
# shellcheck source=Tests/ScenarioTests/Scenes/scene.bash
source "$tests/scene.bash"
# shellcheck source=Tests/ScenarioTests/Scenes/KeyMemory/words.bash
source "$tests/KeyMemory/words.bash"

mkdir poor
printf '#!/bin/sh\nulimit -l 0\nexec setpriv --bounding-set=-ipc_lock --inh-caps=-ipc_lock "%s/roamwardd" "$@"\n' "$bin" >poor/roamwardd
chmod +x poor/roamwardd; ln -s "$bin/roamward" poor/roamward
go cafe
bin=$scene/poor start_agent
tunnel_is corp connected
say "$(grep VmLck /proc/"$(agent_pid)"/status | tr -d '\t ')"
unlocked=yes count 1 'connected'
rm "$policies"/corp.yaml
within 5 not ip link show corp
count 0 'removed'
