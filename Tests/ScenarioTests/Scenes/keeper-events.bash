# Words for scenes about keepers of resolv.conf: what happens to an agent, and whose names and file are right then. Needs names.bash,
# keepers.bash and both-gateways.bash.
# shellcheck shell=bash disable=SC2154,SC2034

# A debug build would write down its stack for minutes.
export SWIFT_BACKTRACE=enable=no
next_place() { case $place in cafe) echo mobile ;; *) echo cafe ;; esac; }
# Of two domains the longer one decides, in either direction; one that both claim has the first tunnel; others have the network.
names_are_right() {
  answers_are "$moment.corp.example=10.77.0.77" "$moment.lab.example=10.88.0.77" "$moment.deep.lab.example=10.77.0.77" \
    "$moment.deep.corp.example=10.88.0.77" "$moment.public.example=${answers[$place]}"
}
is_theirs() { within 5 eval 'nothing_of_ours && diff was.$place <(look_at_file)'; }
server_is_gone() { [[ -z $(server_pid) ]]; }
move_on() { place=$(next_place); go_with_keeper "$place"; }

# The events while the agent runs, and those that end it. After each the agent runs again.
# shellcheck disable=SC2046 # one process or more
happens() {
  case $1 in
    roam) move_on ;;
    lease) { [[ $keeper == isc-dhcp-client ]] && renew; } || go_with_keeper "$place" ;;
    restart) stop_agent >/dev/null; is_theirs; start_agent ;;
    crash) kill -ABRT "$(agent_pid)"; within 5 test -s "$scene/agent.exit"; within 5 server_is_gone; start_agent ;;
    kill) kill_agent; within 5 server_is_gone; start_agent ;;
    'killed and cleaned up') kill_agent; cleanup_agent; is_theirs; start_agent ;;
    'killed elsewhere') kill_agent; move_on; start_agent ;;
    'name server killed') kill -KILL $(server_pid) ;;
    *) echo "no such event: $1"; return 1 ;;
  esac
}
