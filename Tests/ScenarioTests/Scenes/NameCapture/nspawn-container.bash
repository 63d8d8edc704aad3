# shellcheck shell=bash
# shellcheck source=Tests/ScenarioTests/Scenes/scene.bash
source "$tests/scene.bash"
# shellcheck source=Tests/ScenarioTests/Scenes/names.bash
source "$tests/names.bash"
# shellcheck source=Tests/ScenarioTests/Scenes/capture.bash
source "$tests/capture.bash"

# shellcheck disable=SC2153 # of the test
unpacked=$UNPACKED
# shellcheck source=Tests/ScenarioTests/Scenes/NameCapture/begin.bash
source "$tests/NameCapture/begin.bash"
start_guest
start_agent
tunnel_is corp connected
without=$(container_asks wiki.corp.example)
within 5 something_outside
say "without: $without; outside $(($(outside) > 0))"
write_policy 's/when-down: refuse/when-down: refuse, names: capture/'
within 5 eval '[[ $(guest_asks wiki.corp.example) == 10.77.0.77 ]]'
before=$(outside)
say "container: $(container_asks wiki.corp.example) $(container_asks www.public.example)"
roamward down corp --wait 20 >/dev/null
within 5 eval '[[ $(ask $stranger wiki.corp.example) == SERVFAIL ]]'
say "down: $(container_asks wiki.corp.example) $(container_asks www.public.example)"
say "outside: $(($(outside) - before))"
stop_agent >/dev/null
