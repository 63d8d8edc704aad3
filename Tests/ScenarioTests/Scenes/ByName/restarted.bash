# shellcheck shell=bash
# shellcheck source=Tests/ScenarioTests/Scenes/scene.bash
source "$tests/scene.bash"
# shellcheck source=Tests/ScenarioTests/Scenes/unit.bash
source "$tests/unit.bash"
# shellcheck source=Tests/ScenarioTests/Scenes/by-name.bash
source "$tests/by-name.bash"

go cafe
serve_names 20
watch_ways
take_both
start_unit
tunnel_is corp connected
within 5 led
say "$(first_packets 1 10 shop.example) $(ways)"
# A program sends all the while to the addresses that it has.
while :; do for i in {1..10}; do echo x >"/dev/udp/198.18.0.$i/7777"; done; done 2>/dev/null &
sender=$!
for _ in 1 2; do
  restart_unit
  within 20 field_is corp state connected
done
kill "$sender"
say "$(ways | sed 's/inside=[1-9][0-9]*/inside=some/')"
within 5 led
say "$(first_packets 11 15 shop.example) $(ways)"
say "routes $(by_name_routes | wc -l)"
stop_unit
say "left $(by_name_routes | wc -l)"
