# shellcheck shell=bash disable=SC2154
# Long chapters of Tests/VM/unit: the gateway as it is shipped, under all that its unit takes away, and with the kernel's WireGuard.

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
