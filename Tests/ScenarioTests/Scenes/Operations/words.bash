# shellcheck shell=bash disable=SC2154,SC2034

mkdir -p new
# The policy with other prefixes.
with_prefix() { sed "s|10.77.0.0/16|$1|" "$policies"/corp.yaml >new/corp.yaml; cp "$policies"/corp.conf new/; }
routed() { [[ $(way_to "$1") == 'dev corp' ]]; }
