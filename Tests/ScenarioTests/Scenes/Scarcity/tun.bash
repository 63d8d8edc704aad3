# shellcheck shell=bash
# shellcheck source=Tests/ScenarioTests/Scenes/scene.bash
source "$tests/scene.bash"
# shellcheck source=Tests/ScenarioTests/Scenes/Scarcity/words.bash
source "$tests/Scarcity/words.bash"

go cafe
remember
ip link add probe type wireguard 2>/dev/null && { say kernel; exit 0; }
# A folder's device is another's: the agent sees an empty one in its own mount namespace.
mount --bind /dev/null /dev/net/tun
start_agent
within 10 eval '[[ $(field corp failure) == *"/dev/net/tun"* ]]'
locked && say locked
umount /dev/net/tun
within 30 field_is corp state connected
say back
stop_agent
as_before
