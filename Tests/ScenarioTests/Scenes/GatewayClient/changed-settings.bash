# shellcheck shell=bash
# shellcheck source=Tests/ScenarioTests/Scenes/scene.bash
source "$tests/scene.bash"
# shellcheck source=Tests/ScenarioTests/Scenes/providers.bash
source "$tests/providers.bash"
# shellcheck source=Tests/ScenarioTests/Scenes/client.bash
source "$tests/client.bash"

company_gateway
secret office.password 'correct horse'
go cafe
client_policy ', username: alice' 'password: office.password' </dev/null
start_agent
roamward up office >/dev/null
within 20 field_is office state connected
within 5 office_answers
engine=$(pgrep -f 'roamward-wireguard --at-work office')
# Connections are tracked from here on.
nft 'table inet strict { chain c { type filter hook input priority 0; ct state established,related accept; }
  chain o { type filter hook output priority 0; oifname "office" udp dport 20900 counter; }; }'
# A flow through the tunnel: an echo request each 50 ms.
busybox ping -i 0.05 10.95.0.1 >"$scene/flow" & flow=$!
trap 'kill $flow' EXIT
within 5 eval '(($(grep -c ttl= "$scene/flow") > 3))'
leads() { [[ $(way_to "$1") == "dev $2" ]]; }
mtu_is() { [[ $(ip -j link show office | jq '.[].mtu') == "$1" ]]; }
say "$(way_to 10.96.0.9), mtu $(ip -j link show office | jq '.[].mtu')"
company set settings.users.alice '{ routes: [10.95.0.0/24, 10.96.0.0/24], mtu: 1300 }' >/dev/null
# One step after the other.
within 5 leads 10.96.0.9 office
within 5 mtu_is 1300
say "mtu $(ip -j link show office | jq '.[].mtu')"
company group add staff >/dev/null
company set settings.groups.staff '{ dns: 10.95.0.9, search: staff.example }' >/dev/null
company group set staff --add alice >/dev/null
within 5 eval 'dry dns wiki.staff.example | found "to 10.95.0.9 of office"'
# Nothing comes in that this machine has not asked for.
nft 'add rule inet strict c iifname != "lo" drop; reset counters table inet strict'
within 20 eval 'nft list table inet strict | found "dport 20900 counter packets [1-9]"'
company set settings.users.alice.routes --add 10.97.0.0/24 --remove 10.96.0.0/24 >/dev/null
within 5 leads 10.97.0.9 office
within 5 not leads 10.96.0.9 office && say "and no more 10.96.0.9"
nft delete table inet strict
kill -INT $flow
trap - EXIT
wait $flow || true
say "$(grep -o '[0-9]*% packet loss' "$scene/flow")"
[[ $engine == "$(pgrep -f 'roamward-wireguard --at-work office')" ]] && say "the same engine"
say "$(logins) login"
roamward down office >/dev/null
within 15 field_is office state disconnected
# What has changed meanwhile comes with the first packet.
company set settings.users.alice.routes 10.95.0.0/24 10.98.0.0/24 --replace >/dev/null
roamward up office >/dev/null
within 5 leads 10.98.0.9 office
say "$(logins) login"
stop_agent
