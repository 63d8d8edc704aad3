# shellcheck shell=bash
# shellcheck source=Tests/ScenarioTests/Scenes/scene.bash
source "$tests/scene.bash"

go home
start_agent
within 5 nft list table inet roamward
fetch http://203.0.113.80/ >/dev/null 2>&1 && say leak || say held
# Longer than a busy machine takes to start programs.
roamward release --for 10s >/dev/null
fetch http://203.0.113.80/ | grep -q Hello && say released
within 12 nft list table inet roamward
roamward release --portal >/dev/null
fetch http://203.0.113.80/ | grep -q Hello && say portal
roamward resume >/dev/null
stop_agent
cleanup_agent
fetch http://203.0.113.80/ >/dev/null 2>&1 && say leak || say 'held for always'
test -e /run/motd.d
"$bin/roamwardd" --release 2>>"$scene/agent.log"
not test -e /run/motd.d
fetch http://203.0.113.80/ | grep -q Hello && say open
"$bin/roamwardd" --lock --policies "$policies" 2>>"$scene/agent.log"
fetch http://203.0.113.80/ >/dev/null 2>&1 && say leak || say locked
