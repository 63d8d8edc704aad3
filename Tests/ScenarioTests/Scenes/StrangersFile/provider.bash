# shellcheck shell=bash
# shellcheck source=Tests/ScenarioTests/Scenes/scene.bash
source "$tests/scene.bash"
# shellcheck source=Tests/ScenarioTests/Scenes/providers.bash
source "$tests/providers.bash"
# shellcheck source=Tests/ScenarioTests/Scenes/strangers-file.bash
source "$tests/strangers-file.bash"

install_provider openvpn
go cafe
(umask 077; cat good evil/0.head >"$policies/office.ovpn")
openvpn_policy </dev/null
roamward check "$policies" | tail -n 1
strace -f -qq -o agent.trace -e trace=execve,execveat,open,openat,openat2,creat "$bin"/roamwardd --policies "$policies" --state-dir state \
  --socket "$ROAMWARD_SOCKET" "${inputs[@]}" </dev/null >agent.log 2>&1 & tracer=$!
within 10 roamward status
for number in $CHOSEN; do
  cat good evil/"$number".head >"$policies/office.ovpn"
  echo "# $number" >>"$policies/office.yaml"
  kill -HUP "$(pgrep -P $tracer | head -n 1)"
  roamward up office >/dev/null 2>&1 || true
  within 20 eval '[[ $(field office failure) == *"credential \`config\`"* ]]' || say "$number: $(field office failure)"
  roamward down office >/dev/null
  within 10 field_is office state disconnected
done
kill "$(pgrep -P $tracer | head -n 1)"
wait
grep -E 'strangers|execve.*/sbin/openvpn"' agent.trace | head -n 3 || true
[[ ! -e $S/ran && ! -e $S/new ]] || say "ran"
say "done"
