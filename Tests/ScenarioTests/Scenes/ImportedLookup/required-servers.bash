# shellcheck shell=bash
# shellcheck source=Tests/ScenarioTests/Scenes/scene.bash
source "$tests/scene.bash"
# shellcheck source=Tests/ScenarioTests/Scenes/names.bash
source "$tests/names.bash"
# shellcheck source=Tests/ScenarioTests/Scenes/clients.bash
source "$tests/clients.bash"
# shellcheck source=Tests/ScenarioTests/Scenes/apple-profile.bash
source "$tests/apple-profile.bash"

write_profile
rm -f "$policies"/*
roamward import office.mobileconfig --output "$policies"
replace_gateway_names
go cafe
start_agent
within 5 led
for name in wiki.servers.example wiki.probed.example; do
  say "$(by glibc $name) $(field office state)"
  let_down office
done
stop_agent >/dev/null
