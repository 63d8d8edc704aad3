# shellcheck shell=bash disable=SC2154,SC2034

# What a place writes into the file is the agent's to replace: until then programs ask there.
by_tunnel() { grep -q '^nameserver 10.77.0.1' "$laptop"/resolv.conf; }
names_past() { leaked | grep -o 'dns[46]=[0-9]*' | xargs; }
: >"$scene/outages"
witness_names
watch_places
