# shellcheck shell=bash
# shellcheck source=Tests/ScenarioTests/Scenes/scene.bash
source "$tests/scene.bash"

go cafe
start_agent
tunnel_is vpn connected
sed 's/>>calls/>>calls2/' vpn >vpn2 && chmod 755 vpn2
sed -i "s|$scene/vpn\"|$scene/vpn2\"|g" "$policies"/vpn.yaml
within 4 grep -q '^up' calls2
tunnel_is vpn connected
say "$(tail -n 1 calls | cut -d ' ' -f 1) $(head -n 1 calls2 | cut -d ' ' -f 1)"
