# shellcheck shell=bash
# shellcheck source=Tests/ScenarioTests/Scenes/scene.bash
source "$tests/scene.bash"
# shellcheck source=Tests/ScenarioTests/Scenes/Server/words.bash
source "$tests/Server/words.bash"

say "$(ways)"
dry plan | grep -c 'port 8080 of this machine get no answer, because the answers go into it; cure: .routes: { answer-by-arrival'
roamward doctor --policies "$policies" "${inputs[@]}" --state-dir "$scene"/state --json | jq -r '.findings[] | select(.message | contains("8080")) | .severity + " " + .cure' || true
remember
start_agent
tunnel_is corp connected
within 5 ways_are "- - 10.77.0.2"
roamward status --json | jq -r '.tunnels[0].notes[] | select(.code == "unanswered") | .text' | cut -d ' ' -f 1-14
sed -i 's/include: .default./&, answer-by-arrival: true/' "$policies"/corp.yaml
within 10 ways_are "host container 10.77.0.2"
say "$(ways) $(roamward status --json | jq '[.tunnels[0].notes[] | select(.code == "unanswered")] | length') $(counter repairs)"
dry diff >/dev/null && say "no drift"
say "$(on internet busybox ping -c 1 -W 5 198.51.100.23 | grep -c ' 0% packet loss')"
stop_agent
as_before
say "$(ways)"
