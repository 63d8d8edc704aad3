# shellcheck shell=bash
# shellcheck source=Tests/ScenarioTests/Scenes/scene.bash
source "$tests/scene.bash"

go cafe
start_agent
tunnel_is corp connected
printf 'search new.example\nnameserver 198.51.100.99\n' >theirs
cp theirs "$laptop"/resolv.conf
# cp truncates the file before it writes, and either may be seen first.
within 1 eval "grep -q 'nameserver 10.77.0.1' $laptop/resolv.conf && grep -q '^search.*new.example' $laptop/resolv.conf"
grep '^search' "$laptop"/resolv.conf
dry network --json | jq -c '.links.wlan0 | [."dns-servers", ."search-domains"]'
stop_agent
cmp theirs "$laptop"/resolv.conf && say theirs
