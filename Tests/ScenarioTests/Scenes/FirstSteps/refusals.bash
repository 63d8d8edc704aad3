# shellcheck shell=bash
# shellcheck source=Tests/ScenarioTests/Scenes/scene.bash
source "$tests/scene.bash"

"$lab" config >work.conf
go nothing
roamward import work.conf --except here --output out 2>&1 "${inputs[@]}" | tail -n 1 || true
go cafe
ip neigh flush all
# A gateway that does not answer has no hardware address.
ip -n cafe link set lan0 arp off
roamward trust --policies local "${inputs[@]}" --state-dir state 2>&1 | sed -n 1p | cut -d ' ' -f 1-4 || true
roamward trust --policies local "${inputs[@]}" --state-dir state --weak 2>/dev/null | cut -d ' ' -f 1-7
roamward init first >/dev/null && roamward check first 2>/dev/null
roamward init first 2>&1 || say "$?"
roamward edit nosuch --policies first 2>&1 || say "$?"
