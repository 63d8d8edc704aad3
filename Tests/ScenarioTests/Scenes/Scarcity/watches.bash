# shellcheck shell=bash
# shellcheck source=Tests/ScenarioTests/Scenes/scene.bash
source "$tests/scene.bash"

# As much of the lab as has limits of its own. There is no network in it, and none is needed.
limited() { unshare --user --map-root-user --net bash -c 'echo 0 >/proc/sys/user/max_inotify_instances; exec "$@"' limited "$@"; }
limited true 2>/dev/null || { say 'no user namespaces'; exit 0; }
limited timeout 900 "$bin/roamwardd" --policies "$policies" --state-dir "$scene/state" --socket "$ROAMWARD_SOCKET" "${inputs[@]}" \
  2>>"$scene/agent.log" &
within 5 eval 'roamward status | found "changes of policies, .*resolv.conf are not detected: .*max_user_instances"'
say told
printf 'version: 1\ntunnels: { corp: { provider: { wireguard: { config: corp.conf } } } }\n' >"$policies"/corp.yaml
process=$(roamward status --json | jq .pid)
kill -HUP "$process"
within 5 field_is corp name corp
say read
kill -TERM "$process"
wait
