# shellcheck shell=bash
# shellcheck source=Tests/ScenarioTests/Scenes/scene.bash
source "$tests/scene.bash"
# shellcheck source=Tests/ScenarioTests/Scenes/providers.bash
source "$tests/providers.bash"

cat >"$scene/verify" <<'END'
#!/bin/sh
[ "$(sed -n 1p "$1")" = 'al"ice' ] && [ "$(sed -n 2p "$1")" = 'pass \ "word"' ]
END
chmod 0755 "$scene/verify"
go cafe
openvpn_server --script-security 2 --auth-user-pass-verify "$scene/verify" via-file
(umask 077; echo wrong >"$policies/office.password")
openvpn_policy "username: 'al\"ice'" office.password </dev/null
start_agent
roamward up office >/dev/null
within 20 field_is office code action-needed
field office failure
sleep 3 # no event: another failure that must not come
say "$(count_in_log ' warning failure ')"
printf 'pass \ "word"
' >"$policies/office.password"
roamward answer office
within 20 field_is office state connected
within 5 office_answers
# The same, asked for.
roamward down office >/dev/null
within 10 field_is office state disconnected
openvpn_policy "username: 'al\"ice'" </dev/null
kill -HUP "$(agent_pid)"
roamward up office >/dev/null
within 10 field_is office 'questions[0].kind' password
roamward status | grep -o 'asks:.*'
printf 'pass \ "word"
' | roamward answer office
within 20 field_is office state connected
within 5 office_answers
# shellcheck disable=SC1003
[[ $(<agent.log) != *'pass \'* ]] && say "not in the log"
roamward answer office 2>&1 </dev/null || true
stop_agent
