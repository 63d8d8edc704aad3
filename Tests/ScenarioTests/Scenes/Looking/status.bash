# shellcheck shell=bash
# shellcheck source=Tests/ScenarioTests/Scenes/scene.bash
source "$tests/scene.bash"

unset NO_COLOR
export TERM=xterm
code() { roamward status "$@" >/dev/null 2>&1 && say 0 || say $?; }
terminal() { script --quiet --return --command "stty cols 80 rows 30; $1" /dev/null </dev/null; }
code --exit-code
go cafe
start_agent
tunnel_is corp connected
code --exit-code
roamward status corp --field state
roamward status corp --field addresses
roamward status corp --field nosuch 2>&1 | cut -d ';' -f 1 || true
code corp --field nosuch
roamward status >pipe.txt
grep -E '^  (address|routes|names):' pipe.txt
grep -c 'MTU 1420$' pipe.txt
grep -q $'\e' pipe.txt || say 'no colour in a pipe'
terminal "$bin/roamward status" >terminal.txt
grep -q $'\e\[32mconnected' terminal.txt && say colour
sed 's/\x1b\[[0-9;]*m//g; s/\r$//' terminal.txt | awk 'length > 80' | wc -l
terminal "NO_COLOR=1 $bin/roamward status" | found $'\e' || say 'no colour'
# A watch is redrawn by events, and asks nothing at rest.
terminal "$bin/roamward status --watch & echo \$! >watch.pid; wait" >watch.txt &
within 5 grep -q 'corp.*connected' watch.txt
go home
within 5 grep -q 'corp.*disconnected' watch.txt
roamward status corp --watch --field state >fields.txt 2>fields.err &
within 5 grep -q disconnected fields.txt
# It waits for an agent that is restarted.
stop_agent
within 5 grep -q 'waiting for it to return' watch.txt
within 5 grep -q 'waiting for it to return' fields.err
: >watch.txt
start_agent
within 5 grep -q 'corp.*disconnected' watch.txt
go cafe
within 5 grep -q 'corp.*connected' watch.txt
within 5 grep -qx connected fields.txt
cat fields.err
# shellcheck disable=SC2046 # several words
kill -INT $(cat watch.pid)
within 5 eval '! kill -0 $(cat watch.pid)'
within 5 grep -q $'\e\[?25h\e\[?1049l' watch.txt && say restored
