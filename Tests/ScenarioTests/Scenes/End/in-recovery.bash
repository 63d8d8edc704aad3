# shellcheck shell=bash
# shellcheck source=Tests/ScenarioTests/Scenes/scene.bash
source "$tests/scene.bash"

take_everything
go cafe
remember
start_agent
tunnel_is corp connected; tunnel_is vpn connected
kill_agent
# It answers while the command's `down`, which is owed, runs.
start_agent
sleep "$DELAY"
say "status $(stop_agent)"
say "links $(ip -br link show | grep -cE '^(corp|vpn0)' || true), notes $(ls "$scene/state" | grep -cE '^(link|command)-' || true)"
if nft list table inet roamward >/dev/null 2>&1; then say held; else say open; fi
if fetch http://203.0.113.80/ >/dev/null 2>&1; then say "goes outside"; else say "does not go outside"; fi
