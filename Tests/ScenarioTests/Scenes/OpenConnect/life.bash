# shellcheck shell=bash
# shellcheck source=Tests/ScenarioTests/Scenes/scene.bash
source "$tests/scene.bash"
# shellcheck source=Tests/ScenarioTests/Scenes/providers.bash
source "$tests/providers.bash"
# shellcheck source=Tests/ScenarioTests/Scenes/openconnect.bash
source "$tests/openconnect.bash"

ocserv_server <<'END'
route = 10.97.0.0/255.255.255.0
route = 192.0.2.0/255.255.255.0
dns = 10.97.0.1
split-dns = corp.example
END
printf 'pass word\n' >"$policies/office.password"
chmod 0600 "$policies/office.password"
go cafe
openconnect_policy "username: alice, server-certificate: '$server_pin'" "password: office.password" </dev/null
remember
start_agent
roamward up office >/dev/null
within 20 field_is office state connected
within 5 office_answers
say "$(way_to 192.0.2.7), $(way_to 203.0.113.80)"
dry dns wiki.corp.example | grep -o "to 10.97.0.1 of office"
process=$(pgrep -f 'openconnect --cookie-on-stdin')
say "$(awk '/^Uid|^CapEff|^CapPrm|^NoNewPrivs/ { print $1 $2 }' /proc/"$process"/status | xargs)"
! tr '\0' ' ' </proc/"$process"/cmdline | grep -q 'pass word' && say "no secret in an argument"
# Those of other scenes have a name for a moment.
no_file() { ! ls /tmp/roamward-openconnect-* 2>/dev/null; }
within 2 no_file && say "no file of a secret"
go mobile
within 30 office_answers
within 30 field_is office state connected
replaced 'openconnect --cookie-on-stdin'
within 20 field_is office state connected
within 5 office_answers
replaced "$scene/providers/openconnect"
within 30 field_is office state connected
within 5 office_answers
go cafe
within 30 office_answers
roamward down office >/dev/null
within 15 field_is office state disconnected
within 5 not pgrep -f 'openconnect --'
say "left: $(pgrep -c -f 'openconnect --')"
stop_agent
as_before
