# shellcheck shell=bash
# shellcheck source=Tests/ScenarioTests/Scenes/scene.bash
source "$tests/scene.bash"

second_gateway gw1 10.88.0.1/16 51821 10.88.0.2/32 >"$policies"/lab.conf && chmod 600 "$policies"/lab.conf
cat >lab.yaml <<YAML
version: 1
tunnels:
  lab:
    provider: { wireguard: { config: lab.conf } }
    on-demand: { rules: [{ action: connect }] }
    routes: { include: [10.88.0.0/16] }
YAML
go cafe
start_agent
tunnel_is corp connected
life() { echo "$(link_index corp) $(engine_pid corp) $(on gateway wg show gw0 latest-handshakes)"; }
# The gateway counts the handshake from the first packet on.
within 3 intranet_loads
before=$(life)
cp lab.yaml "$policies"/
within 1 field_is lab decision connect
tunnel_is lab connected
sed -i 's/10.88.0.0/10.88.1.0/' "$policies"/lab.yaml && within 1 way_is 10.88.1.1 lab && say "lab follows"
sed -i 's/class: enterprise/description: The company/' "$policies"/corp.yaml && sleep 0.5
rm "$policies"/lab.yaml && within 2 not ip link show lab
[[ $(life) == "$before" ]] && say "corp is as it was"
