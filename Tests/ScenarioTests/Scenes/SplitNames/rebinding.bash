# shellcheck shell=bash
# shellcheck source=Tests/ScenarioTests/Scenes/scene.bash
source "$tests/scene.bash"
# shellcheck source=Tests/ScenarioTests/Scenes/names.bash
source "$tests/names.bash"
# shellcheck source=Tests/ScenarioTests/Scenes/keepers.bash
source "$tests/keepers.bash"
# shellcheck source=Tests/ScenarioTests/Scenes/both-gateways.bash
source "$tests/both-gateways.bash"
# shellcheck source=Tests/ScenarioTests/Scenes/split-names.bash
source "$tests/split-names.bash"

for process in $(on cafe ss -Hlunp 'sport = :53' | grep -o 'pid=[0-9]*' | sort -u); do kill "${process#pid=}"; done
within 5 eval "! on cafe ss -Hltun 'sport = :53' | grep -q ."
on cafe dnsmasq --conf-file=/dev/null --no-resolv --no-hosts --bind-interfaces --listen-address=198.51.100.1 --pid-file= \
  --address=/evil.example/10.77.0.9 --address=/good.example/203.0.113.9
within 5 answers_are www.good.example=203.0.113.9
say "$(answer www.evil.example)"
within 5 eval 'roamward status | grep "^DNS withheld"' >/dev/null
number='s/[0-9]* answers*/N answers/'
roamward status | grep '^DNS withheld' | sed -E "s/, ([^,]* ago|just now)//; $number"
roamward status --json | jq -c '.dns.withheld[] | [.tunnel, .count > 0, .last.query, .last.address, .last.domain]'
doctor() { roamward doctor --policies "$policies" "${inputs[@]}" --state-dir "$scene"/state "$@"; }
doctor --json | jq -r '.findings[] | select(.check == "withheld") | .message' | sed "$number"
dry dns www.evil.example | grep rebind | xargs
grep -c 'reason=answer-withheld' "$scene"/agent.log
before=$(server_pid)
sed -i 's/match-domains:/rebind-allowed: [evil.example], &/' "$policies"/50-corp.yaml
within 5 answers_are www.evil.example=10.77.0.9
say "$(roamward status --json | jq -c .dns.withheld) $(($(server_pid) == before)) $(doctor --json | jq '[.findings[] | select(.check == "withheld")] | length')"
dry dns www.evil.example | grep rebind | xargs
sed -i 's/rebind-allowed: [^,]*, //' "$policies"/50-corp.yaml
within 5 answers_are www.evil.example=SERVFAIL
stop_agent >/dev/null
