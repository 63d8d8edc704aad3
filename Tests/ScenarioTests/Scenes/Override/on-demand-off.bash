# shellcheck shell=bash
# shellcheck source=Tests/ScenarioTests/Scenes/scene.bash
source "$tests/scene.bash"

go cafe
start_agent
at_rest
say "$(field corp state)"
roamward up corp --wait 60 && say "$(field corp state)"
roamward resume corp && at_rest && say "$(field corp state)"
roamward down corp --wait 60 && say "$(field corp state)"
