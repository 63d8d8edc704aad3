# shellcheck shell=bash
# shellcheck source=Tests/ScenarioTests/Scenes/scene.bash
source "$tests/scene.bash"
# shellcheck source=Tests/ScenarioTests/Scenes/leaks.bash
source "$tests/leaks.bash"
# shellcheck source=Tests/ScenarioTests/Scenes/browser.bash
source "$tests/browser.bash"
# shellcheck source=Tests/ScenarioTests/Scenes/Portal/words.bash
source "$tests/Portal/words.bash"

go cafe
close_portal
start_agent
within 10 eval 'roamward status | sed -n 1p | grep ^blocked:' >/dev/null
roamward release --portal --only $$ 2>&1 | sed -n 1p | sed 's/[0-9][0-9]*/N/' || true
roamward release --portal --only 999999 2>&1 | sed -n 1p || true
roamward release --only 1 2>&1 | sed -n 1p || true
situation_is guarded && say guarded
open_browser
roamward release --portal --only $browser >/dev/null
within 5 situation_is portal && within 5 browser_shows_page && cat shown
kill $browser; wait $browser 2>/dev/null || true
within 30 situation_is guarded
within 5 not eval 'nft list table inet roamward | grep cgroup' && say "closed again"
