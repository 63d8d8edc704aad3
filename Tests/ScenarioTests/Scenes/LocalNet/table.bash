# shellcheck shell=bash
# shellcheck source=Tests/ScenarioTests/Scenes/scene.bash
source "$tests/scene.bash"
# shellcheck source=Tests/ScenarioTests/Scenes/LocalNet/words.bash
source "$tests/LocalNet/words.bash"

take_everything
sed -i 's|^Address.*|Address = 10.77.0.2/32, fd77:0:0:9::2/128|' "$policies"/corp.conf
go cafe
for prefix in "${prefixes[@]}"; do attach "$prefix"; within 10 seen; detach "$prefix"; sleep 0.1; forget; done
say "all seen without the agent"
start_agent
for guarding in off on always enforce; do
  generation=$(roamward status --json | jq .policy.generation)
  cp $guarding.yaml "$policies"/corp.yaml.new; mv "$policies"/corp.yaml.new "$policies"/corp.yaml
  [[ $guarding == off ]] || within 10 eval '(( $(roamward status --json | jq .policy.generation) > generation ))'
  tunnel_is corp connected
  cells=
  for prefix in "${prefixes[@]}"; do
    until measure "$prefix"; do detach "$prefix"; done
    cells+=" $way"
    if [[ $way == outside ]]; then within 5 eval '[[ $(field corp "outside[].reason") == "this machine is attached to it, and lan is allow"* ]]'
    else within 5 eval '[[ -z $(field corp "outside[]") ]]'; fi
    detach "$prefix"
  done
  say "$guarding:$cells"
done
kill $sender
