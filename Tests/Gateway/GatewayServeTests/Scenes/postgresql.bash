# shellcheck shell=bash
# What scenes with gateways on one server of PostgreSQL have in common; each reads it after scene.bash. The server has a unix socket, and
# the address $listening where a scene sets one before.
mkdir /run/server

# Each gateway has a mount namespace too: the engine's socket has the name of the link.
declare -A holder serving
at() { # GATEWAY COMMAND...
  nsenter --target="${holder[$1]}" --net --mount "${@:2}"
}
gateway() { at "$1" "$ROAMWARD_BIN/roamward-gateway" "${@:2}" --state "/run/work/$1"; }
build() {
  unshare --net --mount --propagation private sleep infinity &
  holder[$1]=$!
  until_so 'there are namespaces' separate "$1"
  at "$1" mount -t tmpfs none /run/wireguard
  at "$1" ip link set lo up
}
separate() { [[ $(readlink "/proc/${holder[$1]}/ns/mnt") != "$(readlink /proc/self/ns/mnt)" && $(<"/proc/${holder[$1]}/comm") == sleep ]]; }
serve() {
  (exec nsenter --target="${holder[$1]}" --net --mount "$ROAMWARD_BIN/roamward-gateway" serve --state "/run/work/$1") >"$1.log" 2>&1 &
  # shellcheck disable=SC2034 # read by scenes
  serving[$1]=$!
}
sql() { as_postgres "$programs/psql" --quiet --tuples-only --no-align --host=/run/server --username=gateway gateway --command "$1"; }
as_postgres() { setpriv --reuid=postgres --regid=postgres --clear-groups env -i LC_ALL=C "$@"; }
server() {
  # Only its own processes are ended with it.
  setpriv --reuid=postgres --regid=postgres --clear-groups env -i LC_ALL=C "$programs/postgres" -D /run/server/data -k /run/server \
    -c listen_addresses="${listening:-}" >>server.log 2>&1 &
  postgres=$!
  until_so 'the server answers' as_postgres "$programs/psql" --host=/run/server --username=gateway postgres --command 'SELECT 1'
}
kill_server() {
  kill -KILL "$postgres" 2>/dev/null || true
  wait "$postgres" 2>/dev/null || true
  # Those of this scene: it has a namespace of processes.
  pkill -KILL -u postgres || true
  rm -f /run/server/data/postmaster.pid
}
# Gateways named one, two …, each with 192.0.2.N on a switch that is there.
build_on_switch() { # NAME...
  local name number=0
  for name; do
    number=$((number + 1))
    build "$name"
    ip link add "to-$name" type veth peer name out0 netns "${holder[$name]}"
    ip link set "to-$name" master switch up
    at "$name" ip address add "192.0.2.$number/24" dev out0
    at "$name" ip link set out0 up
    mkdir "$name"
  done
}

# Until a process ends, kills processes of the first gateway again and again: those of one of the patterns at a time. A running gateway is
# started anew. There has to be one to kill.
kill_meanwhile() { # PROCESS PAUSE PATTERN...: the pause is a command
  local process kills=0 patterns=("${@:3}")
  while kill -0 "$1" 2>/dev/null; do
    "$2"
    for process in $(pgrep -f -- "${patterns[RANDOM % ${#patterns[@]}]}" || true); do
      # Those of the other gateway live.
      [[ $(readlink "/proc/$process/ns/net") == "$(readlink "/proc/${holder[one]}/ns/net")" ]] || continue
      kill -KILL "$process" 2>/dev/null && kills=$((kills + 1))
    done
    kill -0 "${serving[one]}" 2>/dev/null || {
      wait "${serving[one]}" 2>/dev/null || true
      serve one
    }
  done
  ((kills > 0)) || fail 'nothing was killed'
  echo "$kills kills"
}
peers() { at "$1" wg show wg-gateway peers | wc -l; }
has_peers() { (($(peers "$1") == $2)); }
milliseconds() { echo $((($(date +%s%N) - $1) / 1000000)); }

programs=$(find /usr/lib/postgresql -path "*/bin/postgres" | sort -V | tail -n 1)
programs=${programs%/*}
# The store's process is a user of its own, who connects to the socket.
chown postgres /run/server
chmod 0755 /run/server
ip link set lo up
(cd / && as_postgres "$programs/initdb" --auth=trust --username=gateway --encoding=UTF8 --no-sync --pgdata=/run/server/data >/dev/null)
[[ -z ${listening:-} ]] || echo 'host all gateway samenet trust' >>/run/server/data/pg_hba.conf
server
as_postgres "$programs/createdb" --host=/run/server --username=gateway gateway
# shellcheck disable=SC2034 # read by scenes
target='host=/run/server user=gateway dbname=gateway'
