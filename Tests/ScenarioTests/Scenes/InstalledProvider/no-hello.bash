# shellcheck shell=bash
# shellcheck source=Tests/ScenarioTests/Scenes/scene.bash
source "$tests/scene.bash"
# shellcheck source=Tests/ScenarioTests/Scenes/providers.bash
source "$tests/providers.bash"

go cafe
remember
plain_policy </dev/null
start_agent
: >starts
chmod 0666 starts
printf '#!/bin/sh\necho >>%s/starts\nexit 3\n' "$PWD" >"$scene/providers/plain-udp"
{ roamward message plain statistics 2>&1 || true; } | grep -o 'ended with code 3 before its `hello`'
say "$(wc -l <starts)"
roamward up plain >/dev/null
within 3 eval '[[ $(field plain failure) == *"ended with code 3 before its"* ]]'
say "$(($(wc -l <starts) <= 4))"
grep -qE 'error .*ended with code 3|failure because=.*ended with code 3' agent.log && say told
# A library that is missing: the dynamic linker's code.
printf '#!/bin/sh\nexit 127\n' >"$scene/providers/plain-udp"
within 10 eval '[[ $(field plain failure) == *"a library is missing"* ]]'
printf '#!/nowhere/sh\n' >"$scene/providers/plain-udp"
within 20 eval '[[ $(field plain failure) == *"its interpreter or a library is missing"* ]]'
roamward down plain >/dev/null
stop_agent
as_before
