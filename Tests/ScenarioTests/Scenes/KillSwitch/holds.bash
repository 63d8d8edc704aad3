# shellcheck shell=bash
# shellcheck source=Tests/ScenarioTests/Scenes/scene.bash
source "$tests/scene.bash"

go cafe
# The watch sees a leak where there is one.
within 5 watch_sees && say watched
on gateway nft 'table inet deaf { chain c { type filter hook input priority 0; udp dport 51820 drop; }; }'
start_agent
within 5 field_is corp state connecting
before=$(clear)
for _ in 1 2 3; do try_web; done
"$lab" on laptop curl --silent --max-time 1 --interface wlan0 http://203.0.113.80/ >/dev/null 2>&1 || true
(( $(clear) == before )) && say held
roamward status | sed -n 1p | cut -d ' ' -f 1
# What pam_motd shows, through the agent's death too, until something flows again.
within 2 eval "grep -q 'because corp is not up' /run/motd.d/*" && say 'told at login'
kill_agent
ls /run/motd.d/* >/dev/null
try_web
(( $(clear) == before )) && say 'held without an agent'
on gateway nft delete table inet deaf
start_agent
tunnel_is corp connected
within 5 intranet_loads
(( $(clear) == before )) && say 'nothing in clear'
within 5 not test -e /run/motd.d
nft flush ruleset
within 2 nft list table inet roamward
stop_agent
nft list table inet roamward >/dev/null 2>&1 || say open
