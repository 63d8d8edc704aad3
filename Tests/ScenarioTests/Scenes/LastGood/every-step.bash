# shellcheck shell=bash
# shellcheck source=Tests/ScenarioTests/Scenes/scene.bash
source "$tests/scene.bash"

sed 's|10.77.0.0/16|10.78.0.0/16|' "$policies"/corp.yaml >new.yaml; cp "$policies"/corp.yaml old.yaml; go home
