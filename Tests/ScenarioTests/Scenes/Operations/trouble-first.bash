# shellcheck shell=bash
# shellcheck source=Tests/ScenarioTests/Scenes/scene.bash
source "$tests/scene.bash"

first_is() { [[ $(roamward status | sed -n 1p) == "$1"* ]] || { roamward status | sed -n 1,3p; return 1; }; }
go cafe
start_agent
tunnel_is corp connected
within 10 first_is "lab is connecting; the last attempt failed: "
roamward status >status.txt
grep -c '^corp is connected since' status.txt
grep 'because:.*everywhere' status.txt
dry doctor --json >doctor.json && status=0 || status=$?; say "doctor $status"
jq -r '.findings[] | select(.check == "tunnels") | .severity + " " + .message' doctor.json
for tunnel in corp off lab; do
  dry evaluate --tunnel $tunnel --exit-code >/dev/null && status=0 || status=$?; say "$tunnel $status"
done
dry evaluate --tunnel off --json | jq -c '.decisions[0] | [.action, .inert.code]'
dry explain corp --json | jq -r '.decision.reason'
