# shellcheck shell=bash
# shellcheck source=Tests/ScenarioTests/Scenes/scene.bash
source "$tests/scene.bash"
# shellcheck source=Tests/ScenarioTests/Scenes/Operations/words.bash
source "$tests/Operations/words.bash"

go cafe
cp "$laptop"/resolv.conf resolv.before
start_agent
tunnel_is corp connected
with_prefix 10.78.0.0/16
roamward apply --confirm-within 600s new >/dev/null
within 3 routed 10.78.1.1
nft list table inet roamward | grep -o 10.78.0.0/16 | sort -u
# While it is on trial the set before is broken as well.
echo 'nonsense: [' >>"$policies"/corp.yaml
sleep 0.5 # no event: the set before is not read while another one is on trial
kill_agent
# The reboot: the kernel and /run begin anew, with another boot's number; disks stay, resolv.conf among them.
# shellcheck disable=SC2046 # several words
[[ -z $(engine_pid corp) ]] || kill -KILL $(engine_pid corp)
ip link del corp 2>/dev/null || true
ip rule flush; ip rule add priority 32766 lookup main; ip rule add priority 32767 lookup default
ip -6 rule flush; ip -6 rule add priority 32766 lookup main
for family in -4 -6; do ip $family route flush table all proto 82 2>/dev/null || true; done
nft flush ruleset
rm -f "$ROAMWARD_SOCKET" /var/run/wireguard/corp.sock
cat /proc/sys/kernel/random/uuid >boot_id
mount --bind boot_id /proc/sys/kernel/random/boot_id
"$bin/roamwardd" --lock --policies "$policies" --policies "$scene/local" --state-dir "$scene/state" 2>>agent.log
nft list table inet roamward | grep -o '10.7[78].0.0/16' | sort -u
start_agent
tunnel_is corp connected
within 3 routed 10.77.1.1
routed 10.78.1.1 || say 'the set before'
roamward status | grep -c '^trial' || true
roamward status | grep -o 'its last known good version' || true
ls state | grep -c trial || true
sed -i '$d' "$policies"/corp.yaml
within 5 eval '! roamward status | found "error"'
stop_agent
cmp resolv.before "$laptop"/resolv.conf && say "resolv.conf is the host's own"
