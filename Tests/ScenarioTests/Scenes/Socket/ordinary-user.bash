# shellcheck shell=bash
# shellcheck source=Tests/ScenarioTests/Scenes/scene.bash
source "$tests/scene.bash"

mkdir -m 777 theirs
cp "$bin"/roamwardd .
for options in "" --cleanup --lock --release; do
  # shellcheck disable=SC2086 # several words
  timeout 900 $SOMEBODY ./roamwardd --policies "$policies" --state-dir theirs/state --socket theirs/socket $options 2>&1 && say 0 || say "$?"
done
timeout 900 unshare --user --map-root-user ./roamwardd --policies "$policies" --state-dir theirs/state --socket theirs/socket 2>&1 || say "$?"
ls theirs
