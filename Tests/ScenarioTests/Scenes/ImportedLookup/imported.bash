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
# shellcheck disable=SC2153 # of the test
read -ra clients <<<"$CLIENTS"
build_clients "${clients[@]}"
roamward import office.mobileconfig --output "$policies"
roamward check "$policies"
replace_gateway_names
go home
start_agent
say "home $("$lab" on laptop getent ahosts intranet.corp.example || echo 'not found')"
say "home $(field office state)"
go cafe
within 5 led
tunnel_is office disconnected
for name in intranet.corp.example wiki.servers.example wiki.probed.example; do
  for client in glibc curl; do
    say "$client $name $(by $client $name) $(field office state)"
    let_down office
  done
done
for client in $OTHERS; do
  say "$client $(by "$client" intranet.corp.example) $(field office state)"
  let_down office
done
roamward export office --mobileconfig --policies "$policies" >exported.mobileconfig
diff <(rules_of office.mobileconfig) <(rules_of exported.mobileconfig) && say "same rules"
stop_agent >/dev/null
