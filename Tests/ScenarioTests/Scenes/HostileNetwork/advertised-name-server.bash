# shellcheck shell=bash
# shellcheck source=Tests/ScenarioTests/Scenes/scene.bash
source "$tests/scene.bash"
# shellcheck source=Tests/ScenarioTests/Scenes/leaks.bash
source "$tests/leaks.bash"

go cafe
echo 1 >/proc/sys/net/ipv6/conf/wlan0/accept_ra
# Debian's own hook, for the laptop's file.
sed -e "s|^sysconfdir=.*|sysconfdir=$laptop|" -e 's|/sbin/resolvconf|/nonexistent|' "$UNPACKED/rdnssd/etc/rdnssd/merge-hook" >hook
echo 'echo run >>hook.log' >>hook
chmod +x hook
listen() {
  mkdir -p /run/rdnssd; : >hook.log; : >/run/rdnssd/resolv.conf
  "$UNPACKED/rdnssd/sbin/rdnssd" -f -u root -H "$PWD/hook" </dev/null >/dev/null 2>&1 &
  # It may not be listening yet when it is told.
  # No event: what listens takes an advertisement or loses it.
  within 10 eval 'on cafe "$tests/advertise" lan0 2001:db8:2::/64 2001:db8:66::/48 2001:db8:2::1; sleep 0.2; test -s hook.log'
}
servers() { grep '^nameserver' "$laptop"/resolv.conf | cut -d ' ' -f 2 | paste -sd ' '; }
listen; rogue=$!
servers
kill $rogue; wait $rogue || true; go home; go cafe
start_agent
tunnel_is corp connected
servers
listen; rogue=$!
within 10 eval '[[ $(servers) == 10.77.0.1 ]]'
field corp state
roamward diff | grep -ci 'resolv' || true
# It is told again and again, and nothing comes of it.
# No event: the interval of the advertisements.
for _ in 1 2 3; do on cafe "$tests/advertise" lan0 2001:db8:2::/64 2001:db8:66::/48 2001:db8:2::1; sleep 0.1; done
within 10 eval '[[ $(servers) == 10.77.0.1 ]]'
say "$(fetch http://intranet.corp.example/ | grep -o intranet)"
stop_agent >/dev/null
servers
kill $rogue
