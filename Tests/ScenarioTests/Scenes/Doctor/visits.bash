# shellcheck shell=bash
# shellcheck source=Tests/ScenarioTests/Scenes/scene.bash
source "$tests/scene.bash"

sed -i 's|^AllowedIPs.*|AllowedIPs = 0.0.0.0/0|' "$policies"/corp.conf
sed -i 's|10.77.0.0/16|default|' "$policies"/corp.yaml
go cafe
start_agent
tunnel_is corp connected
visit() { roamward doctor --policies "$policies" "${inputs[@]}" --state-dir "$scene"/state --json || true; }
checks() { visit | jq -r '[.findings[] | select(.check != "unit" and .check != "networkd-rules" and .check != "forecast") | .check] | join(" ")'; }
remember
say "$(checks)"
as_before
sysctl -qw net.ipv4.conf.wlan0.rp_filter=1
say "$(checks)"
visit | jq -r '.findings[] | select(.check == "rp-filter") | .cure'
sysctl -qw net.ipv4.conf.wlan0.rp_filter=0
nft 'table inet mullvad { chain output { type filter hook output priority 0; policy drop; meta mark 0x52000000 accept; }; }'
say "$(checks)"
visit | jq -r '.findings[] | select(.check == "other-firewall") | .message' | cut -d : -f 1
nft delete table inet mullvad
cp vpn.yaml "$policies"/
say "$(checks)"
roamward doctor --policies "$policies" "${inputs[@]}" --state-dir "$scene"/state >text || say "status $?"
grep 'problem .*vpn' text
tail -n 1 text
rm "$policies"/vpn.yaml
stop_agent
say "$(checks)"
echo 'version: one' >"$policies"/bad.yaml
say "$(checks)"
