# shellcheck shell=bash
# shellcheck source=Tests/ScenarioTests/Scenes/scene.bash
source "$tests/scene.bash"
# shellcheck source=Tests/ScenarioTests/Scenes/by-name.bash
source "$tests/by-name.bash"

connect
say "$(first_packets 1 20 shop.example) $(ways)"
say "$(first_packets 1 20 video.example) $(ways)"
roamward status | grep 'by name'
dry explain --to 198.18.2.1 | sed -n 2p
stop_agent >/dev/null
say "left $(by_name_routes | wc -l)"
