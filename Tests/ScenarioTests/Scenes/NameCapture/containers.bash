# shellcheck shell=bash
# shellcheck source=Tests/ScenarioTests/Scenes/scene.bash
source "$tests/scene.bash"
# shellcheck source=Tests/ScenarioTests/Scenes/names.bash
source "$tests/names.bash"
# shellcheck source=Tests/ScenarioTests/Scenes/capture.bash
source "$tests/capture.bash"
# shellcheck source=Tests/ScenarioTests/Scenes/NameCapture/begin.bash
source "$tests/NameCapture/begin.bash"

start_guest
start_agent
tunnel_is corp connected
without=$(guest_asks wiki.corp.example)
within 5 something_outside
say "without: $without; outside $(($(outside) > 0))"
write_policy 's/when-down: refuse/when-down: refuse, names: capture/'
within 5 eval '[[ $(guest_asks wiki.corp.example) == 10.77.0.77 ]]'
before=$(outside)
# shellcheck disable=SC2031 # of this shell
say "guest: $(guest_asks wiki.corp.example) $(guest_asks www.public.example) $(guest perl "$tests"/question "${server[cafe]}" www.public.example)"
ip link del guests; make_bridge; ip link set port0 master guests
within 5 eval '[[ $(guest_asks wiki.corp.example) == 10.77.0.77 ]]' && say "another bridge of that name"
guest dnsmasq --conf-file=/dev/null --no-resolv --no-hosts --listen-address=172.31.0.2 --bind-interfaces --address=/#/172.31.0.77 --pid-file=
within 5 eval '[[ $(ask 172.31.0.2 wiki.corp.example) == 172.31.0.77 ]]' && say "a container's server answers by itself"
# Weak host model: the café reaches the bridge's address, but not the name server there.
on cafe ip route replace 172.31.0.0/24 via 198.51.100.23
say "from outside: $(on cafe busybox ping -c 1 -W 5 172.31.0.1 | grep -c ' 0% packet loss') $(ON_PORT=20953 PATIENCE=2 on cafe perl "$tests/question" 172.31.0.1 wiki.corp.example)"
say "a guest: $(ON_PORT=20953 guest perl "$tests/question" 172.31.0.1 wiki.corp.example)"
before=$(outside)
write_policy 's/10.77.0.0\/16/default/; s/class: enterprise/kill-switch: "on"/; s/when-down: refuse, //; s/, match-domains: .corp.example.//'
sed -i 's|^AllowedIPs.*|AllowedIPs = 0.0.0.0/0, ::/0|' "$policies"/corp.conf
within 10 eval 'nft list table inet roamward | found 20953'
tunnel_is corp connected
within 10 eval '[[ $(ask $stranger x.corp.example) == 10.77.0.77 && $(ask $stranger x.corp.example tcp) == 10.77.0.77 ]]'
within 10 eval '[[ $(guest_asks y.corp.example) == 10.77.0.77 ]]' && say "under a kill switch"
say "outside: $(($(outside) - before))"
stop_agent >/dev/null
