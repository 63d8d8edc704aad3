# shellcheck shell=bash
# shellcheck source=Tests/ScenarioTests/Scenes/scene.bash
source "$tests/scene.bash"
# shellcheck source=Tests/ScenarioTests/Scenes/resolver-file.bash
source "$tests/resolver-file.bash"

write_once() { echo "nameserver 198.51.100.$(($1 % 200))" >"$laptop"/new.conf; chmod 640 "$laptop"/new.conf; mv "$laptop"/new.conf "$file"; }
for end in stop_agent 'kill_agent; cleanup_agent'; do
  go nothing; go cafe; start_agent; tunnel_is corp connected; within 5 ours
  steps=$(counter steps)
  war; sleep 5; steps=$(($(counter steps) - steps)) # no event: the length of the war
  within 5 eval 'roamward status | found "name servers have been taken away"'; peace
  # Stopped, so that what is remembered is theirs, and not already ours again.
  kill -STOP "$(agent_pid)"; write_once 7; remember_file; kill -CONT "$(agent_pid)"
  say "taken away, $((steps >= 1 && steps <= 5))"
  within 30 ours
  eval "$end" >/dev/null
  file_as_before && say theirs
done
