# shellcheck shell=bash
# shellcheck source=Tests/ScenarioTests/Scenes/scene.bash
source "$tests/scene.bash"

go cafe
start_agent
tunnel_is corp connected
grep -q 10.77.0.1 "$laptop"/resolv.conf && say "the tunnel's"
printf 'search eu.office.example\nnameserver 198.51.100.1\n' >"$laptop"/new && mv "$laptop"/new "$laptop"/resolv.conf
within 1 field_is corp decision disconnect && tunnel_is corp disconnected && say "at the office"
cat "$laptop"/resolv.conf
echo 'nameserver 198.51.100.1' >"$laptop"/resolv.conf
within 1 field_is corp decision connect && tunnel_is corp connected && say "in the café"
