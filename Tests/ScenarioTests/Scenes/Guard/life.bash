# shellcheck shell=bash
# shellcheck source=Tests/ScenarioTests/Scenes/scene.bash
source "$tests/scene.bash"
# shellcheck source=Tests/ScenarioTests/Scenes/leaks.bash
source "$tests/leaks.bash"
# shellcheck source=Tests/ScenarioTests/Scenes/guard.bash
source "$tests/guard.bash"

rm "$policies"/*
sed -i 's/^client$/&\nredirect-gateway def1/' pki/office.ovpn
reached() { busybox ping -c 1 -W 1 10.99.0.1 >/dev/null; }
go cafe
watch_guard
start_agent
start_strays
within 20 eval '(( $(outside) > 100 ))'; say "seen"
guard --endpoint 203.0.113.10:1194 -- sh -c 'until [ -e go ]; do sleep 0.05; done; exec openvpn --config pki/office.ovpn'
within 5 eval '[[ $(guards) == 1 ]]'
forget
roamward status | grep -A 3 '^guard: sh' | sed -E 's/\(process [0-9]*\) (for .*|just now)/(process N) for T/; s/uses: .*/uses: U/'
seen_outside "without a link"
touch go
within 20 reached
say "$(status_of links | jq -c .) $(way_to 203.0.113.80 | cut -c 1-7) $(( $(endpoint) > 0 ))"
seen_outside "connected"
# Other programs send into the tunnel as fast as they can.
loses_nothing() { [[ $(ping -c 20 -i 0.05 -W 1 10.99.0.1) == *' 0% packet loss'* ]]; }
within 10 loses_nothing && say "0% packet loss"
[[ $(ss -Huane 2>/dev/null) == *fwmark:0x52000000* ]] && say marked
forget
kill_agent; forget; seen_outside "agent killed"
within 5 reached && say "reached without an agent"
start_agent
within 5 eval '[[ $(guards) == 1 ]]'; within 5 reached && say "resumed $(( $(status_of pid) == program ))"
seen_outside "agent started"
kill -STOP "$(agent_pid)"; forget
disown $program; kill -KILL $program; sleep 0.5
seen_outside "program killed"
kill -CONT "$(agent_pid)"
within 5 eval '[[ $(status_of held-since) != null ]]'; forget
seen_outside "held"
roamward release | sed 's/[0-9][0-9]*)/N)/'
within 5 is_open; within 20 eval '(( $(outside) > 100 ))'; say "open"
within 5 nothing_left; say "nothing left"
stop_strays
stop_agent
