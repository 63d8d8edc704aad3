# shellcheck shell=bash
# shellcheck source=Tests/ScenarioTests/Scenes/scene.bash
source "$tests/scene.bash"

take_everything
watch_cafe
go cafe
within 5 watch_sees && say watched
start_agent
tunnel_is corp connected
before=$(clear)
babble &
babbling=$!
for round in 1 2 3; do
  echo 'nonsense: [' >>"$policies"/corp.yaml
  # While it is being read, too.
  [[ $round == 1 ]] || sleep 0.$((RANDOM % 10))
  kill_agent
  start_agent
  tunnel_is corp connected
  nft list table inet roamward >/dev/null || say "open in round $round"
  sed -i '$d' "$policies"/corp.yaml
  within 5 eval '[[ $(roamward status --json | jq -r ".policy[\"stand-ins\"] | length") == 0 ]]'
done
kill $babbling
(( $(clear) == before )) && say 'nothing in clear' || say "$(($(clear) - before)) in clear"
