# shellcheck shell=bash
# shellcheck source=Tests/ScenarioTests/Scenes/scene.bash
source "$tests/scene.bash"
# shellcheck source=Tests/ScenarioTests/Scenes/names.bash
source "$tests/names.bash"
# shellcheck source=Tests/ScenarioTests/Scenes/clients.bash
source "$tests/clients.bash"
# shellcheck source=Tests/ScenarioTests/Scenes/capture.bash
source "$tests/capture.bash"
# shellcheck source=Tests/ScenarioTests/Scenes/lookup-words.bash
source "$tests/lookup-words.bash"

gateway_answers_late
passes held 1
go cafe
start_agent
within 5 led
within 5 captures
ask_way() { dry dns "$1" --ask; }
answered() { grep -oP 'answered by .*|no address.*' <<<"$1" | sed 's/, in [^:]*//'; }
began=${EPOCHREALTIME/./}
way=$(ask_way wiki.corp.example)
say "$(answered "$way"), waited $((${EPOCHREALTIME/./} - began >= 1000000)), $(field corp state)"
say "$(grep -oP 'programs that ask other servers: .*' <<<"$way")"
# That there is no address of the other family is not kept.
inside() { grep -c 'query\[A\] wiki.corp.example ' "$scene/names-gateway"; }
before=$(inside)
way=$(ask_way wiki.corp.example)
say "$(answered "$way"), from the cache $((before > 0 && $(inside) == before))"
way=$(ask_way www.public.example)
say "$(answered "$way")"
say "$(grep -oP 'programs that ask other servers: .*' <<<"$way")"
say "outside $(asked_at cafe wiki.corp.example)"
