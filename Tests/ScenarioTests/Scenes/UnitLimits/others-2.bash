# shellcheck shell=bash
# shellcheck source=Tests/ScenarioTests/Scenes/scene.bash
source "$tests/scene.bash"
# shellcheck source=Tests/ScenarioTests/Scenes/providers.bash
source "$tests/providers.bash"
# shellcheck source=Tests/ScenarioTests/Scenes/UnitLimits/poor.bash
source "$tests/UnitLimits/poor.bash"

cat >"$scene/providers/openvpn" <<END
#!/bin/bash
trap "echo SIGTERM >>$scene/told/of; exit" TERM
echo runs >$scene/told/started
while :; do sleep 0.1; done
END
mkdir -m 0777 told
printf 'client\nremote 203.0.113.10 1194\n' >"$policies/office.ovpn" && chmod 0600 "$policies/office.ovpn"
openvpn_policy </dev/null
go cafe
start_agent
say "$(awk '$1 == "CapBnd:" { print $2 }' /proc/"$(agent_pid)"/status)"
roamward up office >/dev/null
within 5 test -s told/started
roamward down office >/dev/null
within 5 test -s told/of
cat told/of
stop_agent
