# shellcheck shell=bash
# shellcheck source=Tests/ScenarioTests/Scenes/scene.bash
source "$tests/scene.bash"
# shellcheck source=Tests/ScenarioTests/Scenes/leaks.bash
source "$tests/leaks.bash"
# shellcheck source=Tests/ScenarioTests/Scenes/Neighbourhood/places.bash
source "$tests/Neighbourhood/places.bash"

# All of them answer where nothing is in the way.
at_home; ip address add 192.168.8.23/24 dev eth0
for address in 192.168.7.1 192.168.8.1 192.168.99.1; do within 5 answers $address; done
in_cafe; within 5 answers 192.168.9.1
say seen
at_home
start_agent
tunnel_is corp connected
within 10 answers 192.168.7.1; say "the printer at home"
refuses 192.168.8.1; refuses 192.168.99.1; say "and no other private network"
# A cable to another one.
ip address add 192.168.8.23/24 dev eth0
within 10 answers 192.168.8.1; say "the new one"
ip address del 192.168.8.23/24 dev eth0
within 10 refuses 192.168.8.1; say "until it goes"
in_cafe
tunnel_is corp connected
within 10 refuses 192.168.9.1; refuses 192.168.9.1; say "nobody in the café"
at_home
within 20 answers 192.168.7.1; say "home again"
seen_by 203.0.113.80
