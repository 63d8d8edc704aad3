# shellcheck shell=bash
# shellcheck source=Tests/ScenarioTests/Scenes/scene.bash
source "$tests/scene.bash"

go cafe
SETTLE=500ms start_agent
tunnel_is corp connected
echo Elsewhere >"$laptop"/ssid && within 1 field_is corp decision ignore && say "written in place"
echo Cafe >"$laptop"/new && mv "$laptop"/new "$laptop"/ssid && within 1 field_is corp decision connect && say "renamed"
rm "$laptop"/ssid && within 1 field_is corp decision ignore && say "removed"
echo Cafe >"$laptop"/ssid && within 1 field_is corp decision connect && say "made"
