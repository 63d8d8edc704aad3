# shellcheck shell=bash
# shellcheck source=Tests/ScenarioTests/Scenes/scene.bash
source "$tests/scene.bash"
# shellcheck source=Tests/ScenarioTests/Scenes/providers.bash
source "$tests/providers.bash"

install_plain
# Its gateway never answers.
sed -i 's|^Endpoint.*|Endpoint = 203.0.113.10:51999|' "$policies"/corp.conf
go cafe
start_server
plain_policy <<<'        allow: { routes: [10.98.0.0/24], domains: [] }'
ways() { for to in 9.9.9.9 203.0.113.80 200.0.0.9 172.20.7.9; do ip route get $to mark 0x52000000 2>&1 | grep -o 'dev plain' || true; done; }
for address in 200.0.0.1/1 64.0.0.1/2 8.8.8.8/32 198.51.100.1/24 10.98.0.2/8; do
  sed -i "s|address: [^,]*,|address: $address,|" "$policies"/plain.yaml
  start_agent
  roamward up plain >/dev/null
  within 10 field_is plain state connected
  say "$address: $(ip -br -4 address show dev plain | awk '{print $3}') $(ways | wc -l) $(ip route show table all dev plain | grep -cv 'table local' || true)"
  stop_agent >/dev/null
done
start_agent
roamward up plain >/dev/null
within 10 field_is plain state connected
within 5 plain_answers
# Somebody's route into its link does not get past the kill switch of the other.
ip route add 203.0.113.80 dev plain table main
ip rule add to 203.0.113.80 lookup main priority 100
before=$(ip -j -s link show dev plain | jq '.[0].stats64.tx.packets')
try_web
echo x >/dev/udp/203.0.113.80/53 || true
say "$(($(ip -j -s link show dev plain | jq '.[0].stats64.tx.packets') - before)) into it"
ip rule del priority 100
stop_agent
