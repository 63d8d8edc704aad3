# shellcheck shell=bash
# shellcheck source=Tests/ScenarioTests/Scenes/scene.bash
source "$tests/scene.bash"
# shellcheck source=Tests/ScenarioTests/Scenes/resolver-file.bash
source "$tests/resolver-file.bash"

write_once() {
  if (($1 % 2)); then ln -sfn target "$laptop"/new.link; mv -T "$laptop"/new.link "$file"
  else echo 'nameserver 198.51.100.9' >"$laptop"/new.conf; mv -T "$laptop"/new.conf "$file"; fi
}
echo 'nameserver 192.0.2.99' >"$laptop"/target
start_agent; tunnel_is corp connected; within 5 ours
war; sleep 4; peace # no event: the length of the war
# In one step: between two, the agent could put a file there.
ln -sfn target "$laptop"/new.link; mv -T "$laptop"/new.link "$file"; remember_file
within 10 eval "roamward status | grep 'name servers are not applied: .* is a symbolic link to target'" >/dev/null && say told
file_as_before && say "a link"
field corp state
kill_agent; start_agent; tunnel_is corp connected; stop_agent >/dev/null
file_as_before && cat "$laptop"/target
ls -I policies -I history "$scene"/state
