# shellcheck shell=bash
# shellcheck source=Tests/ScenarioTests/Scenes/scene.bash
source "$tests/scene.bash"

go cafe
start_agent
say "$(roamward status --json | jq '.tunnels | length')"
cp corp.yaml "$policies"/ && within 1 field_is corp decision connect && say dropped
cp off.yaml "$policies"/new && mv "$policies"/new "$policies"/corp.yaml && within 1 field_is corp decision disconnect && say replaced
cat corp.yaml >"$policies"/corp.yaml && within 1 field_is corp decision connect && say rewritten
cp -p "$policies"/corp.conf local/
: >local/corp.yaml && within 1 field_is corp name '' && say masked
cp off.yaml local/corp.yaml && within 1 field_is corp decision disconnect && say overridden
ln -sf /dev/null local/corp.yaml && within 1 field_is corp name '' && say linked
rm local/corp.yaml && within 1 field_is corp decision connect && say unmasked
tunnel_is corp connected
rm "$policies"/corp.yaml && within 1 field_is corp name '' && say removed
within 2 not ip link show corp
