# shellcheck shell=bash
# shellcheck source=Tests/ScenarioTests/Scenes/scene.bash
source "$tests/scene.bash"

ways() { say "$(way_to 10.77.0.1), $(way_to 10.88.0.1)"; }

go cafe
start_agent
both_up() { tunnel_is lab connected; tunnel_is corp connected; }
both_up
ways
within 5 intranet_loads && say loads
for tunnel in corp lab; do
  roamward down $tunnel --wait 60
  ways
  roamward resume $tunnel
  both_up
  ways
done
sed -i 's|include: .*|include: [10.88.0.0/16] }|' "$policies"/10-lab.yaml
within 5 way_is 203.0.113.80 wlan0
within 5 way_is 10.88.0.1 lab
ways
within 5 intranet_loads && say loads
say "table $(field lab table)"
