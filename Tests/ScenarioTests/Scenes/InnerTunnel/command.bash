# shellcheck shell=bash
# shellcheck source=Tests/ScenarioTests/Scenes/scene.bash
source "$tests/scene.bash"
# shellcheck source=Tests/ScenarioTests/Scenes/inner.bash
source "$tests/inner.bash"

cat >"$scene/say" <<'END'
#!/bin/bash
echo hello >/dev/udp/203.0.113.10/51821
ip tuntap add dev probe mode tun && ip link set probe up
END
cat >"$scene/unsay" <<'END'
#!/bin/bash
echo goodbye >/dev/udp/203.0.113.10/51821
ip link delete probe
END
chmod 755 "$scene/say" "$scene/unsay"
cat >"$policies/60-lab.yaml" <<END
version: 1
tunnels:
  lab:
    provider: { command: { up: [$scene/say], down: [$scene/unsay], interface: probe } }
    through: corp
END
go cafe
remember
start_agent
roamward up lab --wait 20 >/dev/null
say "$(field corp state) $(field lab state) $(inner_packets)"
within 5 eval '[[ $(inner_received) -gt 0 ]]' && say received
roamward down corp --wait 20 >/dev/null
within 10 field_is lab state disconnected
say "$(inner_packets) $(stop_agent)"
as_before
