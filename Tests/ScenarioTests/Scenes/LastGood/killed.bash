# shellcheck shell=bash
# shellcheck source=Tests/ScenarioTests/Scenes/scene.bash
source "$tests/scene.bash"

take_everything
watch_cafe
routes() { ip route show table all proto 82; ip rule show | grep '^21'; ip -6 rule show | grep '^21'; ip -6 route show table all proto 82; }
go cafe
within 5 watch_sees && say watched
start_agent
tunnel_is corp connected
routes >routes.before
before=$(clear)
babble &
babbling=$!
echo 'nonsense: [' >>"$policies"/corp.yaml
within 5 eval "roamward status | sed -n 1p | found '^policy: 1 error; the last known good stays active'"
roamward status | grep -o 'corp.yaml: broken at line [0-9]*; its last known good version of 20' || true
roamward check "$policies" 2>&1 | grep -c 'note: .*its last known good version of' || true
kill_agent
start_agent
tunnel_is corp connected
within 5 eval 'routes >routes.after; diff routes.before routes.after'
say 'as it was'
roamward status --json | jq -c '.policy | [.generation, (."stand-ins" | length)]'
grep -c 'its last known good version of' agent.log
# As after a reboot: another agent, nothing of the kernel's left.
stop_agent
[[ $(stat -c '%a %u' state/policies) == '600 0' ]] && say 'for root alone'
nft list table inet roamward >/dev/null 2>&1 || say open
start_agent
tunnel_is corp connected
nft list table inet roamward >/dev/null && say guarded
kill $babbling
# Mended, and gone with its file.
sed -i '$d' "$policies"/corp.yaml
within 5 eval '[[ $(roamward status --json | jq -r ".policy[\"stand-ins\"] | length") == 0 ]]'
rm "$policies"/corp.yaml
within 5 field_is corp name ''
grep -c PrivateKey state/policies || true
