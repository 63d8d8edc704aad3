# Starts the second gateway's name server, for a script with the words of `names.bash`.
# shellcheck shell=bash disable=SC2154,SC2034

witness_names
on gateway dnsmasq --conf-file=/dev/null --no-resolv --no-hosts --bind-interfaces --listen-address=10.88.0.1 --pid-file= \
  --log-queries --log-facility="$scene/names-lab" "--address=/#/10.88.0.77"
both_up() { tunnel_is corp connected; tunnel_is lab connected; }
