# shellcheck shell=bash
# shellcheck source=Tests/ScenarioTests/Scenes/scene.bash
source "$tests/scene.bash"

reached() { busybox ping -c 1 -W 1 10.99.0.1 >/dev/null; }
go cafe
watch_cafe
within 5 watch_sees && say detected
start_agent
babble & babbler=$!
trap 'kill $babbler' EXIT
within 5 eval 'nft list table inet roamward >/dev/null'
# What was sent before may still be on its way.
within 5 watch_rests; before=$(clear)
babbles 2
roamward up office >/dev/null
within 20 field_is office state connected
within 10 reached
say "$(($(clear) - before)) outside, up"
[[ $(nft list table inet roamward) == *'socket cgroupv2'* ]] && say "by group"
setpriv --reuid 65534 --clear-groups --inh-caps +net_raw --ambient-caps +net_raw /usr/bin/python3 -c '
import socket
s = socket.socket(socket.AF_INET, socket.SOCK_STREAM); s.setsockopt(socket.SOL_SOCKET, 36, 0x52000000); s.settimeout(1)
try: s.connect(("203.0.113.80", 80)); print("[it passes]")
except OSError: print("[a mark alone does not pass]")'
kill_agent
within 5 reached && say "reached without an agent"
pkill -KILL --pidfile /run/roamward-openvpn-office.pid
babbles 3
start_agent
within 20 field_is office state connected
within 10 reached
say "$(($(clear) - before)) outside, again"
go mobile
within 20 field_is office state connected
within 20 reached && say roamed
kill $babbler
trap - EXIT
stop_agent
say "$(($(clear) - before)) outside, at the end"
