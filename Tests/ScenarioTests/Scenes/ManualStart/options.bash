# shellcheck shell=bash disable=SC2154
# shellcheck source=Tests/ScenarioTests/Scenes/scene.bash
source "$tests/scene.bash"
# shellcheck source=Tests/ScenarioTests/Scenes/providers.bash
source "$tests/providers.bash"
# shellcheck source=Tests/ScenarioTests/Scenes/manual-start.bash
source "$tests/manual-start.bash"

go cafe
start_server
install_noting
plain_policy </dev/null
printf 'version: 1\ntunnels: { corp: { provider: { wireguard: { config: corp.conf } } } }\n' >"$policies/corp.yaml"
start_agent
roamward up plain --option colour=red 2>&1 || say $?
roamward up plain --option address=x 2>&1 || say $?
roamward up corp --option address=x 2>&1 || say $?
printf 's3cr3t-of-a-start\n' >"$scene/secret"
roamward up plain --until resume --option address=10.98.0.3/24 --username alice --password-fd 7 7<"$scene/secret"
rm "$scene/secret"
tunnel_is plain connected
say "$(tail -n 1 "$scene/given")"
field plain reason
# The next agent knows the options, and no password.
kill_agent
start_agent
tunnel_is plain connected
say "after a kill: $(field plain state), $(tail -n 1 "$scene/given")"
roamward history --state-dir "$scene/state" >"$scene/history"
roamward status --json >"$scene/status"
roamward bugreport --policies "$policies" --output "$scene/report.tar.gz" >/dev/null 2>&1
mkdir "$scene/report"
tar -xzf "$scene/report.tar.gz" -C "$scene/report"
[[ -s $scene/history && -n $(ls "$scene/report") ]]
say "searched: events history report"
for file in /proc/[0-9]*/cmdline; do if grep -qsa s3cr3t-of-a-start "$file"; then echo "in $file"; fi; done
for file in /proc/[0-9]*/environ; do if grep -qsa s3cr3t-of-a-start "$file"; then echo "in $file"; fi; done
# `given` is the provider's own note of what it got.
mv "$scene/given" /run/given
if grep -rlsa s3cr3t-of-a-start "$scene" --exclude='script-*' --exclude='output-*'; then echo "in files"; fi
mv /run/given "$scene/given"
say "password nowhere: cmdline environ state log"
roamward down plain >/dev/null
tunnel_is plain disconnected
roamward up plain >/dev/null
tunnel_is plain connected
say "and none later: $(tail -n 1 "$scene/given")"
