# The private networks of homes. On the home's router there are two of them, and a host of a third behind it; in the café one.
# shellcheck shell=bash disable=SC2154,SC2034

for address in 192.168.7.1/24 192.168.8.1/24; do ip -n home address add $address dev lan0; done
ip -n home address add 192.168.99.1/32 dev lo
ip -n cafe address add 192.168.9.1/24 dev lan0
at_home() { go home; ip address add 192.168.7.23/24 dev eth0; }
in_cafe() { go cafe; ip address add 192.168.9.23/24 dev wlan0; }
answers() { busybox ping -c 1 -W 2 "$1" >/dev/null 2>&1; }
refuses() { ! busybox ping -c 1 -W 1 "$1" >/dev/null 2>&1; }
