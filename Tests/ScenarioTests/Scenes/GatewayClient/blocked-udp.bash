# shellcheck shell=bash
# shellcheck source=Tests/ScenarioTests/Scenes/scene.bash
source "$tests/scene.bash"
# shellcheck source=Tests/ScenarioTests/Scenes/providers.bash
source "$tests/providers.bash"
# shellcheck source=Tests/ScenarioTests/Scenes/client.bash
source "$tests/client.bash"

company_gateway
company set relay.port 443 >/dev/null
within 10 takes_relays
secret office.password 'correct horse'
go cafe
block_udp
client_policy ', username: alice' 'password: office.password' <<<'    kill-switch: "on"'
start_agent
roamward up office >/dev/null
within 20 field_is office state connected
within 5 office_answers
say "$(transport), $(logins) login"
field office transport
company status | grep -o 'by TCP\|port 443, 1 connected by it'
serve_inside
# shellcheck disable=SC2154 # set above
trap 'kill "${servers[@]}" 2>/dev/null || true' EXIT
within 5 reaches_inside 8080
busybox nc 10.95.0.1 8080 </dev/null | cmp - "$scene/file" && say downloaded
busybox nc 10.95.0.1 8081 </dev/null >"$scene/lines" & flow=$!
within 5 eval '[[ -s $scene/lines ]]'
pass_udp
within 40 goes_by udp
before=$(wc -l <"$scene/lines")
within 5 eval '(($(wc -l <"$scene/lines") > before + 20))'
kill -0 $flow && say "the same connection, $(logins) login, $(field office state)"
field office transport
company status | grep -c 'from 198.51.100' || true
kill $flow
stop_agent
