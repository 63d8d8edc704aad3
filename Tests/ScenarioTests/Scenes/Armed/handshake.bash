# shellcheck shell=bash
# shellcheck source=Tests/ScenarioTests/Scenes/scene.bash
source "$tests/scene.bash"
# shellcheck source=Tests/ScenarioTests/Scenes/armed.bash
source "$tests/armed.bash"

go cafe
start_agent
tunnel_is corp armed

perl "$tests/stamps" wlan0 203.0.113.10:51820 outside & outside=$!
within 5 grep -q listening outside
for i in {1..10}; do
  perl "$tests/stamps" corp 10.77.0.9 inside-"$i" & inside=$!
  within 5 grep -q listening inside-"$i"
  before=$(wc -l <outside)
  busybox ping -c 1 -W 1 10.77.0.9 >/dev/null || true
  # Each is written by a process of its own.
  within 5 eval '(($(wc -l <outside) > before && $(wc -l <inside-$i) > 1))'
  say "$(sed -n 2p inside-"$i") $(sed -n $((before + 1))p outside)"
  kill $inside
  roamward down corp --wait 20 >/dev/null
  roamward resume corp >/dev/null
  tunnel_is corp armed
done
kill $outside
