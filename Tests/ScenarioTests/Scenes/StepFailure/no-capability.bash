# shellcheck shell=bash
# shellcheck source=Tests/ScenarioTests/Scenes/scene.bash
source "$tests/scene.bash"

go cafe
remember
bin_before=$bin
mkdir -p poor
printf '#!/bin/sh\nexec setpriv --bounding-set=-net_admin --inh-caps=-net_admin "%s/roamwardd" "$@"\n' "$bin" >poor/roamwardd
chmod 755 poor/roamwardd; ln -s "$bin/roamward" poor/roamward
"$scene/poor/roamwardd" --policies "$policies" --state-dir "$scene/state" --socket "$ROAMWARD_SOCKET" "${inputs[@]}" 2>words || say "status $?"
cat words
as_before && say untouched
