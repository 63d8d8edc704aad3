# shellcheck shell=bash
# shellcheck source=Tests/ScenarioTests/Scenes/scene.bash
source "$tests/scene.bash"
# shellcheck source=Tests/ScenarioTests/Scenes/Import/words.bash
source "$tests/Import/words.bash"

file hub.conf 10.77.0.0/16 <<<'DNS = 10.77.0.1, corp.example'
imports hub.conf --manual | grep -o 'note: warning: all names.*'
sed -i 's/^  hub:/&\n    dns: { servers: [10.77.0.1], match-domains: [corp.example] }/' hub.yaml
../roamward check . 2>&1 | grep -c 'all names' || true
