# Words for scenes about a network's owner who attacks a tunnel for everything. Needs leaks.bash.
# shellcheck shell=bash disable=SC2154

# The tunnel, where strays were seen to leave before it came up.
connected_in_cafe() {
  watch_places
  go cafe
  see_leaks
  start_agent
  tunnel_is corp connected
}

# What leaves outside while strays try.
stray() {
  forget_leaks
  start_strays
  strays_try 150; stop_strays
  leaked
}
