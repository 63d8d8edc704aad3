# shellcheck shell=bash
# shellcheck source=Tests/ScenarioTests/Scenes/scene.bash
source "$tests/scene.bash"

cp "$bin"/roamward .
mkdir shared && cp "$policies"/* shared/ && chmod 644 shared/*
sed -i '/PrivateKey/d; s/wireguard:.*/command: { up: [a], down: [b] } }/' shared/corp.yaml && rm shared/corp.conf
run=(./roamward evaluate --policies shared)
[[ $EUID != 0 ]] || run=(setpriv --reuid 65534 --regid 65534 --clear-groups "${run[@]}")
go cafe
for facts in '--set ssid=Cafe' '--set interface-name=eth0' '--set ssid=Other' "--live --ssid-file $laptop/ssid"; do
  # shellcheck disable=SC2086 # several words
  "${run[@]}" --exit-code $facts >/dev/null 2>&1 || say "$?"
done
"${run[@]}" --nonsense >/dev/null 2>&1 || say "$?"
"${run[@]}" --set ssid >/dev/null 2>&1 || say "$?"
"${run[@]}" --tunnel nope >/dev/null 2>&1 || say "$?"
echo 'version: 9' >shared/bad.yaml
"${run[@]}" --set ssid=Cafe >/dev/null 2>&1 || say "$?"
rm shared/bad.yaml
"${run[@]}" --json --set ssid=Cafe >decision.json
jq -c '[.version, (.decisions[0] | .tunnel, .action, (.rule | .index, .line), .pending, (.trace | length))]' decision.json
jq -c '.decisions[0].trace[] | [.rule.index, .holds, (.reason | type)]' decision.json
jq -c '.decisions[0] | keys' decision.json
