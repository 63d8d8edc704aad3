# shellcheck shell=bash
# shellcheck source=Tests/ScenarioTests/Scenes/scene.bash
source "$tests/scene.bash"

go cafe
start_agent
tunnel_is corp connected
ip link add $'x\e[31m\xc2\x9by' type veth peer name peer0
ip link set $'x\e[31m\xc2\x9by' up
ip address add 192.0.2.77/24 dev $'x\e[31m\xc2\x9by'
ip link set $'x\e[31m\xc2\x9by' alias $'roamward:\e[31mcorp\xe2\x80\xae'
printf 'B\xc2\x9b31m\xe2\x80\xae\xe2\x80\x8b' >"$laptop/ssid"
printf 'nameserver 192.0.2.53\nsearch a\e[31mb.example \xc2\x9b31m.example\n' >>"$laptop/resolv.conf"
at_rest
within 5 grep -q 42c29b33316d agent.log
number=0
for command in status "status --json" network "network --json" "explain corp" "state --state-dir $scene/state" "dns corp.example"; do
  read -ra words <<<"$command"
  roamward "${words[@]}" >"out-$number" 2>&1 || true
  number=$((number + 1))
done
named=(--set ssid=hex:42c29b33316de280aee2808b)
dry evaluate --explain "${named[@]}" >dry-0 2>&1 || true
dry evaluate --json "${named[@]}" >dry-1 2>&1 || true
dry plan "${named[@]}" >dry-2 2>&1 || true
dry network >dry-3 2>&1 || true
