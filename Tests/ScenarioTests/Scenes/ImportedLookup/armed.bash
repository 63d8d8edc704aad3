# shellcheck shell=bash
# shellcheck source=Tests/ScenarioTests/Scenes/scene.bash
source "$tests/scene.bash"
# shellcheck source=Tests/ScenarioTests/Scenes/names.bash
source "$tests/names.bash"
# shellcheck source=Tests/ScenarioTests/Scenes/clients.bash
source "$tests/clients.bash"
# shellcheck source=Tests/ScenarioTests/Scenes/apple-profile.bash
source "$tests/apple-profile.bash"

write_profile 10.77.0.1
rm -f "$policies"/*
roamward import office.mobileconfig --output "$policies"
go cafe
start_agent
within 5 led
tunnel_is office armed
for client in $CLIENTS; do
  say "$client $(by "$client" intranet.corp.example) $(field office state)"
  let_down office armed
done
roamward export office --mobileconfig --policies "$policies" >exported.mobileconfig
diff <(rules_of office.mobileconfig) <(rules_of exported.mobileconfig) && say "same rules"
stop_agent >/dev/null
