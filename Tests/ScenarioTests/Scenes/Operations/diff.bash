# shellcheck shell=bash
# shellcheck source=Tests/ScenarioTests/Scenes/scene.bash
source "$tests/scene.bash"

# shellcheck disable=SC2120 # options
look() { status=0; dry diff "$@" >diff.txt || status=$?; }
same() { look && [[ $status == 0 && ! -s diff.txt ]]; }
go cafe
start_agent
tunnel_is corp connected
within 5 same || { cat diff.txt; exit 1; }
say same
kill -STOP "$(agent_pid)"
ip route del 10.77.0.0/16 table 21500 2>/dev/null || ip route del 10.77.0.0/16 table 21000 2>/dev/null || ip route show table all proto 82
look; cat diff.txt; say $status
# shellcheck disable=SC2046 # several words
ip rule del priority $(ip rule | grep -o '^21[0-9]*' | head -n 1)
nft add rule inet roamward output accept
printf 'nameserver 192.0.2.99\n' >"$laptop"/resolv.conf
ip link set corp mtu 1300
ip address add 10.77.9.9/32 dev corp
look; cat diff.txt; say $status
dry diff --json | jq -r '.differences[].area' | sort -u | tr '\n' ' ' || true
nft delete table inet roamward
look; grep '^-table' diff.txt | cut -c 1-40
kill -CONT "$(agent_pid)"
within 10 same
say repaired
echo 'nonsense: [' >"$policies"/zz.yaml
look; say $status
