# Words for scenes with a browser: a control group of version 2, as `systemd-run --scope` makes one, and a browser in it.
# shellcheck shell=bash disable=SC2154

[[ -e /sys/fs/cgroup/cgroup.procs || -e /sys/fs/cgroup/unified/cgroup.procs ]] || mount -t cgroup2 none /sys/fs/cgroup
groups=/sys/fs/cgroup
[[ -e $groups/cgroup.procs ]] || groups+=/unified
group=$groups/${scene##*/}
mkdir -p "$group"
leave_group() {
  while read -r process; do kill -KILL "$process"; done <"$group/cgroup.procs"
  within 5 rmdir "$group"
}
trap leave_group EXIT

# shellcheck disable=SC2016 # expanded there
in_browser() { bash -c 'echo $BASHPID >$0/cgroup.procs; exec "$@"' "$group" "$@"; }
# $browser is then its process.
# shellcheck disable=SC2016 # expanded there
open_browser() {
  bash -c 'echo $BASHPID >$0/cgroup.procs; exec sleep 1000' "$group" &
  browser=$!
  disown "$browser"
  within 5 grep -q . "$group/cgroup.procs"
}

situation_is() { [[ $(roamward status --json | jq -r .firewall.situation) == "$1" ]]; }
