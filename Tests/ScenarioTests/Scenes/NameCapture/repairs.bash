# shellcheck shell=bash
# shellcheck source=Tests/ScenarioTests/Scenes/scene.bash
source "$tests/scene.bash"
# shellcheck source=Tests/ScenarioTests/Scenes/names.bash
source "$tests/names.bash"
# shellcheck source=Tests/ScenarioTests/Scenes/capture.bash
source "$tests/capture.bash"
# shellcheck source=Tests/ScenarioTests/Scenes/NameCapture/begin.bash
source "$tests/NameCapture/begin.bash"

start_guest
within 5 eval '[[ $(ip -j link show guests | jq -r ".[].operstate") == UP ]]'
remember
start_agent
tunnel_is corp connected
within 5 eval '[[ $(ask_all wiki.corp.example) == "10.77.0.77 10.77.0.77 10.77.0.77 10.77.0.77" ]]'
before=$(outside)
for change in 'delete table inet roamward-names' 'flush chain inet roamward-names output' \
  'insert rule inet roamward-names output udp dport 53 return'; do
  nft "$change"
  within 2 eval '[[ $(ask $stranger wiki.corp.example) == 10.77.0.77 ]] && ! nft list table inet roamward-names | found "udp dport 53 return"'
done
say "repaired"
# While the table was gone, a question could leave.
before=$(outside)
kill -KILL $(pgrep -f '[r]oamward-names --at-work')
within 10 eval '[[ $(ask_all wiki.corp.example) == "10.77.0.77 10.77.0.77 10.77.0.77 10.77.0.77" ]]' && say "with another process"
say "outside: $(($(outside) - before))"
kill_agent
# It ends with the agent, by itself.
within 5 not pgrep -f '[r]oamward-names --at-work'
captures && say "killed: $(PATIENCE=1 ask_all wiki.corp.example); outside: $(($(outside) - before))"
start_agent
tunnel_is corp connected
within 5 eval '[[ $(ask_all wiki.corp.example) == "10.77.0.77 10.77.0.77 10.77.0.77 10.77.0.77" ]]' && say "again"
roamward state --state-dir "$scene"/state | grep -c 'table inet roamward-names'
kill_agent; cleanup_agent
as_before && say "as before"
