# shellcheck shell=bash
# shellcheck source=Tests/ScenarioTests/Scenes/scene.bash
source "$tests/scene.bash"

for to in 203.0.113.80 8.8.8.8 10.77.0.1 198.51.100.1 2001:db8:2::1 198.18.0.1; do say "$to $(way_to $to)"; done
say "marked $(ip route get 203.0.113.10 mark 0x52000000 | grep -o 'dev [^ ]*')"
say "IPv6 $(ip route get 2001:db8::80 2>&1 || true)"
