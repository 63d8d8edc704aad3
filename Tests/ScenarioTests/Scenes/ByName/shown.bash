# shellcheck shell=bash
# shellcheck source=Tests/ScenarioTests/Scenes/scene.bash
source "$tests/scene.bash"
# shellcheck source=Tests/ScenarioTests/Scenes/by-name.bash
source "$tests/by-name.bash"

connect
answer() { busybox nslookup -type=a "$1" 127.82.0.53 2>&1 | grep -oP '^Address: \K[0-9.]+$|SERVFAIL|NXDOMAIN' | tail -n 1; }
say "$(answer n1.shop.example) $(answer both.other.example)"
within 5 eval 'roamward status | grep "shared:"' >/dev/null
roamward status | grep -E 'by name:|shared:' | sed 's/^ *//'
say "$(answer lo.shop.example) $(answer gw.shop.example) $(answer lan.shop.example)"
roamward status --json | jq -r '.tunnels[]."by-name" | [.count, .refused] | @tsv'
grep -c 'reason=address-shared' "$scene"/agent.log
dry dns n1.shop.example | grep 'packets to' | xargs
dry explain --to n1.shop.example:443 | sed 's/^ *//' | sed -n 1,4p || true
stop_agent >/dev/null
