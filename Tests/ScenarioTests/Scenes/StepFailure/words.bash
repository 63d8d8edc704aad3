# shellcheck shell=bash disable=SC2154,SC2034

mkdir -p new
sed "s|10.77.0.0/16|10.78.0.0/16|" "$policies"/corp.yaml >new/corp.yaml; cp "$policies"/corp.conf new/
apply_and_confirm() { roamward apply --confirm-within 60s new && roamward confirm; }
go home
