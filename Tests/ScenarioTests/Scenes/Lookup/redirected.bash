# shellcheck shell=bash
# shellcheck source=Tests/ScenarioTests/Scenes/scene.bash
source "$tests/scene.bash"
# shellcheck source=Tests/ScenarioTests/Scenes/names.bash
source "$tests/names.bash"
# shellcheck source=Tests/ScenarioTests/Scenes/lookup-words.bash
source "$tests/lookup-words.bash" cafe

go cafe
start_agent
within 5 led
say "$(answer www.example) $(field corp state)"
say "$(answer box.lab.example)"
tunnel_is corp connected
(($(asked_at cafe box.lab.example) > 0 && $(asked_at cafe '\.com ') > 0)) && say "asked there, with a random name"
