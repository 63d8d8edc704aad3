# shellcheck shell=bash
# shellcheck source=Tests/ScenarioTests/Scenes/scene.bash
source "$tests/scene.bash"

mv "$policies" later
go cafe
start_agent
say "$(roamward status --json | jq '.tunnels | length')"
mv later "$policies"
within 1 field_is corp decision connect && say "moved in"
cp -rp "$policies" removed
rm -r "$policies" && within 1 field_is corp name '' && say "removed"
mkdir "$policies"
sleep 0.3 # no event: a folder that is seen while it is empty
cp -p removed/* "$policies"/
within 1 field_is corp decision connect && say "made anew"
