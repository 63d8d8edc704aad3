# shellcheck shell=bash
# shellcheck source=Tests/ScenarioTests/Scenes/scene.bash
source "$tests/scene.bash"
# shellcheck source=Tests/ScenarioTests/Scenes/Operations/words.bash
source "$tests/Operations/words.bash"

go cafe
start_agent
tunnel_is corp connected
with_prefix 10.78.0.0/16
# Long enough for all that is looked at meanwhile, on a busy machine too.
roamward apply --confirm-within 15s new
within 3 routed 10.78.1.1
roamward status | grep -o '^trial' || say 'no word of it'
roamward apply new 2>&1 | grep -o 'already on trial' || true
within 20 not routed 10.78.1.1
within 5 routed 10.77.1.1
say 'back in time'
[[ -z $(ls "$scene"/local) && ! -e $scene/state/trial ]] && say 'nothing kept'

roamward apply --confirm-within 15s new >/dev/null
within 3 routed 10.78.1.1
kill_agent
start_agent
within 10 routed 10.78.1.1
say 'still on trial'
within 20 not routed 10.78.1.1
within 5 routed 10.77.1.1
say 'back after a crash'

roamward apply --confirm-within 60s new >/dev/null
within 3 routed 10.78.1.1
roamward revert
within 3 routed 10.77.1.1
roamward apply --confirm-within 60s new >/dev/null
roamward confirm
within 3 routed 10.78.1.1
ls "$scene"/local | tr '\n' ' '
stop_agent
start_agent
within 10 routed 10.78.1.1
say kept
sed -i 's/10.78/nonsense/' new/corp.yaml
roamward apply new 2>&1 | grep -c '^corp.yaml:.*error:' || true
within 2 routed 10.78.1.1
roamward confirm 2>&1 | grep -o 'no policies are on trial' || true
