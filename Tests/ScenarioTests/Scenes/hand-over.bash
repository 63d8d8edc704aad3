# Words for scenes about a restart of the agent with all of its tunnels. Needs providers.bash, inner.bash and unit.bash.
# shellcheck shell=bash disable=SC2154

all_up() { field_is plain state connected && field_is lab state connected && field_is vpn state connected; }

# All tunnels are up, and both connections begun. The word is how many descriptors the unit keeps at most.
begin_all() {
  go cafe
  start_server
  start_unit "$@"
  within 20 all_up
  begin_flow 10.98.0.1 7777
  begin_flow 10.88.0.1 7778
  flow_goes_on 7777 && flow_goes_on 7778 && say flows
  watch_cafe
  babble &
  babbler=$!
  trap 'kill $babbler' EXIT
}

end_all() {
  kill "$babbler"
  trap - EXIT
  say "outside: $(clear) of others, $(inner_packets) of the inner tunnel"
  stop_unit
  say "left: $(plain_process)$(pgrep -f 'sleep infinity')"
}
