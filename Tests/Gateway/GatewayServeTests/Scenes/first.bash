#!/usr/bin/env bash
# From nothing to a connected laptop, by the lines of the document ($DOCUMENT: docs/how-to/gateway-client.md) as a newcomer types them: a
# gateway, and our agent with the gateway's client. Only the installation of the packages is left out. $EXAMPLES is a folder of examples,
# $TYPIST types at a terminal.
# shellcheck source=Tests/Gateway/GatewayServeTests/Scenes/typed.bash
source "$(dirname "${BASH_SOURCE[0]}")/typed.bash"
# shellcheck source=Tests/Gateway/GatewayServeTests/Scenes/scene.bash
source "$(dirname "${BASH_SOURCE[0]}")/scene.bash"

tell() { roamward status || true; }
roamward() { ROAMWARD_SOCKET=/run/work/agent.socket at laptop "$ROAMWARD_BIN/roamward" "$@"; }

for name in gateway laptop; do ip netns add "$name"; done
ip -n gateway link set lo up
join laptop to-laptop 192.0.2.2 192.0.2.1
ip -n laptop route add default via 192.0.2.1

# --- what the packages install -----------------------------------------------------------------------------------

chmod 0755 /run/work
mkdir -m 0755 providers etc
mkdir policies agent
install -m 0755 "$ROAMWARD_BIN/roamward-wireguard" providers/
install -m 0755 "$ROAMWARD_BIN/roamward-provider" providers/client
# The folders of an installed agent, for this scene alone.
mount -t tmpfs -o mode=755 tmpfs /run/work/etc
cp -a /etc/. /run/work/etc
mount --bind /run/work/etc /etc
mkdir -p /etc/roamward/policies /etc/roamward/providers
chmod 0755 /etc/roamward /etc/roamward/*
mount --bind /run/work/policies /etc/roamward/policies
sed -e 's|^program: .*|program: /run/work/providers/client|; s|^user: .*|user: nobody|' "$EXAMPLES/../packaging/providers/roamward.yaml" \
  >/etc/roamward/providers/roamward.yaml
chmod 0644 /etc/roamward/providers/roamward.yaml
mknod tun c 10 200
chmod 0666 tun
mount --bind tun /dev/net/tun
: >resolv.conf
(exec ip netns exec laptop "$ROAMWARD_BIN/roamwardd" --policies /run/work/policies --state-dir /run/work/agent \
  --socket /run/work/agent.socket --resolv-conf /run/work/resolv.conf --log-level debug) >agent.log 2>&1 &
until_so 'the agent answers' roamward status

# --- the lines of the document -----------------------------------------------------------------------------------

gateway() { at gateway "$ROAMWARD_BIN/roamward-gateway" "$@" --state /run/work/state; }
serve() {
  (exec ip netns exec gateway "$ROAMWARD_BIN/roamward-gateway" serve --state /run/work/state) >>serve.log 2>&1 &
  serving=$!
}
takes_logins() { [[ -n $(at gateway ss -Hltn 'sport = :51820') ]]; }
# At a terminal, with the answers of standard input.
typed_at() { ROAMWARD_SOCKET=/run/work/agent.socket at "$1" python3 "$TYPIST" "${@:2}"; }

# The blocks of the section, up to the first link; what a person types in them: commands, and answers to questions.
section_of_first_steps "$DOCUMENT" | sed -n 's/^# \([a-z]\)/\1/p' >lines
is_as_short_as_promised "$DOCUMENT" || fail 'more is typed than promised'
begin=$(date +%s) pin=''
while read -r -u 9 line; do
  # No name server here has the name.
  line=${line/vpn.example.com/192.0.2.1}
  # shellcheck disable=SC2086 # words
  case $line in
  apt\ install\ *) continue ;;
  'roamward-gateway user add alice --password')
    printf 'password of alice%s: \tcorrect horse\n' '' ', again' |
      typed_at gateway "$ROAMWARD_BIN/roamward-gateway" ${line#* } --state /run/work/state >user.out
    ;;
  'roamward-gateway set logins on')
    gateway ${line#* } >enabled.out
    pin=$(grep -o 'sha256//[A-Za-z0-9+/=]*' enabled.out)
    ;;
  roamward-gateway\ *) gateway ${line#* } >>typed.out ;;
  'systemctl enable --now roamward-gateway')
    serve
    until_so 'logins are taken' takes_logins
    ;;
  roamward\ login\ *)
    printf '%s\t%s\n' '[yes/no] ' yes 'Answer (not shown): ' 'correct horse' |
      typed_at laptop "$ROAMWARD_BIN/roamward" ${line#* } >login.out || fail "the login: $(cat login.out)"
    found -F "  $pin" login.out || fail "another pin is shown: $(cat login.out)"
    found '^vpn: connected' login.out || fail "not connected: $(cat login.out)"
    ;;
  ping\ *) until_so 'the laptop pings' at laptop busybox ${line} ;;
  *) fail "another line: $line" ;;
  esac
done 9<lines
is_engine gateway
echo "$at_gateway lines at the gateway, $at_laptop on the laptop; connected and pinging after $(($(date +%s) - begin)) s"
[[ $(grep -c '^ping ' lines) == 1 ]] || fail 'nothing pings'

# --- afterwards --------------------------------------------------------------------------------------------------

# Changed settings come through the tunnel; a lock ends it, and an unlock undoes that; a restart of the gateway goes unnoticed.
pings() { at laptop busybox ping -c 1 -W "${1:-1}" 10.77.0.1; }
stops() { ! pings; }
leads_inside() { [[ $(ip -n laptop route get 198.51.100.9) == *' dev vpn '* ]]; }
! leads_inside || fail 'a route is there before it is set'
gateway set settings.everybody.routes 198.51.100.0/24
until_so 'a changed route is in force at the laptop' leads_inside
gateway user lock alice
until_so 'a locked user is cut off' stops
gateway user unlock alice
until_so 'and comes back' pings
kill -KILL "$serving"
wait "$serving" 2>/dev/null || true
pings 10 >/dev/null || fail 'a killed gateway takes the tunnel along'
serve
gateway set settings.everybody '{ routes: 198.51.100.0/24, mtu: 1300 }'
has_mtu() { [[ $(ip -n laptop link show dev vpn) == *' mtu 1300 '* ]]; }
until_so 'a gateway that was started again pushes settings' has_mtu
pings 10 >/dev/null || fail 'the tunnel is gone after a restart'
[[ $(gateway device list --sessions | grep -c 'alice/') == 1 ]] || fail "sessions: $(gateway device list --sessions)"
