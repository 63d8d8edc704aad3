# shellcheck shell=bash
# shellcheck source=Tests/ScenarioTests/Scenes/scene.bash
source "$tests/scene.bash"

# The portal takes the web server's address for itself, and lets nothing through.
mkdir portal && echo 'Please buy a coffee.' >portal/index.html
for address in 203.0.113.80/32 2001:db8::80/128; do ip -n cafe address add $address dev lo nodad; done
on cafe busybox httpd -p 203.0.113.80:80 -h "$PWD"/portal
# shellcheck disable=SC2102
on cafe busybox httpd -p [2001:db8::80]:80 -h "$PWD"/portal
for family in -4 -6; do ip -n cafe $family rule add iif lan0 pref 10 unreachable; done
go cafe
start_agent --connectivity-check http://www.example/ --connectivity-content 'Hello, world.'
within 5 field_is corp decision disconnect
roamward network | grep '^internet'
roamward status | grep 'connectivity check'
sleep 2
say "$(field corp state)"
for address in 203.0.113.80/32 2001:db8::80/128; do ip -n cafe address del $address dev lo; done
for family in -4 -6; do ip -n cafe $family rule del pref 10; done
tunnel_is corp connected
within 3 intranet_loads
roamward network | grep '^internet'
