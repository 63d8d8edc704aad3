# shellcheck shell=bash
# shellcheck source=Tests/ScenarioTests/Scenes/scene.bash
source "$tests/scene.bash"
# shellcheck source=Tests/ScenarioTests/Scenes/by-name.bash
source "$tests/by-name.bash"

connect
say "$(first_packets 1 5 shop.example) $(ways)"
for _ in 1 2 3; do
  before=$(server_pid)
  kill -KILL "$before"
  first_packets 1 5 shop.example >/dev/null
  within 10 eval '[[ -n $(server_pid) && $(server_pid) != $before ]]'
done
within 10 eval '[[ $(first_packets 6 10 shop.example) == "answered=10 empty=0" ]]'
say "$(ways | sed 's/inside=[1-9][0-9]*/inside=some/')"
# The next agent removes what the killed one has left, and its tunnel begins anew.
kill_agent
first_packets 1 10 shop.example >/dev/null || true
outside=$(packets cafe shop)
say "killed $outside"
start_agent
tunnel_is corp connected
within 10 eval '[[ $(first_packets 11 20 shop.example) == "answered=20 empty=0" ]]'
say "$(ways | sed 's/inside=[1-9][0-9]*/inside=some/')"
kill_agent
say "routes stay $(($(by_name_routes | wc -l) > 0))"
cleanup_agent
say "cleaned $(by_name_routes | wc -l)"
