# shellcheck shell=bash
# shellcheck source=Tests/ScenarioTests/Scenes/scene.bash
source "$tests/scene.bash"

go cafe
start_agent
tunnel_is corp connected
roamward metrics --output metrics.prom
grep -E '^roamward_(up|tunnel_state.*corp.*"connected"|tunnel_changes_total.*corp.*"connected")' metrics.prom
ls metrics.prom*
roamward metrics | tail -n 1
roamward metrics --socket nosuch.socket 2>/dev/null | sed -n 1,3p | tail -n 1 || true
report() { roamward bugreport --policies "$policies" "${inputs[@]}" --state-dir "$scene"/state "$@"; }
report --list | grep -c 'policies-corp.conf: .* 2 values left out'
ls *.tar.gz 2>/dev/null || say 'nothing written'
report --hide-places --output report.tar.gz | tail -n 1 | cut -d ' ' -f 2-3
report --output report.tar.gz >/dev/null 2>&1 || say 'not twice'
stat --format %a report.tar.gz
mkdir out
tar --extract --file report.tar.gz --directory out
ls out/*/ | grep -cE '^(status.json|doctor.txt|ip-rule-4.txt|journal.txt)$'
key=$(sed -n 's/^PrivateKey = //p' "$policies"/corp.conf)
for secret in "$key" hunter2-Correct Cafe 203.0.113.10 198.51.100; do grep -rF -- "$secret" out || say absent; done
