# shellcheck shell=bash
# shellcheck source=Tests/ScenarioTests/Scenes/scene.bash
source "$tests/scene.bash"
# shellcheck source=Tests/ScenarioTests/Scenes/names.bash
source "$tests/names.bash"
# shellcheck source=Tests/ScenarioTests/Scenes/capture.bash
source "$tests/capture.bash"
# shellcheck source=Tests/ScenarioTests/Scenes/lookups.bash
source "$tests/lookups.bash"

# At home a rule says `disconnect`, so its server is asked for the tunnel's names.
if [[ $WAY == file ]]; then by_file=yes at_home='|192.0.2.77' unknown_at_home='|NXDOMAIN'; else at_home='' unknown_at_home=''; fi
unknown=lab.example
# shellcheck source=Tests/ScenarioTests/Scenes/lookup-words.bash
source "$tests/lookup-words.bash"
# shellcheck source=Tests/ScenarioTests/Scenes/lookup-changes.bash
source "$tests/lookup-changes.bash"

go cafe
# The detector: without an agent, names of each kind are asked in the café.
start_asking loose "${kinds[@]/!/}"
within 10 eval '(($(grep -c loose- "$scene/names-cafe") > 100))'
stop_asking
for domain in $domains; do [[ -n $(seen_names loose "$domain" cafe) ]] || say "not seen: $domain"; done
grep -q 'LOOSE-.*CORP.EXAMPLE' "$scene/names-cafe" && say "seen"
start_agent
tunnel_is site connected
within 5 led
for domain in $domains; do planned name."$domain"; done
start_asking changes "${kinds[@]}"
place=cafe
for ((i = 0; i < CHANGES; i++)); do
  "change_$WAY" $i
  sleep 0.$((RANDOM % 10)) # no event: any moment
  within 20 settled $i
  stage settled
  sleep 0.3 # no event: sixty questions of this stage
  stage changes
  within 10 all_answered
done
stop_asking
all='changes|home|settled' at_place='198.51.100.77|203.0.113.207'
judge corp.example "$all" "10.77.0.77$at_home" cafe mobile site
judge lab.example "$all" "10.77.0.77$unknown_at_home" site
judge public.corp.example "$all" "$at_place$at_home" gateway site
judge site.example 'changes|home' "10.88.0.77|$at_place$at_home" gateway
judge site.example settled 10.88.0.77 home cafe mobile gateway
judge vault.example "$all" SERVFAIL home cafe mobile gateway site
judge other.example "$all" "$at_place$at_home" gateway site
say "at home, of other stages: $(seen_names 'changes|settled' corp.example home | wc -l)"
say "by programs themselves: $(comm -12 <(seen_names '.*' corp.example cafe mobile) <(asked_themselves) | wc -l)"
