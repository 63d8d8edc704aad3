# shellcheck shell=bash
# shellcheck source=Tests/ScenarioTests/Scenes/scene.bash
source "$tests/scene.bash"
# shellcheck source=Tests/ScenarioTests/Scenes/names.bash
source "$tests/names.bash"
# shellcheck source=Tests/ScenarioTests/Scenes/keepers.bash
source "$tests/keepers.bash"
# shellcheck source=Tests/ScenarioTests/Scenes/both-gateways.bash
source "$tests/both-gateways.bash"
# shellcheck source=Tests/ScenarioTests/Scenes/split-names.bash
source "$tests/split-names.bash"

grep -c . "$file"; grep nameserver "$file"
for name in wiki.corp.example box.lab.example www.public.example; do dry dns $name | sed -n 1,2p | xargs; done
dry diff >/dev/null && say "no drift"
# Until the agent has written the file anew, programs ask the network itself.
go mobile; within 5 led; both_up
within 5 all_answered_at 203.0.113.207 && say mobile
roamward down corp --wait 20 >/dev/null
within 5 answers_are wiki.corp.example=SERVFAIL
say "$(answers)"
roamward resume corp >/dev/null; tunnel_is corp connected
within 5 all_answered_at 203.0.113.207 && say again
say "outside: $(asked_at mobile corp.example) $(asked_at cafe corp.example) $(asked_at mobile lab.example) $(asked_at lab public)"
go cafe
tunnel_is corp connected
stop_agent >/dev/null
cmp was "$file" && within 5 nothing_of_ours && say "as before"
