# shellcheck shell=bash disable=SC2154
# shellcheck source=Tests/ScenarioTests/Scenes/scene.bash
source "$tests/scene.bash"
# shellcheck source=Tests/ScenarioTests/Scenes/run.bash
source "$tests/run.bash"

# A program that ends while what it sent is not acknowledged: the kernel sends it again and again.
go cafe
take_everything
watch_programs
on cafe nft 'table inet orphans { counter outside { }; chain passing { type filter hook prerouting priority -300; iifname "lan0" tcp dport 7779 counter name outside; }; }'
on gateway nft 'table inet orphans { counter again { }; chain passing { type filter hook forward priority 0; }; }'
packets() { on "$1" nft -j list counters table inet orphans | jq '[.nftables[].counter // empty | .packets] | add'; }
(exec 3<>/dev/tcp/203.0.113.80/7779) 2>/dev/null || true
seen=$(packets cafe)
((seen > 0)) && say "the watch sees what leaves outside"
on internet busybox nc -l -p 7779 >/dev/null &
start_agent
tunnel_is corp connected
mkfifo connected go-on
"$bin/roamward" run --through corp -- bash -c 'exec 3<>/dev/tcp/203.0.113.80/7779 && echo yes >connected && read -r <go-on && echo data >&3' &
program=$!
read -r <connected
on gateway nft 'add rule inet orphans passing iifname "gw0" tcp dport 7779 counter name again drop'
echo >go-on
wait "$program"
within 5 eval '[[ $(programs) == 0 ]]'
before=$(packets gateway)
within 20 eval '(($(packets gateway) > before + 2))' && say "sent again"
say "$(($(packets cafe) - seen)) outside"
roamward down corp --wait 20 >/dev/null
# What is rejected ends the connection.
within 60 eval '! ss -Htn state fin-wait-1 dport 7779 | grep . >/dev/null'
say "$(($(packets cafe) - seen)) outside"
"$bin/roamward" diff --policies "$policies" "${inputs[@]}" --state-dir "$scene/state" && say "no drift"
stop_agent
