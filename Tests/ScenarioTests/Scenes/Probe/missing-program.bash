# shellcheck shell=bash
# shellcheck source=Tests/ScenarioTests/Scenes/scene.bash
source "$tests/scene.bash"

mkdir "$scene"/bin && cp "$bin/roamward" "$bin/roamwardd" "$scene"/bin/
bin=$scene/bin
go cafe
start_agent --connectivity-check http://www.example/ --connectivity-content Hello
told() { roamward network | grep -e '^internet'; roamward network | found 'cannot be sent: roamward-probe cannot be started'; }
within 5 told
roamward network | grep '^internet'
say "$(field corp state)"
roamward doctor --policies "$policies" "${inputs[@]}" --state-dir "$scene"/state | grep probe-helper || true
roamward dns www.example --policies "$policies" "${inputs[@]}" --state-dir "$scene"/state --ask | tail -n 1 || true
stop_agent
