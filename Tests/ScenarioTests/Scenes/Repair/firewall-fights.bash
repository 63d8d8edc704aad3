# shellcheck shell=bash
# shellcheck source=Tests/ScenarioTests/Scenes/scene.bash
source "$tests/scene.bash"
# shellcheck source=Tests/ScenarioTests/Scenes/leaks.bash
source "$tests/leaks.bash"

go cafe
start_agent
tunnel_is corp connected
( while sleep 0.02; do nft delete table inet roamward 2>/dev/null || true; done ) & war=$!
said() { roamward status | grep "the firewall's table keeps being changed by another program"; }
within 20 said >/dev/null && say told
# It comes back again and again: counted by what the kernel announces.
timeout 6 nft monitor >changes || true
(( $(grep -c 'add table inet roamward' changes) >= 4 )) && say "again and again"
kill $war; wait $war 2>/dev/null || true
within 10 nft list table inet roamward >/dev/null
field corp state
