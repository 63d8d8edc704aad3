# shellcheck shell=bash
# shellcheck source=Tests/ScenarioTests/Scenes/scene.bash
source "$tests/scene.bash"

go cafe
start_agent
tunnel_is corp connected
trace() { strace -f -qq -s 64 -e trace='!read,mmap,munmap,mprotect,futex,clock_gettime' -o "$@"; }
remember
touch stamp
for command in evaluate plan dns network check; do
  case $command in
    check) trace check.trace "$bin"/roamward check "$policies" >/dev/null ;;
    dns) trace dns.trace "$bin"/roamward dns intranet.corp.example --policies "$policies" "${inputs[@]}" --state-dir state >/dev/null ;;
    network) trace network.trace "$bin"/roamward network "${inputs[@]}" --state-dir state >/dev/null ;;
    *) trace $command.trace "$bin"/roamward $command --policies "$policies" "${inputs[@]}" --state-dir state >/dev/null ;;
  esac
done
trace plan-up.trace "$bin"/roamward plan --policies "$policies" --policies local --set interface=wifi --set ssid=Cafe --up corp "${inputs[@]}" >/dev/null
as_before
# The agent that runs meanwhile goes on with its log.
find . "$laptop" -newer stamp -type f ! -name agent.log ! -name '*.trace' ! -name after ! -name touched ! -name 'output-*' >touched
