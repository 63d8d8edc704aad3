# shellcheck shell=bash
# shellcheck source=Tests/ScenarioTests/Scenes/scene.bash
source "$tests/scene.bash"
# shellcheck source=Tests/ScenarioTests/Scenes/resolver-file.bash
source "$tests/resolver-file.bash"

remember_file
mount --bind "$laptop" "$laptop"; mount -o remount,bind,ro "$laptop"
start_agent; tunnel_is corp connected
roamward status | grep -o 'name servers are not applied: .*Read-only file system' | cut -d : -f 1
file_as_before && say untouched
mount -o remount,bind,rw "$laptop"
within 15 ours && say 'noticed by itself'
mount -o remount,bind,ro "$laptop"
stop_agent
ours && (($(count_in_log 'are not restored: .*Read-only file system') >= 1)) && say 'told'
mount -o remount,bind,rw "$laptop"
cleanup_agent; file_as_before && say theirs
umount "$laptop"
