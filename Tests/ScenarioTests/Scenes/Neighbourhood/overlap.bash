# shellcheck shell=bash
# shellcheck source=Tests/ScenarioTests/Scenes/scene.bash
source "$tests/scene.bash"
# shellcheck source=Tests/ScenarioTests/Scenes/Neighbourhood/places.bash
source "$tests/Neighbourhood/places.bash"

# The same number at home and in the company; who answers says where it is.
sed -i 's|^AllowedIPs.*|AllowedIPs = 10.77.0.0/16, 192.168.7.0/24|' "$policies"/corp.conf
ip -n gateway address add 192.168.7.1/32 dev lo
for node in home gateway; do mkdir $node; echo "$node" >$node/index.html; on $node busybox httpd -p 192.168.7.1:8080 -h "$PWD"/$node; done
who() { curl --silent --max-time 2 http://192.168.7.1:8080/ || echo nobody; }
who_is() { [[ $(who) == "$1" ]]; }
# While the tunnel follows the machine, an answer may come later than `who` waits.
somewhere() { who >whose; not grep -qx nobody whose; }
at_home; within 5 who_is home
start_agent
go cafe
tunnel_is corp connected
within 10 who_is gateway; say "in the café the company"
at_home
case $CHOICE in
  prefer-local) tunnel_is corp connected; within 20 who_is home ;;
  prefer-tunnel) tunnel_is corp connected; within 20 who_is gateway ;;
  refuse) within 20 eval '[[ $(field corp failure) == *"on-overlap is refuse"* ]]'; within 10 who_is home ;;
esac
within 5 somewhere; say "at home $(<whose)"
{ dry plan --up corp; roamward status; } >told 2>&1
grep -o '192.168.7.0/24 stays outside, because this machine is attached to it\|attached to 192.168.7.0/24, which the tunnel includes, and on-overlap is refuse\|192.168.7.0/24 dev eth0 (attached): goes inside, because corp includes 192.168.7.0/24, and on-overlap is prefer-tunnel' told | sort -u
go cafe
tunnel_is corp connected
within 20 who_is gateway; say "and the company again"
