# shellcheck shell=bash
# shellcheck source=Tests/ScenarioTests/Scenes/scene.bash
source "$tests/scene.bash"
# shellcheck source=Tests/ScenarioTests/Scenes/roaming.bash
source "$tests/roaming.bash"

sed -i '/ssid: Cafe/d; s/{ action: ignore }/{ action: connect }/' "$policies"/corp.yaml
take_everything
split_tunnels
go home
start_agent
tunnel_is left connected
roam "$ROAMS" "$SEED"
say "$(counter repairs) $(count_in_log 'by another program')"
