# shellcheck shell=bash
# shellcheck source=Tests/ScenarioTests/Scenes/scene.bash
source "$tests/scene.bash"
# shellcheck source=Tests/ScenarioTests/Scenes/providers.bash
source "$tests/providers.bash"

go cafe
start_server
remember
plain_policy </dev/null
start_agent
roamward up plain >/dev/null
within 10 field_is plain state connected
# The server does not answer meanwhile, so that the failure can be seen.
touch silent
kill -KILL "$(plain_process)"
within 10 eval '[[ $(field plain failure) == *ended* ]]' && field plain failure
rm silent
within 10 field_is plain state connected
within 5 plain_answers
touch silent
within 25 field_is plain state reasserting
field plain reason
rm silent
within 10 field_is plain state connected
ip link delete plain
within 10 eval '[[ $(count_in_log "its link plain is gone") -gt 0 ]]'
within 10 field_is plain state connected
within 5 plain_answers
kill_agent
within 5 eval '[[ -z $(plain_process) ]]' && say "ended with its agent"
start_agent
within 10 field_is plain state connected
stop_agent
as_before
