# shellcheck shell=bash
# shellcheck source=Tests/ScenarioTests/Scenes/scene.bash
source "$tests/scene.bash"
# shellcheck source=Tests/ScenarioTests/Scenes/leaks.bash
source "$tests/leaks.bash"
# shellcheck source=Tests/ScenarioTests/Scenes/guard.bash
source "$tests/guard.bash"

go cafe
start_agent
refuse() { local status=0; "$bin/roamward" guard "$@" 2>&1 | sed 's|/[^ ]*/||' || status=$?; is_open || say closed; }
refuse -- no-such-program
refuse -- /etc/passwd
refuse --link wlan0 -- true
refuse --endpoint 203.0.113.10/24 -- true
refuse --endpoint no-such-name.example -- true | sed 's/resolved: .*; write/resolved: X; write/'
ip netns add other; ip netns exec other "$bin/roamward" guard -- true 2>&1 | sed 's/;.*//' || true
setpriv --reuid 65534 --clear-groups "$bin/roamward" guard -- true 2>&1 || true
# A suspension needs something to suspend.
"$bin/roamward" guard -- sleep 600 2>/dev/null & program=$!
within 5 eval '[[ $(guards) == 1 ]]'
roamward release >/dev/null
refuse -- true
roamward resume >/dev/null
kill $program
within 5 nothing_left
# Somebody is logged in from the internet.
busybox nc -ll -p 2222 -e cat & listener=$!
within 5 eval 'ss -Hltn "sport = :2222" | grep -q .'
on internet busybox nc 198.51.100.23 2222 < <(sleep 60) >/dev/null &
within 5 eval 'ss -Htn state established "sport = :2222" | grep -q .'
far=$(ss -Htn state established 'sport = :2222' | head -n 1 | awk '{ print $NF }')
far=${far//[\[\]]/}; far=${far/::ffff:/}
SSH_CONNECTION="${far%:*} ${far##*:} 198.51.100.23 2222" "$bin/roamward" guard -- true 2>&1 | grep -o 'would cut the SSH session' || true
kill $listener
within 5 nothing_left; say "nothing left"
stop_agent
