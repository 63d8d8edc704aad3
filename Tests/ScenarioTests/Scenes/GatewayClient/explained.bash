# shellcheck shell=bash
# shellcheck source=Tests/ScenarioTests/Scenes/scene.bash
source "$tests/scene.bash"
# shellcheck source=Tests/ScenarioTests/Scenes/providers.bash
source "$tests/providers.bash"
# shellcheck source=Tests/ScenarioTests/Scenes/client.bash
source "$tests/client.bash"

company_gateway
company set settings.everybody.routes 10.95.0.0/24 10.96.0.0/16 10.97.0.0/16 >/dev/null
company access add web --from everybody --to 10.96.0.0/16 --protocol tcp --port 443 >/dev/null
company access add printers --deny --from everybody --to 10.96.9.0/24 --before web >/dev/null
on gateway ip link add corp1 type veth peer name corp2
on gateway ip address add 10.96.0.1/24 dev corp1
on gateway ip link set corp2 up
on gateway ip link set corp1 up
on gateway ip route add 10.96.8.0/22 via 10.96.0.7
on gateway ip route add unreachable 10.96.4.0/24
secret office.password 'correct horse'
go cafe
client_policy ', username: alice' 'password: office.password' </dev/null
packet() { dry explain --to "$@" || true; }
start_agent
packet 203.0.113.80:80 | tail -n 2
roamward up office >/dev/null
within 20 field_is office state connected
within 5 office_answers
packet 10.96.0.9:443
for to in 10.96.8.2:443 10.96.9.1:443 10.96.1.2:80 10.96.4.1:443 10.95.0.9 10.98.0.1/udp; do packet $to | tail -n 1; done
packet 10.96.9.1:443 --json | jq -c '[.version, .verdict, ."stopped-at", .steps[-1].text]'
company evaluate alice/laptop 10.96.8.2:443 | tail -n 2
# A flood of a device's own programs is no question, and costs this device alone.
for i in {1..100}; do head -c 63 /dev/urandom >/dev/udp/10.95.0.1/20900; done
packet 10.96.8.2:443 | tail -n 1
serving=$(pgrep -f "roamward-gateway serve --state $scene/company")
# shellcheck disable=SC2086 # several words
kill -STOP $serving
packet 10.96.8.2:443 | tail -n 2 | grep -o 'the gateway did not answer within 2 s\|not known to the end'
# shellcheck disable=SC2086 # several words
kill -CONT $serving
stop_agent
