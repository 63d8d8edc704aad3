# Words for scenes with programs that have a route of their own: what they send to port 7777, and others to port 7778.
# shellcheck shell=bash disable=SC2154

# A user of the group that decides where polkit does not run.
as_member() {
  mkdir -m 777 "$scene/spoken"
  cp /etc/group "$scene/group"
  sed -i '/^roamward:/d' "$scene/group"
  echo 'roamward:x:4711:' >>"$scene/group"
  mount --bind "$scene/group" /etc/group
  cp "$bin/roamward" "$scene/roamward"
}
member=(setpriv --reuid 65534 --regid 65534 --groups 4711)

# The internet knows the route back into the tunnel.
watch_programs() {
  ip -n internet route add 10.77.0.0/16 via 203.0.113.10
  local place
  for place in home cafe mobile; do
    on "$place" nft -f - <<'NFT'
table inet programs {
  counter own { }
  counter others { }
  chain passing {
    type filter hook prerouting priority -300
    iifname "lan0" udp dport 7777 counter name own
    iifname "lan0" udp dport 7778 counter name others
  }
}
NFT
  done
  on gateway nft -f - <<'NFT'
table inet programs {
  counter own { }
  counter strangers { }
  chain passing {
    type filter hook prerouting priority -300
    iifname "gw0" ip saddr 10.77.0.2 udp dport 7777 counter name own
    iifname "gw0" ip saddr != 10.77.0.2 udp dport 7777 counter name strangers
  }
}
NFT
}

# Packets of a counter: outside over all places, or inside at the gateway.
outside() {
  local place
  for place in home cafe mobile; do on "$place" nft -j list counters table inet programs; done |
    jq -s --arg name "$1" '[.[].nftables[].counter // empty | select(.name == $name) | .packets] | add'
}
inside() { on gateway nft -j list counters table inet programs | jq --arg name "${1:-own}" '[.nftables[].counter // empty | select(.name == $name) | .packets] | add'; }

# Sends until it is ended, and writes a byte for each packet.
speak() { echo "while :; do echo x >/dev/udp/203.0.113.80/$1; printf . >>$scene/spoken/$1; read -rt 0.02 <>/dev/zero; done 2>/dev/null"; }
spoke() { stat -c %s "$scene/spoken/$1" 2>/dev/null || echo 0; }

# Both speak so often again.
both_speak() {
  local own others
  own=$(($(spoke 7777) + 20)) others=$(($(spoke 7778) + 20))
  within 5 eval "((\$(spoke 7777) > $own && \$(spoke 7778) > $others))"
}

programs() { roamward status --json | jq ".programs | length"; }

# A control group of another manager, as systemd makes them: $groups/$name, with app or out in it.
another_managers_group() {
  [[ -e /sys/fs/cgroup/cgroup.procs || -e /sys/fs/cgroup/unified/cgroup.procs ]] || mount -t cgroup2 none /sys/fs/cgroup
  groups=/sys/fs/cgroup; [[ -e $groups/cgroup.procs ]] || groups+=/unified
  name=${scene##*/}
  mkdir "$groups/$name"
  trap 'for one in /app /out ""; do [[ ! -e $groups/$name$one ]] || within 5 rmdir "$groups/$name$one"; done' EXIT
}
within_group() { bash -c 'echo $BASHPID >"$0/cgroup.procs"; exec "${@:1}"' "$groups/$name/$1" "${@:2}"; }
whoami_in() { within_group "$1" curl --silent --max-time 5 http://203.0.113.80/cgi-bin/whoami; }
