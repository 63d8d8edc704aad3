# Words for scenes whose agent is a unit of a service manager, which keeps descriptors over its restarts.
# shellcheck shell=bash disable=SC2154

# Starts the agent so; the word is how many descriptors are kept at most.
start_unit() {
  rm -f "$scene/agent.exit"
  {
    status=0
    # shellcheck disable=SC2016 # expanded over there
    bash -c 'echo $BASHPID >"$0/unit.pid"; exec "${@:1}"' "$scene" "$tests/service-manager" "$scene" "${1:-64}" "$bin/roamwardd" \
      --policies "$policies" --policies "$scene/local" --state-dir "$scene/state" --socket "$ROAMWARD_SOCKET" "${inputs[@]}" \
      --settle "${SETTLE:-100ms}" --log-level debug || status=$?
    echo "$status" >"$scene/agent.exit"
  } </dev/null >/dev/null 2>>"$scene/agent.log" &
  within 5 roamward status
}

# Restarts it, and waits until another agent runs.
restart_unit() {
  local before
  before=$(agent_pid)
  kill -HUP "$(<"$scene/unit.pid")"
  within 10 another_agent "$before"
  within 5 roamward status
}

another_agent() { [[ $(agent_pid) != "$1" ]]; }

# Says its exit status.
stop_unit() {
  kill -TERM "$(<"$scene/unit.pid")"
  within 10 test -s "$scene/agent.exit"
  cat "$scene/agent.exit"
}

# What a restart leaves as it is: links by their numbers, programs by theirs.
kept() {
  local link
  for link in plain lab vpn0; do echo "$link $(link_index $link)"; done
  echo "provider $(plain_process), command $(pgrep -f 'sleep infinity'), engine $(engine_pid lab)"
}

# A TCP connection from this address and port of the gateway, which writes ten times a second.
begin_flow() {
  # shellcheck disable=SC2016 # perl's own variables
  on gateway perl -MIO::Socket::INET -e '
    $SIG{PIPE} = "IGNORE";
    $client = IO::Socket::INET->new(LocalAddr => shift, LocalPort => shift, Listen => 1)->accept;
    $client->autoflush(1);
    while (print $client "tick\n") { select undef, undef, undef, 0.1 }' "$1" "$2" </dev/null >/dev/null 2>&1 &
  within 5 eval 'on gateway ss -Hltn "sport = :'"$2"'" | grep -q .'
  : >"$scene/flow.$2"
  cat <"/dev/tcp/$1/$2" >>"$scene/flow.$2" &
  echo $! >"$scene/flow.$2.pid"
}

grows() { (($(wc -c <"$scene/flow.$1") > $2)); }

# Whether it carries, and is the one that was begun.
flow_goes_on() { within 5 grows "$1" "$(wc -c <"$scene/flow.$1")" && kill -0 "$(<"$scene/flow.$1.pid")"; }
