# shellcheck shell=bash
# shellcheck source=Tests/ScenarioTests/Scenes/scene.bash
source "$tests/scene.bash"
# shellcheck source=Tests/ScenarioTests/Scenes/Operations/words.bash
source "$tests/Operations/words.bash"

take_everything
go cafe
start_agent
busybox nc -ll -p 2222 -e cat &
listener=$!
within 5 eval 'ss -Hltn "sport = :2222" | grep -q .'
# Somebody is logged in from the internet.
on internet busybox nc 198.51.100.23 2222 < <(sleep 600) >/dev/null &
within 5 eval 'ss -Htn state established "sport = :2222" | grep -q .'
far=$(ss -Htn state established 'sport = :2222' | head -n 1 | awk '{ print $NF }')
far=${far//[\[\]]/}; far=${far/::ffff:/}
ssh="${far%:*} ${far##*:} 198.51.100.23 2222"
SSH_CONNECTION=$ssh roamward up corp >out 2>&1 || say "refused $?"
grep -o 'would cut the SSH session from [0-9.]*' out
grep -o -- '--even-ssh' out
# As sudo calls it, and from a multiplexer whose first session is gone.
SSH_CONNECTION=$ssh bash -c "env -u SSH_CONNECTION '$bin/roamward' up corp; exit \$?" >out 2>&1 || say "refused $?"
SSH_CONNECTION='192.0.2.1 1 198.51.100.23 2222' roamward up corp >out 2>&1 || say "refused $?"
field corp state
# One that comes from the neighbourhood goes on.
SSH_CONNECTION='198.51.100.1 1 198.51.100.23 2223' roamward up corp >/dev/null && say neighbour
roamward resume corp >/dev/null
roamward down corp >/dev/null
within 10 field_is corp state disconnected
# Policies that would: refused, but not on trial.
mkdir -p new
sed 's/action: ignore/action: connect/' "$policies"/corp.yaml >new/corp.yaml; cp "$policies"/corp.conf new/
roamward resume corp >/dev/null
SSH_CONNECTION=$ssh roamward apply new >out 2>&1 || say "refused $?"
grep -o -- '--confirm-within' out
SSH_CONNECTION=$ssh roamward apply --confirm-within 15s new >/dev/null && say 'on trial'
within 10 field_is corp state connected
within 20 field_is corp decision ignore
roamward down corp >/dev/null
within 10 field_is corp state disconnected
SSH_CONNECTION=$ssh roamward up corp --even-ssh >/dev/null && tunnel_is corp connected && say 'as said'
kill $listener
