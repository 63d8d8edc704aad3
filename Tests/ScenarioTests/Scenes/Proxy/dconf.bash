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
# As the service has it: the agent's files are root's alone.
umask 077
start_agent
umask 022
within 5 serves DIRECT
within 5 test -s /etc/dconf/db/local
say "$(stat -c %a /etc/dconf/db/local)"
say "$(read_setting mode) $(read_setting autoconfig-url)"
roamward state --state-dir "$scene/state" | grep -o 'the address of proxies in dconf' || true
stop_agent
etc_as_before
say "$(read_setting mode)"
# Killed before it compiled the database again: the clean-up does.
mkdir -p /etc/dconf/db/local.d
printf '[x]\ny=1\n' >/etc/dconf/db/local.d/00-site
dconf update
start_agent
within 5 grep -q proxy.pac /etc/dconf/db/local
kill_agent
rm /etc/dconf/db/local.d/50-roamward
cleanup_agent
say "$(grep -c proxy.pac /etc/dconf/db/local || true) $(find /etc/dconf | sort | tr '\n' ' ')"
rm -r /etc/dconf
# Another program's profile is left alone, with the reason.
mkdir -p /etc/dconf/profile
echo user-db:user >/etc/dconf/profile/user
start_agent
within 5 serves DIRECT
roamward status | grep -o 'proxies are not published to dconf: .*'
kill_agent
cleanup_agent
cat /etc/dconf/profile/user
find /etc/dconf -type f
