# shellcheck shell=bash
# shellcheck source=Tests/ScenarioTests/Scenes/scene.bash
source "$tests/scene.bash"

mkdir out timeline
go home
start_agent
roamward monitor --json >out/monitor-1 &
# A policy that is read again is told of.
listen() { echo "#" >>"$policies"/corp.yaml; sleep 0.1; test -s out/monitor-1; } # no event: the monitor may not listen yet
within 5 listen
roamward status --json >out/status-1
go cafe
tunnel_is corp connected
roamward status --json >out/status-2
roamward network --json >out/network-1
dry network --json >out/network-2
dry explain corp --json >out/explain-1
dry explain --to 10.77.0.1:443 --json >out/explain-2 || true
dry explain --to 127.0.0.1 --json >out/explain-3
dry explain corp --json --set ssid=Elsewhere >out/explain-4
dry dns intranet.corp.example --json >out/dns-1
dry dns www.example.com --ask --json >out/dns-2 || true
dry diff --json >out/diff-1
roamward down corp --for 90s --reason printer >/dev/null
tunnel_is corp disconnected
roamward status --json >out/status-3
dry plan --json >out/plan-1
roamward resume corp >/dev/null
tunnel_is corp connected
echo 'nonsense: [' >"$policies"/zz.yaml
echo 'no policy' >"$policies"/notes.txt
within 5 eval '[[ $(roamward status --json | jq ".policy.problems | length") != 0 ]]'
roamward status --json >out/status-4
roamward list --policies "$policies" --json >out/list-1
roamward check "$policies" --json >out/check-1 || true
rm "$policies"/zz.yaml
roamward check "$policies" --json >out/check-2
dry evaluate --json >out/evaluate-1
dry evaluate --json --set ssid=unknown --host www.example.com >out/evaluate-2 || true
dry evaluate --json --set 'interface=unknown()' >out/evaluate-3 || true
roamward state --json --resolv-conf "$laptop"/resolv.conf --state-dir "$scene"/state >out/state-1
dry doctor --json >out/doctor-1 || true
roamward import "$policies/corp.conf" --name other --dry-run --json >out/import-1
roamward import "$policies/notes.txt" "$laptop/resolv.conf" --dry-run --json >out/import-2 || true
roamward import "$ROOT/Tests/CommandLine/PolicyImportTests/Fixtures/trusted-office.mobileconfig" --dry-run --json >out/import-3 || true
cat >timeline/day.yaml <<'END'
version: 1
start: mon 08:00
steps:
  - { at: 0s, network: { version: 1, links: { eth0: { type: ethernet } }, primary: eth0 } }
  - { at: 1m, network: { version: 1, links: { wlan0: { type: wifi, ssid: Cafe } }, primary: wlan0 } }
  - { at: 2m, down: corp, for: 1m, reason: the printer }
  - { at: 5m, network: none }
END
roamward simulate timeline/day.yaml --policies "$policies" --json >out/simulate-1
go home
tunnel_is corp disconnected
dry plan --up corp --json >out/plan-2
within 5 grep -q '"to":"disconnected"' out/monitor-1
kill_agent
roamward state --json --resolv-conf "$laptop"/resolv.conf --state-dir "$scene"/state >out/state-2
go cafe
dry diff --json >out/diff-2 || true
roamward history --state-dir "$scene"/state --json >out/history-1
