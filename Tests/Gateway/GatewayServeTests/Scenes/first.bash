#!/usr/bin/env bash
# From nothing to a connected laptop, by the lines of the document ($DOCUMENT: docs/how-to/gateway-client.md) as a newcomer types them: a
# gateway, and our agent with the gateway's client. Only the installation of the packages is left out. $EXAMPLES is a folder of examples.
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
mkdir -m 0755 providers
mkdir policies agent
install -m 0755 "$ROAMWARD_BIN/roamward-wireguard" providers/
install -m 0755 "$ROAMWARD_BIN/roamward-provider" providers/client
sed -e 's|^program: .*|program: /run/work/providers/client|; s|^user: .*|user: nobody|' "$EXAMPLES/../packaging/providers/roamward.yaml" \
  >providers/roamward.yaml
chmod 0644 providers/roamward.yaml
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

# The section, its commands, and the policy between them.
sed -n '/^## From nothing/,/^## At the gateway/p' "$DOCUMENT" >section
sed -n 's/^# \([a-z]\)/\1/p' section >lines
sed -n 's/^    //p' section >policy
(($(wc -l <policy) <= 6)) || fail "the policy has $(wc -l <policy) lines"
typed=0 pin='' begin=$(date +%s)
while read -r -u 9 line; do
  # No name server here has the name.
  line=${line/vpn.example.com/192.0.2.1}
  [[ $line == apt\ * || $line == ping\ * ]] || typed=$((typed + 1))
  # shellcheck disable=SC2086 # words
  case $line in
  apt\ install\ *) continue ;;
  'roamward-gateway user password alice') gateway ${line#* } <<<'correct horse' ;;
  roamward-gateway\ *) gateway ${line#* } >"typed-$typed.out" ;;
  'systemctl enable --now roamward-gateway') serve ;;
  'roamward apply corp.yaml')
    pin=$(cat typed-*.out | grep -o 'sha256//[A-Za-z0-9+/=]*')
    sed "s|vpn.example.com|192.0.2.1|; s|PIN|$pin|; s|name: roamward|name: /run/work/providers/roamward.yaml|" policy >corp.yaml
    roamward apply corp.yaml
    ;;
  'roamward answer corp')
    # A person types when it is asked.
    asked() { roamward status --json | found '"kind" *: *"password"'; }
    until_so 'the password is asked' asked
    roamward answer corp <<<'correct horse'
    ;;
  ping\ *) until_so 'the laptop pings' at laptop busybox ${line} ;;
  *) fail "another line: $line" ;;
  esac
done 9<lines
roamward wait corp --for connected --timeout 600s >/dev/null || fail 'the tunnel is not connected'
is_engine gateway
echo "$typed lines, and a policy of $(wc -l <policy); connected and pinging after $(($(date +%s) - begin)) s"
((typed > 0 && typed <= 8)) || fail "$typed lines were typed"
[[ $(grep -c '^ping ' lines) == 1 ]] || fail 'nothing pings'

# --- afterwards --------------------------------------------------------------------------------------------------

# Changed settings come through the tunnel; a lock ends it, and an unlock undoes that; a restart of the gateway goes unnoticed.
pings() { at laptop busybox ping -c 1 -W "${1:-1}" 10.77.0.1; }
stops() { ! pings; }
leads_inside() { [[ $(ip -n laptop route get 198.51.100.9) == *' dev corp '* ]]; }
! leads_inside || fail 'a route is there before it is set'
gateway settings set --route 198.51.100.0/24
until_so 'a changed route is in force at the laptop' leads_inside
gateway user lock alice
until_so 'a locked user is cut off' stops
gateway user unlock alice
until_so 'and comes back' pings
kill -KILL "$serving"
wait "$serving" 2>/dev/null || true
pings 10 >/dev/null || fail 'a killed gateway takes the tunnel along'
serve
gateway settings set --route 198.51.100.0/24 --mtu 1300
has_mtu() { [[ $(ip -n laptop link show dev corp) == *' mtu 1300 '* ]]; }
until_so 'a gateway that was started again pushes settings' has_mtu
pings 10 >/dev/null || fail 'the tunnel is gone after a restart'
[[ $(gateway sessions | grep -c 'alice/') == 1 ]] || fail "sessions: $(gateway sessions)"
