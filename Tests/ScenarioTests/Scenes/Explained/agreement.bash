# shellcheck shell=bash
# shellcheck source=Tests/ScenarioTests/Scenes/scene.bash
source "$tests/scene.bash"

explain=("$bin/roamward" explain --policies "$policies" --policies "$scene/local" "${inputs[@]}" --state-dir "$scene/state")
deaf() { on gateway nft 'table inet deaf { chain c { type filter hook input priority 0; udp dport 51820 drop; }; }'; }

begin() {
  case $1 in
    connected) ;;
    'the gateway does not answer')
      deaf
      roamward down corp >/dev/null
      tunnel_is corp disconnected
      roamward resume corp >/dev/null
      within 10 field_is corp state connecting
      at_rest ;;
    'down by hand') roamward down corp >/dev/null; tunnel_is corp disconnected ;;
    'a more specific route of another program') ip route add 10.77.5.0/24 dev vpn0; ip route add 203.0.113.80/32 dev vpn0; at_rest ;;
    'the table of another VPN')
      ip route add 10.77.6.0/24 dev vpn0 table 1234; ip rule add to 10.77.6.0/24 priority 50 lookup 1234; at_rest ;;
    'an unreachable route of another program') ip route add unreachable 10.99.0.0/24; ip route add blackhole 192.0.2.0/24; at_rest ;;
    'a link of another program loses its carrier') ip route add 10.99.0.0/24 dev vpn0; ip link set vpn1 down; at_rest ;;
    'no network') go nothing; at_rest ;;
    *) echo "no such situation: $1"; return 1 ;;
  esac
}

end() {
  case $1 in
    connected) ;;
    'the gateway does not answer') on gateway nft delete table inet deaf; tunnel_is corp connected ;;
    'down by hand') roamward resume corp >/dev/null; tunnel_is corp connected ;;
    'a more specific route of another program') ip route del 10.77.5.0/24 dev vpn0; ip route del 203.0.113.80/32 dev vpn0; at_rest ;;
    'the table of another VPN') ip rule del priority 50; ip route flush table 1234; at_rest ;;
    'an unreachable route of another program') ip route del unreachable 10.99.0.0/24; ip route del blackhole 192.0.2.0/24; at_rest ;;
    'a link of another program loses its carrier') ip link set vpn1 up; ip route del 10.99.0.0/24 dev vpn0; at_rest ;;
    'no network') go cafe; tunnel_is corp connected ;;
  esac
}

go cafe
ip link add vpn0 type veth peer name vpn1
ip link set vpn1 up
ip link set vpn0 up arp off
ip address add 10.66.0.2/24 dev vpn0
take_everything
start_agent
tunnel_is corp connected
# shellcheck disable=SC2153 # of the test
mapfile -t situations <<<"$SITUATIONS"
# shellcheck disable=SC2153
read -ra destinations <<<"$DESTINATIONS"
for situation in "${situations[@]}"; do
  echo "-- $situation"
  begin "$situation"
  "$tests/explained" "${destinations[@]}" -- "${explain[@]}"
  end "$situation"
done
stop_agent
