# shellcheck shell=bash
# shellcheck source=Tests/ScenarioTests/Scenes/scene.bash
source "$tests/scene.bash"
# shellcheck source=Tests/ScenarioTests/Scenes/names.bash
source "$tests/names.bash"
# shellcheck source=Tests/ScenarioTests/Scenes/keepers.bash
source "$tests/keepers.bash"
# shellcheck source=Tests/ScenarioTests/Scenes/both-gateways.bash
source "$tests/both-gateways.bash"
# shellcheck source=Tests/ScenarioTests/Scenes/keeper-events.bash
source "$tests/keeper-events.bash"

keep_by file
place=cafe; go_with_keeper cafe; look_at_file >was.cafe
# As dnsmasq is without settings: at every address.
dnsmasq --conf-file=/dev/null --no-resolv --no-hosts --pid-file="$scene"/taker --address=/#/192.0.2.99
taker=$(<"$scene"/taker)
start_agent
tunnel_is corp connected
within 10 grep -qE 'nameserver 10.(77|88).0.1' "$file"
within 5 eval "roamward status | found 'dnsmasq (process $taker.*) has taken port 53, at 0.0.0.0'"
roamward status | grep -o "(dnsmasq (process.*), so its" | sed -e "s/process $taker/process N/g" | head -n 1
say "journal $(($(count_in_log "dnsmasq (process $taker.*) has taken port 53") > 0))"
dry plan | found "dnsmasq (process $taker.*) has taken port 53" && say plan
{ dry doctor || true; } | grep -A 1 "dnsmasq (process $taker.*) has taken port 53" | grep -o 'cure: configure it.*' |
  sed -e "s/process $taker/process N/" | head -n 1
say "$(answer wiki.corp.example) $(answer box.lab.example)"
kill "$taker"
within 90 grep -q 'nameserver 127.82.0.53' "$file"
within 10 answers_are wiki.corp.example=10.77.0.77 box.lab.example=10.88.0.77 www.public.example=198.51.100.77 && say free
stop_agent >/dev/null
is_theirs && say theirs
