# shellcheck shell=bash
# shellcheck source=Tests/ScenarioTests/Scenes/scene.bash
source "$tests/scene.bash"

promises=$scene/promises test_name=measured
later() { (( ${EPOCHREALTIME/./} > began + 1200000 )); }
strict='' began=${EPOCHREALTIME/./}
within 1 later
say kept
strict=yes began=${EPOCHREALTIME/./}
within 60 later
say "in time"
began=${EPOCHREALTIME/./}
! within 1 later || say "no failure"
