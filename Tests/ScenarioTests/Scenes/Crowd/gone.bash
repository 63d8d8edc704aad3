# shellcheck shell=bash
# shellcheck source=Tests/ScenarioTests/Scenes/scene.bash
source "$tests/scene.bash"

go cafe
start_agent
tunnel_is corp connected
before=$(ticks)
for _ in 1 2 3 4 5 6; do
  perl -MIO::Socket::UNIX -e '$s = IO::Socket::UNIX->new(Peer => $ARGV[0]); syswrite $s, "{\"command\":\"status\"}\n" x 3000' "$ROAMWARD_SOCKET"
done
roamward status >/dev/null
spent=$(($(ticks) - before))
(( spent < 50 )) && say "nothing" || say "$spent ticks"
