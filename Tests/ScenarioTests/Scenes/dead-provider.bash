# Words for scenes in which the server of a provider's tunnel, `office`, dies. Needs providers.bash and dead.bash.
# shellcheck shell=bash disable=SC2154,SC2034

both_ways=1
# From the start of the agent: an address inside, and the server's ports as nft(8) has them.
office_dies() {
  local inside=$1
  start_agent
  roamward up office >/dev/null
  within 20 field_is office state connected
  within 10 busybox ping -c 1 -W 1 "$inside" >/dev/null
  dies_and_returns office "$@"
  say "asks $(field office 'questions | length')"
  roamward down office >/dev/null
  within 15 field_is office state disconnected
  stop_agent
}
