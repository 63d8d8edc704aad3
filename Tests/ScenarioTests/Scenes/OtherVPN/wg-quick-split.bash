# shellcheck shell=bash
# shellcheck source=Tests/ScenarioTests/Scenes/scene.bash
source "$tests/scene.bash"
# shellcheck source=Tests/ScenarioTests/Scenes/leaks.bash
source "$tests/leaks.bash"
# shellcheck source=Tests/ScenarioTests/Scenes/OtherVPN/words.bash
source "$tests/OtherVPN/words.bash"

go cafe
wg-quick up "$scene"/theirs.conf >/dev/null 2>&1
theirs >before
start_agent
tunnel_is corp connected
# A handshake that was lost is begun again after five seconds.
within 10 busybox ping -c 1 -W 5 10.88.0.1 && say "theirs works"
way_to 10.88.0.1; way_to 203.0.113.80
roamward status | grep '^other'
dry plan | grep -E '^(other|route).*(theirs)'
sed -i 's/include: .default./include: [default], enforce: true/' "$policies"/corp.yaml
within 5 way_is 10.88.0.1 corp
stop_agent >/dev/null
theirs >after; diff before after && say "untouched"
wg-quick down "$scene"/theirs.conf >/dev/null 2>&1
