# shellcheck shell=bash
# shellcheck source=Tests/ScenarioTests/Scenes/scene.bash
source "$tests/scene.bash"
# shellcheck source=Tests/ScenarioTests/Scenes/resolver-file.bash
source "$tests/resolver-file.bash"

fill() { dd if=/dev/zero of="$1"/fill bs=4k 2>/dev/null || true; }
cp -a "$laptop" saved; mount -t tmpfs -o size=32k,mode=755 tmpfs "$laptop"; cp -a saved/. "$laptop"/
mount -t tmpfs -o size=16k,mode=755 tmpfs "$scene"/state
remember_file
for full in $laptop $scene/state; do
  fill "$full"
  start_agent; tunnel_is corp connected
  roamward status | grep -o 'name servers are not applied: .*No space left on device'
  file_as_before && say untouched
  rm "$full"/fill
  within 30 ours && say ours
  fill "$full"
  stop_agent
  file_as_before && say theirs
  rm "$full"/fill
done
ls -I policies -I history "$scene"/state
umount "$laptop" "$scene"/state
