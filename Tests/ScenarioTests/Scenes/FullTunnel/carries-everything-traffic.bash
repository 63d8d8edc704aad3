# shellcheck shell=bash
# shellcheck source=Tests/ScenarioTests/Scenes/scene.bash
source "$tests/scene.bash"

strays() { on cafe nft list table ip watch | grep -o 'packets [0-9]*'; }

on cafe nft 'flush chain ip watch passing; add rule ip watch passing ip saddr 198.51.100.23 ip daddr != 203.0.113.10 counter'
say "$(seen_by 203.0.113.80)"
say "$(seen_by 10.77.0.1)"
busybox ping -c 1 -W 2 198.51.100.1 >/dev/null && say "public LAN, inside"
busybox ping -c 1 -W 2 2001:db8:2::1 >/dev/null || say "public LAN by IPv6, held back"
fetch -6 "http://[2001:db8::80]/" || say "no IPv6"
say "$(strays)"
say "$(seen_by 198.18.0.1)"
[[ $(strays) != "packets 0" ]] && say "and counted"
