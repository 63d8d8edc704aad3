# shellcheck shell=bash
# shellcheck source=Tests/ScenarioTests/Scenes/scene.bash
source "$tests/scene.bash"
# shellcheck source=Tests/ScenarioTests/Scenes/Scarcity/words.bash
source "$tests/Scarcity/words.bash"

mount -t tmpfs -o size=64k,mode=700 tmpfs "$scene/state"
head -c 1M /dev/zero 2>/dev/null >"$scene/state/ballast" || true
go cafe
remember
start_agent
tunnel_is corp connected
locked && say locked
roamward status | found 'state cannot be written: No space left on device; make room there' && say told
ls "$scene/state" | grep -q '^link-' || say 'not noted'
rm "$scene/state/ballast"
within 10 eval '! roamward status | found "cannot be written"'
within 10 test -s "$scene/state/link-corp"
say noted
stop_agent
as_before
