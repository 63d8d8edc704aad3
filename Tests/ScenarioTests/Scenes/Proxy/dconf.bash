# shellcheck shell=bash disable=SC2154
# shellcheck source=Tests/ScenarioTests/Scenes/scene.bash
source "$tests/scene.bash"
# shellcheck source=Tests/ScenarioTests/Scenes/proxies.bash
source "$tests/proxies.bash"

go cafe
own_etc
read_setting() { HOME=$scene XDG_RUNTIME_DIR=$scene/run dconf read "/system/proxy/$1"; }
mkdir -m 700 "$scene/run"
proxy_policy '{ http: "10.77.0.1:3128", publish: [dconf] }'
start_agent
within 5 serves DIRECT
say "$(read_setting mode) $(read_setting autoconfig-url)"
roamward state --state-dir "$scene/state" | grep -o 'the address of proxies in dconf' || true
# Another program's profile is left alone, with the reason.
stop_agent
etc_as_before
say "$(read_setting mode)"
mkdir -p /etc/dconf/profile
echo user-db:user >/etc/dconf/profile/user
start_agent
within 5 serves DIRECT
roamward status | grep -o 'proxies are not published to dconf: .*'
kill_agent
cleanup_agent
cat /etc/dconf/profile/user
find /etc/dconf -type f
