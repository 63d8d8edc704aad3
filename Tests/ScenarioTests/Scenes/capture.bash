# Words for the scenes about captured questions: a server that programs have hard-coded, and what is seen on the café's link.
# shellcheck shell=bash disable=SC2154

# On the internet: answers every name with an address of its own.
stranger=203.0.113.9
stranger6=2001:db8::9

start_stranger() {
  ip -n internet address add $stranger/25 dev br0
  ip -n internet address add $stranger6/64 dev br0 nodad
  on internet dnsmasq --conf-file=/dev/null --no-resolv --no-hosts --bind-interfaces --listen-address=$stranger --listen-address=$stranger6 \
    --pid-file= --log-queries --log-facility="$scene/names-stranger" --address=/#/203.0.113.199
  within 5 test -e "$scene/names-stranger"
}

ask() { perl "$tests/question" "$@"; }

# The same name at the stranger's, by each family and transport.
ask_all() {
  local server way
  for server in $stranger $stranger6; do for way in udp tcp; do ask "$server" "$@" "$way"; done; done | xargs
}
ask_all_bound() {
  local server way
  for server in $stranger $stranger6; do for way in udp tcp; do PATIENCE=2 ask "$server" "$1" "$way" "$2"; done; done | sort -u | xargs
}

# Counts packets with a name of corp.example in clear on the café's side of the link.
start_sniffing() {
  on cafe perl "$tests/sniff" lan0 corp.example "$scene/outside" &
  echo $! >"$scene/sniffer"
  within 5 grep -q listening "$scene/outside"
}
outside() { grep -vc listening "$scene/outside" || true; }
# The sniffer is a process of its own, and may write later than the answer comes.
something_outside() { (($(outside) > 0)); }

captures() { nft list table inet roamward-names >/dev/null 2>&1; }
write_policy() { sed -i "$1" "$policies/50-corp.yaml"; }

make_bridge() {
  ip link add guests type bridge
  ip address add 172.31.0.1/24 dev guests
  ip address add fd00:31::1/64 dev guests nodad
  ip link set guests up
}

# Containers behind a bridge, as their managers make them: a bridge with addresses, forwarding, and masquerading.
start_guest() {
  ip netns add guest
  make_bridge
  ip link add port0 type veth peer name eth0 netns guest
  ip link set port0 master guests up
  ip -n guest link set lo up
  ip -n guest link set eth0 up
  ip -n guest address add 172.31.0.2/24 dev eth0
  ip -n guest address add fd00:31::2/64 dev eth0 nodad
  ip -n guest route add default via 172.31.0.1
  ip -n guest route add default via fd00:31::1
  echo 1 >/proc/sys/net/ipv4/ip_forward
  echo 1 >/proc/sys/net/ipv6/conf/all/forwarding
  nft 'table inet guests { chain out { type nat hook postrouting priority 100; oifname "wlan0" ip saddr 172.31.0.0/24 masquerade; oifname "wlan0" ip6 saddr fd00:31::/64 masquerade; }; }'
}
guest() { nsenter --net=/run/netns/guest -- "$@"; }
# The same by a container of systemd-nspawn, with processes and files of its own, which comes for the question and goes. $unpacked: as for
# keepers.bash.
container_asks() {
  local root=$scene/container folder
  mkdir -p "$root"/{usr,etc,proc,sys,dev,run,tmp,var,root}
  for folder in bin lib lib64 sbin; do ln -sfn "usr/$folder" "$root/$folder"; done
  echo ID=test >"$root/etc/os-release"
  # It wants to see control groups, which the lab has not mounted.
  # shellcheck disable=SC2016 # expanded there
  unshare --mount bash -c '[[ $(stat --file-system --format=%T /sys/fs/cgroup) != sysfs ]] || mount -t cgroup2 cgroup2 /sys/fs/cgroup; exec "$@"' - \
    "$unpacked/systemd-container/usr/bin/systemd-nspawn" --quiet --register=no --keep-unit --console=pipe --as-pid2 --machine=container \
    --directory="$root" --bind-ro=/usr --bind-ro="$tests:/tests" --network-bridge=guests -- /bin/bash -c '
      ip link set host0 up
      ip address add 172.31.0.3/24 dev host0
      ip address add fd00:31::3/64 dev host0 nodad
      ip route add default via 172.31.0.1
      ip route add default via fd00:31::1
      for server in "${@:2}"; do for way in udp tcp; do perl /tests/question "$server" "$1" $way; done; done' - "$1" $stranger $stranger6 \
    </dev/null | sort -u | xargs
}
guest_asks() {
  local server way
  for server in $stranger $stranger6; do for way in udp tcp; do guest perl "$tests/question" "$server" "$1" "$way"; done; done | sort -u | xargs
}
