# shellcheck shell=bash
# shellcheck source=Tests/ScenarioTests/Scenes/scene.bash
source "$tests/scene.bash"

go home
start_agent
for _ in {1..20}; do
  before=$(date +%s%3N)
  time=$(roamward status --json | jq -r .time)
  after=$(date +%s%3N)
  now=$(date --date "$time" +%s%3N)
  ((before <= now && now <= after)) || say "$before $now $after"
  echo "${time: -4:3}" >>fractions
done
