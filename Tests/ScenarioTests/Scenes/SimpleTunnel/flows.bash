# shellcheck shell=bash disable=SC2154
# shellcheck source=Tests/ScenarioTests/Scenes/scene.bash
source "$tests/scene.bash"
# shellcheck source=Tests/ScenarioTests/Scenes/names.bash
source "$tests/names.bash"
# shellcheck source=Tests/ScenarioTests/Scenes/kinds.bash
source "$tests/kinds.bash"

answers[gateway]=10.77.0.1
go cafe
chmod a+rx "$scene"
witness_names
# A list that is wrong says where; the sample's own is taken, in both forms.
simpletunnel_configuration | sed 's/10.92.0.10/10.91.0.1/' >"$scene/wrong.plist"
"$bin/simpletunnel-server" 9997 "$scene/wrong.plist" 2>&1 || say $?
echo '{"DNS": {"Servers": ["intranet"]}}' >"$scene/wrong.plist"
"$bin/simpletunnel-server" 9997 "$scene/wrong.plist" 2>&1 || say $?
"$bin/simpletunnel-server" 9997 2>&1 || say $?
"$bin/simpletunnel-flows" nowhere 2>&1 || say $?
simpletunnel_configuration >"$scene/config.plist"
simpletunnel_server "$scene/config.plist"
cat "$scene/simpletunnel.log"

ordinary=(setpriv --reuid 65534 --regid 65534 --clear-groups)
install -m 0755 "$bin/simpletunnel-flows" "$scene/simpletunnel-flows"
"$lab" on laptop "${ordinary[@]}" "$scene/simpletunnel-flows" 203.0.113.10:9997 >"$scene/flows" &
client=$!
within 5 grep -q listening "$scene/flows"
cat "$scene/flows"
flows() { "$lab" on laptop "${ordinary[@]}" "$tests/Run/flows" 1080 "$@"; }
page() { on laptop curl --silent --show-error --max-time 20 -o /dev/null -w '%{http_code}\n' "$@" 2>&1 || true; }
by_socks() { page --socks5-hostname 127.0.0.1:1080 "$@"; }

# The page and the names that only the server reaches.
page http://10.77.0.1/ | sed 's/ after .* ms:/:/'
by_socks http://10.77.0.1/
by_socks http://only.public.example/
page --proxy http://127.0.0.1:1080 --proxytunnel http://connected.public.example/
say "asked: $(grep -c 'query\[A\] only' "$scene/names-gateway") at the gateway, $(grep -c 'query.*only' "$scene/names-cafe" || true) in the café"
flows dns 10.77.0.1 datagram.public.example
flows dns server.public.example second.public.example
# The server's own loopback is nobody's, and each failure has its code.
by_socks http://127.0.0.1:9997/
by_socks http://203.0.113.80:4711/
by_socks http://a..b/

# Many at once, half closed; and those that read nothing of much.
"$lab" on internet "$tests/Run/flows" 4712 echo 203.0.113.80 >"$scene/echo" &
echo=$!
within 5 grep -q listens "$scene/echo"
server=$(pgrep -f "^$scene/simpletunnel-server")
proxy=$(pgrep -f "^$scene/simpletunnel-flows")
descriptors() { find "/proc/$server/fd" "/proc/$proxy/fd" -type l | wc -l; }
memory() { awk '/VmRSS/ { print ($2 < 131072) ? "below 128" : $2 / 1024 }' "/proc/$1/status"; }
idle=$(descriptors)
flows half 203.0.113.80 4712 50
mkfifo -m 666 "$scene/more"
flows stuck 203.0.113.80 4712 50 <>"$scene/more" >"$scene/stuck" &
stuck=$!
within 20 grep -q stuck "$scene/stuck"
flows half 203.0.113.80 4712 10
say "MiB: $(memory "$server"), $(memory "$proxy")"
echo >"$scene/more"
wait $stuck
within 10 eval '(($(descriptors) == idle))'
# A stranger's bytes end its own connection alone.
on laptop bash -c 'exec 3<>/dev/tcp/203.0.113.10/9997; head -c 3000 /dev/urandom >&3; cat <&3 | wc -c' 2>/dev/null || true
by_socks http://10.77.0.1/
# A server that has gone is said, and used again when it is back; its list may be binary.
kill "$server"
within 5 eval '! on gateway ss -Hlnt "sport = :9997" | grep -q .'
by_socks http://10.77.0.1/
python3 -c 'import plistlib, sys; sys.stdout.buffer.write(plistlib.dumps(plistlib.load(sys.stdin.buffer), fmt=plistlib.FMT_BINARY))' \
  <"$scene/config.plist" >"$scene/binary.plist"
simpletunnel_runs "$scene/binary.plist"
by_socks http://10.77.0.1/
kill $echo $client
