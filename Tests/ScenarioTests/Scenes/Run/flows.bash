# shellcheck shell=bash disable=SC2154
# shellcheck source=Tests/ScenarioTests/Scenes/scene.bash
source "$tests/scene.bash"
# shellcheck source=Tests/ScenarioTests/Scenes/run.bash
source "$tests/run.bash"
# shellcheck source=Tests/ScenarioTests/Scenes/names.bash
source "$tests/names.bash"

answers[gateway]=10.77.0.1
go cafe
take_everything
as_member
cp "$bin/roamward-socks" "$scene/roamward-socks"
watch_programs
witness_names
start_agent
tunnel_is corp connected
flows() { "$lab" on laptop "${member[@]}" "$tests/Run/flows" "$@"; }
# A page by a proxy, or why there is none.
page() { on laptop curl --silent --show-error --max-time 20 "$@" 2>&1 || true; }
by_socks() { page --socks5-hostname 127.0.0.1:1080 "$@"; }
by_connect() { page --proxy http://127.0.0.1:1080 --proxytunnel "$@"; }
seen() { echo "$(grep -c "query\[A\] $1" "$scene/names-gateway" || true) at the gateway, $(grep -c "query.* $1" "$scene/names-cafe" || true) in the café"; }

# Without a route of its own it opens nothing, and says so; nobody else reaches it.
"$lab" on laptop "${member[@]}" "$scene/roamward-socks" 127.0.0.1:1079 >"$scene/alone" &
alone=$!
within 5 grep -q note "$scene/alone"
cat "$scene/alone"
page --socks5-hostname 127.0.0.1:1079 http://early.public.example/
page --proxy http://127.0.0.1:1079 --proxytunnel http://early.public.example/
say "asked: $(seen early)"
kill $alone
wait $alone || say $?
"$scene/roamward-socks" 0.0.0.0:1080 2>&1 || say $?
"$scene/roamward-socks" localhost:1080 2>&1 || say $?

"$lab" on laptop "${member[@]}" "$scene/roamward" run --through corp -- "$scene/roamward-socks" >"$scene/socks" &
socks=$!
within 5 grep -q listening "$scene/socks"
cat "$scene/socks"
say "itself: $(page http://203.0.113.80/cgi-bin/whoami)"
say "SOCKS5: $(by_socks http://203.0.113.80/cgi-bin/whoami)"
say "CONNECT: $(by_connect http://203.0.113.80/cgi-bin/whoami)"
by_socks -o /dev/null -w '%{http_code}\n' http://named.public.example/
by_connect -o /dev/null -w '%{http_code}\n' http://connected.public.example/
say "asked: $(seen named); $(seen connected)"
flows 1080 dns 10.77.0.1 datagram.public.example
flows 1080 dns server.public.example second.public.example
say "asked: $(seen datagram); $(seen server); $(seen second)"
# Services of this machine are not for clients of a proxy, and what is not there says so.
by_socks http://127.0.0.1:1080/
by_connect http://127.0.0.1:1080/
by_socks http://203.0.113.80:4711/

process=$(pgrep -f "^$scene/roamward-socks")
descriptors() { find "/proc/$process/fd" -type l | wc -l; }
idle=$(descriptors)
# Many at once, half closed; and those that read nothing of much.
"$lab" on internet "$tests/Run/flows" 4712 echo 203.0.113.80 >"$scene/echo" &
echo=$!
within 5 grep -q listens "$scene/echo"
flows 1080 half 203.0.113.80 4712 100
mkfifo -m 666 "$scene/spoken/more"
flows 1080 stuck 203.0.113.80 4712 200 <>"$scene/spoken/more" >"$scene/stuck" &
stuck=$!
within 20 grep -q stuck "$scene/stuck"
flows 1080 half 203.0.113.80 4712 20
say "of its memory, MiB: $(awk '/VmRSS/ { print ($2 < 65536) ? "below 64" : $2 / 1024 }' "/proc/$process/status")"
echo >"$scene/spoken/more"
wait $stuck
within 5 eval '(($(descriptors) == idle))'
kill $echo

# Down, and without the agent, nothing of it leaves.
flows 1080 speak 203.0.113.80 7777 "$scene/spoken/7777" &
within 5 eval '(($(inside) > 20))'
say "$(outside own) outside"
roamward down corp --until resume --wait 20 >/dev/null
more=$(spoke 7777); within 5 eval "((\$(spoke 7777) > $more + 20))"
say "down: $(by_socks http://203.0.113.80/cgi-bin/whoami)"
say "down: $(by_socks http://down.public.example/)"
say "asked: $(seen down); $(outside own) outside"
roamward resume corp >/dev/null
tunnel_is corp connected
say "up: $(by_socks http://203.0.113.80/cgi-bin/whoami)"
kill_agent
more=$(spoke 7777); within 5 eval "((\$(spoke 7777) > $more + 20))"
say "killed: $(outside own) outside, $(page http://203.0.113.80/cgi-bin/whoami) itself"
pkill -KILL -f '[s]poken/7777' || true
start_agent
kill -TERM $socks
wait $socks || say $?
within 5 eval '[[ $(programs) == 0 ]]'
stop_agent
