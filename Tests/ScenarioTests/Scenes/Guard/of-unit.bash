# shellcheck shell=bash
# shellcheck source=Tests/ScenarioTests/Scenes/scene.bash
source "$tests/scene.bash"
# shellcheck source=Tests/ScenarioTests/Scenes/leaks.bash
source "$tests/leaks.bash"
# shellcheck source=Tests/ScenarioTests/Scenes/guard.bash
source "$tests/guard.bash"

unit=$(sed -n 's/^CapabilityBoundingSet=//p' "$tests/../../../packaging/systemd/roamwardd.service")
set=-all; for capability in $unit; do name=${capability#CAP_}; set+=,+${name,,}; done
# Groups of root's, as systemd makes them, for the agent and for its caller; without CAP_SYS_ADMIN it mounts no hierarchy.
[[ -e /sys/fs/cgroup/cgroup.procs || -e /sys/fs/cgroup/unified/cgroup.procs ]] || mount -t cgroup2 none /sys/fs/cgroup
groups=/sys/fs/cgroup; [[ -e $groups/cgroup.procs ]] || groups+=/unified
group=$groups/${scene##*/}
mkdir "$group" "$group"/agent "$group"/caller
# shellcheck disable=SC2154 # set above
trap 'for one in /agent /caller ""; do within 5 rmdir $group$one; done' EXIT
mkdir wrap; ln -s "$bin/roamward" wrap/roamward
cat >wrap/roamwardd <<SH
#!/bin/sh
echo \$\$ >$group/agent/cgroup.procs
exec setpriv --bounding-set $set --no-new-privs $bin/roamwardd "\$@"
SH
chmod 755 wrap/roamwardd; bin=$PWD/wrap
go cafe
watch_guard
start_agent
grep -q '^CapEff:.*[1-9a-f]' /proc/"$(agent_pid)"/status && not grep -q '^CapBnd:.*1ffffffffff$' /proc/"$(agent_pid)"/status && say "few"
start_strays
bash -c 'echo $BASHPID >$0/cgroup.procs; exec "$@"' "$group"/caller "$bin/roamward" guard -- sh -c 'setsid sleep 600 & ip tuntap add tun5 mode tun; ip address add 10.88.0.5/32 dev tun5; ip link set tun5 up; sleep 601' 2>guard.log &
program=$!
within 5 eval '[[ $(status_of links | jq -c .) == "[\"tun5\"]" ]]' || cat guard.log; say "linked"
forget; seen_outside "up"
kill -KILL $program; disown $program
within 5 eval '[[ $(status_of held-since) != null ]]'; roamward release >/dev/null
within 5 nothing_left; say "nothing left"
# What has ended may still wait for its parent.
within 2 not pgrep -x sleep && say "all ended"
stop_strays; stop_agent
