# shellcheck shell=bash disable=SC2154
# Chapters of Tests/VM/unit: the lines of a newcomer with the packages; and long ones: the gateway as it is shipped, under all that its
# unit takes away, and with the kernel's WireGuard.
# shellcheck source=Tests/Gateway/GatewayServeTests/Scenes/typed.bash
source "${here:?}/../Gateway/GatewayServeTests/Scenes/typed.bash"

# From nothing to a connected laptop, by the lines of docs/how-to/gateway-client.md as they stand there. The packages are installed by dpkg,
# because apt would fetch what scripts/vm has unpacked. This machine is the laptop; the gateway's unit has another network.
first_steps() {
  local packages document=$here/../../docs/how-to/gateway-client.md line='' next side='' pin=''
  packages=$(realpath "${ROAMWARD_PACKAGES:-$here/../../.build/packages-quick}")
  without_programs
  rm -rf /etc/roamward
  files >"$run/files"
  machine >"$run/before"
  make_office
  prepare_dpkg
  check 'at most 8 lines are typed at the gateway, and 5 on the laptop' is_as_short_as_promised "$document"
  section_of_first_steps "$document" | sed -nE 's/^(On the (gateway|laptop)).*/\2:/p; s/^# ([a-z])/\1/p' >"$run/lines"
  while read -r -u 9 next; do
    line=$next
    case $line in
    gateway: | laptop:)
      side=$line
      continue
      ;;
    'apt install '*)
      check "$line" install_files "${line#apt install }"
      ;;
    *' --password')
      check "$line" typed office "$line" < <(printf 'password of alice%s: \tcorrect horse\n' '' ', again')
      ;;
    'roamward login '*)
      check "$line" typed '' "$line" < <(printf '%s\t%s\n' '[yes/no] ' yes 'Answer (not shown): ' 'correct horse')
      cp "$run/output" "$run/login"
      check 'it shows the pin that the gateway has printed' grep -F "  ${pin:?}" "$run/login"
      check 'it says that the tunnel is up' grep '^example: connected' "$run/login"
      ;;
    'systemctl '*)
      check "$line" bash -c "$line"
      check 'the gateway takes logins' within_seconds 60 office_takes_logins
      ;;
    'ping '*) check "$line" within_seconds 10 bash -c "$line" ;;
    *)
      [[ $side == gateway: ]] || check "a line of the gateway: $line" false
      check "$line" typed office "$line" </dev/null
      pin=$(grep -o 'sha256//[A-Za-z0-9+/=]*' "$run/output" || echo "$pin")
      ;;
    esac
  done 9<"$run/lines"
  check 'each line was typed, the last is a ping' test "${line%% *}" = ping
  check 'the gateway runs as its unit' systemctl --quiet is-active roamward-gateway.service
  check 'and the agent as its own' systemctl --quiet is-active roamwardd.service
  check 'nothing is wrong at the gateway' ip netns exec office roamward-gateway doctor
  check 'the gateway stops' systemctl disable --now roamward-gateway.service
  # As `restore --replace` keeps a gateway.
  cp -a /var/lib/roamward-gateway /var/lib/roamward-gateway.2026-11-30T120000
  check 'the packages are purged' dpkg_for_us --purge "${ours[@]}"
  remove_office
  rm -rf /etc/roamward
  check 'nothing is left in the kernel, of processes and in resolv.conf' within_seconds 20 as_before
  check 'and all files are as they were' files_as_before
}
# The gateway's machine, one hop away, with a name server that knows it.
make_office() {
  ip netns add office
  ip link add office0 type veth peer name lan0 netns office
  ip -n office link set lo up
  ip -n office address add 192.0.2.1/24 dev lan0
  ip -n office link set lan0 up
  ip address add 192.0.2.2/24 dev office0
  ip link set office0 up
  ip netns exec far dnsmasq --no-hosts --no-resolv --no-daemon --listen-address=198.51.100.1 --bind-interfaces \
    --address=/vpn.example.com/192.0.2.1 </dev/null >"$run/names.log" 2>&1 &
  echo $! >"$run/names.pid"
  mkdir -p /run/systemd/system/roamward-gateway.service.d
  printf '[Service]\nNetworkNamespacePath=/run/netns/office\n' >/run/systemd/system/roamward-gateway.service.d/office.conf
  # As udev does on a machine.
  chmod 666 /dev/net/tun
}
remove_office() {
  kill "$(<"$run/names.pid")"
  rm -r /run/systemd/system/roamward-gateway.service.d
  ip link delete office0
  # An engine of ours there, which dpkg has not seen from here.
  ip netns pids office | xargs --no-run-if-empty kill
  ip netns delete office
}
office_takes_logins() { [[ -n $(ip netns exec office ss -Hltn 'sport = :51820') ]]; }
# The document is the project's own: its braces and stars are for the shell.
install_files() { (cd "$packages" && eval "dpkg_for_us --install $1"); }
# typed NAMESPACE LINE: at a terminal, with the answers of standard input.
typed() { ${1:+ip netns exec "$1"} "$here/../ScenarioTests/Scenes/typist" bash -c "$2"; }

gateway_unit() {
  local process
  sysctl --quiet --write net.ipv4.ip_forward=0 net.ipv6.conf.all.forwarding=0
  check 'users are made' systemd-sysusers /usr/lib/sysusers.d/roamward.conf /usr/lib/sysusers.d/roamward-gateway.conf
  check 'a gateway is made' roamward_gateway init --endpoint 198.51.100.23:51999 --pool 10.79.0.0/24
  check 'with a device' roamward_gateway user add alice
  check 'with a device' roamward_gateway device add alice/phone
  check 'with a rule' roamward_gateway access add all --from everybody --to 10.79.0.0/24
  check 'which takes logins' roamward_gateway set logins on
  check 'its unit starts' systemctl start roamward-gateway.service
  check 'and works' within_seconds 60 gateway_is_well
  check 'packets are forwarded' test "$(cat /proc/sys/net/ipv4/ip_forward /proc/sys/net/ipv6/conf/all/forwarding | xargs)" = '1 0'
  check 'the gateway itself cannot change that' gateway_cannot_write
  check 'the process for logins is there' within_seconds 30 auth_process
  process=$(auth_process)
  # It listens to nothing any more, and the gateway has no CAP_KILL.
  kill -STOP "$process"
  check 'logins are turned off' roamward_gateway unset logins
  check 'a stopped process is ended' within_seconds 30 not test -e "/proc/$process"
  sysctl --quiet --write net.ipv4.ip_forward=0
  check 'forwarding that another program turns off is told' not gateway_is_well
  check 'and turned on by hand' roamward_gateway serve --forwarding
  check 'then nothing is wrong' within_seconds 60 gateway_is_well
  check 'a pool of IPv6 is forwarded at once' roamward_gateway set pools.six.prefix fd79::/64
  check 'that is, by the kernel' grep 1 /proc/sys/net/ipv6/conf/all/forwarding
  check 'and works' within_seconds 60 gateway_is_well
  process=$(systemctl show --property=MainPID --value roamward-gateway.service)
  check 'it is killed' kill -KILL "$process"
  check 'and started again' within_seconds 30 eval "[[ \$(systemctl show --property=MainPID --value roamward-gateway.service) != @(0|$process) ]]"
  check 'and works' within_seconds 60 gateway_is_well
  check 'no call of it ended it' not grep_journal 'type=1326|status=31/SYS'
  check 'it stops' systemctl stop roamward-gateway.service
  check 'and is removed' roamward_gateway cleanup
  rm -rf /var/lib/roamward-gateway

  # One that is declared begins without a command.
  check 'there is a folder for its files' systemd-tmpfiles --create /usr/lib/tmpfiles.d/roamward-gateway.conf
  printf 'version: 1\ngateway: { endpoint: "198.51.100.23:51999" }\nusers: { carol: }\n' >/etc/roamward-gateway/gateway.yaml
  check 'its unit starts with a file alone' systemctl start roamward-gateway.service
  check 'it has what the file says' eval 'roamward_gateway user list | grep -q "^carol  active"'
  check 'with the usual pools' eval 'roamward_gateway store show | grep -q "10.77.0.0/24"'
  sed -i 's/carol: /carol: , dave: /' /etc/roamward-gateway/gateway.yaml
  check 'a change is in force without a command' within_seconds 10 eval 'roamward_gateway user list | grep -q "^dave  active"'
  check 'a sandbox keeps nothing from it' eval '! roamward_gateway doctor | grep -q yaml'
  check 'it stops again' systemctl stop roamward-gateway.service
  check 'and is removed again' roamward_gateway cleanup
  rm -rf /var/lib/roamward-gateway /etc/roamward-gateway
  sysctl --quiet --write net.ipv4.ip_forward=0 net.ipv6.conf.all.forwarding=0
}

# Scenes of GatewayServeTests, which have the userspace engine where a kernel has no WireGuard: stock clients and our own one connect, get
# changed settings, are locked out, and go on across restarts.
gateway_kernel() {
  local root=$here/../.. scene
  root=$(realpath "$root")
  for scene in first kick gateway told; do
    check "with the kernel's WireGuard: $scene" env ENGINE=wireguard ROAMWARD_BIN="$bin" EXAMPLES="$root/examples" \
      DOCUMENT="$root/docs/how-to/gateway-client.md" LOGIN="$root/Tests/Gateway/GatewayServeTests/Scenes/login.py" \
      TYPIST="$root/Tests/ScenarioTests/Scenes/typist" \
      unshare --net --mount --pid --fork --kill-child --mount-proc bash "$root/Tests/Gateway/GatewayServeTests/Scenes/$scene.bash"
  done
}

roamward_gateway() { /usr/sbin/roamward-gateway "$@"; }
gateway_is_well() { roamward_gateway doctor; }
auth_process() { pgrep -f 'roamward-gateway-auth --at-work'; }
# As one of the unit's mount namespace.
gateway_cannot_write() {
  local process
  process=$(systemctl show --property=MainPID --value roamward-gateway.service)
  ! nsenter --target "$process" --mount sh -c 'echo 1 >/proc/sys/net/ipv4/ip_forward' 2>/dev/null
}
grep_journal() { journal | grep -E "$1"; }
