# shellcheck shell=bash
# shellcheck source=Tests/ScenarioTests/Scenes/scene.bash
source "$tests/scene.bash"
# shellcheck source=Tests/ScenarioTests/Scenes/UnitLimits/poor.bash
source "$tests/UnitLimits/poor.bash"

file=$laptop/resolv.conf
ours() { grep -q '^nameserver 10.77.0.1' "$file"; }
look_at_file() { stat -c '%F %a %u:%g' "$file"; cat "$file"; ls -A "$laptop" | grep roamward || true; }
go cafe
for owner in 65534:65534 65533:4 0:4; do
  chown $owner "$file"; chmod 664 "$file"
  look_at_file >was
  start_agent
  tunnel_is corp connected
  within 5 ours
  say "$(stat -c '%a %u:%g' "$file")"
  kill_agent
  # As if it was killed while it made the file.
  mkdir "$file.roamward-new.d" && touch "$file.roamward-new.d/file"
  ours && start_agent
  tunnel_is corp connected
  stop_agent >/dev/null
  look_at_file >is
  diff was is && say "as before"
done
