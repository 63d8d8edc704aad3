# shellcheck shell=bash
# shellcheck source=Tests/ScenarioTests/Scenes/scene.bash
source "$tests/scene.bash"

go home
"$bin/roamwardd" --lock --policies "$policies" 2>>"$scene/agent.log"
cat /run/motd.d/*
roamward status 2>status.err || say "$?"
grep -c 'no agent answers' status.err
blocked() { "$@" status --json 2>/dev/null >status.json || say "json $?"; jq -c '[.version, .pid, .firewall.situation, .firewall.blocking]' status.json; }
blocked roamward
blocked setpriv --reuid nobody --regid nogroup --clear-groups "$bin/roamward"
roamward release --portal >/dev/null 2>&1 || say "portal $?"
fetch http://203.0.113.80/ >/dev/null 2>&1 && say leak || say held
roamward release
fetch http://203.0.113.80/ | grep -q Hello && say open
not test -e /run/motd.d
not test -e /run/roamward/blocked.json
roamward status 2>/dev/null || say "$?"
roamward status --json 2>/dev/null || say "$?"
start_agent
within 5 nft list table inet roamward
ROAMWARD_SOCKET=other.socket roamward release 2>&1 || say "$?"
nft list table inet roamward >/dev/null && say "still held"
