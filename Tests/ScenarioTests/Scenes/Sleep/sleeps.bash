# shellcheck shell=bash disable=SC2154
# shellcheck source=Tests/ScenarioTests/Scenes/scene.bash
source "$tests/scene.bash"
# shellcheck source=Tests/ScenarioTests/Scenes/sleep.bash
source "$tests/sleep.bash"

go cafe
start_logind
start_agent
tunnel_is corp connected
within 5 last_of_locks locked
say "$(cut -d ' ' -f 1-4 "$scene/locks")"
on cafe nft 'table inet watch { chain c { type filter hook prerouting priority -300; ip daddr 10.77.0.0/16 counter; }; }'
: >"$scene/locks"
falls_asleep
within 5 grep -q released "$scene/locks"
say "$(roamward status --json | jq -r '.tunnels[] | "\(.name) \(.state) \(.code)"')"
field corp reason
not ip link show corp >"$scene/link" 2>&1
say "link: gone"
for _ in 1 2 3; do not fetch --max-time 1 http://10.77.0.1/ 2>>"$scene/blocked"; done
say "outside: $(clear)"
wakes
tunnel_is corp connected
within 5 last_of_locks locked
say "$(cut -d ' ' -f 1-4 "$scene/locks" | paste -sd ' ')"
say "$(field corp state) $(sed -n 's/.* to=disconnected .*reason=//p' "$scene/agent.log" | paste -sd ' ')"
# A second time, and a policy without the key gives the lock back.
falls_asleep
within 5 last_of_locks released
wakes
tunnel_is corp connected
within 5 last_of_locks locked
say twice
sed -i '/disconnect-on-sleep/d' "$policies/corp.yaml"
within 5 last_of_locks released
say "no lock without the key"
