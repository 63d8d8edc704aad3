# shellcheck shell=bash
# shellcheck source=Tests/ScenarioTests/Scenes/scene.bash
source "$tests/scene.bash"
# shellcheck source=Tests/ScenarioTests/Scenes/Server/words.bash
source "$tests/Server/words.bash"

start_agent
tunnel_is corp connected
within 10 ways_are "host container 10.77.0.2"
say "$(ways)"
# A program that binds itself to the network's link or address is no answer.
say "$(curl -s --max-time 2 --interface wlan0 http://203.0.113.80/ || echo blocked) $(curl -s --max-time 2 --interface 198.51.100.23 http://203.0.113.80/cgi-bin/whoami || echo blocked)"
# A program of no privileges serves too.
runuser -u nobody -- busybox httpd -p 8082 -h "$scene"/www
within 5 served 8082 && say unprivileged
on gateway ip link set gw0 down
roamward doctor --policies "$policies" "${inputs[@]}" --state-dir "$scene"/state --json | jq '[.findings[] | select(.message | contains("8080"))] | length' || true
sed -i 's/, answer-by-arrival: true//' "$policies"/corp.yaml
within 10 not served 8080
say "$(served 8081 && echo container || echo -) $(served 8082 && echo unprivileged || echo -)"
roamward status --json | jq -r '.tunnels[0].notes[] | select(.code == "unanswered") | .text' | grep -o 'its kill switch drops them'
stop_agent
