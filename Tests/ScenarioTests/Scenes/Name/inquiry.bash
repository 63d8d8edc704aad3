# shellcheck shell=bash
# shellcheck source=Tests/ScenarioTests/Scenes/scene.bash
source "$tests/scene.bash"
# shellcheck source=Tests/ScenarioTests/Scenes/leaks.bash
source "$tests/leaks.bash"
# shellcheck source=Tests/ScenarioTests/Scenes/names.bash
source "$tests/names.bash"

dns() { "$lab" on laptop env "ROAMWARD_SOCKET=$ROAMWARD_SOCKET" "$bin/roamward" dns "$1" --policies "$policies" "${inputs[@]}" --state-dir "$scene/state" "${@:2}"; }
witness_names
go home
dns www.example | sed -n 2,3p
dns intranet.corp.example --up corp | sed -n 2p
dns www.example --ask | grep -o 'answered by .* in' || true
go cafe
dns www.example --ask | tail -n 1
start_agent; tunnel_is corp connected
dns intranet.corp.example --ask --json | jq -r '.asked[0].tunnel, .backend, .answer' | sed 's/ in .*:/:/'
unreachable() { dns www.example --ask >/dev/null || echo "status $?"; }
on gateway nft 'table inet deaf { chain c { type filter hook input priority 0; iifname "gw0" drop; }; }'
unreachable
dns 'not a name' 2>/dev/null || echo "status $?"
