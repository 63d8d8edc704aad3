# shellcheck shell=bash
# shellcheck source=Tests/ScenarioTests/Scenes/scene.bash
source "$tests/scene.bash"
# shellcheck source=Tests/ScenarioTests/Scenes/providers.bash
source "$tests/providers.bash"
# shellcheck source=Tests/ScenarioTests/Scenes/nebula.bash
source "$tests/nebula.bash"

nebula_server
mkdir -m 0777 "$scene/tried"
cat >"$scene/providers/nebula" <<END
#!/bin/bash
exec >>$scene/tried/out 2>/dev/null
ip rule add pref 31999 lookup main && ip rule del pref 31999 && echo rule
cat /etc/shadow && echo shadow
mount -t tmpfs none /mnt && echo mount
setpriv --reuid 0 true && echo root
chown 0 $scene/tried/out && echo chown
kill -0 1 && echo kill
python3 -c 'import socket; socket.socket(socket.AF_INET, socket.SOCK_RAW, 1)' && echo raw
unshare --net true && echo unshare
chroot / true && echo chroot
echo >/proc/sys/kernel/hostname && echo sysctl
mknod $scene/tried/disk b 8 0 && echo mknod
echo 0 >/sys/fs/cgroup/cgroup.procs && echo group
echo done
END
go cafe
nebula_policy laptop </dev/null
start_agent
roamward up office >/dev/null
within 20 grep -q 'done' tried/out
sort -u tried/out
stop_agent
