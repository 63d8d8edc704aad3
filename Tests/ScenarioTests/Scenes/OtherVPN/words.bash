# shellcheck shell=bash disable=SC2154,SC2034

export WG_QUICK_USERSPACE_IMPLEMENTATION=wireguard-go
# What is theirs, in order: rules, routes of their tables, their tables of nftables.
theirs() { ip rule; ip -6 rule; for table in 52 7120 51820 main; do ip route show table $table 2>/dev/null || true; done; nft list ruleset; }
without_ours() { grep -v -e 'proto 82' -e 'dev corp'; }
