# shellcheck shell=bash
# What the scenes of this folder have in common; each reads it first.
#
# A scene runs in namespaces of its own: unshare --net --mount --pid --fork --kill-child --mount-proc, as root. $ROAMWARD_BIN has our
# programs. It ends with status 0 where everything held; otherwise it says what did not.
set -euo pipefail
shopt -s inherit_errexit

"$(dirname "${BASH_SOURCE[0]}")/../../../../examples/walk/cover" /run "$ROAMWARD_BIN"
mkdir -p /run/netns /run/wireguard /run/work
cd /run/work
umask 077
trap 'kill $(jobs -p) 2>/dev/null || true' EXIT

# A scene that defines `tell` has more to say then.
fail() {
  echo "$(basename "$0" .bash): $1" >&2
  ! declare -F tell >/dev/null || tell >&2 || true
  cut -c 1-1000 ./*.log >&2 || true
  exit 1
}

# Waits until a command succeeds.
until_so() {
  local what=$1 end=$((SECONDS + 600))
  shift
  until "$@" >/dev/null 2>&1; do
    ((SECONDS < end)) || fail "not within ten minutes: $what"
    sleep 0.05 # no event: between two looks
  done
}

# As `grep -q`, but it reads to the end: a program that still writes would end by SIGPIPE, which fails the pipe.
found() { grep -c "$@" >/dev/null; }

at() { ip netns exec "$@"; } # NAMESPACE COMMAND...

join() { # NAMESPACE LINK ADDRESS PEER-ADDRESS: a cable to the gateway
  ip link add "$2" netns gateway type veth peer name out0 netns "$1"
  ip -n "$1" address add "$3/24" dev out0
  ip -n gateway address add "$4/24" dev "$2"
  ip -n "$1" link set lo up
  ip -n "$1" link set out0 up
  ip -n gateway link set "$2" up
}

# Where a scene runs for one engine ($ENGINE: wireguard is the kernel's, tun is ours), the gateway's link has it.
is_engine() { # NAMESPACE
  [[ -z ${ENGINE:-} ]] || ip -n "$1" -details link show dev wg-gateway | found -w "$ENGINE" || fail "the gateway has another engine than $ENGINE"
}

# A stock client with the file that the gateway printed.
connect() { # NAME
  at "$1" wireguard-go "wg-$1" >"$1.log" 2>&1
  at "$1" wg setconf "wg-$1" <(wg-quick strip "./$1.conf")
  local address route
  for address in $(sed -n 's/^Address = //p' "$1.conf" | tr , ' '); do ip -n "$1" address add "$address" dev "wg-$1"; done
  ip -n "$1" link set "wg-$1" up
  for route in $(sed -n 's/^AllowedIPs = //p' "$1.conf" | tr , ' '); do ip -n "$1" route add "$route" dev "wg-$1"; done
}

# What a client of a login has to see where nothing may be told apart.
# shellcheck disable=SC2034
wrong="84 1=b'\x01' 2=b'\x00\x00'"
key() { head -c 32 /dev/urandom | base64; }

# Covers the folders of an installed gateway for the scene: what it writes there is its own.
cover_folders() {
  local place
  for place in etc var/lib; do
    mkdir -p "over/$place/upper" "over/$place/work"
    mount -t overlay -o "lowerdir=/$place,upperdir=over/$place/upper,workdir=over/$place/work" cover "/$place"
  done
}

# Gives the scene services, modules and users of its own: /etc and the folder of PAM's modules are copies in mounts. The user of
# roamward-gateway-pam exists, with the number 990.
own_machine() {
  local modules
  modules=$(echo /lib/*-linux-gnu/security)
  cp -a /etc etc
  cp -a "$modules" security
  mount --bind etc /etc
  mount --bind security "$modules"
  sed -i '/^roamward-pam:/d' /etc/passwd /etc/group
  echo 'roamward-pam:x:990:990::/nonexistent:/usr/sbin/nologin' >>/etc/passwd
  echo 'roamward-pam:x:990:' >>/etc/group
  chmod 644 /etc/passwd /etc/group
}
