# shellcheck shell=bash
# shellcheck source=Tests/ScenarioTests/Scenes/scene.bash
source "$tests/scene.bash"
# shellcheck source=Tests/ScenarioTests/Scenes/Scarcity/words.bash
source "$tests/Scarcity/words.bash"

go cafe
start_agent
tunnel_is corp connected
kill_agent
mkdir -p run
mount -t tmpfs -o ro tmpfs run
status=0
"$bin/roamwardd" --policies "$policies" --state-dir "$scene/state" --socket "$scene/run/control.sock" "${inputs[@]}" 2>poor.log || status=$?
say "$status $(grep -c 'Read-only file system' poor.log)"
locked && say locked
umount run
start_agent
tunnel_is corp connected
say back
