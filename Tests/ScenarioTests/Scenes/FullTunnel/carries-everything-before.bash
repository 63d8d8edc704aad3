# shellcheck shell=bash
# shellcheck source=Tests/ScenarioTests/Scenes/scene.bash
source "$tests/scene.bash"

go cafe
say "$(seen_by 203.0.113.80)"
say "$(fetch -6 http://www.example/)"
