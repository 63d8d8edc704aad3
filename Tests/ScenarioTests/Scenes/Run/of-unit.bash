# shellcheck shell=bash disable=SC2154
# shellcheck source=Tests/ScenarioTests/Scenes/scene.bash
source "$tests/scene.bash"
# shellcheck source=Tests/ScenarioTests/Scenes/run.bash
source "$tests/run.bash"

unit=$(sed -n 's/^CapabilityBoundingSet=//p' "$tests/../../../packaging/systemd/roamwardd.service")
set=-all; for capability in $unit; do name=${capability#CAP_}; set+=,+${name,,}; done
[[ -e /sys/fs/cgroup/cgroup.procs || -e /sys/fs/cgroup/unified/cgroup.procs ]] || mount -t cgroup2 none /sys/fs/cgroup
groups=/sys/fs/cgroup; [[ -e $groups/cgroup.procs ]] || groups+=/unified
group=$groups/${scene##*/}
# As systemd makes them: the agent's, a session scope, which is root's, and what a user's manager has of its own.
mkdir "$group" "$group"/agent "$group"/session "$group"/manager "$group"/manager/app "$group"/other
chown -R 65534 "$group"/manager
chown -R 4712 "$group"/other
trap 'for one in /agent /session /manager/app /manager /other ""; do within 5 rmdir $group$one; done' EXIT
mkdir wrap; ln -s "$bin/roamward" wrap/roamward
cat >wrap/roamwardd <<SH
#!/bin/sh
echo \$\$ >$group/agent/cgroup.procs
exec setpriv --bounding-set $set --inh-caps $set --no-new-privs $bin/roamwardd "\$@"
SH
chmod 755 wrap/roamwardd; bin=$PWD/wrap
as_member
watch_programs
take_everything
go cafe
remember
start_agent
tunnel_is corp connected
say "$(sed -n 's/^CapBnd:.*\(.\)$/\1/p' /proc/"$(agent_pid)"/status | wc -l)"
in_group() { bash -c 'echo $BASHPID >"$0/cgroup.procs"; exec "${@:1}"' "$group/$1" "${member[@]}" "$scene/roamward" run "${@:2}"; }
for place in session manager/app; do
  in_group $place --through corp -- curl --silent --max-time 5 http://203.0.113.80/cgi-bin/whoami
  in_group $place --outside -- curl --silent --max-time 5 http://203.0.113.80/cgi-bin/whoami
  in_group $place --through corp -- sh -c 'grep ^0:: /proc/self/cgroup' | sed -E 's|.*/(.*)/roamward-[0-9]*|\1/G|'
done
in_group other --outside -- true 2>&1 | sed 's|/roamward-scene-[^/]*||g' || true
within 5 eval '[[ $(programs) == 0 ]]'
find "$group" -mindepth 1 -name 'roamward-*-*' -type d
stop_agent
as_before
